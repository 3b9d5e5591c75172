//! How fast a counter counts from which a clock is made: learnt from two readings of both that lie
//! apart, and anew each second.
//!
//! Between two readings a machine may have been suspended, or the process moved to another one: the
//! clock stands still then while the counter goes on, or begins anew. What is learnt from such
//! readings is refused where that shows, and begun anew.

use crate::time::{MICROSECOND, MILLISECOND, Nanos, SECOND, Time};

/// For so long time is counted from one reading of the clock, in nanoseconds.
pub const COUNTS_FOR: Nanos = 100 * MICROSECOND;

/// The first rate is learnt from two readings that lie at least so far apart.
const FIRST_APART: Nanos = 2 * MILLISECOND;
/// They lie at most so far apart.
const FIRST_APART_MOST: Nanos = 100 * MILLISECOND;
/// A later one is learnt from two that lie at least so far apart.
const APART: Nanos = SECOND;
/// A rate that is off by more than such a part of the last one was not learnt from a machine that
/// ran all the time.
const OFF_PART: u64 = 100;
/// Nor was a rate of less than 100 MHz, or of more than 16 GHz.
const RATES: core::ops::RangeInclusive<u64> = (1 << 32) / 16..=(1 << 32) * 10;
/// If more ticks than these pass around a reading of the clock, others had the CPU: about a
/// microsecond.
const MOST_AROUND: u64 = 2_000;

/// The clock, and the counter at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The clock.
    pub at: Time,
    /// The counter.
    pub ticks: u64,
}

impl Reading {
    /// Of a clock that was read between two readings of the counter. `None`: something else came
    /// between them as well.
    pub fn between(before: u64, at: Time, after: u64) -> Option<Reading> {
        let is_one = after.wrapping_sub(before) < MOST_AROUND;
        is_one.then_some(Reading { at, ticks: after })
    }
}

/// What a reading has taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// From where the next one learns, and when.
    pub from: Reading,
    /// See there.
    pub next: Time,
    /// Nanoseconds for 2^32 ticks; `None`: nobody knows.
    pub rate: Option<u64>,
}

/// What this reading teaches after an earlier one, when this rate was known.
pub fn learn(from: Option<Reading>, known: Option<u64>, now: Reading) -> Lesson {
    let anew = Lesson {
        from: now,
        next: now.at.after(FIRST_APART),
        rate: None,
    };
    let Some(from) = from else { return anew };
    let apart = if known.is_none() { FIRST_APART } else { APART };
    let passed = now.at.since(from.at);
    if passed < apart {
        return Lesson {
            from,
            next: from.at.after(apart),
            rate: known,
        };
    }
    let ticks = u128::from(now.ticks.wrapping_sub(from.ticks).max(1));
    let rate = u64::try_from((u128::from(passed) << 32) / ticks).unwrap_or(u64::MAX);
    let is_right = match known {
        Some(known) => rate.abs_diff(known) <= known / OFF_PART,
        None => passed <= FIRST_APART_MOST && RATES.contains(&rate),
    };
    let learnt = Lesson {
        from: now,
        next: now.at.after(APART),
        rate: Some(rate),
    };
    if is_right { learnt } else { anew }
}

/// What is known of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nobody has asked the kernel whether it makes its clock from the counter.
    New,
    /// It does not: every reading is one of the clock, for good.
    Unused,
    /// It does; the rate is not known.
    Used,
    /// It does, and this is the rate.
    Rate(u64),
}

impl Known {
    /// As one word, which threads share.
    pub fn word(self) -> u64 {
        match self {
            Known::New => 0,
            Known::Unused => 1,
            Known::Used => 2,
            Known::Rate(rate) => rate,
        }
    }

    /// What this [word](Self::word) says. Rates are larger than the other words.
    pub fn of(word: u64) -> Known {
        match word {
            0 => Known::New,
            1 => Known::Unused,
            2 => Known::Used,
            rate => Known::Rate(rate),
        }
    }

