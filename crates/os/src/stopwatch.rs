//! The monotonic clock for who reads it all the time.
//!
//! Most of what a reading of `CLOCK_MONOTONIC` costs is a wait until everything before it is done.
//! The counter from which the kernel makes that clock is read without, in less than half of the
//! time. So a `Stopwatch` reads the clock now and then, and counts from there for a while.
//! [`cmwq_policy::counter`] says for how long, and how fast. About once in a second it is learnt
//! anew how fast, and the kernel asked whether that is still its counter.
//!
//! Where the kernel does not make its clock from the counter, or does not tell, every reading is
//! one of the clock. In a child that was forked while somebody learnt, nothing is learnt any more.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::Time;
use cmwq_policy::counter::{Known, Reading, learn, ticks_to_count, time_of};

use crate::clock;

/// What is known of the counter, as a word, and when more can be learnt: read by all, written about
/// once in a second. 0 is [`Known::New`].
static KNOWN: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
/// From where that is learnt. Nobody waits for it.
static FROM: Mutex<Option<Reading>> = Mutex::new(None);

/// A clock of one thread's. It never goes back. From [`clock::now`] it is off by some microseconds
/// at most, mostly by less than one; in the second after a move to another machine, by as much as
/// it counts for.
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
    if now.at.0 >= NEXT.load(SeqCst) {
        take_lesson(now);
    }
    known().rate()
}

fn known() -> Known {
    Known::of(KNOWN.load(SeqCst))
}

/// If nobody else does. Once it was asked whether the counter can be used, `KNOWN` is written by
/// who has the lock.
fn take_lesson(now: Reading) {
    let Ok(mut from) = FROM.try_lock() else {
        return;
    };
    let before = known();
    if !before.is_used() {
        return;
    }
    let lesson = learn(*from, before.rate(), now);
    *from = Some(lesson.from);
    NEXT.store(lesson.next.0, SeqCst);
    let next = before.taught(lesson.rate, asks_kernel);
    KNOWN.store(next.word(), SeqCst);
}

/// Whether the kernel makes its clock from the counter: then all CPUs count alike.
fn is_the_clocks() -> bool {
    match known() {
        Known::New => {
            let next = Known::asked(asks_kernel());
            // Another thread may have asked, and learnt a rate.
            let _ = KNOWN.compare_exchange(Known::New.word(), next.word(), SeqCst, SeqCst);
            next.is_used()
        }
        known => known.is_used(),
    }
}

/// `None`: it does not tell, or not now.
fn asks_kernel() -> Option<bool> {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let name = std::fs::read_to_string(source).ok()?;
    Some(HAS_COUNTER && name.trim() == "tsc")
}

const HAS_COUNTER: bool = cfg!(all(target_arch = "x86_64", not(miri)));

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 has it. It is read only where the clock is made from it, which the C
    // library reads the same way: a thread that may not (`PR_SET_TSC`) may not read the clock.
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
        // A reading may have been interrupted for about one.
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
            if known() == Known::Unused {
                assert_ne!(asks_kernel(), Some(true));
                return;
            }
        }
        assert!(counted > 0, "the counter is the clock's");
    }

    #[test]
    fn it_does_not_count_through_a_pause() {
        let mut watch = Stopwatch::default();
        while watch.now() > Time(0) && watch.most == 0 && known() != Known::Unused {
            std::hint::spin_loop();
        }
        let counts = watch.most > 0;
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_eq!(watch.counted(), None);
        assert_eq!(counts, asks_kernel() == Some(true));
    }
}
