//! Items: queued, taken, ended; flush and limits.

use super::{CROWDED, Cx, WorkerPool};
use crate::action::Action;
use crate::colours::Flush;
use crate::list::List;
use crate::pwq::{Drain, clamp_max_active};
use crate::sampling;
use crate::store::Store;
use crate::time::Nanos;
use crate::worker::{Current, State, WorkerId};

/// What a worker can say of the item that it has just ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemReport {
    /// Whether its voluntary switches grew, if they were sampled.
    pub slept: Option<bool>,
    /// How long it had no CPU, if it was sampled and did not sleep.
    pub waited: Option<Nanos>,
    /// The item was a process tree: the worker's own switches and delays say nothing of it.
    pub foreign: bool,
}

impl<S: Store> WorkerPool<S> {
    /// Queues an item, which the caller has marked pending, through one of this pool's pwqs.
    pub fn queue(&mut self, cx: &mut Cx<S>, work: S::Work, pwq: S::Pwq) {
        let state = cx.store.pwq(pwq);
        let colour = state.colours.queued();
        self.nr_in_flight += 1;
        let active = state.may_activate();
        state.nr_active += u32::from(active);
        cx.store.set_queued(work, pwq, colour, !active);
        if active {
            self.worklist.push_back(cx.store, work);
            self.kick(cx);
        } else {
            with_inactive(cx, pwq, |store, list| list.push_back(store, work));
        }
        self.settle(cx);
    }

    /// Takes a queued item out again; it never runs. The caller has taken its pending state, and
    /// knows that no worker executes an earlier instance of it.
    pub fn cancel(&mut self, cx: &mut Cx<S>, work: S::Work, inactive: bool) {
        let (pwq, colour) = (cx.store.pwq_of(work), cx.store.colour_of(work));
        if inactive {
            with_inactive(cx, pwq, |store, list| list.remove(store, work));
        } else {
            self.worklist.remove(cx.store, work);
            cx.store.pwq(pwq).nr_active -= 1;
            self.activate_one(cx, pwq);
        }
        self.count_out(cx, pwq, colour);
        self.kick(cx);
        self.settle(cx);
    }

    /// Changes a limit. Raising it makes waiting items active, in their order.
    pub fn set_max_active(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, max_active: u32) {
        cx.store.pwq(pwq).max_active = clamp_max_active(max_active);
        while self.activate_one(cx, pwq) {}
        self.fail_at_limit(cx, pwq);
        self.kick(cx);
        self.settle(cx);
    }

    /// From now on says `Drained`, or `Released` to an orphan, when nothing is in flight. True if
    /// nothing is.
    pub fn begin_drain(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, drain: Drain) -> bool {
        let state = cx.store.pwq(pwq);
        state.drain = drain;
        state.nr_in_flight() == 0
    }

    /// From now on says `Drained` after each item: somebody waits for the pool as a whole. Said
    /// once by each who waits, and taken back.
    pub fn watch_drain(&mut self, watched: bool) {
        self.drain_watchers = match watched {
            true => self.drain_watchers + 1,
            false => self.drain_watchers.saturating_sub(1),
        };
    }

    /// Starts a flush of everything queued through `pwq` so far.
    pub fn begin_flush(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> Flush {
        cx.store.pwq(pwq).colours.begin_flush()
    }

    /// Whether the flush with this ticket is over.
    pub fn is_flushed(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, ticket: u64) -> bool {
        cx.store.pwq(pwq).colours.is_done(ticket)
    }

    /// The worker has ended its item. Follow with [`next`](Self::next) before letting the pool go.
    pub fn item_ended(&mut self, cx: &mut Cx<S>, id: WorkerId, report: ItemReport) {
        self.forget_sleep(id, report);
        self.workers.set_state(id, State::Between);
        self.counts.executing -= 1;
        self.counts.between += 1;
        let Current { pwq, colour, .. } = self.workers.leave_busy(id);
        self.stats.completed += 1;
        self.growth.completed(cx.now);
        cx.store.pwq(pwq).nr_active -= 1;
        self.activate_one(cx, pwq);
        self.count_out(cx, pwq, colour);
        self.fail_at_limit(cx, pwq);
        let worker = self.workers.get_mut(id);
        worker.asks = sampling::ask_for_others(&report, cx.now, worker.asks_after);
        worker.crowded = match report.foreign {
            // It cannot ask for its processes: the estimate is all there is.
            true => CROWDED,
            false => worker.crowded.min(CROWDED - 1),
        };
    }

    /// Begins the next item that this worker may execute: of its own list first, then of the pool.
    pub(super) fn take_item(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<(S::Work, S::Pwq)> {
        let own = self.workers.get_mut(id).scheduled.pop_front(cx.store);
        let work = own.or_else(|| self.take_from_worklist(cx))?;
        self.workers.set_state(id, State::Executing);
        self.counts.between -= 1;
        self.counts.executing += 1;
        let pwq = cx.store.pwq_of(work);
        let current = Current {
            key: cx.store.busy_key(work),
            pwq,
            colour: cx.store.colour_of(work),
        };
        self.workers.enter_busy(id, current);
        cx.store.set_running(work);
        self.stats.started += 1;
        Some((work, pwq))
    }

    /// The first item that no worker of this pool is executing. Items that are being executed go
    /// behind that execution, on its worker's own list: an item never runs twice at once.
    fn take_from_worklist(&mut self, cx: &mut Cx<S>) -> Option<S::Work> {
        loop {
            let work = self.worklist.pop_front(cx.store)?;
            match self.workers.executing(&cx.store.busy_key(work)) {
                Some(busy) => self
                    .workers
                    .get_mut(busy)
                    .scheduled
                    .push_back(cx.store, work),
                None => return Some(work),
            }
        }
    }

    /// Gives a free slot of `pwq` to the item that waits longest for one.
    fn activate_one(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        if !cx.store.pwq(pwq).has_free_slot() {
            return false;
        }
        let Some(work) = with_inactive(cx, pwq, |store, list| list.pop_front(store)) else {
            return false;
        };
        cx.store.pwq(pwq).nr_active += 1;
        let colour = cx.store.colour_of(work);
        cx.store.set_queued(work, pwq, colour, false);
        self.worklist.push_back(cx.store, work);
        true
    }

    fn count_out(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, colour: u8) {
        self.nr_in_flight -= 1;
        let state = cx.store.pwq(pwq);
        let flushed = state.colours.ended(colour);
        let drain = if state.nr_in_flight() == 0 {
            state.drain
        } else {
            Drain::No
        };
        if flushed {
            self.flush_moved(pwq);
            self.push(cx, Action::Flushed(pwq));
        }
        match drain {
            Drain::Orphaned => self.push(cx, Action::Released(pwq)),
            Drain::Awaited => self.push(cx, Action::Drained(pwq)),
            Drain::No if self.drain_watchers > 0 => self.push(cx, Action::Drained(pwq)),
            Drain::No => {}
        }
    }
}

/// Works on a pwq's waiting items and their links at once: both live behind the store, so the list
/// is taken out for the time of the call.
fn with_inactive<S: Store, R>(
    cx: &mut Cx<S>,
    pwq: S::Pwq,
    act: impl FnOnce(&mut S, &mut List<S>) -> R,
) -> R {
    let mut list = core::mem::take(&mut cx.store.pwq(pwq).inactive);
    let result = act(cx.store, &mut list);
    cx.store.pwq(pwq).inactive = list;
    result
}
