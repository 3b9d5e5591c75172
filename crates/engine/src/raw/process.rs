//! The process: what it has one of, as faces see it.

use std::any::Any;
use std::fmt;
use std::io;

use cmwq_policy::affinity::Scope as AffinityScope;
use cmwq_policy::contract::{self, Freezer};
use cmwq_policy::{CpuMask, Nanos, Time};
use cmwq_stats::Snapshot;

use crate::engine::{self, Engine, Real};
use crate::error::InstallError;
use crate::monitor::snapshot;
use crate::options::{MAX_THREAD_LIMIT, Options};
use crate::queue::QueueRef;
use crate::shutdown::{self, ShutdownReport};
use crate::stats::{self, Stats};
use crate::wait::graph;
use crate::{start, thresholds};

/// The engine of a process. Copies are the same one.
#[derive(Clone, Copy)]
pub struct Process(&'static Engine);

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

impl Process {
    /// The calling process's, made at first use.
    ///
    /// # Errors
    /// If the system has no page left to tell a forked child by, or no thread, or parents have used
    /// up the numbers of pools. The next use tries again.
    pub fn get() -> io::Result<Process> {
        start::get().map(Process)
    }

    /// Makes these the options of the process, before its first use.
    ///
    /// # Errors
    /// Once it has been used or somebody has installed options, and for a limit that is out of
    /// range. Nothing is changed then.
    pub fn install(options: Options) -> Result<(), InstallError> {
        if !(1..=MAX_THREAD_LIMIT).contains(&options.thread_limit) {
            return Err(InstallError::ThreadLimit(options.thread_limit));
        }
        if engine::existing().is_some() {
            return Err(InstallError::InUse);
        }
        match options.install() {
            true => Ok(()),
            false => Err(InstallError::Installed),
        }
    }

    /// The options that hold in the process, or will when it is first used. True if they cannot be
    /// changed any more.
    pub fn options() -> (Options, bool) {
        match engine::existing() {
            Some(engine) => (*engine.base().options(), true),
            None => (Options::installed(), Options::are_installed()),
        }
    }

    /// The calling process's, if it has been used.
    pub fn existing() -> Option<Process> {
        engine::existing().map(Process)
    }

    pub(super) fn of(engine: &'static Engine) -> Process {
        Process(engine)
    }

    pub(super) fn engine(self) -> &'static Engine {
        self.0
    }

    /// Whether it is that of the calling process, and not of a parent.
    pub fn is_ours(self) -> bool {
        self.0.is_ours()
    }

    /// What a face keeps for the process, made at first use: one value of each type. A forked child
    /// begins with none.
    ///
    /// # Panics
    /// If faces ask for more than sixteen types.
    pub fn state<T: Any + Default + Send + Sync>(self) -> &'static T {
        self.0.state()
    }

    /// Counters of the process.
    pub fn stats(self) -> Stats {
        stats::of(self.0)
    }

    /// What the queues and pools of the process do now: what `cmwq top` shows. Waits for the lock
    /// of each pool once, and walks through the items that are being executed.
    pub fn snapshot(self) -> Snapshot {
        snapshot::take(self.0, "", false)
    }

    /// Looks at all workers once, soon.
    pub fn look(self) {
        self.0.tick().ask();
    }

    /// Refuses further items in the calling process, except from items that are running, and waits
    /// until everything that is queued has ended, at most until the deadline. What is left goes on.
    ///
    /// A process that has not been used is from then on, so that what comes later is refused there,
    /// too.
    pub fn shut_down(deadline: Time) -> ShutdownReport {
        match Process::get() {
            Ok(process) => shutdown::shut_down(process.0, deadline),
            // Nothing is queued.
            Err(_) => ShutdownReport::default(),
        }
    }
}

/// CPUs.
impl Process {
    /// How many CPUs items can keep busy: those of the affinity mask that are online, at most the
    /// CPU quota of the cgroups, at least 1.
    pub fn cpus(self) -> usize {
        self.0.cpus().target.max(1)
    }

    /// The CPUs of each NUMA node that the process may use.
    pub fn node_cpus(self) -> Vec<CpuMask> {
        self.0.node_cpus()
    }

    /// The scope of queues that name none.
    pub fn default_scope(self) -> AffinityScope {
        self.0.with_layout(|layout| layout.default_scope())
    }

    /// Changes that; queues that name none follow.
    pub fn set_default_scope(self, scope: AffinityScope) {
        self.0
            .change_layout(|layout| layout.set_default_scope(scope));
    }

    /// The CPUs that queues may use which are not per CPU.
    pub fn unbound_cpus(self) -> CpuMask {
        self.0
            .with_layout(|layout| layout.unbound().and(layout.online()))
    }

    /// Changes that. False, and nothing changes, if the process may use none of them.
    pub fn set_unbound_cpus(self, cpus: CpuMask) -> bool {
        self.0.change_layout(|layout| layout.set_unbound(cpus))
    }
}

/// Freezing.
impl Process {
    /// All freezable queues stand still from now on (kernel `freeze_workqueues_begin`).
    pub fn freeze(self) {
        self.change_freezer(Freezer::freeze);
    }

    /// Whether items are left that had begun before (kernel `freeze_workqueues_busy`).
    pub fn is_freezing(self) -> bool {
        let is_freezing = |queues| contract::is_freezing(&Real(self.0), queues);
        self.0.with_freezer(|_, queues| is_freezing(queues))
    }

    /// They go on (kernel `thaw_workqueues`).
    pub fn thaw(self) {
        self.change_freezer(Freezer::thaw);
    }

    fn change_freezer(self, change: impl FnOnce(&mut Freezer, &Real, Vec<QueueRef>)) {
        self.0
            .with_freezer(|freezer, queues| change(freezer, &Real(self.0), queues));
        graph::relieve(self.0);
    }
}

/// Thresholds of reports, of this process and its children; zero turns them off.
impl Process {
    /// The CPU time in one go that makes an item CPU-intensive.
    pub fn set_cpu_intensive_threshold(threshold: Nanos) {
        thresholds::set_cpu_intensive(threshold);
    }

    /// What that is now.
    pub fn cpu_intensive_threshold() -> Nanos {
        thresholds::cpu_intensive()
    }

    /// How long a pool or a limit may stand still until it is reported, now.
    pub fn watchdog_threshold() -> Nanos {
        thresholds::watchdog()
    }

    /// How long a pool or a limit may stand still until it is reported.
    pub fn set_watchdog_threshold(threshold: Nanos) {
        thresholds::set_watchdog(threshold);
        // What stands still already may be due by the new one.
        if let Some(engine) = engine::existing() {
            engine.tick().unpark();
        }
    }
}
