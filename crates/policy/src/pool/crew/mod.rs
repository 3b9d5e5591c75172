//! The crew of a pool: its workers and guests, what each is at, and how many are at what.
//!
//! Nobody else writes a count. A worker changes its state, or what is believed of its item,
//! through one of the doors below, and the counts and the idle list follow.
//!
//! | file | |
//! | --- | --- |
//! | `worker.rs` | what is known of one worker |
//! | `table.rs` | all of them by number, and the busy ones by item |

mod table;
mod worker;

use alloc::collections::VecDeque;
use core::mem::{replace, take};

use crate::probe::{broken, hit};
use crate::store::{ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::worker::{State, Wait, WorkerId};
use table::Table;
pub(super) use worker::{Claim, Current, Worker};

/// Workers by what they are at. The estimate of `nr_running` is made of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Threads of the pool, idle ones included, guests not.
    pub(super) workers: u32,
    pub(super) creating: u32,
    pub(super) waking: u32,
    pub(super) between: u32,
    /// Guests included.
    pub(super) executing: u32,
    /// Executing and not counted: in a hint, CPU-intensive, or a rescuer.
    pub(super) hinted: u32,
    /// Executing, not in a hint, seen asleep by a scan.
    pub(super) asleep: u32,
    /// Threads of process trees that run, beyond one for each tree.
    pub(super) extra: u32,
    /// Guests that have claimed the item which they execute.
    pub(super) claims: u32,
    /// Of those, threads that count as running for nothing else.
    pub(super) claims_added: u32,
    /// Wait for an item of this pool that nobody has started: workers and claims.
    pub(super) waiting: u32,
    /// Rescuers that do.
    pub(super) rescuers_waiting: u32,
}

impl Counts {
    /// Executing workers that are neither in a hint nor known to sleep, and further threads of
    /// theirs.
    pub(super) fn presumable(&self) -> u32 {
        self.executing + self.extra - self.hinted - self.asleep
    }

    /// Workers that are about to take an item each.
    pub(super) fn on_their_way(&self) -> u32 {
        self.waking + self.between
    }

    /// Threads that are not idle. One that has claimed an item inside of another one is there
    /// once.
    pub(super) fn busy(&self) -> u32 {
        self.executing + self.on_their_way() - (self.claims - self.claims_added)
    }

    /// A worker, or a guest that has claimed its item or not, is one more in this state, or one
    /// less.
    fn note<S: Store>(&mut self, worker: &Worker<S>, is_one_more: bool) {
        let count = |count: &mut u32, of: u32| match is_one_more {
            true => *count += of,
            false => *count -= of,
        };
        match worker.state() {
            State::Creating => return count(&mut self.creating, 1),
            State::Free | State::Visiting => return,
            State::Waking => count(&mut self.waking, 1),
            State::Between => count(&mut self.between, 1),
            State::Executing => {
                count(&mut self.executing, 1);
                if let Some(claim) = worker.claim {
                    count(&mut self.claims, 1);
                    count(&mut self.claims_added, u32::from(claim.adds));
                }
            }
            State::Idle(_) | State::Retiring => {}
        }
        count(&mut self.workers, u32::from(!worker.is_guest()));
    }
}

/// The workers of one pool.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Crew<S: Store> {
    table: Table<S>,
    /// LIFO: chosen from the back, culled from the front.
    idle: VecDeque<WorkerId>,
    /// The worker that creates another one, if any does.
    manager: Option<WorkerId>,
    counts: Counts,
}

/// What is there.
impl<S: Store> Crew<S> {
    pub(super) fn new() -> Self {
        Crew {
            table: Table::new(),
            idle: VecDeque::new(),
            manager: None,
            counts: Counts::default(),
        }
    }

    pub(super) fn get(&self, id: WorkerId) -> &Worker<S> {
        self.table.get(id)
    }

    /// For what no count depends on: the rest is closed to others.
    pub(super) fn get_mut(&mut self, id: WorkerId) -> &mut Worker<S> {
        self.table.get_mut(id)
    }

    /// All numbers ever used, free ones included.
    pub(super) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<S> {
        self.table.ids()
    }

    /// All numbers ever used, and what is known of them.
    pub(super) fn all(&self) -> impl Iterator<Item = (WorkerId, &Worker<S>)> {
        self.ids().map(|id| (id, self.get(id)))
    }

