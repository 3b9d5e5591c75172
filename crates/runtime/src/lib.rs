//! Concurrency-managed workqueues for Linux: a thread pool whose size nobody has to choose.
//!
//! Queue work of any kind. cmwq starts another worker when a CPU would idle, because running items
//! wait or because there are too few. It stops when the CPUs are busy. All queues of a process
//! share the CPUs in this way.
//!
//! ```
//! let answer = cmwq::spawn(|| 6 * 7); // one closure: join it, or await it
//! let squares: Vec<u64> = cmwq::system().map(0..100, |n| n * n).collect(); // many inputs, in order
//! assert_eq!((answer.join()?, squares[9]), (42, 81));
//! # Ok::<(), cmwq::JoinError>(())
//! ```
//!
//! | you want to | read |
//! | --- | --- |
//! | choose a queue | [which queue](guide::which_queue) |
//! | run something for each of many inputs | [many inputs](guide::many_inputs) |
//! | repeat or delay something | [again and later](guide::again_and_later) |
//! | bound memory or connections | [limits](guide::limits) |
//! | wait, and know what cannot end | [waiting](guide::waiting) |
//! | take blocking calls off an async runtime | [async runtimes](guide::async_runtimes) |
//! | set options, fork, end the program | [the process](guide::process) |
//! | look up a word | [words](guide::words) |
//!
//! # Features
//!
//! All are off by default.
//!
//! * `tracing`: [reports](Report) become events of the `tracing` crate, too. Each item runs in a
//!   span, and its steps are events with the kernel's names.
//! * `usdt`: the kernel's four tracepoints of workqueues are probes, for perf, bpftrace and gdb.
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
// Lowest first; a module imports from its own floor and from those below. All stand on
// `cmwq_engine`, which knows of none of them.
//
// 1. `join_error`, `current`, `freezer`, `guide`, `process`, `reporting`, `affinity`, `builder`,
//    `stats`, `shutdown`, `work`: what programs see
// 2. `workqueue`: queues as programs hold them
// 3. `task`, `system`, `park`
// 4. `join_handle`
// 5. `select`, `scope`, `job`, `async_domain`
// 6. `map`
mod affinity;
mod async_domain;
mod builder;
mod current;
pub mod freezer;
pub mod guide;
mod job;
mod join_error;
mod join_handle;
mod map;
mod park;
pub mod process;
mod reporting;
mod scope;
mod select;
mod shutdown;
mod stats;
mod system;
mod task;
mod work;
mod workqueue;

pub use affinity::{
    AffinityScope, default_affinity_scope, set_default_affinity_scope, set_unbound_cpus,
    unbound_cpus,
};
pub use async_domain::{AsyncDomain, Cookie};
pub use builder::{Builder, OptionsInForce};
#[doc(hidden)]
pub use cmwq_engine::check_whole;
pub use cmwq_engine::error::{
    AttrsError, BuildError, FlushError, InstallError, QueueError, WouldDeadlock,
};
pub use cmwq_engine::report::{Awaited, LimitPart, Report, StalledWorker};
pub use cmwq_engine::{
    Busy, DFL_STACK_SIZE, DFL_THREAD_LIMIT, GrowthStats, MAX_THREAD_LIMIT, ShutdownReport, Stats,
};
pub use cmwq_policy::form::{CanaryForm, CanaryReason};
pub use cmwq_policy::stacking::Stacking;
pub use current::{CurrentWork, current_work, is_rescuer, others_waiting, set_worker_desc};
pub use job::{CancelToken, Job, JobError, JobProgress, JobStats};
pub use join_error::JoinError;
pub use join_handle::{JoinHandle, spawn};
pub use map::{Map, MapUnordered, ScopedMap, ScopedMapUnordered};
pub use reporting::{
    cpu_intensive_threshold, set_cpu_intensive_threshold, set_report_hook, set_watchdog_threshold,
    watchdog_threshold,
};
pub use scope::{Scope, ScopedJoinHandle};
pub use select::{select, select_timeout};
pub use shutdown::shutdown;
pub use stats::{cpus, look, stats};
pub use system::{system, system_bh, system_freezable, system_highpri, system_long, system_percpu};
pub use work::Work;
pub use workqueue::{
    Attrs, Histogram, Waits, Workqueue, WorkqueueBuilder, WorkqueueCounts, WorkqueueStats,
};

/// Runs `wait` and says so: the calling item is about to block, so another worker may take its CPU
/// at once. Never needed, sometimes faster than being noticed. Outside of an item it just runs
/// `wait`.
///
/// ```
/// let line = cmwq::blocking(|| std::fs::read_to_string("/proc/self/comm"))?;
/// assert!(line.ends_with('\n'));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    cmwq_engine::worker::blocking(wait)
}

/// The examples of the guide are compiled and run with those of the reference.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Package;
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
