//! Exit statuses: what a job's end means, and what `cmwq run` makes of all of them.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Bad usage, unreadable input, output that cannot be written.
pub(crate) const OTHER_ERROR: u8 = 1;
/// Some job failed.
pub(super) const JOB_FAILED: u8 = 123;
/// A job exited with 255, the way for a job to stop the whole run.
pub(super) const JOB_SAID_STOP: u8 = 124;
/// A job was killed by a signal.
pub(super) const JOB_KILLED: u8 = 125;
/// COMMAND cannot be run.
pub(super) const CANNOT_RUN: u8 = 126;
/// COMMAND is not found.
pub(super) const NOT_FOUND: u8 = 127;

/// How a job ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JobEnd {
    Succeeded,
    /// With this exit status, 1 to 254.
    Failed(i32),
    /// It ran longer than `--timeout` allows, however it ended then.
    TimedOut,
    SaidStop,
    /// The kernel has killed it for want of memory.
    NoMemory,
    /// By this signal.
    Killed(i32),
}

impl JobEnd {
    pub(super) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Succeeded,
            (Some(255), _) => Self::SaidStop,
            (Some(code), _) => Self::Failed(code),
            (None, signal) => Self::Killed(signal.unwrap_or(0)),
        }
    }

    /// Whether it may have ended so because it was told to by a signal.
    pub(super) fn may_be_told(self) -> bool {
        matches!(self, Self::Failed(_) | Self::Killed(_))
    }

    /// In the words of messages.
    pub(super) fn words(self) -> String {
        match self {
            Self::Succeeded => "succeeded".into(),
            Self::Failed(code) => format!("exited with status {code}"),
            Self::TimedOut => "timed out".into(),
            Self::NoMemory => "killed, as memory ran out".into(),
            Self::SaidStop => "exited with status 255".into(),
            Self::Killed(signal) => format!("terminated by {}", signal_name(signal)),
        }
    }
}

fn signal_name(signal: i32) -> String {
    match signal_hook::low_level::signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

/// How our own process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RunEnd {
    /// With this exit status.
    Code(u8),
    /// By this signal: a shell that runs us in a loop then knows that the user wants an end of it.
    Signal(i32),
}

/// The exit status of the run so far.
#[derive(Default)]
pub(super) struct RunStatus {
    job_failed: bool,
    code: Option<u8>,
    is_stopped: bool,
    signal: Option<i32>,
}

impl RunStatus {
    pub(super) fn job_failed(&mut self) {
        self.job_failed = true;
    }

    /// Something stopped the run with exit status `code`. The first cause counts, later ones are
    /// often its consequences. True for the first.
    pub(super) fn stopped(&mut self, code: u8) -> bool {
        self.failed(code);
        !std::mem::replace(&mut self.is_stopped, true)
    }

    /// Something went wrong that does not stop the run, whose status is `code` unless there was
    /// such a thing before.
    pub(super) fn failed(&mut self, code: u8) {
        self.code.get_or_insert(code);
    }

    /// We were told to end by `signal`.
    pub(super) fn signalled(&mut self, signal: i32) {
        self.signal.get_or_insert(signal);
    }

    /// How our process is to end.
    pub(super) fn end(&self) -> RunEnd {
        match (self.signal, self.code) {
            (Some(signal), _) => RunEnd::Signal(signal),
            (None, Some(code)) => RunEnd::Code(code),
            (None, None) if self.job_failed => RunEnd::Code(JOB_FAILED),
            (None, None) => RunEnd::Code(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_wait_status() {
        let end = |raw| JobEnd::of(ExitStatus::from_raw(raw));
        assert_eq!(end(0), JobEnd::Succeeded);
        assert_eq!(end(1 << 8), JobEnd::Failed(1));
        assert_eq!(end(127 << 8), JobEnd::Failed(127));
        assert_eq!(end(254 << 8), JobEnd::Failed(254));
        assert_eq!(end(255 << 8), JobEnd::SaidStop);
        assert_eq!(end(libc::SIGKILL), JobEnd::Killed(9));
    }

    #[test]
    fn first_cause_wins_and_a_signal_to_us_wins_over_all() {
        let mut status = RunStatus::default();
        assert_eq!(status.end(), RunEnd::Code(0));
        status.job_failed();
        assert_eq!(status.end(), RunEnd::Code(JOB_FAILED));
        assert!(status.stopped(NOT_FOUND));
        assert!(!status.stopped(JOB_KILLED));
        assert_eq!(status.end(), RunEnd::Code(NOT_FOUND));
        status.signalled(libc::SIGTERM);
        status.signalled(libc::SIGINT);
        assert_eq!(status.end(), RunEnd::Signal(libc::SIGTERM));
    }

    #[test]
    fn what_stops_the_run_is_said_also_after_what_did_not() {
        let mut status = RunStatus::default();
        status.failed(OTHER_ERROR);
        status.signalled(libc::SIGINT);
        assert!(status.stopped(JOB_FAILED));
        assert!(!status.stopped(JOB_FAILED));
    }

    #[test]
    fn messages_name_the_signal() {
        let text = JobEnd::Killed(libc::SIGSEGV).words();
        assert!(text.contains("SIGSEGV"), "{text}");
    }
}
