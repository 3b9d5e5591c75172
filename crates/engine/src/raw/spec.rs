//! What a queue is to be like, as a program says it, and what its kind permits.

use cmwq_policy::limit::MAX_LIMIT;
use cmwq_policy::pwq::{DFL_ACTIVE, MAX_ACTIVE_RANGE};
use cmwq_policy::queue::{Attrs, Kind, QueueAttrs};
use cmwq_policy::stacking::Stacking;

use crate::error::BuildError;

/// The nice level of `highpri` queues (kernel `HIGHPRI_NICE_LEVEL`).
const HIGHPRI_NICE_LEVEL: i8 = -20;

/// A queue to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueSpec {
    /// Its kind.
    pub kind: Kind,
    /// How many items may be active at once, 1 to 2048; `None`: nobody has chosen.
    pub max_active: Option<usize>,
    /// That many on the whole machine, however its NUMA nodes share them.
    pub exact: bool,
    /// Of its workers.
    pub attrs: Attrs,
    /// At high priority, whatever the attributes say (kernel `WQ_HIGHPRI`).
    pub highpri: bool,
    /// Kernel `WQ_CPU_INTENSIVE`.
    pub cpu_intensive: bool,
    /// It has a rescuer (kernel `WQ_MEM_RECLAIM`).
    pub mem_reclaim: bool,
    /// Kernel `WQ_FREEZABLE`.
    pub freezable: bool,
    /// It can be changed from outside, with `cmwq set` (kernel `WQ_SYSFS`).
    pub sysfs: bool,
    /// What waiters for its items do.
    pub stacking: Stacking,
}

impl QueueSpec {
    /// With all that its kind does not say filled in.
    pub(super) fn checked(&self) -> Result<QueueAttrs, BuildError> {
        if let Some(what) = self.not_of_kind() {
            return Err(self.unlike(what));
        }
        let mut attrs = self.attrs;
        if self.highpri {
            attrs.nice = HIGHPRI_NICE_LEVEL;
        }
        Ok(QueueAttrs {
            kind: self.kind,
            attrs,
            max_active: self.limit()?,
            dfl_active: self.max_active.is_none(),
            exact: self.exact,
            cpu_intensive: self.cpu_intensive,
            mem_reclaim: self.mem_reclaim,
            freezable: self.freezable,
        })
    }

    /// The first attribute that queues of this kind do not have.
    fn not_of_kind(&self) -> Option<&'static str> {
        let (attrs, per_cpu, bh) = (&self.attrs, self.kind.is_per_cpu(), self.kind == Kind::Bh);
        let refused = [
            (per_cpu && attrs.nice != 0, "nice"),
            (per_cpu && attrs.cpumask.is_some(), "cpus"),
            (per_cpu && attrs.scope.is_some(), "affinity_scope"),
            (per_cpu && attrs.strict, "affinity_strict"),
            (per_cpu && self.exact, "max_active_exact"),
            (bh && self.max_active.is_some(), "max_active"),
            (bh && self.mem_reclaim, "mem_reclaim"),
            (bh && self.freezable, "freezable"),
            (bh && self.cpu_intensive, "cpu_intensive"),
        ];
        let first = refused.into_iter().find(|(is_refused, _)| *is_refused);
        first.map(|(_, what)| what)
    }

    fn limit(&self) -> Result<u32, BuildError> {
        let asked = self.max_active.unwrap_or(DFL_ACTIVE as usize);
        let in_range = u32::try_from(asked).ok();
        let in_range = in_range.filter(|n| MAX_ACTIVE_RANGE.contains(n));
        let limit = in_range.ok_or(BuildError::MaxActive(asked))?;
        match (self.kind, self.max_active) {
            (Kind::Ordered, None | Some(1)) => Ok(1),
            (Kind::Ordered, Some(_)) => Err(self.unlike("max_active")),
            (Kind::Bh, _) => Ok(MAX_LIMIT),
            _ => Ok(limit),
        }
    }

    fn unlike(&self, what: &'static str) -> BuildError {
        BuildError::NotOfKind {
            what,
            kind: self.kind.name(),
        }
    }
}
