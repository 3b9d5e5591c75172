//! The jobs that failed first, for whoever has no joblog.

use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are kept, and so many are named to people.
const MOST: usize = 100;
const SHOWN: usize = 10;

/// A job that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FailedJob {
    /// From 1.
    pub(super) sequence: u64,
    pub(super) arguments: String,
    /// How it ended.
    pub(super) why: String,
}

/// See the module.
#[derive(Default)]
pub(super) struct Failures(Mutex<Vec<FailedJob>>);

impl Failures {
    /// `describe` is asked only if the job is kept.
    pub(super) fn add(&self, describe: impl FnOnce() -> FailedJob) {
        let mut jobs = self.lock();
        if jobs.len() < MOST {
            jobs.push(describe());
        }
    }

    /// In the order in which they ended.
    pub(super) fn all(&self) -> Vec<FailedJob> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FailedJob>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line for each of the first, and one for the others. `failed`: how many there were.
pub(super) fn lines(jobs: &[FailedJob], failed: u64) -> String {
    let line = |job: &FailedJob| format!("job {} ({}): {}\n", job.sequence, job.arguments, job.why);
    let mut text: String = jobs.iter().take(SHOWN).map(line).collect();
    let others = failed.saturating_sub(jobs.len().min(SHOWN) as u64);
    if others > 0 && !jobs.is_empty() {
        text += &format!("and {others} others: --joblog FILE names them all\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_the_others_counted() {
        let failures = Failures::default();
        for sequence in 1..=200 {
            let arguments = format!("x{sequence}");
            failures.add(|| FailedJob {
                sequence,
                arguments,
                why: "timed out".into(),
            });
        }
        let jobs = failures.all();
        assert_eq!(jobs.len(), MOST);
        let text = lines(&jobs, 200);
        assert!(
            text.starts_with("job 1 (x1): timed out\njob 2 (x2)"),
            "{text}"
        );
        assert!(text.ends_with("and 190 others: --joblog FILE names them all\n"));
        assert_eq!(lines(&jobs[..1], 1), "job 1 (x1): timed out\n");
        assert_eq!(lines(&[], 0), "");
    }
}
