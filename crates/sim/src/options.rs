//! What a machine is like.

use std::ops::Range;

use cmwq_policy::Nanos;
use cmwq_policy::affinity;
use cmwq_policy::stacking::Stacking;
use cmwq_policy::time::MILLISECOND;

use crate::cpu::{Costs, Discipline, Placement};
use crate::signals::Signals;
use crate::topology::Topology;

/// What a machine is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its CPUs.
    pub topology: Topology,
    /// How they are shared.
    pub discipline: Discipline,
    /// How long it takes to create a worker's thread, in nanoseconds.
    pub spawn_takes: Nanos,
    /// That time is up to so many thousandths more or less, 0..=1000, each as likely.
    pub spawn_jitter: u32,
    /// So many thousandths of the attempts to create a worker's thread fail, 0..=1000.
    pub spawn_fails: u32,
    /// Times in which all of them fail, in nanoseconds from the start.
    pub spawn_outages: Vec<Range<Nanos>>,
    /// Threads that one pool may have.
    pub thread_limit: u32,
    /// How pools learn that workers sleep.
    pub signals: Signals,
    /// Everything random comes from this number.
    pub seed: u64,
    /// What things cost that would take no time otherwise.
    pub costs: Costs,
    /// Where threads go.
    pub placement: Placement,
    /// The best nice level that a thread may give itself, -20..=19; -20: the program is privileged.
    pub nice_best: i8,
    /// What threads do that wait for an item of a pool that is bound to their CPU.
    pub stacking: Stacking,
    /// Cores of a cache shard, about (kernel `wq_cache_shard_size`).
    pub shard_cores: u32,
}

impl Options {
    /// A machine of this shape: fair, with slices of 3 ms; threads are there at once.
    pub fn of(topology: Topology) -> Options {
        Options {
            topology,
            discipline: Discipline::Fair(3 * MILLISECOND),
            spawn_takes: 0,
            spawn_jitter: 0,
            spawn_fails: 0,
            spawn_outages: Vec::new(),
            thread_limit: 4096,
            stacking: Stacking::Off,
            signals: Signals::Exact,
            seed: 0,
            costs: Costs::default(),
            placement: Placement::default(),
            nice_best: -20,
            shard_cores: affinity::DFL_SHARD_CORES,
        }
    }

    /// As [`of`](Self::of), with a [named](Topology::named) shape.
    pub fn on(topology: &str) -> Option<Options> {
        Topology::named(topology).map(Options::of)
    }
}
