//! Items that are executed by who joins them.

use cmwq_policy::queue::Kind;
use cmwq_policy::stacking::{MOST_NESTED, Stacking};
use cmwq_sim::{Machine, PoolId};

use super::{Books, Checked, Running, ensure};

/// Executions of a pool that are in the middle of another one.
#[derive(Clone, Copy, Default)]
pub(super) struct Nested {
    /// Of those whose threads are awake: they may count for another one.
    pub(super) may: u32,
    /// Of those, the ones that certainly do not count: what is beneath does.
    pub(super) certain: u32,
}

impl Books {
    /// Whether it is in the middle of another one that this thread executes.
    pub(super) fn is_nested(&self, one: &Running) -> bool {
        self.lowest(one).execution != one.execution
    }

    /// The first one that its thread has begun of those that go on.
    fn lowest<'a>(&'a self, one: &'a Running) -> &'a Running {
        let mut running = self.running.iter();
        running.find(|r| r.thread == one.thread).unwrap_or(one)
    }

    /// Executions here that do not count because others do.
    pub(super) fn nested(&self, machine: &Machine, pool: PoolId) -> Nested {
        let mut nested = Nested::default();
        let awake = |r: &&Running| r.pool == pool && !machine.is_asleep(r.thread);
        for one in self.running.iter().filter(awake) {
            let lowest = self.lowest(one);
            if lowest.execution == one.execution {
                continue;
            }
            // A rescuer does not count, nor does what keeps a CPU for itself, also if its pool has
            // lost that CPU since.
            let counts = !machine.is_percpu(lowest.pool);
            nested.may += 1;
            nested.certain += u32::from(counts && !machine.is_rescuer(one.thread));
        }
        nested
    }

    /// Who executes an item without being a worker of its pool has joined it, and may do so.
    pub(super) fn check_claim(&mut self, machine: &Machine, new: &Running) -> Checked {
        let claims = machine.claims_of(new.thread);
        if claims == 0 {
            return Ok(());
        }
        self.claimed += 1;
        let item = new.execution.item;
        let kind = machine.queue_kind(new.queue);
        let is_claimed = matches!(kind, Kind::Managed | Kind::Unmanaged);
        let says = machine.stacking(new.queue) == Stacking::Claim;
        ensure!(
            self.joined(new.thread) == Some(item) && is_claimed && says && claims <= MOST_NESTED,
            ClaimedByRight,
            "t{} executes i{} of q{}, of which kind {kind:?} is, {claims} claims deep",
            new.thread.0,
            item.0,
            new.queue.0
        );
        let (own, pool) = (machine.allowed(new.thread), machine.pool_cpus(new.pool));
        ensure!(
            own.and(&pool) == own || !machine.is_served(new.pool),
            ClaimedByRight,
            "t{} executes i{} and may run on {own}, the item on {pool}",
            new.thread.0,
            item.0
        );
        Ok(())
    }
}
