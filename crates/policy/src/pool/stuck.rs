//! Waits of workers for items, and which of them would never end.
//!
//! A wait never ends if every worker of the pool waits likewise, or if every slot of a limit is
//! held by such a wait. A new one is then refused ([`Stuck`]), or an older one fails
//! ([`Action::FailWait`]). Circles over several pools are found in `contract/knot.rs`.

use alloc::vec;
use alloc::vec::Vec;

use super::crew::Current;
use super::slots::limit_now;
use super::{Cx, WorkerPool};
use crate::action::Action;
use crate::probe::hit;
use crate::store::Store;
use crate::worker::{Wait, WorkerId};

/// Nobody can start what the worker wants to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck;

/// Waits begin, end and fail.
impl<S: Store> WorkerPool<S> {
    /// The worker waits from now on, or goes on waiting: a flush has moved on but is not over.
    /// Refused if that could never end; then the worker does not wait.
    pub fn wait_on(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        wait: Wait<S::Pwq>,
    ) -> Result<(), Stuck> {
        self.crew.set_waiting(id, Some(wait));
        if !wait.may_fail() {
            // One that it waits for may wait in vain from now on.
            self.fail_a_wait(cx);
            self.fail_at_limit(cx, wait.pwq());
            return Ok(());
        }
        let no_worker = self.is_stuck(cx);
        if no_worker || self.is_stuck_at_limit(cx, wait.pwq()) {
            self.crew.set_waiting(id, None);
            return Err(Stuck);
        }
        Ok(())
    }

    /// What the worker waits for has happened, though it may not have noticed yet.
    pub fn wait_over(&mut self, id: WorkerId) {
        hit!(WaitOver);
        // In the middle of a claim it has no wait of its own: these are news of an earlier one.
        if self.crew.get(id).above.is_none() {
            self.crew.set_waiting(id, None);
        }
    }

    /// A flush through `pwq` has moved on: its waiters look again.
    pub(super) fn flush_moved(&mut self, pwq: S::Pwq) {
        for id in self.crew.ids() {
            if self.waits_to_flush(id, pwq) {
                self.crew.set_waiting(id, None);
            }
        }
    }

    /// If everybody waits for items that nobody can start, the wait of one fails.
    pub(super) fn fail_a_wait(&mut self, cx: &mut Cx<S>) {
        if !self.is_stuck(cx) {
            return;
        }
        let waiter = self.crew.ids().find(|&id| self.may_fail(id));
        if let Some(waiter) = waiter {
            self.fail_wait(cx, waiter);
        }
    }

    /// Whether this worker is in a wait that may fail.
    fn may_fail(&self, id: WorkerId) -> bool {
        self.crew.get(id).waiting().is_some_and(Wait::may_fail)
    }

    /// As [`fail_a_wait`](Self::fail_a_wait), for a queue whose limit or last free slot has
    /// changed.
    pub(super) fn fail_at_limit(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        if self.crew.counts().waiting + self.crew.counts().rescuers_waiting == 0
            || !self.is_stuck_at_limit(cx, pwq)
        {
            return;
        }
        let waits =
            |&id: &WorkerId| self.awaited_by_slot(cx, id, pwq).is_some() && self.may_fail(id);
        let waiter = self.crew.ids().find(waits);
        if let Some(waiter) = waiter {
            self.fail_wait(cx, waiter);
        }
    }

    fn fail_wait(&mut self, cx: &mut Cx<S>, waiter: WorkerId) {
        let waiter = self.topmost(waiter);
        self.crew.set_waiting(waiter, None);
        self.push(cx, Action::FailWait(waiter));
    }
}

/// Which waits would never end.
impl<S: Store> WorkerPool<S> {
    /// Does everybody, guests included, wait for items that only another worker could start, with
    /// no other worker and no rescuer to come?
    pub(super) fn is_stuck(&self, cx: &mut Cx<S>) -> bool {
        let c = self.crew.counts();
        let (all, waiting) = (
            c.workers + c.claims + self.crew.rescuers().count() as u32,
            c.waiting + c.rescuers_waiting,
        );
        let full = c.workers >= self.attrs.thread_limit;
        let hopeless = match c.rescuers_waiting {
            // Nobody has chosen that limit, and it is raised soon.
            _ if full && self.may_outgrow_threads() => false,
            0 => !self.may_create(cx.now),
            // It is there because threads could not be made, which may end: our own limit does not.
            _ => full,
        };
        let alone = waiting > 0 && waiting == all && c.creating == 0;
        alone && hopeless && !self.awaits_rescuer(cx)
    }

