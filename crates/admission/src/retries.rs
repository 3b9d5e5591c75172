//! Jobs that sleep and try again.
//!
//! Clients of an SQLite file find it locked, sleep for some milliseconds, and look again. Such jobs
//! leave their CPUs, like jobs that wait for a server. But those get done beside each other, and
//! these one after the other: more of them only sleep longer. So while most of the running jobs do
//! that and have the same file open, few run. More are only tried, as they may do other things as
//! well: twice as many, for as many ends. If jobs do not end faster by more than a quarter then, as
//! many run as before, and the next trial is put off.

use cmwq_policy::rate::Rate;
use cmwq_policy::time::Time;

use crate::window::{Distance, Window};

/// What is more by more than one part of so many is worth it.
const GAIN_PART: u64 = 4;
/// So many looks in a row find other jobs before these are let go.
const LETS_GO_AFTER: u32 = 4;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The jobs do something else.
    Free,
    /// So many windows are left until more are tried.
    Held { windows: u32 },
    /// `before`: of `good` jobs.
    Trying { before: Rate, good: u64 },
}

/// How many jobs may run that sleep and try again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    least: u64,
    phase: Phase,
    window: Window,
    /// Ends that still do not count: those jobs began under another ceiling.
    settling: u64,
    ceiling: u64,
    distance: Distance,
    /// Looks in a row that found few jobs that try again.
    others: u32,
}

impl Retries {
    /// Holds back to `least` jobs at first, and never to fewer.
    pub(crate) fn new(least: u64) -> Self {
        Retries {
            least,
            phase: Phase::Free,
            window: Window::default(),
            settling: 0,
            ceiling: u64::MAX,
            distance: Distance::FIRST,
            others: 0,
        }
    }

    /// How many jobs may run.
    pub(crate) fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Somebody has looked at the `running` jobs: of those that are `known` so many try again and
    /// again, at one file.
    pub(crate) fn looked(&mut self, now: Time, running: u64, known: u64, retrying: u64) {
        let few = 4 * retrying < known;
        self.others = if few {
            self.others.saturating_add(1)
        } else {
            0
        };
        match self.phase {
            Phase::Free if retrying > 1 && 2 * retrying >= known => {
                self.phase = Phase::Held { windows: 0 };
                self.set(now, self.least, running);
            }
            Phase::Held { .. } | Phase::Trying { .. } if self.others >= LETS_GO_AFTER => {
                self.phase = Phase::Free;
                self.ceiling = u64::MAX;
            }
            _ => {}
        }
    }

    /// From now on as many may run. So many do that began before.
    fn set(&mut self, now: Time, ceiling: u64, running: u64) {
        if ceiling != self.ceiling {
            self.settling = running;
        }
        self.ceiling = ceiling;
        self.window = Window::first(now, ceiling);
    }

    /// A job has ended, beside `running` others.
    pub(crate) fn ended(&mut self, now: Time, running: u64) {
        if matches!(self.phase, Phase::Free) {
            return;
        }
        if self.settling > 0 {
            self.settling -= 1;
            self.window = Window::first(now, self.ceiling);
        } else if let Some(rate) = self.window.ended(now, running + 1) {
            let ceiling = self.judge(rate);
            self.set(now, ceiling, running);
        }
    }

    /// How many may run after a window of this rate.
    fn judge(&mut self, rate: Rate) -> u64 {
        match self.phase {
            Phase::Held { windows } if windows > 0 => {
                self.phase = Phase::Held {
                    windows: windows - 1,
                };
                self.ceiling
            }
            Phase::Trying { before, good } if !before.is_slower_than(&rate, GAIN_PART) => {
                self.phase = Phase::Held {
                    windows: self.distance.take(),
                };
                good
            }
            _ => {
                self.phase = Phase::Trying {
                    before: rate,
                    good: self.ceiling,
                };
                self.ceiling.saturating_mul(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_policy::time::MILLISECOND;

    /// Runs `jobs` jobs that try again, each of which takes `length(running)`; the most that ran,
    /// and the whole time in milliseconds.
    fn list(jobs: u64, length: impl Fn(u64) -> u64) -> (u64, u64) {
        let mut retries = Retries::new(8);
        let (mut ended, mut now, mut most) = (0, 0, 0);
        while ended < jobs {
            let running = retries.ceiling().min(jobs - ended).min(8.max(most * 2));
            most = most.max(running);
            let at = Time(now * MILLISECOND);
            retries.looked(at, running, running, running);
            let running = retries.ceiling().min(running);
            // All of them end, one after the other.
            for n in 0..running {
                now += length(running) / running;
                retries.ended(Time(now * MILLISECOND), running - n - 1);
            }
            ended += running;
        }
        (most, now)
    }

    #[test]
    fn at_one_lock_few_run() {
        // Each holds it for 20 ms.
        let (most, _) = list(1000, |running| 20 * running);
        assert!(most <= 16, "{most}");
    }

    #[test]
    fn where_more_are_done_more_run() {
        let (most, took) = list(1000, |_| 1000);
        assert!(most >= 256, "{most}");
        assert!(took < 12_000, "{took}, one after the other: 125,000");
    }

    #[test]
    fn jobs_that_end_together_are_not_taken_for_fast_ones() {
        let mut retries = Retries::new(4);
        retries.looked(Time(0), 14, 14, 14);
        assert_eq!(retries.ceiling(), 4);
        // All that run end at a time, once a second.
        let mut running = 14;
        for second in 1..=6 {
            for others in (0..running).rev() {
                retries.ended(Time(second * 1000 * MILLISECOND), others);
            }
            running = retries.ceiling();
        }
        assert_eq!(retries.ceiling(), 128);
    }

    #[test]
    fn who_does_something_else_is_let_go() {
        let mut retries = Retries::new(8);
        retries.looked(Time(0), 10, 10, 4);
        assert_eq!(retries.ceiling(), u64::MAX, "most do something else");
        retries.looked(Time(1), 10, 10, 5);
        assert_eq!(retries.ceiling(), 8, "as many as begin");
        retries.looked(Time(2), 10, 10, 3);
        assert_eq!(retries.ceiling(), 8, "a moment says little");
        for look in 1..=LETS_GO_AFTER {
            assert_eq!(retries.ceiling(), 8, "{look}");
            retries.looked(Time(3), 10, 10, 2);
        }
        assert_eq!(retries.ceiling(), u64::MAX);
    }
}
