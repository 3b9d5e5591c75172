//! How long a step is, by what the last ones took.

use crate::time::{MICROSECOND, Nanos};

/// What a step should take: short enough that to wait for one is nothing, long enough that a clock
/// read and a compare-exchange, some 100 ns, are nothing either.
pub const STEP_TIME: Nanos = 250 * MICROSECOND;
/// A step is at most so many times as long as the one before: the first units may not be like the
/// rest.
const GROWTH: u64 = 8;
/// A step, or a beginning, that took so many times what a step should was kept off its CPU.
const STARVED: u64 = 8;

/// How fast one thread works. Time is wall time. When a thread is preempted within a step, that
/// step counts as slow and the next ones are shorter, at worst by half. Time slices are so much
/// longer than steps that few steps meet the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    units: u64,
    /// The longest that the thread was kept off a CPU, lately.
    gap: Nanos,
}

impl Speed {
    /// Steps in a chunk of the adaptive kind: about 1 ms.
    pub const CHUNK_STEPS: u64 = 4;

    /// Before anything is known: one unit, or what it may least be.
    pub fn new() -> Self {
        Speed { units: 1, gap: 0 }
    }

    /// For another thread of the same job: as fast, not kept off its CPU yet.
    pub fn for_another(self) -> Self {
        Speed { gap: 0, ..self }
    }

    /// The same for a helper that began so long after it was queued: as long, about, will it wait
    /// whenever it loses its CPU.
    pub fn begun_after(self, delay: Nanos) -> Self {
        Speed {
            gap: if is_starved(delay) { delay } else { 0 },
            ..self
        }
    }

    /// Units that a step should have, about.
    pub fn step(self) -> u64 {
        self.units
    }

    /// Units that a chunk of the adaptive kind should have, about.
    pub fn chunk(self) -> u64 {
        self.units.saturating_mul(Self::CHUNK_STEPS)
    }

    /// A step of `units` took `took`.
    pub fn took(&mut self, units: u64, took: Nanos) {
        let units = units.max(1);
        let good = u128::from(units) * u128::from(STEP_TIME) / u128::from(took.max(1));
        let good = u64::try_from(good).unwrap_or(u64::MAX);
        self.units = good.clamp((units / 2).max(1), units.saturating_mul(GROWTH));
        // What was long ago fades.
        self.gap -= self.gap / 16;
        if is_starved(took) {
            self.gap = self.gap.max(took);
        }
    }

    /// Whether it is worth while to ask for a helper now, when `left` units are left.
    pub fn is_worth_a_helper(self, left: u64) -> bool {
        left / Self::CHUNK_STEPS >= self.chunk()
    }

    /// Whether a helper had better leave: the rest of the job will take less time than this one
    /// will wait, once it loses its CPU, to have it back. What it had begun then is what all would
    /// wait for.
    pub fn should_leave(self, sofar: SoFar) -> bool {
        sofar.rest().is_some_and(|rest| rest < self.gap)
    }
}

/// How far a job is, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoFar {
    /// Time since it began.
    pub elapsed: Nanos,
    /// Units that were completed.
    pub done: u64,
    /// Units that were not.
    pub left: u64,
}

impl SoFar {
    /// How long the rest takes if all goes on as it went; `None` before anything was done.
    fn rest(self) -> Option<Nanos> {
        let rest = u128::from(self.elapsed) * u128::from(self.left);
        let rest = rest.checked_div(u128::from(self.done))?;
        Some(Nanos::try_from(rest).unwrap_or(Nanos::MAX))
    }
}

fn is_starved(took: Nanos) -> bool {
    took > STARVED * STEP_TIME
}

impl Default for Speed {
    fn default() -> Self {
        Speed::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;
    use proptest::prelude::*;

    /// After so many steps of a thread that needs `unit` picoseconds for each.
    fn settle(steps: u32, unit: u64) -> Speed {
        (0..steps).fold(Speed::new(), |mut pace, _| {
            let units = pace.step();
            pace.took(units, units * unit / 1000);
            pace
        })
    }

    #[test]
    fn it_settles_from_one_unit_in_a_few_steps() {
        // 2.5 ns a unit: 100,000 of them, in less than 8 steps.
        assert_eq!(settle(8, 2500).step(), 100_000);
        assert_eq!(settle(8, 2500).chunk(), 400_000);
    }

    #[test]
    fn units_longer_than_a_step_are_steps() {
        assert_eq!(settle(5, 3_000_000_000).step(), 1);
    }

    #[test]
    fn one_slow_step_costs_at_most_half() {
        let mut pace = settle(8, 2500);
        pace.took(100_000, 300 * MILLISECOND);
        assert_eq!(pace.step(), 50_000);
    }

    /// After a second and 1000 units.
    fn with_left(left: u64) -> SoFar {
        SoFar {
            elapsed: 1000 * MILLISECOND,
            done: 1000,
            left,
        }
    }

    #[test]
    fn who_is_never_kept_waiting_stays_to_the_end() {
        let pace = settle(20, 2500);
        assert!(!pace.should_leave(with_left(0)));
        assert!(!pace.should_leave(with_left(1)));
    }

    #[test]
    fn who_is_kept_waiting_leaves_in_time() {
        let mut pace = settle(8, 2500);
        pace.took(100_000, 200 * MILLISECOND);
        pace.took(50_000, 125 * MICROSECOND);
        // Some of it has faded.
        assert!(pace.should_leave(with_left(180)));
        assert!(!pace.should_leave(with_left(200)));
    }

    #[test]
    fn the_last_milliseconds_are_not_worth_a_helper() {
        let pace = settle(8, 2500);
        assert!(pace.is_worth_a_helper(16 * 100_000));
        assert!(!pace.is_worth_a_helper(16 * 100_000 - 1));
    }

    #[test]
    fn who_begins_late_in_a_short_job_does_not_begin() {
        let late = settle(8, 2500).begun_after(200 * MILLISECOND);
        assert!(late.should_leave(with_left(199)));
        assert!(!late.should_leave(with_left(200)));
        let soon = settle(8, 2500).begun_after(MILLISECOND);
        assert!(!soon.should_leave(with_left(0)));
        // Nobody knows yet how long the job is.
        let done = 0;
        assert!(!late.should_leave(SoFar {
            done,
            ..with_left(1)
        }));
    }

    #[test]
    fn old_gaps_fade() {
        let mut pace = settle(8, 2500);
        pace.took(100_000, 200 * MILLISECOND);
        let fades = (0..200).any(|_| {
            pace.took(100_000, STEP_TIME);
            !pace.should_leave(with_left(1))
        });
        assert!(fades);
    }

    proptest! {
        #[test]
        fn steps_come_near_their_time(unit in 1u64..250_000_000) {
            let took = settle(40, unit).step() * unit / 1000;
            prop_assert!(took <= STEP_TIME && took * 2 >= STEP_TIME, "{took}");
        }

        #[test]
        fn a_step_is_never_empty(took in any::<u64>(), units in any::<u64>()) {
            let mut pace = Speed::new();
            pace.took(units, took);
            prop_assert!(pace.step() >= 1);
            let (elapsed, done, left) = (took, units, u64::MAX);
            pace.should_leave(SoFar { elapsed, done, left });
        }
    }
}
