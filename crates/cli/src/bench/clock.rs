//! Clocks, burning CPU, sleeping. All times are nanoseconds.

use std::hint::black_box;
use std::time::Duration;

use cmwq_os::clock::{self, thread_cpu};

pub(super) const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;

/// Turns of arithmetic between two looks at the clock: about one microsecond, so that the look
/// (a system call) is not most of the burn, and the overshoot is a few tenths of a percent.
const BLOCK: u32 = 1_000;

/// CLOCK_MONOTONIC: the same in all processes of the machine.
pub(super) fn now() -> u64 {
    clock::now().0
}

/// Computes for `ns` of the calling thread's CPU time, so that preemption does not shorten it.
pub(super) fn burn(ns: u64) {
    let end = thread_cpu() + ns;
    let mut seed = end;
    while thread_cpu() < end {
        seed = black_box(compute(seed));
    }
}

/// A chain that cannot be vectorised or shortened.
fn compute(mut seed: u64) -> u64 {
    for _ in 0..BLOCK {
        seed = (seed ^ (seed >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    seed
}

/// Sleeps for `ns`, and returns the moment the sleep was due to end.
pub(super) fn sleep(ns: u64) -> u64 {
    let due = now() + ns;
    std::thread::sleep(Duration::from_nanos(ns));
    due
}

/// Sleeps until `due` on the monotonic clock; returns at once when it has passed.
pub(super) fn sleep_until(due: u64) {
    loop {
        let left = due.saturating_sub(now());
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_takes_the_cpu_time_asked_for() {
        let before = thread_cpu();
        burn(2 * MS);
        assert!(thread_cpu() - before >= 2 * MS);
    }

    #[test]
    fn a_sleep_ends_no_sooner_than_due() {
        let due = sleep(MS);
        assert!(now() >= due);
        sleep_until(due + MS);
        assert!(now() >= due + MS);
    }
}