    /// The rate, if it is known.
    pub fn rate(self) -> Option<u64> {
        match self {
            Known::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    /// Whether the kernel makes its clock from the counter, as far as somebody has asked. Only then
    /// is anything learnt.
    pub fn is_used(self) -> bool {
        matches!(self, Known::Used | Known::Rate(_))
    }

    /// What the kernel's answer says to who has asked first. `None`: it does not tell.
    pub fn asked(is_used: Option<bool>) -> Known {
        if is_used == Some(true) {
            Known::Used
        } else {
            Known::Unused
        }
    }

    /// After a lesson about a counter that is used, with the rate that it taught. If it taught one,
    /// the kernel is asked again. If it refused the known one, the kernel may have found the
    /// counter wanting: the next reader asks it first.
    pub fn taught(self, rate: Option<u64>, is_used: impl FnOnce() -> Option<bool>) -> Known {
        match rate {
            Some(_) if is_used() == Some(false) => Known::Unused,
            Some(rate) => Known::Rate(rate),
            None if self.rate().is_some() => Known::New,
            None => Known::Used,
        }
    }
}

/// How many ticks are counted from one reading at this rate.
pub fn ticks_to_count(rate: u64) -> u64 {
    (COUNTS_FOR << 32) / rate
}

/// So many ticks take so long at this rate.
pub fn time_of(ticks: u64, rate: u64) -> Nanos {
    (ticks * rate) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four ticks are a nanosecond.
    const FOUR: u64 = (1 << 32) / 4;

    fn reading(at: Nanos, ticks: u64) -> Reading {
        Reading {
            at: Time(at),
            ticks,
        }
    }

    fn rate_after(known: Option<u64>, passed: Nanos, ticks: u64) -> Option<u64> {
        learn(
            Some(reading(1_000, 500)),
            known,
            reading(1_000 + passed, 500_u64.wrapping_add(ticks)),
        )
        .rate
    }

    #[test]
    fn a_rate_is_learnt_from_readings_that_lie_apart() {
        let first = learn(None, None, reading(1_000, 500));
        assert_eq!((first.rate, first.next), (None, Time(1_000 + FIRST_APART)));
        assert_eq!(
            rate_after(None, FIRST_APART - 1, 4 * FIRST_APART),
            None,
            "not yet"
        );
        assert_eq!(rate_after(None, FIRST_APART, 4 * FIRST_APART), Some(FOUR));
        assert_eq!(
            rate_after(Some(FOUR), APART - 1, 3 * APART),
            Some(FOUR),
            "not yet"
        );
        let slewed = rate_after(Some(FOUR), APART, 4 * APART + APART / 1_000).unwrap();
        assert!(slewed < FOUR && slewed > FOUR - FOUR / 1_000);
    }

    #[test]
    fn a_suspend_a_counter_that_begins_anew_and_another_machine_are_noticed() {
        for (known, apart) in [(None, FIRST_APART), (Some(FOUR), APART)] {
            for ticks in [
                0,
                0_u64.wrapping_sub(400),
                u64::MAX / 2,
                4_000 * apart,
                apart / 100,
            ] {
                assert_eq!(rate_after(known, apart, ticks), None, "{known:?}, {ticks}");
            }
        }
        // Nobody knows what came between.
        assert_eq!(rate_after(None, 3_600 * SECOND, 4 * 3_600 * SECOND), None);
        assert_eq!(
            rate_after(Some(FOUR), APART, 5 * APART),
            None,
            "it counts faster there"
        );
    }

    #[test]
    fn after_that_it_is_learnt_anew() {
        let wrong = learn(Some(reading(0, 0)), Some(FOUR), reading(APART, 7));
        assert_eq!(wrong.rate, None);
        let then = reading(APART + FIRST_APART, 7 + 4 * FIRST_APART);
        assert_eq!(learn(Some(wrong.from), None, then).rate, Some(FOUR));
        assert_eq!(wrong.next, then.at);
    }

    #[test]
    fn the_kernel_says_whether_the_counter_is_used() {
        assert_eq!(Known::asked(Some(true)), Known::Used);
        assert_eq!(Known::asked(Some(false)), Known::Unused);
        assert_eq!(Known::asked(None), Known::Unused);
        let are_used = [Known::New, Known::Unused, Known::Used, Known::Rate(FOUR)];
        assert_eq!(are_used.map(Known::is_used), [false, false, true, true]);
        let refused = || unreachable!("nothing was taught");
        assert_eq!(Known::Used.taught(None, refused), Known::Used);
        assert_eq!(Known::Rate(FOUR).taught(None, refused), Known::New);
        for before in [Known::Used, Known::Rate(FOUR)] {
            for (answer, after) in [
                (Some(true), Known::Rate(FOUR)),
                (None, Known::Rate(FOUR)),
                (Some(false), Known::Unused),
            ] {
                assert_eq!(before.taught(Some(FOUR), || answer), after);
            }
        }
    }

    #[test]
    fn what_is_known_goes_through_a_word() {
        let rates = [*RATES.start(), FOUR, *RATES.end()].map(Known::Rate);
        let others = [Known::New, Known::Unused, Known::Used];
        for known in rates.into_iter().chain(others) {
            assert_eq!(Known::of(known.word()), known);
        }
    }

    #[test]
    fn it_counts_for_a_while_at_any_rate() {
        for rate in [*RATES.start(), FOUR, *RATES.end()] {
            let most = ticks_to_count(rate);
            assert!((COUNTS_FOR - 100..=COUNTS_FOR).contains(&time_of(most, rate)));
        }
    }

    #[test]
    fn who_lost_its_cpu_in_between_has_read_at_two_moments() {
        let at = Time(5);
        assert_eq!(
            Reading::between(10, at, 100),
            Some(Reading { at, ticks: 100 })
        );
        assert_eq!(Reading::between(10, at, 10 + MOST_AROUND), None);
        assert_eq!(Reading::between(10, at, 9), None, "on another machine");
    }
}
