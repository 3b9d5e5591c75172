//! What a run counts.

/// Numbers for the summary and for progress.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Jobs that were made of lines so far.
    pub(super) submitted: u64,
    /// There will be no more of them.
    pub(super) is_all: bool,
    /// Lines that `--resume` left out.
    pub(super) skipped: u64,
    /// Jobs of which a process was started.
    pub(super) begun: u64,
    /// Of lines that were left when the run was stopped: jobs, as far as they could be counted, and
    /// whether they could.
    pub(super) left: u64,
    pub(super) is_left_unknown: bool,
    /// Jobs that ended.
    pub(super) jobs: u64,
    /// Of these, those that did not exit with status 0, and not because the run has ended them.
    pub(super) failed: u64,
    /// Of the jobs that ended, those that the run has told to: after a signal, or by `--halt now`.
    pub(super) terminated: u64,
    /// Attempts beyond the first of a job.
    pub(super) retries: u64,
    /// Jobs that run.
    pub(super) running: usize,
    /// The most that ran at one time.
    pub(super) peak_jobs: usize,
}

impl Tally {
    /// Jobs that were not started.
    pub(super) fn not_started(&self) -> u64 {
        (self.submitted + self.left).saturating_sub(self.begun)
    }
}
