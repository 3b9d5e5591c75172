//! How long a step is, by what the last ones took.

use crate::time::{MICROSECOND, Nanos};

/// What a step should take: short enough that to wait for one is nothing, long enough that a clock read
/// and a compare-exchange, some 100 ns, are nothing either.
pub const STEP_TIME: Nanos = 250 * MICROSECOND;
/// A step is at most so many times as long as the one before: the first units may not be like the rest.
const GROWTH: u64 = 8;
/// A step that took so many times what it should was kept off its CPU.
const STARVED: u64 = 8;

/// How fast one thread works. Time is wall time: when a thread is preempted within a step, that one
/// counts as slow and the next ones are shorter, at worst by half; time slices are so much longer than steps that
/// few of them are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    units: u64,
    /// The longest that the thread was kept off a CPU within a step, lately.
    gap: Nanos,
}

impl Pace {
    /// Steps in a chunk of the adaptive kind: about 1 ms.
    pub const CHUNK_STEPS: u64 = 4;

    /// Before anything is known: one unit, or what it may least be.
    pub fn new() -> Self {
        Pace { units: 1, gap: 0 }
    }

    /// For another thread of the same job: as fast, not kept off its CPU yet.
    pub fn for_another(self) -> Self {
        Pace { gap: 0, ..self }
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
        if took > STARVED * STEP_TIME {
            self.gap = self.gap.max(took);
        }
    }

    /// Whether it is worth while to ask for a helper now, when `left` units are left.
    pub fn is_worth_a_helper(self, left: u64) -> bool {
        left / Self::CHUNK_STEPS >= self.chunk()
    }

    /// Whether a helper had better leave: `left` units are to be done by `threads` threads, and that will
    /// be over before this one, once it loses its CPU, has it back. What it had begun then is what all would wait for.
    pub fn should_leave(self, left: u64, threads: u32) -> bool {
        let steps = left / self.units / u64::from(threads.max(1));
        steps.saturating_mul(STEP_TIME) < self.gap
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;
    use proptest::prelude::*;

    /// After so many steps of a thread that needs `unit` picoseconds for each.
    fn settle(steps: u32, unit: u64) -> Pace {
        (0..steps).fold(Pace::new(), |mut pace, _| {
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

    #[test]
    fn who_is_never_kept_waiting_stays_to_the_end() {
        let pace = settle(20, 2500);
        assert!(!pace.should_leave(0, 2));
        assert!(!pace.should_leave(1, 2));
    }

    #[test]
    fn who_is_kept_waiting_leaves_in_time() {
        let mut pace = settle(8, 2500);
        pace.took(100_000, 200 * MILLISECOND);
        pace.took(50_000, 125 * MICROSECOND);
        // 200 ms of two threads are 160 million units.
        assert!(!pace.should_leave(200_000_000, 2));
        assert!(pace.should_leave(140_000_000, 2));
    }

    #[test]
    fn the_last_milliseconds_are_not_worth_a_helper() {
        let pace = settle(8, 2500);
        assert!(pace.is_worth_a_helper(16 * 100_000));
        assert!(!pace.is_worth_a_helper(16 * 100_000 - 1));
    }

    #[test]
    fn old_gaps_fade() {
        let mut pace = settle(8, 2500);
        pace.took(100_000, 200 * MILLISECOND);
        let fades = (0..200).any(|_| {
            pace.took(100_000, STEP_TIME);
            !pace.should_leave(10_000_000, 1)
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
            let mut pace = Pace::new();
            pace.took(units, took);
            prop_assert!(pace.step() >= 1);
            pace.should_leave(took, 1);
        }
    }
}