    /// The worker that executes this item now.
    pub(super) fn executing(&self, key: &ItemKey) -> Option<WorkerId> {
        self.table.executing(key)
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Those that are parked, the one that has been for longest first.
    pub(super) fn idle(&self) -> &VecDeque<WorkerId> {
        &self.idle
    }

    pub(super) fn manager(&self) -> Option<WorkerId> {
        self.manager
    }

    /// Whom rescuers help here.
    pub(super) fn rescuers(&self) -> impl Iterator<Item = S::Pwq> + '_ {
        self.all().filter_map(|(_, worker)| worker.rescues)
    }

    pub(super) fn is_known_asleep(&self, id: WorkerId) -> bool {
        let worker = self.get(id);
        worker.hints() > 0 || worker.is_asleep()
    }

    /// Whose item has called the one that this worker claimed, if that is one of this pool.
    pub(super) fn beneath(&self, id: WorkerId) -> Option<WorkerId> {
        self.get(id).claim?.within
    }
}

/// Workers come, change their state and go.
impl<S: Store> Crew<S> {
    fn set_state(&mut self, id: WorkerId, next: State) -> State {
        self.counts.note(self.table.get(id), false);
        let before = self.table.get_mut(id).set_state(id, next);
        self.counts.note(self.table.get(id), true);
        before
    }

    /// A thread is asked for.
    pub(super) fn create(&mut self) -> WorkerId {
        let id = self.table.allocate();
        self.set_state(id, State::Creating);
        id
    }

    /// This worker creates another one, which is returned.
    pub(super) fn create_by(&mut self, manager: WorkerId) -> WorkerId {
        self.manager = Some(manager);
        self.create()
    }

    /// The worker does not create another one any more.
    pub(super) fn leave_management(&mut self, id: WorkerId) {
        self.manager = self.manager.filter(|&manager| manager != id);
    }

    /// The thread of this one could not be made.
    pub(super) fn not_created(&mut self, id: WorkerId) {
        self.set_state(id, State::Free);
        self.counts.creating += u32::from(broken!(SpawnFailureUnnoted));
    }

    /// A worker that was chosen, or made, is there: true if it is new.
    pub(super) fn arrive(&mut self, id: WorkerId) -> bool {
        self.set_state(id, State::Between) == State::Creating
    }

    /// It goes idle on this CPU.
    pub(super) fn go_idle(&mut self, id: WorkerId, now: Time, cpu: u32) {
        self.set_state(id, State::Idle(now));
        let worker = self.get_mut(id);
        (worker.crowded, worker.cpu) = (0, cpu);
        self.idle.push_back(id);
    }

    /// An idle one is chosen.
    pub(super) fn wake(&mut self, id: WorkerId) {
        let at = self.idle.iter().rposition(|&idle| idle == id);
        self.idle.remove(at.expect("it is idle"));
        self.set_state(id, State::Waking);
    }

    /// The one that has been idle for longest is to end.
    pub(super) fn dismiss_oldest(&mut self) -> Option<WorkerId> {
        let oldest = self.idle.pop_front()?;
        self.set_state(oldest, State::Retiring);
        Some(oldest)
    }

    /// It is to end, wherever it is.
    pub(super) fn dismiss(&mut self, id: WorkerId) {
        self.leave_management(id);
        if let State::Idle(_) = self.set_state(id, State::Retiring) {
            self.idle.retain(|&idle| idle != id);
        }
    }

    /// It ends.
    pub(super) fn retire(&mut self, id: WorkerId) {
        self.set_state(id, State::Free);
    }

    /// Time has passed that does not count for how long they have been idle.
    pub(super) fn put_off_culling(&mut self, lost: Nanos) {
        for &id in &self.idle {
            if let State::Idle(since) = &mut self.table.get_mut(id).state {
                *since = since.after(lost);
            }
        }
    }

    /// The rescuer of a queue has come.
    pub(super) fn rescuer(&mut self, pwq: S::Pwq) -> WorkerId {
        let id = self.table.allocate();
        self.set_state(id, State::Visiting);
        self.get_mut(id).rescues = Some(pwq);
        id
    }

    /// Somebody is about to execute what he has claimed.
    pub(super) fn claimant(&mut self, claim: Claim) -> WorkerId {
        let id = self.table.allocate();
        self.set_state(id, State::Visiting);
        self.get_mut(id).claim = Some(claim);
        if let Some(within) = claim.within {
            self.get_mut(within).above = Some(id);
        }
        id
    }

    /// A guest leaves: for whom it has rescued, if it has.
    pub(super) fn leave(&mut self, id: WorkerId) -> Option<S::Pwq> {
        if let Some(within) = self.beneath(id) {
            self.get_mut(within).above = None;
        }
        self.set_state(id, State::Free);
        let guest = self.get_mut(id);
        guest.claim = None;
        guest.rescues.take()
    }

