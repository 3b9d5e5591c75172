//! How the process is doing.

use cmwq_engine::{Process, Stats};

/// How many CPUs items of this process can keep busy: those of its affinity mask that are online,
/// at most the CPU quota of its cgroups, at least 1. It follows changes of both. Makes the engine
/// if there is none yet.
///
/// ```
/// assert!((1..=1024).contains(&cmwq::cpus()));
/// ```
pub fn cpus() -> usize {
    Process::get().map_or(1, Process::cpus)
}

/// Asks the engine to look at all workers once, soon. By itself it looks only while items wait to
/// begin, so that nobody is woken for nothing: where none does, an item counts in
/// [`Stats::runnable_ns`] as it was seen last, perhaps long ago. A look takes some 10 µs for each
/// item that is executed, more for one that stands for a process tree
/// ([`attach`](crate::process::attach)). Does nothing before first use.
///
/// ```
/// let before = cmwq::stats().runnable_ns;
/// cmwq::look();
/// assert!(cmwq::stats().runnable_ns >= before);
/// ```
pub fn look() {
    if let Some(process) = Process::existing() {
        process.look();
    }
}

/// Reads the counters. All zero before first use.
///
/// ```
/// cmwq::system().spawn(|| ()).join()?;
/// assert!(cmwq::stats().started >= 1);
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn stats() -> Stats {
    Process::existing().map_or_else(Stats::default, Process::stats)
}
