//! When a queue is spread over a pool for each cache shard, and when it is gathered again.
//!
//! One pool for all CPUs decides best: its workers know all that waits, take what is near and find
//! out together how many a lock of the program can use. But it has one lock, and on many CPUs short
//! items wait for that. So a queue of which they do gets a pool for each cache shard; what is
//! queued from then on goes to that of its CPU. They share the limit, of which each keeps its part
//! (`slots.rs`), and the CPUs, which they borrow from each other (`borrow.rs`). What was queued
//! before ends where it is.
//!
//! If its items then queue up at one lock of the program, it is gathered, for good: pools that
//! search for the right number of workers each for itself would deceive each other.

use super::seen::Seen;
use super::{Cx, WorkerPool};
use crate::action::Action;
use crate::store::Store;

/// After so many questions of workers in a row, each of which is for up to
/// [`MOST_DEALT`](super::MOST_DEALT) items: a burst is over by then.
pub(super) const SPREADS_AFTER: u8 = u8::MAX;

impl<S: Store> WorkerPool<S> {
    /// A worker goes on to this item of this pool workqueue: is it time to spread its queue?
    ///
    /// Not if items are queued again and again. Each time that such an item is queued in another
    /// pool than before, the lock of that one is taken to see whether it still runs there.
    pub(super) fn ask_to_spread(&mut self, cx: &mut Cx<S>, (work, pwq): (S::Work, S::Pwq)) {
        if !self.worklist.may_be_spread() {
            return;
        }
        let is_new = cx.store.home(work).is_new();
        let waits = is_new && self.brief.are_worth_less_than_the_lock();
        let state = cx.store.pwq(pwq);
        state.lock_waits = if waits {
            state.lock_waits.saturating_add(1)
        } else {
            0
        };
        if state.lock_waits == SPREADS_AFTER {
            state.lock_waits = 0;
            self.ask_for(cx, pwq, Action::Spread(pwq));
        }
    }

    /// A look has found that items queue up at one lock: the queues of those who do are gathered,
    /// if they are spread.
    pub(super) fn ask_to_gather(&mut self, cx: &mut Cx<S>, seen: &[Seen]) {
        if !self.has_pod() {
            return;
        }
        for one in seen.iter().filter(|one| one.futex().is_some()) {
            let current = self.crew.get(one.worker).current.as_ref();
            let pwq = current.map(|current| current.pwq);
            let is_one = self.worklist.is_of_crowd(cx, &self.crew, one);
            if let Some(pwq) = pwq.filter(|_| is_one) {
                self.ask_for(cx, pwq, Action::Gather(pwq));
            }
        }
    }

    /// Asks for that once, while new items of the queue come here.
    fn ask_for(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, action: Action<S::Pwq>) {
        let is_asked = || cx.out.iter().any(|asked| asked == action);
        if !cx.store.pwq(pwq).retired && !is_asked() {
            cx.store.hold(pwq);
            self.push(cx, action);
        }
    }
}