    /// Is every item of this queue that holds a slot in a wait for the queue, or for others of
    /// which the same is true? Then none of them ever ends, and no other item gets a slot.
    pub(super) fn is_stuck_at_limit(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let mut ring = vec![pwq];
        let mut at = 0;
        while let Some(&pwq) = ring.get(at) {
            at += 1;
            // Of all its pools: an item that runs elsewhere may yet end.
            let limit = limit_now(cx, pwq);
            let active = limit.nr();
            // Nobody has chosen it, and it is raised soon.
            if limit.may_rise() {
                return false;
            }
            // A slot is free, and about to be given to one that waits for it; or the queue is
            // frozen, until somebody thaws it.
            let may_get_one = limit.waiting() && (active < limit.max() || limit.max() == 0);
            // With none active the wait is over, though the waiter has not noticed.
            if active == 0 || may_get_one || self.awaited_by_slots(cx, pwq, &mut ring) < active {
                return false;
            }
        }
        !self.has_barrier_of(cx, &ring)
    }

    /// Does a barrier of one of these run, or will one without a slot? Then the wait for it ends:
    /// the item in front of it has given its slot back.
    fn has_barrier_of(&self, cx: &Cx<S>, ring: &[S::Pwq]) -> bool {
        let of_ring = |pwq| ring.iter().any(|&one| self.share_limit(cx, one, pwq));
        let queued = |work| {
            cx.store.word(work).flags().inactive && cx.store.pwq_of(work).is_some_and(of_ring)
        };
        let by_worker = |id| {
            let worker = self.crew.get(id);
            match &worker.current {
                Some(current) => current.barrier && of_ring(current.pwq),
                None => worker.scheduled.iter(cx.store).any(queued),
            }
        };
        self.crew.ids().any(by_worker)
            || self
                .worklist
                .lists()
                .flat_map(|list| list.iter(cx.store))
                .any(queued)
    }

    /// Whether two pwqs, of queues that the caller keeps, count for one limit. A pool may have two
    /// of one queue: one that was retired, and is not empty yet.
    pub fn share_limit(&self, cx: &Cx<S>, one: S::Pwq, other: S::Pwq) -> bool {
        core::ptr::eq(cx.store.limit(one), cx.store.limit(other))
    }

    /// Adds the queues that holders of slots of `pwq` wait for; returns how many of them wait.
    fn awaited_by_slots(&self, cx: &Cx<S>, pwq: S::Pwq, ring: &mut Vec<S::Pwq>) -> u32 {
        let mut waiting = 0;
        for id in self.crew.ids() {
            if let Some(awaited) = self.awaited_by_slot(cx, id, pwq) {
                waiting += self.slots_held(cx, id, pwq);
                if !ring.contains(&awaited) {
                    ring.push(awaited);
                }
            }
        }
        waiting
    }

    /// The queue that this worker waits for, if it keeps a slot that `pwq` could have.
    pub(super) fn awaited_by_slot(&self, cx: &Cx<S>, id: WorkerId, pwq: S::Pwq) -> Option<S::Pwq> {
        let wait = self.crew.get(id).waiting()?;
        (self.slots_held(cx, id, pwq) > 0).then(|| wait.pwq())
    }

    /// Slots that `pwq` could have and that nobody gives back before this worker's item has ended:
    /// its own, and the one of its next instance.
    pub fn slots_held(&self, cx: &Cx<S>, id: WorkerId, pwq: S::Pwq) -> u32 {
        let current = self.crew.get(id).current.as_ref();
        let Some(current) = current.filter(|current| !current.barrier) else {
            return 0;
        };
        let own = self.share_limit(cx, current.pwq, pwq);
        u32::from(own) + u32::from(self.next_holds(cx, id, current, pwq))
    }

    /// Does the next instance of what this worker executes hold a slot that `pwq` could have? One
    /// that is in another pool is not seen.
    fn next_holds(&self, cx: &Cx<S>, id: WorkerId, of: &Current<S::Pwq>, pwq: S::Pwq) -> bool {
        let holds = |work| {
            let word = cx.store.word(work);
            let active = !word.flags().inactive && cx.store.key(work) == of.key;
            let its = cx.store.pwq_of(work);
            active && its.is_some_and(|its| self.share_limit(cx, its, pwq))
        };
        let own = &self.crew.get(id).scheduled;
        // Most items have no next instance: then nothing is looked through.
        of.requeued_to.is_some()
            && (own.iter(cx.store).any(holds)
                || self
                    .worklist
                    .lists()
                    .flat_map(|list| list.iter(cx.store))
                    .any(holds))
    }
}
