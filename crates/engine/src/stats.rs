//! Counters of the whole process.

use cmwq_policy::form::{CanaryForm, CanaryReason};
use cmwq_policy::growth::{GrowthStats, Holding};
use cmwq_policy::pool::WorkerPool;

use crate::engine::Engine;
use crate::queue::pwq::Items;

/// What the process's pools have done since first use. A snapshot: pools are read one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// [`Process::cpus`](crate::Process::cpus), or 0 before first use.
    pub cpus: usize,
    /// Worker threads.
    pub workers: usize,
    /// Sum over the pools of the most workers each had.
    pub peak_workers: usize,
    /// Items begun.
    pub started: u64,
    /// Items ended.
    pub completed: u64,
    /// Items queued and not ended.
    pub in_flight: u64,
    /// Reports of canaries that a CPU would idle.
    pub canary_reports: u64,
    /// Of those, reports that led to a start.
    pub canary_starts: u64,
    /// Why there are no canaries, if the system denies them: an errno.
    pub canary_denied: Option<i32>,
    /// Where canaries live: `None` before that was decided, with the first item that had to wait.
    pub canary_form: Option<CanaryForm>,
    /// Why they live there.
    pub canary_reason: Option<CanaryReason>,
    /// Looks at the workers while items waited.
    pub ticks: u64,
    /// Workers that the tick started.
    pub tick_starts: u64,
    /// Workers in an item whose state the last look could not see: `/proc` is missing, hidden or of
    /// another PID namespace, or no descriptor was left. The CPU time of their threads and the
    /// passing of time stand in for it.
    pub unseen: usize,
    /// Such workers that were taken for asleep because no item had ended for 10 ms.
    pub unseen_presumed: u64,
    /// CPU time of the tick's thread, in nanoseconds.
    pub tick_cpu_ns: u64,
    /// Items that were begun by who waited for them ([`Claim`]).
    ///
    /// [`Claim`]: cmwq_policy::stacking::Stacking::Claim
    pub claimed: u64,
    /// Items of managed queues that began outside of the pod that they were queued in.
    pub far: u64,
    /// Workers that were woken where items waited for them, and had been elsewhere before.
    pub repatriated: u64,
    /// Workers that went idle although items waited, because they had to wait for a CPU.
    pub step_backs: u64,
    /// Workers that went idle although items waited, because others queued up at one lock.
    pub convoy_step_backs: u64,
    /// Pools in which items are held back now, as others of their queue and function queue up at
    /// one lock.
    pub held_pools: usize,
    /// So many of these may run without delay, in all pools together.
    pub held_workers: usize,
    /// How often, and why, items were held back.
    pub growth: GrowthStats,
    /// Threads that could not be made.
    pub spawn_failures: u64,
    /// Some worker could not get its queue's nice value.
    pub nice_denied: bool,
    /// The estimate of runnable workers, integrated over time, in worker-nanoseconds. The
    /// difference of two snapshots by the time between them is the mean number of runnable workers.
    /// Those of unmanaged queues are not looked at, and do not count. While no item waits to begin
    /// nobody looks but for [`Process::look`](crate::Process::look).
    pub runnable_ns: u128,
}

impl Stats {
    /// What is known of the process as a whole.
    fn of_process(engine: &Engine) -> Self {
        let (canaries, tick) = (engine.canaries(), engine.tick());
        let denied = canaries.denied();
        Stats {
            cpus: engine.cpus().target,
            canary_reports: canaries.reports(),
            canary_denied: denied.and_then(std::io::Error::raw_os_error),
            canary_form: canaries.form().map(|(form, _)| form),
            canary_reason: canaries.form().map(|(_, reason)| reason),
            ticks: tick.ticks(),
            tick_cpu_ns: tick.cpu_ns(),
            spawn_failures: engine.spawn_failures(),
            nice_denied: engine.is_nice_denied(),
            ..Stats::default()
        }
    }

    fn add_pool(&mut self, pool: &WorkerPool<Items>) {
        let of = pool.stats();
        self.workers += pool.nr_workers() as usize;
        self.in_flight += pool.nr_in_flight();
        self.peak_workers += of.peak_workers as usize;
        self.started += of.started;
        self.completed += of.completed;
        self.canary_starts += of.idle_reports;
        self.tick_starts += of.tick_starts;
        self.unseen += pool.nr_unseen() as usize;
        self.unseen_presumed += of.unseen_presumed;
        self.claimed += of.claimed;
        self.far += of.far;
        self.step_backs += of.step_backs;
        self.convoy_step_backs += of.convoy_step_backs;
    }

    fn add_growth(&mut self, holding: Holding, of: GrowthStats) {
        if let Holding::Convoy { workers, .. } = holding {
            self.held_pools += 1;
            self.held_workers += workers as usize;
        }
        self.growth.convoys += of.convoys;
        self.growth.probes += of.probes;
        self.growth.undone += of.undone;
    }
}

/// Reads the counters.
pub(crate) fn of(engine: &Engine) -> Stats {
    let mut stats = Stats::of_process(engine);
    for pool in engine.pools() {
        stats.repatriated += pool.repatriated();
        pool.with(|core, cx| {
            stats.add_pool(core);
            stats.runnable_ns += core.runnable_ns(cx.now);
            stats.add_growth(core.holding(cx.now), core.stats().growth);
        });
    }
    stats
}
