//! What became of the items of a pool workqueue (kernel `pool_workqueue_stats`).
//!
//! It is counted under the lock that each event of the pool holds anyway, with times that were read
//! anyway. So nothing has to be switched on. A pool workqueue keeps it in less room: `tally.rs`.
//! `docs/contributing/recipes.md` lists the files that a new number goes through.

use core::iter::Sum;
use core::ops::{Add, AddAssign};

use crate::time::{Nanos, Time};

/// Buckets of a [`Histogram`].
pub const BUCKETS: usize = 40;

/// How many times were how long. Bucket 0 has the zeros, bucket `n` those from 2^(n-1) ns to below
/// 2^n ns. The last one, from 4.6 minutes on, has all that are longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram(pub [u64; BUCKETS]);

impl Default for Histogram {
    fn default() -> Self {
        Histogram([0; BUCKETS])
    }
}

/// The bucket that a time is counted in.
#[inline]
pub(crate) fn bucket(time: Nanos) -> usize {
    // The logarithm of a number that is never 0 takes one instruction.
    let shortened = time.min(1 << (BUCKETS - 2));
    (2 * shortened + 1).ilog2() as usize
}

impl Histogram {
    /// Counts one time.
    pub fn note(&mut self, time: Nanos) {
        self.0[bucket(time)] += 1;
    }

    /// How many times were counted.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The upper end of the bucket in which this many percent of all times end, in nanoseconds: at
    /// most twice the true value. More than 100 percent are all of them. `None` if there are none.
    pub fn percentile(&self, percent: u64) -> Option<Nanos> {
        let share = u128::from(self.total()) * u128::from(percent.min(100));
        let rank = (share.div_ceil(100) as u64).max(1);
        let mut below = 0;
        let bucket = self.0.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(1 << bucket)
    }
}

impl AddAssign for Histogram {
    fn add_assign(&mut self, other: Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

/// Counters of a pool workqueue, or of a queue, since it was made. Barriers do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PwqStats {
    /// How long items waited from being queued, or from the end of their delay, to their begin.
    pub waited: Histogram,
    /// How long executions took, sleep included.
    pub ran: Histogram,
    /// The sum of the times in `waited`, in nanoseconds.
    pub waited_ns: u64,
    /// The sum of the times in `ran`, in nanoseconds.
    pub ran_ns: u64,
    /// Executions that kept a CPU for longer than the threshold (kernel `CPU_INTENSIVE`).
    pub cpu_intensive: u64,
    /// Workers that were started for items of this queue because a CPU would idle or an item
    /// blocked. The kernel's `CM_WAKEUP` counts them for the queue of the item that blocked.
    pub cm_wakeup: u64,
    /// Calls for the rescuer (kernel `MAYDAY`).
    pub mayday: u64,
    /// Items that the rescuer began (kernel `RESCUED`).
    pub rescued: u64,
}

impl PwqStats {
    /// Items begun (kernel `STARTED`).
    pub fn started(&self) -> u64 {
        self.waited.total()
    }

    /// Items ended (kernel `COMPLETED`).
    pub fn completed(&self) -> u64 {
        self.ran.total()
    }
}

impl Add for PwqStats {
    type Output = PwqStats;

    fn add(mut self, other: PwqStats) -> PwqStats {
        self.waited += other.waited;
        self.ran += other.ran;
        self.waited_ns = self.waited_ns.wrapping_add(other.waited_ns);
        self.ran_ns = self.ran_ns.wrapping_add(other.ran_ns);
        self.cpu_intensive += other.cpu_intensive;
        self.cm_wakeup += other.cm_wakeup;
        self.mayday += other.mayday;
        self.rescued += other.rescued;
        self
    }
}

impl Sum for PwqStats {
    fn sum<I: Iterator<Item = PwqStats>>(all: I) -> Self {
        all.fold(PwqStats::default(), Add::add)
    }
}

/// Whether a process with room for so many descriptors keeps two of them, so that others may look
/// at it. Where they are scarce they are the program's.
pub fn is_shown(descriptors: u64) -> bool {
    descriptors >= 64
}

/// Bits that the clock loses in a [`Stamp`]: 1.024 us are its unit.
const STAMP_SHIFT: u32 = 10;
/// A stamp may be ahead by so many of these, about a second. One that seems further ahead is an old
/// one, and the clock has come round.
const AHEAD: u32 = 1_000_000;

/// When an item was queued, in the 32 bits that an item has for it. It comes round after 73
/// minutes: an item that has waited longer counts as if it had waited so much less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(pub u32);

impl Stamp {
    /// This moment.
    pub fn of(now: Time) -> Stamp {
        Stamp((now.0 >> STAMP_SHIFT) as u32)
    }

    /// How long ago that is; 0 if it is ahead, by a second at most: the clocks of two threads
    /// may differ by a moment.
    #[inline]
    pub fn age(self, now: Time) -> Nanos {
        let units = Stamp::of(now).0.wrapping_sub(self.0);
        let is_ahead = units > u32::MAX - AHEAD;
        Nanos::from(if is_ahead { 0 } else { units }) << STAMP_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    #[test]
    fn times_go_where_their_length_says() {
        let mut times = Histogram::default();
        for (time, bucket) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 3),
            (1023, 10),
            (1024, 11),
            ((1 << 38) - 1, 38),
        ] {
            let before = times.0[bucket];
            times.note(time);
            assert_eq!(times.0[bucket], before + 1, "{time} ns");
        }
        times.note(1 << 38);
        times.note(Nanos::MAX);
        assert_eq!((times.0[BUCKETS - 1], times.total()), (2, 10));
    }

    #[test]
    fn percentiles_are_at_most_twice_too_long() {
        assert_eq!(Histogram::default().percentile(50), None);
        let mut times = Histogram::default();
        (0..99).for_each(|_| times.note(1000));
        times.note(SECOND);
        assert_eq!(times.percentile(50), Some(1024));
        assert_eq!(times.percentile(99), Some(1024));
        assert_eq!(times.percentile(100), Some(1 << 30));
    }

    #[test]
    fn more_than_all_times_are_all_of_them() {
        let mut times = Histogram::default();
        (0..3).for_each(|_| times.note(1000));
        assert_eq!(times.percentile(101), Some(1024));
        assert_eq!(times.percentile(Nanos::MAX), Some(1024));
        // So many that even 100 times as many would be no u64.
        times.0[10] = u64::MAX / 2;
        assert_eq!(times.percentile(100), Some(1024));
    }

    #[test]
    fn who_begins_before_it_was_queued_has_not_waited() {
        for queued in [SECOND, 1 << 42] {
            assert_eq!(Stamp::of(Time(queued)).age(Time(queued - 1)), 0);
        }
    }

    #[test]
    fn a_stamp_comes_round() {
        for began in [0, 5 * SECOND, (1 << 42) - 1024, (1 << 42) + 7] {
            let stamp = Stamp::of(Time(began));
            for age in [0, 1, 1024, SECOND, 4000 * SECOND] {
                let found = stamp.age(Time(began + age));
                assert!(found.abs_diff(age) <= 1024, "{age} since {began}: {found}");
            }
        }
    }
}
