//! Why a job was not completed.

use std::any::Any;
use std::fmt;

/// A job was not completed. Its [undo](super::Settings::undo) was called, but not for `Forked`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError<E> {
    /// The first error that its function returned, by time.
    Failed(E),
    /// It was [cancelled](super::Settings::cancelled) before all was done.
    Cancelled,
    /// Its function has forked, and this is the child: what the parent's helpers had begun never
    /// ends here.
    Forked,
}

impl<E> JobError<E> {
    /// Whether it is [`Cancelled`](Self::Cancelled).
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JobError::Cancelled)
    }
}

impl<E: fmt::Display> fmt::Display for JobError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Failed(error) => error.fmt(f),
            JobError::Cancelled => f.write_str("the job was cancelled"),
            JobError::Forked => f.write_str("the job is the parent process's"),
        }
    }
}

impl<E: std::error::Error> std::error::Error for JobError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Displayed as the error itself, whose cause comes next.
            JobError::Failed(error) => error.source(),
            JobError::Cancelled | JobError::Forked => None,
        }
    }
}

/// What ended a job early.
pub(super) enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
    Cancelled,
}
