//! Concurrency-managed workqueues for Linux user space: a thread pool with no number in it.
//!
//! Queue work, of any kind: cmwq starts another worker the moment a CPU would idle, because the
//! running ones block or because there are too few, and never keeps more threads runnable than the
//! CPUs can serve. All queues of a process share its threads.
//!
//! ```
//! let queue = cmwq::Workqueue::builder("pages").build()?;
//! let pages: Vec<_> = (0..100)
//!     .map(|n| {
//!         queue.spawn(move || {
//!             std::thread::sleep(std::time::Duration::from_millis(5)); // waits: another one starts
//!             n * n // computes: at most one per CPU
//!         })
//!     })
//!     .collect();
//! let sum: u64 = pages.into_iter().map(|page| page.join().unwrap()).sum();
//! assert_eq!(sum, 328_350);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! * An item that was queued runs, once per queueing, unless the process ends first.
//! * A [`Work`] never runs twice at once in one pool of workers (queues with equal attributes).
//! * Items of one queue begin in the order in which they were queued, as far as `max_active` and
//!   free workers let several begin at once. On a machine with several caches an item may be overtaken
//!   by at most 64 that were queued nearer to the CPU which takes them.
//! * What was stored before queueing is seen by the item; what an item stored is seen after
//!   [`JoinHandle::join`] and [`Workqueue::flush`].
//! * A wrong, late or missing signal may cost throughput, never correctness, and never a hang.
//! * Threads of cmwq block all signals but the synchronous ones.
//!
//! # What it does today, and may do otherwise tomorrow
//!
//! Workers are named `cmwq/u<pool>:<worker>`. One SCHED_IDLE thread per CPU (`cmwq/c<cpu>`) reports
//! idle CPUs, one ordinary thread (`cmwq/tick`) looks while items wait; all sleep when nothing waits.
//!
//! # Fork
//!
//! In a forked child the parent's queues are an error ([`QueueError::Forked`]) and dropping them does
//! nothing; [`system`] is a new queue there, with threads of its own. `std::thread::current()` has no name in
//! these: the standard library could wait for a thread of the parent, so it does not know of them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod affinity;
mod async_domain;
mod barrier;
mod builder;
mod claim;
mod current;
mod delayed;
mod engine;
mod error;
mod faces;
pub mod freezer;
mod item;
mod job;
mod latch;
#[cfg(all(test, loom))]
mod loom_tests;
mod machine;
mod park;
mod pool;
pub mod process;
mod pwq;
mod queue;
mod report;
mod rescuer;
mod scope;
mod shutdown;
mod signals;
mod stats;
mod stay;
mod sync;
mod system;
mod task;
mod thresholds;
mod user;
mod work;

pub use affinity::{
    AffinityScope, default_affinity_scope, set_default_affinity_scope, set_unbound_cpus,
    unbound_cpus,
};
pub use async_domain::{AsyncDomain, Cookie};
pub use builder::{Builder, DFL_STACK_SIZE, DFL_THREAD_LIMIT, MAX_THREAD_LIMIT};
pub use cmwq_policy::form::{CanaryForm, CanaryReason};
pub use cmwq_policy::stacking::Stacking;
pub use current::{CurrentWork, current_work, is_rescuer, others_waiting, set_worker_desc};
pub use delayed::DelayedWork;
pub use error::{
    AttrsError, BuildError, FlushError, InstallError, JoinError, NotQueued, QueueError,
    WouldDeadlock,
};
pub use job::{CancelToken, Job, JobError, JobProgress, JobStats};
pub use queue::{Attrs, Waits, Workqueue, WorkqueueBuilder, WorkqueueCounts};
pub use report::{Awaited, LimitPart, Report, StalledWorker, set_report_hook};
pub use scope::{Scope, ScopedJoinHandle};
pub use shutdown::{ShutdownReport, shutdown};
pub use stats::{GrowthStats, Stats, cpus, look, stats};
pub use system::{system, system_bh, system_freezable, system_highpri, system_long, system_percpu};
pub use task::JoinHandle;
pub use thresholds::{set_cpu_intensive_threshold, set_watchdog_threshold};
pub use work::{Busy, EnqueueError, Work};

/// Runs `wait` and says so: the calling item is about to block, so another worker may take its CPU at
/// once. Never needed, sometimes faster than being noticed. Outside of an item it just runs `wait`.
///
/// ```
/// let line = cmwq::blocking(|| std::fs::read_to_string("/proc/self/comm"))?;
/// assert!(line.ends_with('\n'));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    match pool::current() {
        Some(place) => place.blocking(wait),
        None => wait(),
    }
}

/// After each how-manieth event a pool of a debug build walks through all it has, and panics if something does not
/// hold; after the others it compares counts. 0, which it is: never. For stress tests.
#[doc(hidden)]
pub fn check_whole(every: u32) {
    pool::check_whole(every);
}
