//! What hardware and designs take, in nanoseconds. Where each comes from:
//! `docs/contributing/simulation.md`.

use cmwq_policy::Nanos;

use crate::cpu::Sharing;
use crate::cpu::lines::{Trips, trips};

/// What a machine takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// A line's way, by distance.
    pub trips: Trips,
    /// An atomic instruction on a line that the CPU has.
    pub atomic: Nanos,
    /// Burnt by who wakes a thread.
    pub wake: Nanos,
    /// Burnt by a woken thread before it goes on.
    pub wakes_in: Nanos,
    /// A look for items in vain, with the yield that follows.
    pub look: Nanos,
}

impl Hardware {
    /// Of the tables: 40 ns within a last-level cache, 100 within a node, 140 between two.
    pub fn large() -> Hardware {
        Hardware::with(trips(40, 100, 140))
    }

    /// The same with other ways: within a last-level cache, within a node, between two, in
    /// nanoseconds.
    pub fn with_trips(cache: Nanos, node: Nanos, machine: Nanos) -> Hardware {
        Hardware::with(trips(cache, node, machine))
    }

    fn with(trips: Trips) -> Hardware {
        Hardware {
            trips,
            atomic: 3,
            wake: 2_000,
            wakes_in: 5_000,
            look: 750,
        }
    }
}

/// What an item takes of the CPU that queues it and of the one that executes it, with no line that
/// other items use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Private {
    pub(super) queue: Nanos,
    pub(super) execute: Nanos,
    /// Its own lines, which come from one to the other: its memory, and what is known of that.
    pub(super) lines: u32,
}

/// Of this project.
pub(super) const CMWQ: Private = Private {
    queue: 60,
    execute: 55,
    lines: 1,
};
/// At commit 8f19024.
pub(super) const ONE_LOCK: Private = Private {
    queue: 200,
    execute: 200,
    lines: 4,
};
/// How long the lock was held there to queue, and to end one item and begin the next.
pub(super) const ONE_LOCK_HELD: (Nanos, Nanos) = (150, 350);
/// Of rayon.
pub(super) const RAYON: Private = Private {
    queue: 20,
    execute: 17,
    lines: 1,
};
/// Of what does not exist yet: about as rayon, with bookkeeping for limits.
pub(super) const BATCHES: Private = Private {
    queue: 70,
    execute: 80,
    lines: 2,
};

/// Lines that come along with the lock of a pool.
pub(super) const BESIDE_LOCK: u32 = 9;

/// What this project's pool costs on a machine.
pub(super) fn sharing(hardware: &Hardware) -> Sharing {
    Sharing {
        trips: hardware.trips,
        beside_lock: BESIDE_LOCK,
        hold: 12,
        event: 106,
        item: 10,
        leave: 2 * hardware.atomic,
        row: 10 + 4 * hardware.atomic,
        execution: CMWQ.execute,
        carried: 1_000 * CMWQ.lines,
    }
}
