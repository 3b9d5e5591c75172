//! Multithreaded jobs: a long piece of CPU work that idle CPUs help with, and nobody else feels
//! (kernel ktask, `padata_do_multithreaded`).
//!
//! What a thread takes, when it leaves and whom it waits for is `cmwq_policy::job`; this carries it
//! out.
//!
//! | file | |
//! | --- | --- |
//! | [`README.md`](README.md) | the protocol: what may be claimed, and why nobody hangs |
//! | `builder.rs` | [`Job`]: what programs hold |
//! | `run.rs` | how each thread goes through its chunks |
//! | `crew.rs` | the helpers: how many, where, and waiting for them |
//! | `fronts.rs` | the words by which chunks are claimed |
//! | `slices.rs` | jobs over the elements of a slice |
//! | `cancel.rs`, `error.rs` | [`CancelToken`], [`JobError`] |

mod builder;
mod cancel;
mod crew;
mod error;
pub(crate) mod fronts;
#[cfg(all(test, loom))]
mod loom_tests;
mod run;
mod slices;
mod whole;

pub use builder::Job;
pub use cancel::CancelToken;
pub use error::JobError;

/// What came of a job that was completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStats {
    /// Helpers that took part.
    pub helpers: u32,
    /// Units that helpers have done; the caller did the rest.
    pub helped: u64,
    /// Chunks that threads took.
    pub chunks: u64,
    /// Of those how many were what another thread had taken and not begun.
    pub claims: u64,
    /// Helpers whose nice level was lifted to the caller's while it waited for their last step.
    pub lifted: u32,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobProgress {
    /// Units that were completed.
    pub done: u64,
    /// Units of the job.
    pub size: u64,
}
