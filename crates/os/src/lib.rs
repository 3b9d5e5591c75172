//! All of Linux that cmwq touches. Every other crate asks here, so that what the kernel promises,
//! and what it costs, is written down in one place.
//!
//! Nothing here decides anything: these are readings and system calls, with the errors the kernel
//! gave.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `adopt`, `cgroup`, `clock`, `generation`, `idle`, `sched`, `schedstat`, `session`,
//!    `topology`, `under_miri`, `usage`: one kind of call or file each
//! 2. `limits`, `stopwatch`, `thread`
//! 3. `cpus`, `file_limit`, `memory`, `stderr`: how much of the machine may be used; writing
//! 4. `futex`, `helper`: the helper is a process that waits on futexes
//! 5. `observe`: what threads and processes do
//! 6. `inspect`, `kin`, `probe`

#[cfg(not(target_os = "linux"))]
compile_error!(
    "cmwq is for Linux: it reads idle CPUs, futexes, affinity and cgroups as only Linux has them"
);

/// Being given the orphans among one's descendants.
pub mod adopt;
/// How much CPU time the control groups around this process allow.
pub mod cgroup;
/// The three clocks cmwq reads.
pub mod clock;
/// How many CPUs this process can use.
pub mod cpus;
/// Writing without being ended by the limit of a file's size.
pub mod file_limit;
/// Sleeping and waking on a word of memory.
pub mod futex;
/// Finding out that this process is a forked copy.
pub mod generation;
/// A process of its own for `SCHED_IDLE` threads.
pub mod helper;
/// How long CPUs have had nothing to run.
pub mod idle;
/// What another thread has used, and where it is.
pub mod inspect;
/// Ending descendants, and nobody else.
pub mod kin;
/// Limits of threads, files, memory and priority.
pub mod limits;
/// How much memory may still be used.
pub mod memory;
/// Whether threads, ours and those of child processes, run or sleep.
pub mod observe;
/// What this system allows, by trying.
pub mod probe;
/// Which CPUs, which nice level, which policy.
pub mod sched;
/// How long a thread ran and how long it waited for a CPU.
pub mod schedstat;
/// Its process group and session.
pub mod session;
/// Words for people, without a lock.
pub mod stderr;
/// The clock of points in time, for who reads it all the time.
pub mod stopwatch;
/// Starting threads, their names and their signal masks.
pub mod thread;
/// Which CPUs share memory, caches and cores.
pub mod topology;
#[cfg(miri)]
mod under_miri;
/// What a thread or the process has used.
pub mod usage;

pub use cmwq_policy::CpuMask;
