//! The canary's word and rules: who tells whom that a CPU would idle.
//!
//! One thread per CPU, pinned, SCHED_IDLE, gets the CPU when nothing else wants it. Its word is
//! shared with those that arm it. The steps are here, the compare-exchange loops in the engine
//! (`bell.rs`). The protocol and why no report is lost for ever:
//! `crates/engine/src/signals/README.md`.

use crate::cpumask::CpuMask;
use crate::time::{MICROSECOND, Nanos};

/// The state of one canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Canary {
    /// Asleep on its futex: nothing it may report.
    Parked = 0,
    /// Runs whenever its CPU would idle, to report that.
    Armed = 1,
    /// Has reported; says nothing more until it is armed again.
    Fired = 2,
}

impl Canary {
    /// The state a word holds.
    ///
    /// # Panics
    /// If no state has this number.
    pub fn from_word(word: u32) -> Canary {
        match word {
            0 => Canary::Parked,
            1 => Canary::Armed,
            2 => Canary::Fired,
            other => panic!("{other} is no canary state"),
        }
    }

    /// Report, if it is armed.
    #[must_use]
    pub fn fire(self) -> Option<Canary> {
        (self == Canary::Armed).then_some(Canary::Fired)
    }

    /// Whether arming a canary in this state must wake it.
    pub fn needs_wake(self) -> bool {
        self == Canary::Parked
    }
}

/// Quick yields in a row that confirm a canary to be alone on its CPU. Measured on 6.18: one yield
/// gives 0.2 false confirmations a second beside a spinner, three give none in 15 s at any nice
/// level, and take 2.4 us.
pub const CONFIRM_YIELDS: u32 = 3;
/// A yield that took longer than this gave the CPU to somebody.
pub const CONFIRM_QUICK: Nanos = 10 * MICROSECOND;
/// Yields of a canary that finds nothing to report, or has reported, before it parks: the next
/// arming within these few microseconds then costs no wake-up.
pub const LINGER_YIELDS: u32 = 16;

/// The first yields of a new canary are quick, whoever else wants its CPU. Until it became
/// SCHED_IDLE it had not had its whole share, and for its new weight it is owed 340 times as much.
/// Beside a spinner 12 quick yields were seen. The kernel owes nobody more than the time of one of
/// its own ticks, which is at most 100 slices of a canary.
pub const SETTLE_YIELDS: u32 = 128;

/// Whether a new canary has been paid what it was owed before.
#[derive(Clone, Copy, Debug)]
pub struct Settle {
    left: u32,
}

impl Default for Settle {
    fn default() -> Self {
        Settle {
            left: SETTLE_YIELDS,
        }
    }
}

impl Settle {
    /// One yield took this long. True when those that follow tell something: somebody else had the
    /// CPU, or it cannot be owed more.
    pub fn yielded(&mut self, took: Nanos) -> bool {
        self.left -= 1;
        took > CONFIRM_QUICK || self.left == 0
    }
}

/// Whether a canary is alone. A SCHED_IDLE thread gets a small share beside a busy one, so that it
/// runs proves nothing. It yields a few times and sees whether anybody took the CPU.
///
/// Threads of another autogroup or CPU cgroup do not show. The report is right all the same: beside
/// them its own group is entitled to a share of this CPU, and nobody of the group uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confirm {
    quick: u32,
}

impl Confirm {
    /// One yield took this long. True when the canary is alone.
    pub fn yielded(&mut self, took: Nanos) -> bool {
        self.quick = if took <= CONFIRM_QUICK {
            self.quick + 1
        } else {
            0
        };
        self.quick >= CONFIRM_YIELDS
    }
}

/// The pool that an idle CPU's report goes to: best nice first, then round robin behind `last`.
pub fn choose_pool(wanting: impl Iterator<Item = (usize, i8)>, last: usize) -> Option<usize> {
    let best = wanting.min_by_key(|&(pool, nice)| (nice, pool <= last, pool));
    best.map(|(pool, _)| pool)
}

/// The CPUs whose canaries may be armed at one time: all of the mask, or where a CPU quota leaves
/// fewer, that many, further on each turn. More would start workers that only get throttled.
pub fn armable(mask: &CpuMask, target: usize, turn: usize) -> CpuMask {
    let count = mask.count();
    if count <= target {
        return *mask;
    }
    let from = turn % count;
    mask.iter()
        .enumerate()
        .filter(|(at, _)| (at + count - from) % count < target)
        .map(|(_, cpu)| cpu)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_new_canary_waits_for_a_slow_yield_or_for_long() {
        let mut settle = Settle::default();
        assert!(!settle.yielded(400));
        assert!(settle.yielded(3_000_000));
        let mut settle = Settle::default();
        let quick = (1..).take_while(|_| !settle.yielded(400)).count() as u32;
        assert_eq!(quick + 1, SETTLE_YIELDS);
    }

    #[test]
    fn a_slow_yield_starts_the_count_anew() {
        let mut confirm = Confirm::default();
        let gaps = [500, 700, 3_000_000, 400, 400, 400];
        let verdicts: std::vec::Vec<bool> = gaps.into_iter().map(|g| confirm.yielded(g)).collect();
        assert_eq!(verdicts, [false, false, false, false, false, true]);
    }

    #[test]
    fn only_an_armed_canary_fires() {
        assert_eq!(Canary::Armed.fire(), Some(Canary::Fired));
        assert_eq!(Canary::Fired.fire(), None);
        assert_eq!(Canary::Parked.fire(), None);
        for state in [Canary::Parked, Canary::Armed, Canary::Fired] {
            assert_eq!(Canary::from_word(state as u32), state);
        }
    }

    #[test]
    fn best_nice_first_then_round_robin() {
        let pools = [(0, 5), (1, 0), (3, 0), (4, 10)];
        assert_eq!(choose_pool(pools.into_iter(), 0), Some(1));
        assert_eq!(choose_pool(pools.into_iter(), 1), Some(3));
        assert_eq!(choose_pool(pools.into_iter(), 3), Some(1));
        assert_eq!(choose_pool([].into_iter(), 3), None);
    }

    #[test]
    fn a_quota_limits_how_many_are_armed_and_takes_turns() {
        let mask: CpuMask = [2, 3, 5, 7].into_iter().collect();
        assert_eq!(armable(&mask, 8, 3), mask);
        let turns: std::vec::Vec<_> = (0..5).map(|t| armable(&mask, 2, t).to_string()).collect();
        assert_eq!(turns, ["2-3", "3,5", "5,7", "2,7", "2-3"]);
    }
}
