//! Jobs that have run much longer than the others, each named once.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A job that was named while it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LongJob {
    /// From 1.
    pub(super) sequence: u64,
    pub(super) arguments: String,
    /// How long it has run, in seconds, and how many times as long as the others that is.
    pub(super) ran_s: u64,
    pub(super) times: u64,
    /// What its processes did when it was named.
    pub(super) doing: String,
}

impl LongJob {
    /// In the words of messages.
    pub(super) fn says(&self) -> String {
        let Self {
            sequence,
            arguments,
            ran_s,
            times,
            doing,
        } = self;
        let doing = match doing.is_empty() {
            true => String::new(),
            false => format!(": {doing}"),
        };
        format!("job {sequence} ({arguments}): {ran_s} s, {times} times the others{doing}")
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct LongJobs(Mutex<BTreeMap<u64, LongJob>>);

impl LongJobs {
    /// Names a job, if it has not been. `describe` is asked only then.
    pub(super) fn name(
        &self,
        sequence: u64,
        describe: impl FnOnce() -> LongJob,
    ) -> Option<LongJob> {
        let is_known = |jobs: &BTreeMap<_, _>| jobs.contains_key(&sequence);
        if is_known(&self.lock()) {
            return None;
        }
        // Nobody waits for what has to be read of it: a job is looked at by one thread.
        let job = describe();
        self.lock().insert(sequence, job.clone());
        Some(job)
    }

    /// The job has ended, after so long.
    pub(super) fn ended(&self, sequence: u64, ran: Duration) {
        if let Some(job) = self.lock().get_mut(&sequence) {
            let now = ran.as_secs().max(job.ran_s);
            job.times = job.times.saturating_mul(now) / job.ran_s.max(1);
            job.ran_s = now;
        }
    }

    pub(super) fn all(&self) -> Vec<LongJob> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, LongJob>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_once() {
        let jobs = LongJobs::default();
        let job = || LongJob {
            sequence: 3,
            arguments: "a b".into(),
            ran_s: 8,
            times: 400,
            doing: String::new(),
        };
        let said = jobs.name(2, job).unwrap().says();
        assert_eq!(said, "job 3 (a b): 8 s, 400 times the others");
        assert_eq!(jobs.name(2, || unreachable!("it is known")), None);
        assert_eq!(jobs.all(), [job()]);
        jobs.ended(2, Duration::from_secs(80));
        jobs.ended(1, Duration::from_secs(90));
        assert_eq!((jobs.all()[0].ran_s, jobs.all()[0].times), (80, 4000));
    }
}
