//! The pool workqueue: where one queue meets one pool. It has the items that wait for a slot, and
//! the queue's counts in that pool.

use crate::colours::Colours;
use crate::list::{Links, List};
use crate::stats::{PwqStats, Stamp};
use crate::tally::Tally;
use crate::time::Time;
use crate::watchdog::Watchdog;

/// Lower and upper bound of `max_active` (kernel `WQ_MAX_ACTIVE`, 6.13).
pub const MAX_ACTIVE_RANGE: core::ops::RangeInclusive<u32> = 1..=2048;
/// `max_active` where none is asked for (kernel `WQ_DFL_ACTIVE`).
pub const DFL_ACTIVE: u32 = 1024;
/// `min_active` where none is asked for, unless `max_active` is less (kernel `WQ_DFL_MIN_ACTIVE`).
pub const DFL_MIN_ACTIVE: u32 = 8;

/// Who wants to know when nothing of a queue is in flight any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drain {
    /// Nobody.
    #[default]
    No,
    /// Somebody who waits, and then frees the queue.
    Awaited,
    /// Nobody is left: whoever ends the last item frees the queue.
    Orphaned,
}

/// What a pool workqueue is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PwqFlags {
    /// Its items do not count as running once they have begun (kernel `WQ_CPU_INTENSIVE`). Means
    /// something in per-CPU pools only.
    pub cpu_intensive: bool,
    /// The queue has a rescuer (kernel `WQ_MEM_RECLAIM`).
    pub rescued: bool,
    /// Its items begin in the order of queueing.
    pub fifo: bool,
    /// Accepts items but starts none: older ones of an ordered queue come first.
    pub plugged: bool,
    /// Nobody holds the queue any more.
    pub orphaned: bool,
}

/// State of a pool workqueue, guarded by its pool's lock.
#[derive(Debug)]
pub struct PoolWorkqueue<L: Links> {
    pub(crate) nr_active: u32,
    /// When it last gave away a slot that others wait for, or nobody waited: since then it has kept
    /// all.
    pub(crate) last_turn: Stamp,
    /// So many workers in a row have come to new items of it, and waited for the lock for too long.
    pub(crate) lock_waits: u8,
    /// Items queued since it was made.
    pub(crate) nr_queued: u64,
    pub(crate) inactive: List<L>,
    pub(crate) colours: Colours,
    pub(crate) drain: Drain,
    pub(crate) flags: PwqFlags,
    /// The queue's attributes have changed since: new items go elsewhere.
    pub(crate) retired: bool,
    /// Its queue's rescuer has been told and has not come yet.
    pub(crate) mayday: bool,
    /// When an item of it last ended, or left the head of those that wait for a slot.
    pub(crate) moved: Time,
    /// The eye on those that wait for a slot.
    pub(crate) dog: Watchdog,
    /// Items of it wait for a slot of a limit that nobody has chosen: so it is counted.
    pub(crate) waits_at_dfl: bool,
    /// Its place among the pool's pwqs of which items wait.
    pub(crate) waits_at: u32,
    /// What has become of its items.
    pub(crate) stats: Tally,
}

impl<L: Links> PoolWorkqueue<L> {
    /// A pool workqueue with nothing in it.
    pub fn new(flags: PwqFlags) -> Self {
        PoolWorkqueue {
            nr_active: 0,
            last_turn: Stamp::default(),
            lock_waits: 0,
            nr_queued: 0,
            inactive: List::new(),
            colours: Colours::default(),
            drain: match flags.orphaned {
                true => Drain::Orphaned,
                false => Drain::No,
            },
            flags,
            retired: false,
            mayday: false,
            moved: Time(0),
            dog: Watchdog::default(),
            waits_at_dfl: false,
            waits_at: 0,
            stats: Tally::default(),
        }
    }

    /// Items that hold a slot: on the worklist or being executed.
    pub fn nr_active(&self) -> u32 {
        self.nr_active
    }

    /// Items that were queued through it since it was made.
    pub fn nr_queued(&self) -> u64 {
        self.nr_queued
    }

    /// Entries that wait for a slot: items, and barriers behind them.
    pub fn nr_inactive(&self) -> usize {
        self.inactive.len()
    }

    /// Items and barriers queued and not ended.
    pub fn nr_in_flight(&self) -> u64 {
        self.colours.total()
    }

    /// What has become of its items since it was made.
    pub fn stats(&self) -> PwqStats {
        self.stats.stats()
    }

    /// The flush colours of its items.
    pub fn colours(&mut self) -> &mut Colours {
        &mut self.colours
    }

    /// Whether older items of its ordered queue come first.
    pub fn is_plugged(&self) -> bool {
        self.flags.plugged
    }
}

/// A limit in range.
pub fn clamp_max_active(n: u32) -> u32 {
    n.clamp(*MAX_ACTIVE_RANGE.start(), *MAX_ACTIVE_RANGE.end())
}
