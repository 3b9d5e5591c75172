//! How many items a second a pool lets pass from 1 to 256 CPUs, and for how long each item keeps
//! lines busy that CPUs share.
//!
//! [`Design::Cmwq`] is the text of the rules on a simulated machine whose locks and lines cost
//! something. The other designs are small models of pools over the same [lines](crate::cpu::lines):
//! who touches which line, in which order, and nothing else. They are no part of that machine.
//!
//! | module | |
//! | --- | --- |
//! | `constants` | what hardware and designs take |
//! | `world` | CPUs that queue, look for items and execute them, in time |
//! | `rayon`, `one_lock`, `batches` | the models |
//! | `cmwq` | the simulated machine |

use std::ops::Range;

use cmwq_policy::Nanos;
use cmwq_policy::queue::Kind;

use crate::cpu::lines::LineStats;
use crate::topology::Topology;

mod batches;
mod cmwq;
pub mod constants;
mod one_lock;
mod rayon;
mod world;

pub use constants::Hardware;

/// A pool for all CPUs, as it is or might be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// This project as it is: its rules, word for word, on a simulated machine.
    Cmwq,
    /// The same with a queue whose items begin in the order of queueing.
    Fifo,
    /// This project at commit 8f19024: two holds of one lock for each item.
    OneLock,
    /// `rayon::spawn` of rayon-core 1.13: deques, an injector, and counters that all share.
    Rayon,
    /// The same without the counters: deques alone, as under `rayon::join`.
    Deques,
    /// What does not exist yet: a lane for each last-level cache, whose CPUs claim from one batch.
    Batches,
}

impl Design {
    /// All of them.
    pub const ALL: [Design; 6] = [
        Design::Cmwq,
        Design::Fifo,
        Design::OneLock,
        Design::Rayon,
        Design::Deques,
        Design::Batches,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Design::Cmwq => "cmwq",
            Design::Fifo => "fifo",
            Design::OneLock => "one-lock",
            Design::Rayon => "rayon",
            Design::Deques => "deques",
            Design::Batches => "batches",
        }
    }
}

/// Who queues the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many threads that are no workers, on CPUs of their own until they have queued all, at
    /// least 1.
    Outside(u64),
    /// Each item queues two more, as long as there are some.
    Inside,
    /// The first item queues all others.
    Root,
}

impl Shape {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Outside(_) => "outside",
            Shape::Inside => "inside",
            Shape::Root => "root",
        }
    }
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The pool.
    pub design: Design,
    /// Who queues.
    pub shape: Shape,
    /// The machine.
    pub topology: Topology,
    /// What it takes.
    pub hardware: Hardware,
    /// How long an item computes, in nanoseconds.
    pub item: Nanos,
    /// How many items there are.
    pub items: u64,
    /// Everything random comes from this number.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How many items there were.
    pub items: u64,
    /// Nanoseconds from when the first was queued until all had ended.
    pub elapsed: Nanos,
    /// The line that was busy for longest, of those that all CPUs share.
    pub global: LineStats,
    /// All lines together that the CPUs of one last-level cache, or one CPU and its thieves, share.
    pub local: LineStats,
}

impl Outcome {
    /// Items that ended in a second.
    pub fn per_second(&self) -> u64 {
        let items = u128::from(self.items) * 1_000_000_000;
        u64::try_from(items / u128::from(self.elapsed.max(1))).unwrap_or(u64::MAX)
    }

    /// Nanoseconds for which an item keeps the busiest line that all CPUs share: in each such time
    /// passes one item at most.
    pub fn global_ns(&self) -> Nanos {
        self.global.busy_ns() / self.items
    }

    /// Nanoseconds for which it keeps lines of its cache, or of its CPU.
    pub fn local_ns(&self) -> Nanos {
        self.local.busy_ns() / self.items
    }
}

impl Cell {
    /// Simulates it.
    ///
    /// # Panics
    /// If there are no items, or the design loses one.
    pub fn run(&self) -> Outcome {
        assert!(self.items > 0, "there are items");
        match self.design {
            Design::Cmwq => cmwq::run(self, Kind::Managed),
            Design::Fifo => cmwq::run(self, Kind::Fifo),
            Design::OneLock => world::run(self, one_lock::OneLock::new),
            Design::Rayon => world::run(self, rayon::Rayon::counted),
            Design::Deques => world::run(self, rayon::Rayon::new),
            Design::Batches => world::run(self, batches::Batches::new),
        }
    }

    /// The items that this one of so many queues.
    fn children(&self, of: u64, items: u64) -> Range<u64> {
        let children = match self.shape {
            Shape::Outside(_) => 0..0,
            Shape::Inside => 2 * of + 1..2 * of + 3,
            Shape::Root if of == 0 => 1..items,
            Shape::Root => 0..0,
        };
        children.start.min(items)..children.end.min(items)
    }

    /// The CPUs that queue from outside, and what of so many items each does.
    fn producers(&self, items: u64) -> Vec<(usize, Range<u64>)> {
        let producers = match self.shape {
            Shape::Outside(producers) => producers,
            Shape::Inside | Shape::Root => return vec![(0, 0..1)],
        };
        let part = |n: u64| n * items / producers;
        let cpus = self.topology.len() as u64;
        let one = |n: u64| ((n * cpus / producers) as usize, part(n)..part(n + 1));
        (0..producers).map(one).collect()
    }
}

/// The machine of the tables: caches of 8 CPUs, two nodes from 64 CPUs on.
pub fn machine(cpus: u32) -> Topology {
    let per_node = if cpus < 64 { cpus } else { cpus / 2 };
    Topology::regular(&format!("{cpus} CPUs"), cpus, 1, 8, per_node)
}
