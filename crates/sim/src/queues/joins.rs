//! Joins: a wait for an item that the waiting thread may execute itself instead
//! (`cmwq_policy::stacking` says which thread may).

use cmwq_policy::Store;
use cmwq_policy::contract;
use cmwq_policy::stacking::{self, Awaited, ClaimOn, Waiter};

use crate::api::names::{ItemId, PoolId, QueueId};
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::pending::Reply;

impl Machine {
    /// Executes the item if that may be, or waits for it.
    pub(crate) fn join(&self, id: ThreadId, item: ItemId) -> Reply {
        let claims = self.queued_at(item).is_some_and(|(queue, pool)| {
            let on = self.may_claim(id, queue, pool);
            on.is_some_and(|on| self.claim(id, item, pool, on))
        });
        match claims {
            true => Reply::Claimed,
            false => self.flush_work(id, item, contract::flush_item),
        }
    }

    fn queued_at(&self, item: ItemId) -> Option<(QueueId, PoolId)> {
        let word = contract::settled(self, item);
        let items = self.items.borrow();
        let (addr, _) = word.pwq()?;
        let pwq = items.pwq_at(addr);
        Some((items.queue_of(pwq), PoolId(items.info(pwq).pool)))
    }

    fn may_claim(&self, id: ThreadId, queue: QueueId, pool: PoolId) -> Option<ClaimOn> {
        let key = self.pool(pool).key;
        // Stacks have no end here.
        let stack = 0;
        let item = Awaited {
            kind: self.queue(queue).spec.made.kind,
            nice: key.nice().into(),
            cpus: key.reach().usable(self.layout.borrow().online()),
            stack,
        };
        let nested = self.claims_of(id);
        let scheduler = self.sched();
        let waiter = Waiter {
            nice: scheduler.nice(id).into(),
            normal_policy: !scheduler.is_idle_class(id),
            cpu: scheduler.cpu_of(id),
            cpus: scheduler.allowed(id),
            stack,
            nested,
        };
        stacking::may_claim(self.stacking(queue), &item, &waiter)
    }
}
