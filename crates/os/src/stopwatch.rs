//! The monotonic clock for who reads it all the time.
//!
//! Most of what a reading of `CLOCK_MONOTONIC` costs is a wait until everything before it is done.
//! The counter from which the kernel makes that clock is read without, in less than half of the
//! time. So a `Stopwatch` reads the clock now and then, and counts from there for a while. What
//! suspends, moves to another machine and corrections do to the clock shows in its next reading.
//! [`cmwq_policy::counter`] says for how long it counts, and how fast.
//!
//! Where the kernel does not make its clock from the counter, or does not tell, every reading is
//! one of the clock.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::Time;
use cmwq_policy::counter::{Reading, learn, ticks_to_count, time_of};

use crate::clock;

/// In place of a rate: whether the counter can be used was not asked yet, or it cannot, or it can
/// and its rate is not known. Rates are larger.
const NEW: u64 = 0;
const NEVER: u64 = 1;
const UNKNOWN: u64 = 2;

/// How fast the counter counts, and when something can be learnt of that: read by all, written
/// about once in a second.
static RATE: AtomicU64 = AtomicU64::new(NEW);
static NEXT: AtomicU64 = AtomicU64::new(0);
/// From where that is learnt. Nobody waits for it.
static FROM: Mutex<Option<Reading>> = Mutex::new(None);

/// A clock of one thread's. It never goes back. From [`clock::now`] it is off by some microseconds
/// at most, mostly by less than one.
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
        let at = self.counted().unwrap_or_else(|| self.read());
        self.last = self.last.max(at);
        self.last
    }

    /// Without the clock, if it counts.
    #[inline]
    fn counted(&self) -> Option<Time> {
        if self.most == 0 {
            return None;
        }
        let passed = ticks().wrapping_sub(self.ticks);
        (passed < self.most).then(|| self.from.after(time_of(passed, self.rate)))
    }

    #[cold]
    fn read(&mut self) -> Time {
        self.most = 0;
        if !is_the_clocks() {
            return clock::now();
        }
        let before = ticks();
        let at = clock::now();
        let reading = Reading::between(before, at, ticks());
        if let Some(reading) = reading
            && let Some(rate) = rate(reading)
        {
            (self.from, self.ticks) = (at, reading.ticks);
            (self.rate, self.most) = (rate, ticks_to_count(rate));
        }
        at
    }
}

/// The rate, if it is known, perhaps by this reading.
fn rate(now: Reading) -> Option<u64> {
    if now.at.0 >= NEXT.load(SeqCst)
        && let Ok(mut from) = FROM.try_lock()
    {
        let known = known();
        let lesson = learn(*from, known, now);
        *from = Some(lesson.from);
        NEXT.store(lesson.next.0, SeqCst);
        match lesson.rate {
            Some(rate) => RATE.store(rate, SeqCst),
            // The kernel may have found the counter wanting.
            None => RATE.store(if known.is_some() { NEW } else { UNKNOWN }, SeqCst),
        }
    }
    known()
}

fn known() -> Option<u64> {
    let rate = RATE.load(SeqCst);
    (rate > UNKNOWN).then_some(rate)
}

/// Whether the kernel makes its clock from the counter: then all CPUs count alike. It is asked
/// once, and again when the counter has not counted as before.
fn is_the_clocks() -> bool {
    match RATE.load(SeqCst) {
        NEW => {
            let is = asks_kernel();
            let next = if is { UNKNOWN } else { NEVER };
            // Another thread may have asked, and learnt a rate.
            let _ = RATE.compare_exchange(NEW, next, SeqCst, SeqCst);
            is
        }
        rate => rate != NEVER,
    }
}

fn asks_kernel() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    HAS_COUNTER && std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

const HAS_COUNTER: bool = cfg!(all(target_arch = "x86_64", not(miri)));

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 has it. It is read only where the kernel's clock reads it as well, so a
    // process that is killed for reading it (`PR_SET_TSC`) is killed by the clock too.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_policy::time::{MICROSECOND, SECOND};

    #[test]
    fn it_says_about_what_the_clock_says_and_never_goes_back() {
        let mut watch = Stopwatch::default();
        let (begun, mut last, mut counted) = (clock::now(), Time(0), 0);
        let far = 5 * MICROSECOND;
        while counted < 10_000 && last.since(begun) < 10 * SECOND {
            let before = clock::now();
            let at = watch.now();
            let after = clock::now();
            assert!(at >= last);
            assert!(at.after(far) >= before, "{at:?} {before:?}");
            assert!(at <= after.after(far), "{at:?} {after:?}");
            last = at;
            counted += u32::from(watch.most > 0);
            if RATE.load(SeqCst) == NEVER {
                assert!(!asks_kernel());
                return;
            }
        }
        assert!(counted > 0, "the counter is the clock's");
    }

    #[test]
    fn a_pause_is_the_clocks() {
        let mut watch = Stopwatch::default();
        let before = watch.now();
        let pause = std::time::Duration::from_millis(2);
        std::thread::sleep(pause);
        assert!(watch.now().after(5 * MICROSECOND) >= before.after(pause.as_nanos() as u64));
    }
}
