//! How often somebody looks: the tick's period and budget.
//!
//! The tick is armed only while items wait. It repairs lost reports, replaces the estimate by what
//! it sees, and is the only signal left when foreign load of the same group starves the canaries.

use crate::time::{MICROSECOND, MILLISECOND, Nanos};

/// The period while canaries do their work.
pub const PERIOD_LONG: Nanos = 4 * MILLISECOND;
/// The period while they are starved.
pub const PERIOD_SHORT: Nanos = 250 * MICROSECOND;
/// The first period, before anything is known of the canaries.
pub const PERIOD_FIRST: Nanos = MILLISECOND;
/// The tick may use one part in this many of the CPU time that its CPUs have.
pub const BUDGET_PART: u64 = 100;
/// CPUs that count for the budget, at most: looking is one thread's work.
const BUDGET_CPUS: u64 = 4;

/// While canaries report, one tick in so many looks at the workers; the others only make sure that
/// somebody could.
const LOOK_EVERY: u32 = 4;

/// The tick's pace.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Ticks since the last one that looked.
    skipped: u32,
    wished: Nanos,
    /// Moving average of what one tick costs.
    cost: Nanos,
}

impl Default for Tick {
    fn default() -> Self {
        Tick {
            skipped: 0,
            wished: PERIOD_FIRST,
            cost: 0,
        }
    }
}

impl Tick {
    /// A tick is due: does it look at the workers? Canaries that have reported since the last tick
    /// see every idle CPU, so nobody is missing then.
    pub fn looks(&mut self, reported: bool) -> bool {
        let looks = !reported || self.skipped + 1 >= LOOK_EVERY;
        self.skipped = if looks { 0 } else { self.skipped + 1 };
        looks
    }

    /// A tick used `cost` of CPU time. It was `starved` if it found a worker missing that no canary
    /// had reported: then the next one comes in half the time, otherwise the pace slows down again.
    pub fn ran(&mut self, starved: bool, cost: Nanos) {
        let wished = if starved {
            self.wished / 2
        } else {
            self.wished + self.wished / 32
        };
        self.wished = wished.clamp(PERIOD_SHORT, PERIOD_LONG);
        self.cost = match self.cost {
            0 => cost,
            usual => (7 * usual + cost) / 8,
        };
    }

    /// Time until the next tick: as wished, unless that would pass the budget of `cpus` CPUs.
    pub fn period(&self, cpus: u32) -> Nanos {
        let least = self.cost * BUDGET_PART / u64::from(cpus).clamp(1, BUDGET_CPUS);
        self.wished.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starving_quickens_and_plenty_slows_down() {
        let mut tick = Tick::default();
        for _ in 0..10 {
            tick.ran(true, MICROSECOND);
        }
        assert_eq!(tick.period(2), PERIOD_SHORT);
        for _ in 0..120 {
            tick.ran(false, MICROSECOND);
        }
        assert_eq!(tick.period(2), PERIOD_LONG);
    }

    #[test]
    fn beside_canaries_that_report_few_ticks_look() {
        let mut tick = Tick::default();
        let looks = [true, true, true, true, true, false, true].map(|r| tick.looks(r));
        assert_eq!(looks, [false, false, false, true, false, true, false]);
    }

    #[test]
    fn a_dear_tick_comes_less_often() {
        let mut tick = Tick::default();
        for _ in 0..10 {
            tick.ran(true, 25 * MICROSECOND);
        }
        assert_eq!(tick.period(1), 2_500 * MICROSECOND);
        assert_eq!(tick.period(2), 1_250 * MICROSECOND);
        assert_eq!(tick.period(64), 625 * MICROSECOND);
    }
}
