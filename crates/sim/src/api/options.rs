//! What a machine is like.

use std::ops::Range;

use cmwq_policy::stacking::Stacking;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};
use cmwq_policy::{Nanos, affinity};

use crate::cpu::{Costs, Discipline, Placement};
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
    /// What threads do that wait for items of queues which do not say it themselves.
    pub stacking: Stacking,
    /// Cores of a cache shard, about (kernel `wq_cache_shard_size`).
    pub shard_cores: u32,
    /// Items are taken for brief whatever they are like, so that many are queued without the pool's
    /// lock.
    pub brief_items: bool,
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
            brief_items: false,
        }
    }

    /// As [`of`](Self::of), with a [named](Topology::named) shape.
    pub fn on(topology: &str) -> Option<Options> {
        Topology::named(topology).map(Options::of)
    }
}

/// How pools learn that workers sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// They are told, at once and always.
    #[default]
    Exact,
    /// By the signals that a program in user space has.
    User(UserSignals),
}

/// Which signals there are, what they cost, and how reliable they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserSignals {
    /// Each CPU has a canary.
    pub canaries: bool,
    /// Pools hear of [`Act::Hint`](crate::Act::Hint). Of waits in calls they hear in any case.
    pub hints: bool,
    /// Nanoseconds between two looks of the tick; 0: as the policy paces it; `Nanos::MAX`: it looks
    /// once, and then only when a pool asks for it.
    pub tick: Nanos,
    /// Each report of a canary, and each tick, comes late by a random time of at most so many
    /// nanoseconds.
    pub late: Nanos,
    /// So many of 1000 reports of canaries are lost.
    pub lost: u32,
    /// So many of 1000 yields of a canary that is not alone on its CPU pass for a confirmation that
    /// it is: a wrong report.
    pub spurious: u32,
    /// So many of 1000 looks at a worker cannot see it.
    pub unseen: u32,
    /// Then at least the CPU time of its thread is told.
    pub cpu_told: bool,
    /// CPU time that the signals take.
    pub costs: SignalCosts,
}

/// CPU time that signals take, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalCosts {
    /// One yield of a canary.
    pub yielding: Nanos,
    /// One round of the tick's thread.
    pub round: Nanos,
    /// A look at one worker.
    pub look: Nanos,
}

impl SignalCosts {
    /// Signals take no time.
    pub const NONE: SignalCosts = SignalCosts {
        yielding: 0,
        round: 0,
        look: 0,
    };
}

/// As measured on a virtual machine with Linux 6.18: 0.8 us a yield, 15 us a wake-up of a timer's
/// thread, 25 to 70 us a look at up to 16 workers.
impl Default for SignalCosts {
    fn default() -> Self {
        SignalCosts {
            yielding: 800,
            round: 15 * MICROSECOND,
            look: 4 * MICROSECOND,
        }
    }
}

/// All signals, none late, lost or wrong.
impl Default for UserSignals {
    fn default() -> Self {
        UserSignals {
            canaries: true,
            hints: true,
            tick: 0,
            late: 0,
            lost: 0,
            spurious: 0,
            unseen: 0,
            cpu_told: true,
            costs: SignalCosts::default(),
        }
    }
}
