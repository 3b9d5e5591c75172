//! The monotonic clock for who reads it all the time.
//!
//! A reading of `CLOCK_MONOTONIC` costs 24 ns, most of which it waits until everything before it is
//! done; one of the counter that the kernel makes it from, 10 ns. So a [`Stopwatch`] reads the
//! clock now and then, and counts from there for [`COUNTS_FOR`]. That is the clock: suspends, moves
//! to another machine and corrections of its rate show in its next reading. How fast the counter
//! counts is seen from two readings of the clock that lie far apart, anew each second.
//!
//! Where the kernel does not use the counter for its clock, or does not tell, every reading is one
//! of the clock.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};

use crate::clock;

/// For so long it counts, in nanoseconds, before it reads the clock again.
pub const COUNTS_FOR: Nanos = 100 * MICROSECOND;

/// So far apart are two readings of the clock that tell the rate at first, and later.
const FIRST_APART: Nanos = 2 * MILLISECOND;
const APART: Nanos = SECOND;
/// A rate that is off by more than such a part of the last one was not learnt from a machine that
/// ran all the time.
const OFF_PART: u64 = 100;
/// If more ticks than these pass around a reading of the clock, others had the CPU: about a
/// microsecond.
const MOST_AROUND: u64 = 2_000;

/// Nanoseconds for 2^32 ticks; 0: nobody knows.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The reading from which the next rate is learnt. Nobody waits for it.
static LEARNS_FROM: Mutex<Learning> = Mutex::new(Learning::New);

#[derive(Clone, Copy)]
enum Learning {
    New,
    From(Reading),
    /// There is no counter that can be used.
    Never,
}

/// The clock, and the counter at the same moment.
#[derive(Clone, Copy)]
struct Reading {
    at: Time,
    ticks: u64,
}

impl Reading {
    /// From now; `None`: they were not read at the same moment. The clock in any case.
    fn now() -> (Time, Option<Reading>) {
        let before = ticks();
        let at = clock::now();
        let ticks = ticks();
        let is_one = ticks.wrapping_sub(before) < MOST_AROUND;
        (at, is_one.then_some(Reading { at, ticks }))
    }
}

/// A clock of one thread's. It never goes back; it is off from [`clock::now`] by less than a
/// microsecond.
#[derive(Debug, Default)]
pub struct Stopwatch {
    /// It counts from this reading, for so many ticks at this rate.
    from: Time,
    ticks: u64,
    most: u64,
    rate: u64,
    last: Time,
}

impl Stopwatch {
    /// What [`clock::now`] would say, about.
    ///
    /// # Panics
    /// As that.
    #[inline]
    pub fn now(&mut self) -> Time {
        let passed = ticks().wrapping_sub(self.ticks);
        let at = match passed < self.most {
            true => self.from.after((passed * self.rate) >> 32),
            false => self.read(),
        };
        self.last = self.last.max(at);
        self.last
    }

    #[cold]
    fn read(&mut self) -> Time {
        let (at, reading) = Reading::now();
        let rate = reading.map_or(0, |reading| rate(reading, is_the_clocks));
        (self.from, self.rate, self.most) = (at, rate, 0);
        if let Some(reading) = reading.filter(|_| rate != 0) {
            self.ticks = reading.ticks;
            self.most = (COUNTS_FOR << 32) / rate;
        }
        at
    }
}

/// The rate, which may be learnt from this reading; 0: not yet, or never.
fn rate(now: Reading, is_the_clocks: impl FnOnce() -> bool) -> u64 {
    if let Ok(mut from) = LEARNS_FROM.try_lock() {
        let (next, rate) = learn(*from, now, RATE.load(SeqCst), is_the_clocks);
        RATE.store(rate, SeqCst);
        *from = next;
    }
    RATE.load(SeqCst)
}

