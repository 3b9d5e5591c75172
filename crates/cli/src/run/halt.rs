//! Whether the run goes on after a job: the one place where the rules of xargs, `--retries` and
//! `--halt` meet. `docs/run.md` has them in words.

use super::status::{JOB_FAILED, JOB_KILLED, JOB_SAID_STOP, JobEnd};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// `--halt`: what ends of jobs do to the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Halt {
    /// Nothing that a job does stops the run.
    Never,
    /// It stops when so many jobs have ended so.
    After(Stop),
}

/// When a run is stopped, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stop {
    /// Running jobs are ended too.
    terminate: bool,
    ends: Ends,
    many: Many,
}

/// Which ends of jobs are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ends {
    Failed,
    Succeeded,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Many {
    Jobs(u64),
    /// Of all jobs, 1 to 100.
    Percent(u64),
}

impl Many {
    /// N or N%.
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|&number| number > 0);
        match text.strip_suffix('%') {
            Some(part) => number(part).filter(|&part| part <= 100).map(Many::Percent),
            None => number(text).map(Many::Jobs),
        }
    }
}

const FORMS: &str = "never, soon or now, or as GNU parallel has it: soon or now, then ,fail=N or \
                     ,success=N or ,done=N, where N is a number of jobs or N%";

/// What is said where running jobs are not ended.
const AWAITED: &str = "no more jobs start, running ones are waited for";

impl Halt {
    /// The error is one of usage.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = match text {
            "never" | "0" => return Ok(Halt::Never),
            "1" => "soon".into(),
            "2" => "now".into(),
            "-1" => "soon,success".into(),
            "-2" => "now,success".into(),
            // An older way to write soon,fail=N%.
            part if part.ends_with('%') && !part.contains(',') => {
                Cow::from(format!("soon,fail={part}"))
            }
            _ => text.into(),
        };
        let stop = Stop::parse(&text).ok_or_else(|| FORMS.to_owned())?;
        Ok(Halt::After(stop))
    }

    /// Whether how many jobs there are has to be known before the first one begins.
    pub(super) fn is_of_all(self) -> bool {
        let Halt::After(stop) = self else {
            return false;
        };
        matches!(stop.many, Many::Percent(_))
    }
}

impl Stop {
    const FIRST_FAILURE: (Ends, Many) = (Ends::Failed, Many::Jobs(1));

    /// When, then which ends and how many: those that are left out are one failure.
    fn parse(text: &str) -> Option<Self> {
        let (when, why) = text.split_once(',').unwrap_or((text, "fail"));
        let (ends, many) = why.split_once('=').unwrap_or((why, "1"));
        Some(Stop {
            terminate: match when {
                "soon" => false,
                "now" => true,
                _ => return None,
            },
            ends: match ends {
                "fail" => Ends::Failed,
                "success" => Ends::Succeeded,
                "done" => Ends::All,
                _ => return None,
            },
            many: Many::parse(many)?,
        })
    }

    /// What becomes of the run, and of the running jobs.
    fn words(self) -> &'static str {
        match self.terminate {
            true => "aborting",
            false => AWAITED,
        }
    }

    fn is_of_first_failure(self) -> bool {
        (self.ends, self.many) == Self::FIRST_FAILURE
    }

    /// How many ends stop a run of `all` jobs.
    fn goal(self, all: u64) -> u64 {
        match self.many {
            Many::Jobs(count) => count,
            Many::Percent(part) => all.saturating_mul(part).div_ceil(100).max(1),
        }
    }
}

/// What to do after an attempt at a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Try the job again.
    Retry,
    /// This end counts.
    Counts,
}

/// What to do after the end of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    GoOn,
    /// Nothing more starts; the run's exit status is `code`.
    Stop {
        code: u8,
        /// Running jobs are ended too.
        terminate: bool,
    },
}

/// The user's choice, and the ends so far.
#[derive(Debug)]
pub(super) struct Rules {
    halt: Option<Halt>,
    retries: u32,
    /// How many jobs there are, once that is known.
    all: AtomicU64,
    failed: AtomicU64,
    succeeded: AtomicU64,
}

impl Rules {
    pub(super) fn new(halt: Option<Halt>, retries: u32) -> Self {
        Self {
            halt,
            retries,
            all: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
        }
    }

