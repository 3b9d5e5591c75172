//! What a machine has made of a queue: for tests that compare one machine with another.

use alloc::vec::Vec;

use super::Machine;
use crate::cpumask::CpuMask;
use crate::limit::Limit;
use crate::pool::Rule;
use crate::store::{SharedLimit, Store};

/// Where items go that are queued on one CPU, and what holds for them there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the pool: the same for all that share it.
    pub pool: u32,
    /// How that chooses now.
    pub rule: Rule,
    /// The nice value of its workers.
    pub nice: i8,
    /// Workers that it keeps runnable.
    pub target: u32,
    /// Tokens that all pools have together.
    pub budget: u32,
    /// Slots of the limit that the items count for; 0: it is frozen.
    pub slots: u32,
    /// Where its workers may run.
    pub cpus: CpuMask,
    /// Where a worker is woken for such an item, for each CPU that it may have been on last.
    /// `None`: anywhere.
    pub wakes: Vec<Option<CpuMask>>,
}

/// A machine whose decisions can be looked at.
pub trait Decides: Machine {
    /// Where the workers of this pool may run now.
    fn usable(&self, pool: u32) -> CpuMask;
    /// Where a worker of it is woken that was `last` there, for an item that was queued on `cpu`.
    fn wakes_in(&self, pool: u32, cpu: usize, last: usize) -> Option<CpuMask>;
}

/// What holds for items of this queue that are queued on this CPU. A pool is made if there was
/// none.
pub fn decision<M: Decides>(m: &M, queue: M::Queue, cpu: usize, nr_cpus: usize) -> Decision {
    let pwq = m.route(queue, Some(cpu));
    let pool = m.info(pwq).pool;
    let (attrs, limit) = m.with_pool(pool, |core, cx| {
        let limit = cx.store.limit(pwq).step(|_| None);
        (core.attrs(), limit.unwrap_or_else(|now| now))
    });
    Decision {
        pool,
        rule: attrs.rule,
        nice: attrs.nice,
        target: attrs.target,
        budget: attrs.budget,
        slots: Limit::max(limit),
        cpus: m.usable(pool),
        wakes: (0..nr_cpus)
            .map(|last| m.wakes_in(pool, cpu, last))
            .collect(),
    }
}
