//! One CPU: who has it, and who waits for it.

use std::collections::BTreeSet;

use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, Time};

use super::thread::ThreadId;

/// What a CPU has done so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Given to threads other than SCHED_IDLE ones.
    pub busy_ns: Nanos,
    /// Given to SCHED_IDLE threads.
    pub idle_class_ns: Nanos,
    /// The rest.
    pub idle_ns: Nanos,
    /// Times it has ended an idle period, of at least a nanosecond.
    pub wakeups: u64,
    /// Times it turned from one thread to another one, idle or not in between.
    pub switches: u64,
}

/// Idling longer than this says no more (kernel: twice `sched_migration_cost`).
const LONG_IDLE: Nanos = MILLISECOND;

/// A thread in a queue: its weighted CPU time, when it came, which it is.
pub(super) type Entry = (i128, u64, ThreadId);

pub(super) struct RunQueue {
    pub(super) current: Option<ThreadId>,
    pub(super) queue: BTreeSet<Entry>,
    /// When the current thread got the CPU, or its slice was renewed.
    pub(super) slice_began: Time,
    /// The same, or until when what it had is noted.
    pub(super) given: Time,
    /// The least of its threads' vruntimes so far: where threads that come start.
    pub(super) least: i128,
    pub(super) offline: bool,
    /// The thread that had it last.
    pub(super) last: Option<ThreadId>,
    /// How long it idles, a moving average.
    pub(super) average_idle: Nanos,
    /// Attempts in vain to take threads from other caches; of a cache's first CPU.
    pub(super) vain: u32,
    /// Since when nobody has it.
    pub(super) idle_since: Option<Time>,
    /// Who takes the CPU from the current thread before that one does anything else.
    pub(super) preempted_by: Option<ThreadId>,
    /// Threads here, the current one included: those of class SCHED_IDLE, and the others.
    pub(super) nr_idle_class: usize,
    pub(super) nr_normal: usize,
    /// CPUs of the same core whose work slows this one's; none if it does not.
    pub(super) siblings: Vec<usize>,
    pub(super) busy_siblings: usize,
    pub(super) stats: CpuStats,
}

impl RunQueue {
    /// An idle one.
    pub(super) fn new(siblings: Vec<usize>) -> RunQueue {
        RunQueue {
            current: None,
            queue: BTreeSet::new(),
            slice_began: Time(0),
            given: Time(0),
            least: 0,
            offline: false,
            last: None,
            average_idle: 0,
            vain: 0,
            idle_since: Some(Time(0)),
            preempted_by: None,
            nr_idle_class: 0,
            nr_normal: 0,
            siblings,
            busy_siblings: 0,
            stats: CpuStats::default(),
        }
    }

    /// Threads that have it or wait for it.
    pub(super) fn load(&self) -> usize {
        self.nr_idle_class + self.nr_normal
    }

    /// Whether nobody but SCHED_IDLE threads is here, but some of these are (kernel
    /// `sched_idle_cpu`).
    pub(super) fn is_sched_idle(&self) -> bool {
        self.nr_normal == 0 && self.nr_idle_class > 0
    }

    /// It has idled for so long (kernel `update_avg`, 1/8 of what is new, and at most a
    /// millisecond).
    pub(super) fn note_idle(&mut self, idled: Nanos) {
        self.average_idle = (self.average_idle * 7 + idled.min(LONG_IDLE)) / 8;
    }

    /// The class's count.
    pub(super) fn count_mut(&mut self, idle_class: bool) -> &mut usize {
        match idle_class {
            true => &mut self.nr_idle_class,
            false => &mut self.nr_normal,
        }
    }
}
