//! Private futexes: a thread sleeps until a word changes.

use std::sync::atomic::AtomicU32;

use cmwq_policy::Nanos;
use cmwq_policy::time::SECOND;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken, or the word did not hold the expected value, or a spurious return: look at the word.
    Changed,
    /// The timeout passed.
    TimedOut,
}

/// Sleeps while `word` holds `expected`, at most `timeout` (nanoseconds from now; `None`: for
/// ever). Returns early for a signal handler too, so callers loop on the word.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Nanos>) -> Woken {
    let timeout = timeout.map(|nanos| Timespec {
        tv_sec: (nanos / SECOND) as i64,
        tv_nsec: (nanos % SECOND) as _,
    });
    match futex::wait(word, Flags::PRIVATE, expected, timeout.as_ref()) {
        Err(Errno::TIMEDOUT) => Woken::TimedOut,
        _ => Woken::Changed,
    }
}

/// Wakes at most `n` threads that sleep on `word`; returns how many it woke.
pub fn wake(word: &AtomicU32, n: u32) -> usize {
    // The kernel reads the count as a signed number.
    let n = n.min(i32::MAX as u32);
    futex::wake(word, Flags::PRIVATE, n).unwrap_or(0)
}

/// As [`wait`] without a timeout, for a word in memory that processes share. Uses nothing of the C
/// library's or the calling thread's where there is a [`helper`](crate::helper).
pub fn wait_shared(word: &AtomicU32, expected: u32) {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    // SAFETY: the word is borrowed.
    unsafe {
        crate::helper::futex_wait(word.as_ptr().addr(), expected);
    }
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    let _ = wait(word, expected, None);
}

/// As [`wake`], for such a word.
pub fn wake_shared(word: &AtomicU32, n: u32) {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    // SAFETY: the word is borrowed. The kernel reads the count as a signed number.
    unsafe {
        crate::helper::futex_wake(word.as_ptr().addr(), n.min(i32::MAX as u32));
    }
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    let _ = wake(word, n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_different_value_returns_at_once() {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0, None), Woken::Changed);
    }

    #[test]
    fn a_timeout_says_so() {
        let word = AtomicU32::new(0);
        // A signal may cut one wait short, not a hundred.
        let timed_out = (0..100).any(|_| wait(&word, 0, Some(1_000_000)) == Woken::TimedOut);
        assert!(timed_out);
    }

    #[test]
    fn a_huge_timeout_is_a_valid_one() {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0, Some(u64::MAX)), Woken::Changed);
    }

    #[test]
    fn wake_reaches_every_sleeper_and_counts_them() {
        let word = AtomicU32::new(0);
        assert_eq!(wake(&word, u32::MAX), 0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while wait(&word, 0, None) == Woken::Changed && word.load(SeqCst) == 0 {}
                });
            }
            // A woken sleeper finds 0 and sleeps again, so there is always one to wake.
            let mut woken = 0;
            while woken < 3 {
                woken += wake(&word, 1);
                std::thread::yield_now();
            }
            word.store(1, SeqCst);
            wake(&word, u32::MAX);
        });
    }
}