    /// There are so many jobs: said before the first one begins, if [`Halt::is_of_all`].
    pub(super) fn expect(&self, all: u64) {
        self.all.store(all, SeqCst);
    }

    /// `attempts`: how many there were at this job, the one that ended so included.
    pub(super) fn after(&self, end: JobEnd, attempts: u32) -> Next {
        // Such a job does not say that it failed, it says "stop".
        let is_request = end == JobEnd::SaidStop && self.heeds_requests();
        let is_failure = end != JobEnd::Succeeded;
        match is_failure && !is_request && attempts <= self.retries {
            true => Next::Retry,
            false => Next::Counts,
        }
    }

    /// Counts the end of a job.
    pub(super) fn ended(&self, end: JobEnd) -> Outcome {
        let count = match end {
            JobEnd::Succeeded => &self.succeeded,
            _ => &self.failed,
        };
        count.fetch_add(1, SeqCst);
        let (failed, succeeded) = (self.failed.load(SeqCst), self.succeeded.load(SeqCst));
        let is_failure = end != JobEnd::Succeeded;
        match self.halt {
            Some(Halt::Never) => Outcome::GoOn,
            None if matches!(end, JobEnd::SaidStop | JobEnd::Killed(_)) => Outcome::Stop {
                code: code(end),
                terminate: false,
            },
            None => Outcome::GoOn,
            Some(Halt::After(stop)) => {
                let (is_counted, count, code) = match stop.ends {
                    Ends::Failed => (is_failure, failed, code(end)),
                    Ends::Succeeded => (!is_failure, succeeded, 0),
                    Ends::All if failed > 0 => (true, failed + succeeded, JOB_FAILED),
                    Ends::All => (true, succeeded, 0),
                };
                match is_counted && count >= stop.goal(self.all.load(SeqCst)) {
                    true => Outcome::Stop {
                        code,
                        terminate: stop.terminate,
                    },
                    false => Outcome::GoOn,
                }
            }
        }
    }

    /// What to say of an attempt that failed, where its end is said at all.
    pub(super) fn of_attempt(&self, end: JobEnd, number: u32, is_tried_again: bool) -> String {
        let all = self.retries.checked_add(1);
        let all = all.map_or(String::new(), |all| format!(" of {all}"));
        let words = end.words();
        match (is_tried_again, number) {
            (true, _) => format!("{words}, attempt {number}{all}: trying again"),
            (false, 1) => words,
            (false, _) => format!("{words}, attempt {number}{all}: failed"),
        }
    }

    /// What to say of a job that stops the run: also what to do, if the user has not said so.
    pub(super) fn farewell(&self, end: JobEnd) -> String {
        let why = match self.halt {
            None => format!("{AWAITED} (with --halt never the run goes on)"),
            Some(Halt::After(stop)) if !stop.is_of_first_failure() => {
                let (failed, succeeded) = (self.failed.load(SeqCst), self.succeeded.load(SeqCst));
                match stop.ends {
                    Ends::Failed => format!("{} ({failed} failed)", stop.words()),
                    Ends::Succeeded => format!("the run ends ({succeeded} succeeded)"),
                    Ends::All => format!("the run ends ({} ended)", failed + succeeded),
                }
            }
            Some(Halt::After(stop)) => stop.words().to_owned(),
            Some(Halt::Never) => unreachable!("nothing stops such a run"),
        };
        format!("{}; {why}", end.words())
    }

    /// Whether a job that exits with 255 asks to stop the run. Where failures are counted it is one
    /// of them.
    fn heeds_requests(&self) -> bool {
        match self.halt {
            None => true,
            Some(Halt::Never) => false,
            Some(Halt::After(stop)) => stop.is_of_first_failure(),
        }
    }
}

/// The exit status of a run that was stopped by a job that failed so.
fn code(end: JobEnd) -> u8 {
    match end {
        JobEnd::Succeeded => 0,
        JobEnd::Failed(_) | JobEnd::TimedOut | JobEnd::NoMemory => JOB_FAILED,
        JobEnd::SaidStop => JOB_SAID_STOP,
        JobEnd::Killed(_) => JOB_KILLED,
    }
}

#[cfg(test)]
mod tests;
