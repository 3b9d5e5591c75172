//! Where queues go on this machine: its layout, and what happens when CPUs come and go or what all
//! queues may use changes. What follows from it is decided in `cmwq_policy::affinity`.

use cmwq_policy::affinity::{Scope, Spread};
use cmwq_policy::stacking::{self, Stacking};
use cmwq_policy::{CpuMask, contract};

use crate::api::names::{PoolId, QueueId};
use crate::cpu::ThreadId;
use crate::machine::Machine;

impl Machine {
    /// Takes a CPU out of use or back into it. A pool of that CPU alone goes on elsewhere
    /// meanwhile, and starts every item at once; other pools and limits follow the CPUs in use.
    pub fn set_online(&self, cpu: usize, online: bool) {
        self.sched().set_online(self.now(), cpu, online);
        self.layout.borrow_mut().set_online(cpu, online);
        self.follow_cpus();
        self.refit_queues();
    }

    /// What queues that are not per CPU may use at all.
    pub fn unbound_cpus(&self) -> CpuMask {
        *self.layout.borrow().unbound()
    }

    /// Changes that for all queues. False, and nothing is changed, for a mask without a CPU.
    pub fn set_unbound_cpus(&self, mask: CpuMask) -> bool {
        let changed = self.layout.borrow_mut().set_unbound(mask);
        if changed {
            self.refit_queues();
        }
        changed
    }

    /// The scope of queues that name none.
    pub fn default_scope(&self) -> Scope {
        self.layout.borrow().default_scope()
    }

    /// Changes that for all queues.
    pub fn set_default_scope(&self, scope: Scope) {
        self.layout.borrow_mut().set_default_scope(scope);
        self.refit_queues();
    }

    /// Spreads a queue over a pool for each cache shard, or gathers it, as its pools may ask for.
    pub fn respread(&self, queue: QueueId, over: bool) {
        if !self.queue_kind(queue).is_per_cpu() {
            match over {
                true => contract::spread(self, queue),
                false => contract::gather(self, queue),
            }
        }
    }

    /// Whether it has a pool for each of them.
    pub fn is_spread(&self, queue: QueueId) -> bool {
        self.queue(queue).with_core(|core| core.spread()) == Spread::Shards
    }

    pub(super) fn refit_queues(&self) {
        let queues = self.queues.borrow().len() as u32;
        for id in (0..queues).map(QueueId) {
            let Ok(()) = contract::refit(self, id);
        }
    }

    /// What threads do that wait for items of this queue.
    pub fn stacking(&self, queue: QueueId) -> Stacking {
        let spec = self.queue(queue).spec.stacking;
        spec.unwrap_or(self.options.stacking)
    }

    /// The thread is about to wait for an item that it has queued there from where it is.
    pub(crate) fn wait_beside(&self, thread: ThreadId, queue: QueueId) {
        let how = self.stacking(queue);
        if how == Stacking::Off {
            return;
        }
        let here = self.sched().cpu_of(thread);
        let item = self.pool_cpus(self.pool_of(queue, here));
        if stacking::stays(how, &item, here) {
            let until = self.now().after(stacking::STAY_MOST);
            self.sched().stay(thread, until);
        }
    }

    /// How often a worker of this pool was brought back into its pod.
    pub fn repatriated(&self, id: PoolId) -> u64 {
        self.pool(id).repatriated.get()
    }

    /// The pod of a pool: where its workers start.
    pub fn pool_pod(&self, id: PoolId) -> CpuMask {
        self.pool(id).key.reach().pod
    }
}
