//! Threads as the scheduler sees them.

use cmwq_policy::{CpuMask, Nanos, Time};

use super::options::FULL_SPEED;

/// A thread of the simulated machine. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// Whether a thread has, wants or does not want a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// It sleeps.
    Asleep,
    /// It waits for a CPU.
    Ready,
    /// It has one.
    Running,
    /// It has ended.
    Gone,
}

/// What a thread asks of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadAttrs {
    /// Where it may run.
    pub allowed: CpuMask,
    /// Its nice level, -20..=19.
    pub nice: i8,
    /// Whether it is of class SCHED_IDLE.
    pub idle_class: bool,
    /// KiB that follow it to another CPU.
    pub footprint: u32,
    /// Whether it is a worker: what the kernel's kthreads are there.
    pub is_worker: bool,
}

/// What a thread has had of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Nanoseconds on a CPU.
    pub cpu_ns: Nanos,
    /// Of these, nanoseconds burnt for [`Costs`](super::Costs), at a CPU's full speed.
    pub overhead_ns: Nanos,
    /// Nanoseconds ready, but without a CPU.
    pub waited_ns: Nanos,
    /// Nanoseconds asleep, the current sleep not included.
    pub slept_ns: Nanos,
    /// Times it slept.
    pub voluntary_switches: u64,
    /// Times it lost its CPU to another thread although it had use for it.
    pub involuntary_switches: u64,
    /// Times it ran on another CPU than the one it ran on before.
    pub migrations: u64,
    /// The same by [`Distance`](crate::Distance) from there.
    pub moves: [u64; 5],
}

/// CPU time at full speed, in nanoseconds times 1000: so that a CPU that has only part of its
/// speed, in per mille, does a whole number of it in each nanosecond.
pub(super) type Work = u128;

/// So many nanoseconds at full speed.
pub(super) fn work(nanos: Nanos) -> Work {
    Work::from(nanos) * Work::from(FULL_SPEED)
}

/// What a thread needs the CPU for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// To say what it does next.
    Act,
    /// To burn so much.
    Burn(Work),
    /// To burn until told otherwise.
    Spin,
}

pub(super) struct Thread {
    pub(super) state: ThreadState,
    pub(super) attrs: ThreadAttrs,
    /// Where it may run as things are.
    pub(super) usable: CpuMask,
    /// Where it is, or was last.
    pub(super) cpu: usize,
    /// Where it ran last.
    pub(super) ran_on: Option<usize>,
    /// Where it is to be taken for having been when it wakes up next.
    pub(super) wake_cpu: Option<usize>,
    /// Until when it is to wake up where it is.
    pub(super) stays: Option<Time>,
    /// Where it might go back to ([`Recent`](super::Recent)).
    pub(super) recent: usize,
    /// Weighted CPU time, comparable among threads of one CPU.
    pub(super) vruntime: i128,
    /// When it came into its queue, as a count.
    pub(super) order: u64,
    pub(super) need: Need,
    /// What it has to burn before that, for switches, cold caches and the like.
    pub(super) overhead: Work,
    /// Since when it is in its state, or since when what it had is counted.
    pub(super) since: Time,
    /// When it last lost or left a CPU.
    pub(super) left: Time,
    pub(super) stats: ThreadStats,
}

impl Thread {
    /// Asleep.
    pub(super) fn new(now: Time, attrs: ThreadAttrs) -> Thread {
        let cpu = attrs.allowed.iter().next().unwrap_or(0);
        Thread {
            state: ThreadState::Asleep,
            attrs,
            usable: CpuMask::EMPTY,
            cpu,
            ran_on: None,
            wake_cpu: None,
            stays: None,
            recent: cpu,
            vruntime: 0,
            order: 0,
            need: Need::Act,
            overhead: 0,
            since: now,
            left: Time(0),
            stats: ThreadStats::default(),
        }
    }

    /// Whether it would say what it does next if it had a CPU.
    pub(super) fn acts(&self) -> bool {
        self.need == Need::Act && self.overhead == 0
    }

    /// What it has to do until something ends; `None`: nothing, or nobody knows when.
    pub(super) fn work_left(&self) -> Option<Work> {
        match self.need {
            Need::Burn(left) => Some(self.overhead + left),
            Need::Act => Some(self.overhead).filter(|&left| left > 0),
            Need::Spin => None,
        }
    }

    /// It did so much work. A nanosecond may be more than what was left.
    pub(super) fn work_off(&mut self, done: Work) {
        let paid = done.min(self.overhead);
        self.overhead -= paid;
        if let Need::Burn(left) = &mut self.need {
            *left = left.saturating_sub(done - paid);
        }
    }
}
