//! Forward progress where no worker can be made: rescuers (kernel `rescuer_thread`).
//!
//! A queue built for it has a thread of its own. This pool may need a worker that would have to be
//! made. If it still does 10 ms later, it calls the rescuers of the queues whose items wait, and
//! again each 100 ms. A rescuer attaches to the pool, runs items of its own queue only, and leaves.

use alloc::vec::Vec;

use super::{Cx, WorkerPool};
use crate::action::Action;
use crate::probe::{broken, hit};
use crate::store::Store;
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::{Wait, WorkerId};

/// A worker is missing for this long before rescuers are called (kernel `MAYDAY_INITIAL_TIMEOUT`).
pub const MAYDAY_INITIAL_TIMEOUT: Nanos = 10 * MILLISECOND;
/// They are called again after this (kernel `MAYDAY_INTERVAL`).
pub const MAYDAY_INTERVAL: Nanos = 100 * MILLISECOND;
/// Items that a rescuer runs for one pool while others wait for it (kernel `RESCUER_BATCH`).
pub const RESCUER_BATCH: u32 = 16;

/// Rescuers that help one pool at one time.
pub const MAX_RESCUERS: u32 = 16;

impl<S: Store> WorkerPool<S> {
    /// Does an item need a worker that would have to be made (kernel `need_to_create_worker`)?
    fn needs_creation(&self) -> bool {
        self.need_more_worker() && !self.may_start_working()
    }

    /// Notes since when a worker is missing.
    pub(super) fn settle_need(&mut self, now: Time) {
        match (self.needs_creation(), self.needs_since) {
            (true, None) => {
                self.needs_since = Some(now);
                self.mayday_at = now.after(MAYDAY_INITIAL_TIMEOUT);
            }
            (false, Some(_)) => {
                self.needs_since = None;
            }
            _ => {}
        }
    }

    /// Does an item wait here that a rescuer may start, who has not come yet, and for whose queue
    /// somebody waits? It brings nobody else anything.
    pub(super) fn awaits_rescuer(&self, cx: &mut Cx<S>) -> bool {
        let heads: Vec<S::Work> = self.worklist.heads(cx).collect();
        for work in heads {
            let word = cx.store.word(work);
            let pwq = cx.store.pwq_of(work).expect("a listed item is queued");
            let rescued = cx.store.pwq(pwq).flags.rescued && !word.flags().deferred;
            if rescued && !self.is_rescued(cx, pwq) && self.is_awaited(cx, pwq) {
                return true;
            }
        }
        false
    }

    /// Does an execution of this pool wait for items of this queue?
    fn is_awaited(&self, cx: &Cx<S>, pwq: S::Pwq) -> bool {
        let queue = |pwq| cx.store.info(pwq).queue;
        let awaits = |id| self.crew.get(id).waiting().map(Wait::pwq);
        let mut awaited = self.crew.ids().filter_map(awaits);
        awaited.any(|awaited| queue(awaited) == queue(pwq))
    }

    /// Is the rescuer of this queue here?
    fn is_rescued(&self, cx: &Cx<S>, pwq: S::Pwq) -> bool {
        let queue = |pwq| cx.store.info(pwq).queue;
        self.crew
            .rescuers()
            .any(|helped| queue(helped) == queue(pwq))
    }

    /// When rescuers are called next, if they are.
    pub(super) fn mayday_due(&self) -> Option<Time> {
        self.needs_since.map(|_| self.mayday_at)
    }

    /// Calls the rescuers of all queues whose items wait, if it is time.
    pub fn call_rescuers(&mut self, cx: &mut Cx<S>) {
        if self.mayday_due().is_none_or(|at| at > cx.now) || broken!(RescuerNotCalled) {
            return;
        }
        self.mayday_at = cx.now.after(MAYDAY_INTERVAL);
        let heads: Vec<S::Work> = self.worklist.heads(cx).collect();
        for work in heads {
            let pwq = cx.store.pwq_of(work).expect("a listed item is queued");
            let state = cx.store.pwq(pwq);
            if state.flags.rescued && !state.mayday && cx.out.room() > 0 {
                state.mayday = true;
                state.stats.mayday += 1;
                cx.store.hold(pwq);
                self.push(cx, Action::Mayday(pwq));
            }
        }
    }

    /// The rescuer of the queue of `pwq` has come. Follow with
    /// [`rescuer_next`](Self::rescuer_next) until there is nothing, then leave. `None` where many
    /// others help already: it will be called again.
    pub fn rescuer_attach(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> Option<WorkerId> {
        cx.store.pwq(pwq).mayday = false;
        if self.crew.rescuers().count() as u32 >= MAX_RESCUERS {
            return None;
        }
        Some(self.crew.rescuer(pwq))
    }

    /// See [`rescuer_next`](Self::rescuer_next).
    pub(super) fn begin_rescue(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        done: u32,
        patient: bool,
    ) -> Option<(S::Work, S::Pwq)> {
        let own = self.crew.get_mut(id).scheduled.pop_front(cx.store);
        let turn_over = Self::is_turn_over(done, patient);
        let goes_on = !turn_over && self.needs_creation();
        let work = match own {
            None if goes_on => self.take_to_rescue(cx, id),
            own => {
                hit!(RescuerGoesOn if own.is_some());
                own
            }
        };
        work.map(|work| self.execute(cx, id, work))
    }

    /// The first item of its queue that nobody is executing.
    fn take_to_rescue(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<S::Work> {
        let pwq = self.crew.get(id).rescues;
        let own = |cx: &Cx<S>, work: &S::Work| {
            cx.store.pwq_of(*work) == pwq && !cx.store.word(*work).flags().deferred
        };
        loop {
            let found = self.worklist.heads(cx).find(|work| own(cx, work));
            let Some(work) = found else { break };
            match self.who_executes(&cx.store.key(work)) {
                Some(busy) => self.schedule_series(cx, work, busy),
                None => {
                    self.schedule_series(cx, work, id);
                    return self.crew.get_mut(id).scheduled.pop_front(cx.store);
                }
            }
        }
        hit!(RescuerFindsNothing);
        None
    }

    /// The rescuer of `pwq` has left as others wait for it. Is it to come again?
    pub(super) fn comes_again(&self, cx: &mut Cx<S>, pwq: Option<S::Pwq>) -> bool {
        let pwq = pwq.filter(|_| self.needs_creation());
        let again = pwq.filter(|&pwq| cx.store.pwq(pwq).nr_active > 0);
        if let Some(pwq) = again {
            cx.store.pwq(pwq).mayday = true;
        }
        again.is_some()
    }

    /// Whether a rescuer that has run so many items leaves for others.
    pub fn is_turn_over(done: u32, patient: bool) -> bool {
        done >= RESCUER_BATCH && !patient
    }
}
