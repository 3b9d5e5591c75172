//! What a job's end means for the job and for the run: the one place where the rules of xargs,
//! `--retries` and `--halt` meet. `docs/run.md` has them in words.

use super::args::Halt;
use super::status::{JOB_FAILED, JOB_KILLED, JOB_SAID_STOP, JobEnd};

/// What to do after an attempt at a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Try the job again.
    Retry,
    /// This end counts; the run goes on.
    GoOn,
    /// This end counts, and nothing more starts; the run's exit status is `code`.
    Stop {
        code: u8,
        /// Running jobs are terminated too.
        terminate: bool,
    },
}

/// The user's choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) halt: Option<Halt>,
    pub(super) retries: u32,
}

impl Rules {
    /// `attempts`: how many there were at this job, the one that ended so included.
    pub(super) fn after(self, end: JobEnd, attempts: u32) -> Next {
        let is_request = end == JobEnd::SaidStop && self.halt != Some(Halt::Never);
        match end {
            JobEnd::Succeeded => Next::GoOn,
            // The job does not say that it failed, it says "stop".
            _ if !is_request && attempts <= self.retries => Next::Retry,
            _ if self.is_fatal(end) => Next::Stop {
                code: code(end),
                terminate: self.halt == Some(Halt::Now),
            },
            _ => Next::GoOn,
        }
    }

    /// What to say of a job that stops the run: also what to do, if the user has not said so.
    pub(super) fn farewell(self, end: JobEnd) -> String {
        let hint = match self.halt {
            None => " (with --halt never the run goes on)",
            Some(_) => "",
        };
        format!("{}; aborting{hint}", end.words())
    }

    /// Whether a failure that is not tried again stops the run.
    fn is_fatal(self, end: JobEnd) -> bool {
        match self.halt {
            Some(Halt::Never) => false,
            Some(Halt::Soon | Halt::Now) => true,
            None => matches!(end, JobEnd::SaidStop | JobEnd::Killed(_)),
        }
    }
}

/// The exit status of a run that was stopped by a job that ended so.
fn code(end: JobEnd) -> u8 {
    match end {
        JobEnd::Succeeded => 0,
        JobEnd::Failed(_) | JobEnd::TimedOut | JobEnd::NoMemory => JOB_FAILED,
        JobEnd::SaidStop => JOB_SAID_STOP,
        JobEnd::Killed(_) => JOB_KILLED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: JobEnd = JobEnd::Failed(3);
    const KILLED: JobEnd = JobEnd::Killed(9);

    fn stop(code: u8) -> Next {
        Next::Stop {
            code,
            terminate: false,
        }
    }

    fn stop_now(code: u8) -> Next {
        Next::Stop {
            code,
            terminate: true,
        }
    }

    /// For each --halt: what follows a final failure, a timeout, 255 and a signal.
    fn table() -> [(Option<Halt>, [Next; 4]); 4] {
        [
            (None, [Next::GoOn, Next::GoOn, stop(124), stop(125)]),
            (Some(Halt::Never), [Next::GoOn; 4]),
            (
                Some(Halt::Soon),
                [stop(123), stop(123), stop(124), stop(125)],
            ),
            (
                Some(Halt::Now),
                [stop_now(123), stop_now(123), stop_now(124), stop_now(125)],
            ),
        ]
    }

    #[test]
    fn last_attempts_end_counts() {
        for (halt, expected) in table() {
            let rules = Rules { halt, retries: 2 };
            let last = [FAILED, JobEnd::TimedOut, JobEnd::SaidStop, KILLED];
            assert_eq!(last.map(|end| rules.after(end, 3)), expected, "{halt:?}");
            assert_eq!(rules.after(JobEnd::Succeeded, 3), Next::GoOn, "{halt:?}");
        }
    }

    #[test]
    fn who_has_not_chosen_is_told_how() {
        let says = |halt| Rules { halt, retries: 0 }.farewell(JobEnd::SaidStop);
        assert!(says(None).ends_with("aborting (with --halt never the run goes on)"));
        assert_eq!(says(Some(Halt::Soon)), "exited with status 255; aborting");
    }

    #[test]
    fn failures_are_tried_again_before_they_count_but_255_is_a_wish() {
        for (halt, expected) in table() {
            let rules = Rules { halt, retries: 2 };
            for end in [FAILED, JobEnd::TimedOut, KILLED] {
                assert_eq!(
                    [1, 2].map(|n| rules.after(end, n)),
                    [Next::Retry; 2],
                    "{halt:?}"
                );
            }
            let wish = if halt == Some(Halt::Never) {
                Next::Retry
            } else {
                expected[2]
            };
            assert_eq!(rules.after(JobEnd::SaidStop, 1), wish, "{halt:?}");
            assert_eq!(rules.after(JobEnd::Succeeded, 1), Next::GoOn, "{halt:?}");
        }
    }
}