/// What is learnt from a reading, where this rate was known: from where the next one learns, and
/// the rate.
fn learn(
    from: Learning,
    now: Reading,
    known: u64,
    is_the_clocks: impl FnOnce() -> bool,
) -> (Learning, u64) {
    let first = match from {
        Learning::Never => return (Learning::Never, 0),
        Learning::New if !is_the_clocks() => return (Learning::Never, 0),
        Learning::New => return (Learning::From(now), 0),
        Learning::From(first) => first,
    };
    let apart = if known == 0 { FIRST_APART } else { APART };
    let passed = now.at.since(first.at);
    if passed < apart {
        return (from, known);
    }
    let ticks = u128::from(now.ticks.wrapping_sub(first.ticks).max(1));
    let rate = u64::try_from((u128::from(passed) << 32) / ticks).unwrap_or(0);
    let is_right = known == 0 || rate.abs_diff(known) <= known / OFF_PART;
    // Else the one or the other stood still, or is another machine's.
    (Learning::From(now), if is_right { rate } else { 0 })
}

/// Whether the kernel makes its clock from the counter: then all CPUs count alike.
fn is_the_clocks() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    HAS_COUNTER && std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

const HAS_COUNTER: bool = cfg!(all(target_arch = "x86_64", not(miri)));

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 has it. A process that has itself killed for reading it (`PR_SET_TSC`)
    // is killed by the clock as well.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_says_what_the_clock_says_and_never_goes_back() {
        let mut watch = Stopwatch::default();
        let (mut last, mut counted) = (Time(0), 0);
        let end = clock::now().after(100 * MILLISECOND);
        while last < end {
            let before = clock::now();
            let at = watch.now();
            let after = clock::now();
            assert!(at >= last);
            assert!(at.after(MICROSECOND) >= before, "{at:?} {before:?}");
            assert!(at <= after.after(MICROSECOND), "{at:?} {after:?}");
            last = at;
            counted += u32::from(watch.most > 0);
        }
        assert_eq!(counted > 0, is_the_clocks());
        std::thread::sleep(Duration::from_millis(2));
        assert!(watch.now() >= last.after(2 * MILLISECOND));
    }

    fn reading(at: Nanos, ticks: u64) -> Reading {
        Reading {
            at: Time(at),
            ticks,
        }
    }

    /// Four ticks are a nanosecond.
    const FOUR: u64 = (1 << 32) / 4;

    fn after(from: Learning, now: Reading, known: u64) -> (Learning, u64) {
        learn(from, now, known, || panic!("that is known"))
    }

    #[test]
    fn a_rate_is_learnt_from_readings_that_lie_far_apart() {
        let (from, rate) = learn(Learning::New, reading(1000, 500), 0, || true);
        assert_eq!(rate, 0);
        let (from, rate) = after(from, reading(FIRST_APART, 4 * FIRST_APART), rate);
        assert_eq!(rate, 0, "not yet");
        let later = reading(1000 + FIRST_APART, 500 + 4 * FIRST_APART);
        let (from, rate) = after(from, later, rate);
        assert_eq!(rate, FOUR);
        let soon = reading(APART, 3 * APART);
        assert!(
            matches!(after(from, soon, rate), (Learning::From(at), FOUR) if at.ticks == later.ticks)
        );
    }

    #[test]
    fn one_that_changes_much_is_learnt_anew() {
        let from = Learning::From(reading(0, 0));
        let slewed = reading(APART, 4 * APART + APART / 1000);
        let (_, rate) = after(from, slewed, FOUR);
        assert!(rate < FOUR && rate > FOUR - FOUR / 1000);
        // The clock stood still in a suspend; the counter began anew.
        for ticks in [40 * APART, 0, u64::MAX - 100] {
            let (next, rate) = after(from, reading(APART, ticks), FOUR);
            assert_eq!(rate, 0, "{ticks}");
            let then = reading(APART + FIRST_APART, ticks.wrapping_add(4 * FIRST_APART));
            assert_eq!(after(next, then, rate).1, FOUR);
        }
    }

    #[test]
    fn without_a_counter_every_reading_is_the_clocks() {
        let (never, rate) = learn(Learning::New, reading(1000, 500), 0, || false);
        assert!(matches!(never, Learning::Never) && rate == 0);
        let later = reading(APART, 4 * APART);
        assert!(matches!(after(never, later, 0), (Learning::Never, 0)));
    }
}
