//! The pool workqueue: where one queue meets one pool. It holds the queue's limit and counts.

use crate::colours::Colours;
use crate::list::{Links, List};

/// Lower and upper bound of `max_active` (kernel `WQ_MAX_ACTIVE`, 6.13).
pub const MAX_ACTIVE_RANGE: core::ops::RangeInclusive<u32> = 1..=2048;
/// `max_active` where none is asked for (kernel `WQ_DFL_ACTIVE`).
pub const DFL_ACTIVE: u32 = 1024;

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

/// State of a pool workqueue, guarded by its pool's lock.
#[derive(Debug)]
pub struct PoolWorkqueue<L: Links> {
    pub(crate) nr_active: u32,
    pub(crate) max_active: u32,
    pub(crate) inactive: List<L>,
    pub(crate) colours: Colours,
    pub(crate) drain: Drain,
}

impl<L: Links> PoolWorkqueue<L> {
    /// A queue that runs at most `max_active` items at a time, clamped to [`MAX_ACTIVE_RANGE`].
    pub fn new(max_active: u32) -> Self {
        PoolWorkqueue {
            nr_active: 0,
            max_active: clamp_max_active(max_active),
            inactive: List::new(),
            colours: Colours::default(),
            drain: Drain::No,
        }
    }

    /// Items that hold a slot: on the worklist or being executed.
    pub fn nr_active(&self) -> u32 {
        self.nr_active
    }

    /// Items that wait for a slot.
    pub fn nr_inactive(&self) -> usize {
        self.inactive.len()
    }

    /// Items queued and not ended.
    pub fn nr_in_flight(&self) -> u64 {
        self.colours.total()
    }

    /// The limit.
    pub fn max_active(&self) -> u32 {
        self.max_active
    }

    /// The flush colours of its items.
    pub fn colours(&mut self) -> &mut Colours {
        &mut self.colours
    }

    /// Whether the next item may hold a slot. Never past items that already wait.
    pub(crate) fn may_activate(&self) -> bool {
        self.has_free_slot() && self.inactive.is_empty()
    }

    /// Whether one more item may hold a slot.
    pub(crate) fn has_free_slot(&self) -> bool {
        self.nr_active < self.max_active
    }
}

/// A limit in range.
pub fn clamp_max_active(n: u32) -> u32 {
    n.clamp(*MAX_ACTIVE_RANGE.start(), *MAX_ACTIVE_RANGE.end())
}
