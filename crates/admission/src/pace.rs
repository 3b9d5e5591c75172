//! Growth that lowers how many jobs end per second is undone.
//!
//! Jobs that wait for one disk, one lock or each other's memory look idle to the CPUs, so more and
//! more are started, and each further one may slow down all. How fast jobs end is counted in
//! windows, each with the number that ran. If a window is slower than an earlier one with fewer
//! jobs, that is only a suspicion: later jobs may be longer. So it is tried. As few run as then,
//! and what counts is whether that is faster than just before.
//!
//! | while | a window is | then |
//! | --- | --- | --- |
//! | *free* | slower than the best, with more jobs | as few run as then: a trial |
//! | *lowering* | faster than the one before | fewer still are tried |
//! | | not faster | back to the last that was; if none was, free again, and the next trial is put off |
//! | *held* | | after some windows more are tried |
//! | *raising* | slower than the one before | held as before, and for twice as long |
//! | | not slower | more still are tried, until nothing is held back any more |
//! | all but *free* | slower than the one that began the trial, with fewer jobs | free again, and the next trial is put off |

use cmwq_policy::rate::Rate;
use cmwq_policy::time::Time;

use crate::window::{Distance, Window};

/// Two rates differ if one is off by more than this part of the other: an eighth.
const RATE_PART: u64 = 8;

#[derive(Clone, Copy, Debug)]
enum Phase {
    Free,
    /// `good`: the last number that was faster than more.
    Lowering {
        before: Rate,
        good: Option<u64>,
    },
    Held {
        windows: u32,
    },
    Raising {
        before: Rate,
        good: u64,
    },
}

/// What is known of the pace of one kind of jobs.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    least: u64,
    phase: Phase,
    window: Window,
    /// Ends that still do not count: those jobs began under another ceiling.
    settling: u64,
    /// How many may run.
    ceiling: u64,
    best: Option<Rate>,
    /// What began the trial.
    suspected: Option<Rate>,
    /// Windows until a suspicion is tried, and the next such distance.
    pause: u32,
    distance: Distance,
}

impl Pace {
    /// Never holds back to fewer than `least` jobs. `first`: jobs to begin with. The first window
    /// ends when as many have ended, before many more run.
    pub fn new(now: Time, least: u64, first: u64) -> Self {
        Pace {
            least,
            phase: Phase::Free,
            window: Window::first(now, first),
            settling: 0,
            ceiling: u64::MAX,
            best: None,
            suspected: None,
            pause: 0,
            distance: Distance::FIRST,
        }
    }

    /// How many jobs their pace lets run.
    pub fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// A job has ended, beside `running` others.
    pub fn ended(&mut self, now: Time, running: u64) {
        if self.settling > 0 {
            self.settling -= 1;
            self.window = Window::default();
            return;
        }
        if let Some(rate) = self.window.ended(now, running + 1) {
            let ceiling = self.ceiling;
            self.judge(rate);
            if ceiling != self.ceiling {
                self.settling = running;
            }
        }
    }

    fn judge(&mut self, rate: Rate) {
        if self.was_refuted_by(&rate) {
            self.put_off();
            return self.free(rate);
        }
        match self.phase {
            Phase::Free => self.suspect(rate),
            Phase::Lowering { before, good } => match before.is_slower_than(&rate, RATE_PART) {
                true => self.lower(rate, Some(self.ceiling), self.ceiling / 2),
                false => self.end_lowering(rate, good),
            },
            Phase::Held { windows: 0 } => self.raise(rate, self.ceiling),
            Phase::Held { windows } => {
                self.phase = Phase::Held {
                    windows: windows - 1,
                }
            }
            Phase::Raising { before, good } => match rate.is_slower_than(&before, RATE_PART) {
                true => self.hold(good),
                // It does not hold anybody back.
                false if rate.level < self.ceiling - self.ceiling / 4 => self.free(rate),
                false if rate.ended > before.ended => self.raise(rate, self.ceiling),
                false => self.raise(before, good),
            },
        }
    }

    fn suspect(&mut self, rate: Rate) {
        let best = *self.best.get_or_insert(rate);
        let is_more = rate.level > best.level && !rate.is_near(&best);
        if self.pause > 0 {
            self.pause -= 1;
        } else if is_more && rate.is_slower_than(&best, RATE_PART) {
            self.suspected = Some(rate);
            return self.lower(rate, None, best.level);
        }
        self.best = Some(match rate.is_near(&best) {
            true => Rate {
                ended: (best.ended + rate.ended) / 2,
                ..best
            },
            false if rate.ended > best.ended => rate,
            false => best,
        });
    }

    /// Tries `level` jobs after a window of this rate.
    fn lower(&mut self, rate: Rate, good: Option<u64>, level: u64) {
        let level = level.max(self.least);
        if level >= self.ceiling {
            return self.hold(self.ceiling);
        }
        self.phase = Phase::Lowering { before: rate, good };
        self.ceiling = level;
    }

    /// Jobs end more slowly than when more ran: the jobs are slow, not their number.
    fn was_refuted_by(&self, rate: &Rate) -> bool {
        let fewer = |more: Rate| rate.level < more.level && rate.ended < more.ended;
        self.suspected.is_some_and(fewer)
    }

    fn end_lowering(&mut self, rate: Rate, good: Option<u64>) {
        match good {
            Some(level) => self.hold(level),
            None => {
                self.put_off();
                self.free(rate);
            }
        }
    }

    fn raise(&mut self, rate: Rate, good: u64) {
        self.phase = Phase::Raising { before: rate, good };
        self.ceiling = self.ceiling.saturating_add(self.ceiling / 4 + 1);
    }

    fn hold(&mut self, level: u64) {
        self.ceiling = level;
        self.phase = Phase::Held {
            windows: self.distance.take(),
        };
    }

    fn put_off(&mut self) {
        self.pause = self.distance.take();
    }

    fn free(&mut self, rate: Rate) {
        self.suspected = None;
        (self.phase, self.ceiling) = (Phase::Free, u64::MAX);
        self.best = Some(rate);
    }
}

#[cfg(test)]
mod tests;