    /// It begins an item.
    pub(super) fn begin(&mut self, id: WorkerId, current: Current<S::Pwq>) {
        self.set_state(id, State::Executing);
        self.table.enter_busy(id, current);
    }

    /// It has ended its item and begins this one: its state is as it was.
    pub(super) fn go_on(&mut self, id: WorkerId, next: Current<S::Pwq>) -> Current<S::Pwq> {
        let ended = self.table.leave_busy(id);
        self.table.enter_busy(id, next);
        ended
    }

    /// It has ended its item and so many less one that came after that, and executes this one.
    pub(super) fn went_on(
        &mut self,
        id: WorkerId,
        now: Current<S::Pwq>,
        count: u32,
    ) -> Current<S::Pwq> {
        let ended = self.go_on(id, now);
        let worker = self.table.get_mut(id);
        worker.item_seq = worker.item_seq.wrapping_add(count - 1);
        ended
    }

    /// It has ended it.
    pub(super) fn end(&mut self, id: WorkerId) -> Current<S::Pwq> {
        let next = match self.get(id).is_guest() {
            true => State::Visiting,
            false => State::Between,
        };
        self.set_state(id, next);
        self.table.leave_busy(id)
    }
}

/// What is believed of an item: that it sleeps, blocks, waits.
impl<S: Store> Crew<S> {
    /// The worker does not count as running any more, for one more reason.
    pub(super) fn uncount(&mut self, id: WorkerId) {
        self.set_extra(id, 0);
        let worker = self.table.get_mut(id);
        worker.hints += 1;
        if worker.hints == 1 {
            let asleep = take(&mut worker.asleep);
            hit!(HintReplacesScan if asleep);
            self.counts.asleep -= u32::from(asleep);
            self.counts.hinted += 1;
        }
    }

    /// One of the reasons is gone.
    pub(super) fn recount(&mut self, id: WorkerId) {
        let worker = self.table.get_mut(id);
        worker.hints -= 1;
        let counts_again = worker.hints == 0;
        self.counts.hinted -= u32::from(counts_again);
    }

    /// So many threads of it were seen to run; of none it sleeps. It is in no hint.
    pub(super) fn seen(&mut self, id: WorkerId, running: u32) {
        let asleep = running == 0;
        let before = replace(&mut self.table.get_mut(id).asleep, asleep);
        hit!(ScanAwake if before && !asleep);
        self.counts.asleep = self.counts.asleep + u32::from(asleep) - u32::from(before);
        self.set_extra(id, running.saturating_sub(1));
    }

    /// The worker stands for so many threads beside itself.
    fn set_extra(&mut self, id: WorkerId, extra: u32) {
        let before = replace(&mut self.table.get_mut(id).extra, extra);
        self.counts.extra = self.counts.extra + extra - before;
    }

    /// Its item ends, and what was believed of it is over. True if it was known to sleep.
    pub(super) fn forget_sleep(&mut self, id: WorkerId) -> bool {
        self.set_waiting(id, None);
        self.set_extra(id, 0);
        let worker = self.table.get_mut(id);
        (worker.futex, worker.waits_at, worker.unseen) = (None, None, None);
        let (hinted, asleep) = (take(&mut worker.hints) > 0, take(&mut worker.asleep));
        self.counts.hinted -= u32::from(hinted);
        self.counts.asleep -= u32::from(asleep);
        hinted || asleep
    }

    /// It waits, or does not any more; with a claim, those do as well whose items are in the
    /// middle of it.
    pub(super) fn set_waiting(&mut self, id: WorkerId, on: Option<Wait<S::Pwq>>) {
        let mut next = Some(id);
        while let Some(id) = next {
            let worker = self.table.get_mut(id);
            let before = replace(&mut worker.waiting, on);
            let counted = match worker.rescues {
                None => &mut self.counts.waiting,
                Some(_) => &mut self.counts.rescuers_waiting,
            };
            *counted = *counted + u32::from(on.is_some()) - u32::from(before.is_some());
            next = self.beneath(id);
        }
    }
}

/// What a test breaks by hand.
#[cfg(test)]
impl<S: Store> Crew<S> {
    pub(super) fn break_counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    pub(super) fn break_idle(&mut self) -> &mut VecDeque<WorkerId> {
        &mut self.idle
    }

    pub(super) fn break_manager(&mut self, id: WorkerId) {
        self.manager = Some(id);
    }

    pub(super) fn break_worker(&mut self, id: WorkerId, asleep: bool, extra: u32) {
        let worker = self.table.get_mut(id);
        (worker.asleep, worker.extra) = (asleep, extra);
    }
}
