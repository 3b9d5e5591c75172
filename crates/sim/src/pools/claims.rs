//! Claims: a thread executes the item that it would wait for, as the engine's do
//! (`crates/engine/src/threads/claim.rs`).

use cmwq_policy::WorkerId;
use cmwq_policy::pool::Claimant;
use cmwq_policy::stacking::ClaimOn;

use crate::api::act::Answer;
use crate::api::names::{ItemId, PoolId, PwqId, WorkerRef};
use crate::api::trace::What;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::claim::{Beneath, Claimed, Confined};
use crate::state::worker::Meter;

impl Machine {
    /// Takes the item for this thread, which executes it from now on. False: the pool says that it
    /// is to be waited for.
    pub(crate) fn claim(&self, id: ThreadId, item: ItemId, pool: PoolId, on: ClaimOn) -> bool {
        let Some((worker, pwq)) = self.take(id, item, pool) else {
            return false;
        };
        let beneath = Beneath {
            random: self.frame(id, |f| f.random),
            confined: self.confine(id, on),
        };
        self.set_aside(id);
        let who = WorkerRef { pool, id: worker };
        self.begin_claimed(id, (who, beneath), item, pwq);
        true
    }

    fn take(&self, id: ThreadId, item: ItemId, pool: PoolId) -> Option<(WorkerId, PwqId)> {
        let (by, here) = (self.claimant(id, pool), self.pool(pool));
        self.in_pool(pool, |core, cx| {
            let claimed = core.claim(cx, item, by);
            // Before anybody looks at who executes here.
            claimed.inspect(|&(worker, _)| here.enter(worker, id))
        })
    }

    /// As the core of this pool knows the thread.
    fn claimant(&self, id: ThreadId, pool: PoolId) -> Claimant {
        let stack = self.frame(id, |f| f.stack());
        let stack = stack.iter().map(|who| (who.pool.0, who.id));
        Claimant::of(pool.0, stack, |of, id| {
            self.with_core(PoolId(of), |core| core.is_counted(id))
        })
    }

    fn confine(&self, id: ThreadId, on: ClaimOn) -> Option<Confined> {
        let ClaimOn::Only(only) = on else { return None };
        let before = self.allowed(id);
        self.pin(id, only);
        Some(Confined { before, only })
    }

    /// The thread executes this item, or a barrier behind it, as that guest.
    fn begin_claimed(
        &self,
        id: ThreadId,
        (who, beneath): (WorkerRef, Beneath),
        item: ItemId,
        pwq: PwqId,
    ) {
        let running = self.take_off(item, pwq);
        let claimed = Claimed {
            who,
            running,
            meter: Meter::from(self.now(), self.thread_stats(id)),
            own: self.before_claim(id),
            beneath,
        };
        self.frame(id, |f| f.claims.push(claimed));
        self.execute(id, &running);
    }

    /// What the thread has claimed, or a barrier behind it, has returned: the next barrier, or what
    /// it did before.
    pub(crate) fn claim_over(&self, id: ThreadId) {
        self.end_hints_beneath(id);
        let over = self.frame(id, |f| f.claims.pop());
        let mut over = over.expect("it has claimed an item");
        if !self.is_barrier(over.running.execution.item) {
            self.note(id, What::End(over.running.execution));
        }
        let report = over.meter.end(self.now(), self.thread_stats(id));
        let mask = self.tidy_claim(id, &over.own);
        let (who, pool) = (over.who, self.pool(over.who.pool));
        let next = self.in_pool(who.pool, |core, cx| {
            let next = core.claim_ended(cx, who.id, report);
            // The number may be another one's at once.
            if next.is_none() {
                pool.forget(who.id, id);
            }
            next
        });
        // Only now: the thread may lose its CPU by that.
        mask.into_iter().for_each(|mask| self.pin(id, mask));
        match next {
            Some((barrier, pwq)) => self.begin_claimed(id, (who, over.beneath), barrier, pwq),
            None => self.go_on_beneath(id, over.beneath),
        }
    }

    /// Hints that the item has left open are over for the items beneath it as well.
    fn end_hints_beneath(&self, id: ThreadId) {
        let open = self.running(id, |running| running.hints);
        let stack = self.frame(id, |f| f.stack());
        for _ in 0..open {
            if self.hears_hints(false) {
                stack
                    .iter()
                    .skip(1)
                    .for_each(|&who| self.tell_hint(who, false));
            }
        }
    }

    fn go_on_beneath(&self, id: ThreadId, beneath: Beneath) {
        self.take_up_again(id);
        self.frame(id, |f| f.random = beneath.random);
        self.answer(id, Answer::Bool(true));
        let confined = beneath.confined.filter(|c| c.only == self.allowed(id));
        confined.into_iter().for_each(|c| self.pin(id, c.before));
    }

    /// Whether what the thread executes is a claim.
    pub(crate) fn is_claiming(&self, id: ThreadId) -> bool {
        self.claims_of(id) > 0
    }

    /// Claims that the thread is in the middle of.
    pub fn claims_of(&self, id: ThreadId) -> u32 {
        self.frame(id, |f| f.claims.len() as u32)
    }
}
