//! What makes a pool: queues with equal attributes share one.

use cmwq_os::cpus::EffectiveCpus;
use cmwq_policy::queue::{Attrs, Kind, QueueAttrs};
use cmwq_policy::{CpuMask, Rule, WorkerId};

/// The attributes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey {
    rule: Rule,
    /// The CPU of a per-CPU or BH pool.
    pub(crate) cpu: Option<usize>,
    /// Nice value of its workers.
    pub(crate) nice: i8,
    /// CPUs that its queues were restricted to.
    cpumask: Option<CpuMask>,
}

impl PoolKey {
    /// The pool of a queue that is not per CPU.
    pub(crate) fn of(kind: Kind, attrs: &Attrs, nice: i8) -> Self {
        let rule = match kind {
            Kind::Unmanaged => Rule::Unmanaged,
            _ => Rule::Managed,
        };
        PoolKey {
            rule,
            cpu: None,
            nice,
            cpumask: attrs.cpumask,
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
            cpumask: None,
        }
    }

    /// How the pool chooses, and the CPUs its workers may use, while the process has these. A CPU that
    /// has gone leaves its pool unbound and unmanaged (kernel `unbind_workers`); a mask of which
    /// nothing is left counts for nothing.
    pub(crate) fn serves(&self, cpus: &EffectiveCpus) -> (Rule, CpuMask) {
        if let Some(cpu) = self.cpu {
            return match (cpus.mask.contains(cpu), self.rule) {
                (true, rule) => (rule, [cpu].into_iter().collect()),
                (false, Rule::Bh) => (Rule::Bh, cpus.mask),
                (false, _) => (Rule::Unmanaged, cpus.mask),
            };
        }
        let mask = self.cpumask.map_or(cpus.mask, |mask| mask.and(&cpus.mask));
        let mask = if mask.is_empty() { cpus.mask } else { mask };
        (self.rule, mask)
    }

    /// Workers it keeps runnable on these CPUs, with this quota.
    pub(crate) fn target(&self, cpus: &CpuMask, quota: usize) -> u32 {
        match self.cpu {
            Some(_) => 1,
            None => cpus.count().min(quota).max(1) as u32,
        }
    }

    /// Threads it may have.
    pub(crate) fn thread_limit(&self, limit: u32) -> u32 {
        if self.rule == Rule::Bh { 1 } else { limit }
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
