//! Pools and queues follow the CPUs of the process, and the settings that hold for all queues.

use cmwq_os::cpus::EffectiveCpus;
use cmwq_policy::affinity::Layout;
use cmwq_policy::contract;

use crate::engine::{Engine, Real};
use crate::pool::Pool;
use crate::wait::graph;

impl Engine {
    /// Reads mask and quota again, and tells the pools if they have changed.
    pub(crate) fn refresh_cpus(&'static self) {
        loop {
            self.follow_cpus();
            // They may have changed again.
            if !self.has_other_cpus() {
                return;
            }
        }
    }

    /// As [`refresh_cpus`](Self::refresh_cpus), where there is reason to think that the mask has
    /// changed.
    pub(crate) fn notice_cpus(&'static self) {
        if self.has_other_cpus() {
            self.refresh_cpus();
        }
    }

    fn follow_cpus(&'static self) {
        if self.tell_pools(tell) {
            // Made before the topology is locked: it is made of that.
            self.with_layout(|_| ());
            self.follow_topology();
            self.refit_queues();
        }
    }

    /// Changes what holds for all queues, which follow.
    pub(crate) fn change_layout<R>(&'static self, change: impl FnOnce(&mut Layout) -> R) -> R {
        let result = self.with_layout(change);
        self.note_layout();
        self.refit_queues();
        result
    }

    /// Pods and nodes' parts of limits follow the CPUs.
    fn refit_queues(&'static self) {
        for queue in self.queues() {
            // Where there is no pool to be had, the queue stays as it is.
            let _ = contract::refit(&Real(self), queue.this());
        }
        graph::relieve(self);
    }
}

/// The CPUs of the process have changed (for the kernel: CPUs went offline or came back).
fn tell(pool: &'static Pool, cpus: &EffectiveCpus) {
    let served = pool.key().served(&cpus.mask, cpus.target);
    pool.set_cpus(&served.cpus);
    pool.with(|core, cx| core.follow(cx, &served));
}
