//! Claims: a thread that waits for an item executes it itself if no worker has begun it.
//!
//! Like a rescuer, the thread comes into the pool as a guest with a number, for this one item. So
//! the busy table, flushes, deferrals, limits and looks from outside see an item that a worker
//! executes. [`crate::stacking`] says which threads may claim.
//!
//! A thread that claims may itself be a worker in the middle of an item, or in the middle of
//! another claim. Such a thread counts as running once. When it waits, everything beneath on its
//! stack waits with it.

use super::crew::Claim;
use super::slots::limit_now;
use super::{Cx, ItemReport, QueuedIn, Rule, WorkerPool};
use crate::probe::{broken, hit};
use crate::store::Store;
use crate::worker::WorkerId;

/// Claims that go on in one pool at one time, at most.
pub const MAX_CLAIMS: u32 = 128;

/// Whose thread it is that claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claimant {
    /// The worker of this pool, or the claim in it, whose item called: the last one on its stack.
    pub within: Option<WorkerId>,
    /// It counts as running in another pool.
    pub counted: bool,
}

impl Claimant {
    /// A thread that claims in this pool, and stands for these, the last one on its stack first.
    /// `is_counted` asks a pool whether it counts one of its own as running; no pool is held.
    pub fn of(
        pool: u32,
        stack: impl Iterator<Item = (u32, WorkerId)> + Clone,
        is_counted: impl Fn(u32, WorkerId) -> bool,
    ) -> Claimant {
        let mut here = stack.clone().filter(|&(of, _)| of == pool);
        let mut elsewhere = stack.filter(|&(of, _)| of != pool);
        Claimant {
            within: here.next().map(|(_, id)| id),
            counted: elsewhere.any(|(of, id)| is_counted(of, id)),
        }
    }
}

impl<S: Store> WorkerPool<S> {
    /// Does the thread not count as running yet, here or elsewhere?
    pub(super) fn claim_adds(&self, by: Claimant) -> bool {
        !by.counted && !by.within.is_some_and(|id| self.is_counted(id))
    }

    /// See [`claim`](Self::claim).
    pub(super) fn begin_claim(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        by: Claimant,
        adds: bool,
    ) -> (WorkerId, S::Pwq) {
        let within = by.within;
        let id = self.crew.claimant(Claim { within, adds });
        self.stats.claimed += 1;
        self.stats.far += u64::from(self.worklist.is_far(cx, work));
        self.schedule_series(cx, work, id);
        let own = self.crew.get_mut(id).scheduled.pop_front(cx.store);
        let (_, pwq) = self.execute(cx, id, own.expect("it was put there"));
        hit!(ClaimWithin if within.is_some());
        hit!(ClaimElsewhere if !adds && within.is_none());
        if !adds && !broken!(ClaimCountsTwice) {
            self.crew.uncount(id);
        }
        (id, pwq)
    }

    /// Does it wait here, for nothing but a worker?
    pub(super) fn is_claimable(&self, cx: &mut Cx<S>, work: S::Work) -> bool {
        let word = cx.store.word(work);
        let here = word.pwq().filter(|_| word.pool() == Some(self.attrs.id));
        let Some((addr, _)) = here else { return false };
        let pwq = cx.store.pwq_at(addr);
        let state = cx.store.pwq(pwq);
        let settled = !state.retired && !state.flags.plugged;
        let frozen = limit_now(cx, pwq).max() == 0;
        let kind = matches!(self.attrs.rule, Rule::Managed | Rule::Unmanaged);
        let free = !word.flags().deferred && self.queued_in(cx, work) == QueuedIn::Worklist;
        kind && settled && !frozen && free && !self.executes(&cx.store.key(work))
    }

    /// Is there room for a claim, which adds one thread that runs? As many of those as CPUs serve:
    /// the pool's own workers step back for them.
    pub(super) fn may_claim(&self, adds: bool) -> bool {
        let crowded =
            adds && self.manages() && self.crew.counts().claims_added >= self.attrs.target;
        hit!(ClaimCrowded if crowded);
        self.crew.counts().claims < MAX_CLAIMS && !crowded
    }

    /// See [`claim_ended`](Self::claim_ended).
    pub(super) fn end_claim(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
    ) -> Option<(S::Work, S::Pwq)> {
        let next = self.crew.get(id).scheduled.first();
        match next.filter(|&next| cx.store.word(next).flags().inactive) {
            None => {
                self.leave_claim(cx, id, report);
                None
            }
            Some(_) => {
                hit!(ClaimBarrier);
                Some(self.next_barrier(cx, id, report))
            }
        }
    }

    fn next_barrier(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
    ) -> (S::Work, S::Pwq) {
        let counted = self.crew.get(id).claim.is_some_and(|claim| claim.adds);
        self.item_ended(cx, id, report);
        let barrier = self.crew.get_mut(id).scheduled.pop_front(cx.store);
        let begun = self.execute(cx, id, barrier.expect("it was seen"));
        if !counted {
            self.crew.uncount(id);
        }
        begun
    }

    fn leave_claim(&mut self, cx: &mut Cx<S>, id: WorkerId, report: ItemReport) {
        self.item_ended(cx, id, report);
        hit!(ClaimGivesBack if !self.crew.get(id).scheduled.is_empty());
        if !broken!(ClaimLosesItems) {
            self.give_back(cx, id);
        }
        self.brief.left(id);
        if !broken!(ClaimNotGivenBack) {
            self.crew.leave(id);
        }
        // Perhaps it was the last one that could have ended others' waits.
        self.fail_a_wait(cx);
    }

    /// Does the thread of this worker count as running here, for any of the items on its stack?
    pub fn is_counted(&self, id: WorkerId) -> bool {
        let mut stack = core::iter::successors(Some(id), |&id| self.crew.beneath(id));
        stack.any(|id| self.crew.get(id).hints() == 0)
    }

    /// The last claim on the stack of this worker's thread, itself if there is none.
    pub(super) fn topmost(&self, id: WorkerId) -> WorkerId {
        let above = |&id: &WorkerId| self.crew.get(id).above;
        let stack = core::iter::successors(Some(id), above);
        stack.last().expect("it is on its own stack")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_known_by_its_last_claim_and_counts_where_it_runs() {
        let stack = [(2, WorkerId(7)), (1, WorkerId(5)), (1, WorkerId(4))];
        let of =
            |pool, counts| Claimant::of(pool, stack.into_iter(), |of, id| (of, id.0) == counts);
        let claimant = |within: Option<u32>, counted| Claimant {
            within: within.map(WorkerId),
            counted,
        };
        assert_eq!(of(1, (2, 7)), claimant(Some(5), true));
        assert_eq!(
            of(1, (1, 5)),
            claimant(Some(5), false),
            "its own pool knows"
        );
        assert_eq!(of(2, (1, 4)), claimant(Some(7), true));
        assert_eq!(of(3, (0, 0)), claimant(None, false));
    }
}
