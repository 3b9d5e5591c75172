//! Multithreaded jobs: a long piece of CPU work that idle CPUs help with, and nobody else feels
//! (kernel ktask, `padata_do_multithreaded`).
//!
//! What a thread takes, when it leaves and whom it waits for is `cmwq_policy::job`; this carries it
//! out. Faces wrap [`run`].
//!
//! | file | |
//! | --- | --- |
//! | `README.md` | the protocol: what may be claimed, and why nobody hangs |
//! | `whole.rs` | a job from its beginning to its end |
//! | `run.rs` | how each thread goes through its chunks |
//! | `crew.rs` | the helpers: how many, where, and waiting for them |
//! | `fronts.rs` | the words by which chunks are claimed |
//! | `error.rs` | [`JobError`] |

mod crew;
mod error;
mod fronts;
#[cfg(all(test, loom))]
mod loom_tests;
mod run;
mod whole;

use cmwq_policy::job::{Chunks, Cut};

pub use error::JobError;
pub use run::{CancelledFn, Func, ProgressFn, UndoFn};
pub use whole::run;

/// Nice level of helpers (kernel `MAX_NICE`).
pub const HELPER_NICE: i8 = 19;

/// How a job is to be run.
pub struct Settings<'a> {
    /// Where it may be cut.
    pub cut: Cut,
    /// At most so many threads, the caller among them; 0: as many as there are CPUs.
    pub max_threads: u32,
    /// Gives each NUMA node a part of a job that names no nodes, and helpers of its own.
    pub numa_aware: bool,
    /// How long chunks are.
    pub chunks: Chunks,
    /// Of helpers, -20 to 19, on top of the process's.
    pub nice: i8,
    /// Called if the job is not completed, after all threads are out: once for each range that was
    /// completed, in ascending order.
    pub undo: Option<UndoFn<'a>>,
    /// Called between the caller's steps, when about a hundredth more is done, and at the end.
    pub progress: Option<ProgressFn<'a>>,
    /// Asked before each step: whether none may begin any more.
    pub cancelled: Option<CancelledFn<'a>>,
}

impl Settings<'_> {
    /// The kernel's.
    pub fn new() -> Self {
        Settings {
            cut: Cut::new(1, 1),
            max_threads: 0,
            numa_aware: false,
            chunks: Chunks::Kernel,
            nice: HELPER_NICE,
            undo: None,
            progress: None,
            cancelled: None,
        }
    }
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("cut", &self.cut)
            .field("max_threads", &self.max_threads)
            .field("numa_aware", &self.numa_aware)
            .field("chunks", &self.chunks)
            .field("nice", &self.nice)
            .finish_non_exhaustive()
    }
}

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
