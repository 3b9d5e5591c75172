//! Concurrency-managed workqueues for Linux user space: a thread pool whose size nobody has to
//! choose.
//!
//! Queue work of any kind. cmwq starts another worker when a CPU would idle, because running items
//! block or because there are too few. It stops when the CPUs are busy. All queues of a process
//! share the CPUs in this way.
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
//! * A queued item runs once per queueing, unless it is cancelled or the process ends first.
//! * A [`Work`] never runs twice at once, whichever threads and queues queue it.
//! * Items of one queue begin in the order of queueing. Several run at once if `max_active` and
//!   free workers allow it. On a machine with several caches, at most 64 items that were queued
//!   nearer may overtake an item.
//! * An item sees everything stored before it was queued. What it stores is seen after
//!   [`JoinHandle::join`] and [`Workqueue::flush`].
//! * A wrong, late or missing signal costs throughput. It never breaks correctness and never hangs.
//! * Threads of cmwq block all signals except those that a fault raises.
//!
//! # Threads
//!
//! These names may change. Workers are `cmwq/u<pool>:<worker>`. `cmwq/tick` looks at them while
//! items wait. A helper process has one SCHED_IDLE thread per CPU that reports idle CPUs; where no
//! process can be had, these are threads `cmwq/c<cpu>`. All sleep while nothing waits.
//!
//! # Fork
//!
//! In a forked child the parent's queues return [`QueueError::Forked`], and dropping them does
//! nothing. [`system`] is a new queue there, with threads of its own. `std::thread::current()` has
//! no name in those threads, because the standard library does not know of them: it could wait for
//! a thread of the parent.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

// # Floors
//
// Lowest first; a module imports from its own floor and from those below.
//
// 1. `sync`: atomics and locks, so that loom can stand behind them
// 2. `user`: the one door to code of the program
// 3. `report`, `error`, `options`, `thresholds`, `environment`, `faces`
// 4. `item`, `limit`, `park`, `stay`: what the core works on, and sleeping
// 5. `signals`: canaries and the tick, as others see them
// 6. `base`: what all pools and queues of the process need
// 7. `queue`: queues and pool workqueues in memory
// 8. `pool`: the core of a pool under its lock; an event returns what is to be done
// 9. `turns`, `group`, `engine`: what the process has one of
// 10. `events`, `machine`: carrying out what pools and protocols decide
// 11. `wait`: waiting for items
// 12. `follow`, `threads`: CPUs that come and go; workers, rescuers, canaries, the tick
// 13. `start`: making the engine; up to here nothing knows of handles
// 14. `current`, `freezer`, `process`, `reporting`, `affinity`, `builder`, `work`: what programs
//     see
// 15. `workqueue`: queues as programs hold them
// 16. `delayed`, `task`, `system`, `stats`
// 17. `scope`, `job`, `async_domain`, `shutdown`
mod affinity;
mod async_domain;
mod base;
mod builder;
mod current;
mod delayed;
mod engine;
mod environment;
mod error;
mod events;
mod faces;
mod follow;
pub mod freezer;
mod group;
mod item;
mod job;
mod limit;
#[cfg(all(test, loom))]
mod loom_tests;
mod machine;
mod options;
mod park;
mod pool;
pub mod process;
mod queue;
mod report;
mod reporting;
mod scope;
mod shutdown;
mod signals;
mod start;
mod stats;
mod stay;
mod sync;
mod system;
mod task;
mod threads;
mod thresholds;
mod turns;
mod user;
mod wait;
mod work;
mod workqueue;

pub use affinity::{
    AffinityScope, default_affinity_scope, set_default_affinity_scope, set_unbound_cpus,
    unbound_cpus,
};
pub use async_domain::{AsyncDomain, Cookie};
pub use builder::Builder;
pub use cmwq_policy::form::{CanaryForm, CanaryReason};
pub use cmwq_policy::stacking::Stacking;
pub use current::{CurrentWork, current_work, is_rescuer, others_waiting, set_worker_desc};
pub use delayed::DelayedWork;
pub use error::{
    AttrsError, BuildError, FlushError, InstallError, JoinError, NotQueued, QueueError,
    WouldDeadlock,
};
pub use job::{CancelToken, Job, JobError, JobProgress, JobStats};
pub use options::{DFL_STACK_SIZE, DFL_THREAD_LIMIT, MAX_THREAD_LIMIT};
pub use report::{Awaited, LimitPart, Report, StalledWorker, set_report_hook};
pub use reporting::{set_cpu_intensive_threshold, set_watchdog_threshold};
pub use scope::{Scope, ScopedJoinHandle};
pub use shutdown::{ShutdownReport, shutdown};
pub use stats::{GrowthStats, Stats, cpus, look, stats};
pub use system::{system, system_bh, system_freezable, system_highpri, system_long, system_percpu};
pub use task::JoinHandle;
pub use work::{Busy, EnqueueError, Work};
pub use workqueue::{Attrs, Waits, Workqueue, WorkqueueBuilder, WorkqueueCounts};

/// Runs `wait` and says so: the calling item is about to block, so another worker may take its CPU
/// at once. Never needed, sometimes faster than being noticed. Outside of an item it just runs
/// `wait`.
///
/// ```
/// let line = cmwq::blocking(|| std::fs::read_to_string("/proc/self/comm"))?;
/// assert!(line.ends_with('\n'));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn blocking<R>(waits: impl FnOnce() -> R) -> R {
    match wait::place::current() {
        Some(place) => place.blocking(waits),
        None => waits(),
    }
}

/// After each how-manieth event a pool of a debug build walks through all it has, and panics if
/// something does not hold; after the others it compares counts. 0, which it is: never. For stress
/// tests.
#[doc(hidden)]
pub fn check_whole(every: u32) {
    pool::check_whole(every);
}

/// The examples of the guide are compiled and run with those of the reference.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/start.md")]
    struct Start;
    #[doc = include_str!("../../../docs/queues.md")]
    struct Queues;
    #[doc = include_str!("../../../docs/items.md")]
    struct Items;
    #[doc = include_str!("../../../docs/jobs.md")]
    struct Jobs;
}
