//! What makes a pool: queues with equal attributes share one.

use cmwq_os::cpus::EffectiveCpus;
use cmwq_policy::affinity::{Nearness, Reach};
use cmwq_policy::queue::{Kind, QueueAttrs};
use cmwq_policy::{CpuMask, Rule, WorkerId};

/// The attributes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey {
    rule: Rule,
    /// The CPU of a per-CPU or BH pool.
    pub(crate) cpu: Option<usize>,
    /// Nice value of its workers.
    pub(crate) nice: i8,
    /// Where its workers start, and where they may run.
    reach: Reach,
}

impl PoolKey {
    /// The pool of a pod, of queues that are not per CPU.
    pub(crate) fn of(kind: Kind, reach: Reach, nice: i8) -> Self {
        let rule = match kind {
            Kind::Unmanaged => Rule::Unmanaged,
            _ => Rule::Managed,
        };
        PoolKey {
            rule,
            cpu: None,
            nice,
            reach,
        }
    }

    /// The pool of a per-CPU queue for this CPU.
    pub(crate) fn of_cpu(made: QueueAttrs, cpu: usize, nice: i8) -> Self {
        let rule = match made.kind {
            Kind::Bh => Rule::Bh,
            _ => Rule::PerCpu,
        };
        PoolKey {
            rule,
            cpu: Some(cpu),
            nice,
            reach: Reach::of_cpu(cpu),
        }
    }

    /// How the pool chooses, and the CPUs its workers may use, while the process has these.
    pub(crate) fn serves(&self, cpus: &EffectiveCpus) -> (Rule, CpuMask) {
        let served = self.cpu.is_none_or(|cpu| cpus.mask.contains(cpu));
        (
            self.rule.while_served(served),
            self.reach.usable(&cpus.mask),
        )
    }

    /// Workers it keeps runnable while the process has these CPUs.
    pub(crate) fn target(&self, cpus: &EffectiveCpus) -> u32 {
        match self.cpu {
            Some(_) => 1,
            None => self.reach.target(&cpus.mask, cpus.target),
        }
    }

    /// Where a worker is to be when it is woken, if not anywhere it may be.
    pub(crate) fn starts_in(&self) -> Option<&CpuMask> {
        self.reach.starts_in()
    }

    /// The pods that its items come from, if they are several.
    pub(crate) fn near(&self) -> Option<Nearness> {
        self.reach.near
    }

    /// The CPUs that its workers may use, whether the process has them or not.
    pub(crate) fn allowed(&self) -> &CpuMask {
        &self.reach.allowed
    }

    /// The CPUs that its items are near to.
    pub(crate) fn pod(&self) -> &CpuMask {
        &self.reach.pod
    }

    /// Threads it may have.
    pub(crate) fn thread_limit(&self, limit: u32) -> u32 {
        if self.rule == Rule::Bh { 1 } else { limit }
    }

    /// What that may be raised to where nothing moves.
    pub(crate) fn thread_most(&self, most: u32) -> u32 {
        if self.rule == Rule::Bh { 1 } else { most }
    }

    /// Name of a worker's thread (kernel: `kworker/1:2H`, `kworker/u8:3`).
    pub(crate) fn thread_name(&self, pool: u32, worker: WorkerId) -> String {
        let high = if self.nice < 0 { "H" } else { "" };
        match (self.cpu, self.rule) {
            (Some(cpu), Rule::Bh) => format!("cmwq/b{cpu}{high}"),
            (Some(cpu), _) => format!("cmwq/{cpu}:{worker}{high}"),
            (None, _) => format!("cmwq/u{pool}:{worker}"),
        }
    }
}
