//! The end of a program that wants its items done.

use cmwq_policy::Time;

use crate::engine::Engine;
use crate::pool::Pool;
use crate::stats;
use crate::wait::this_worker;

/// What became of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Items that ended during the call.
    pub completed: u64,
    /// Items that nobody had begun at the deadline.
    pub queued: u64,
    /// Items that were running at the deadline, not counted those that the caller is in.
    pub running: u64,
    /// Delayed items whose timer is armed: they are not waited for, and will not be queued.
    pub armed: u64,
}

impl ShutdownReport {
    /// Whether everything that was queued was done.
    ///
    /// ```
    /// assert!(cmwq_engine::ShutdownReport::default().is_complete());
    /// ```
    pub fn is_complete(&self) -> bool {
        self.queued == 0 && self.running == 0
    }
}

/// See [`Process::shut_down`](crate::raw::Process::shut_down).
pub(crate) fn shut_down(engine: &'static Engine, deadline: Time) -> ShutdownReport {
    engine.close();
    let completed = || stats::of(engine).completed;
    let before = completed();
    let wait = || wait_for_all(engine, deadline);
    match this_worker::current() {
        Some(worker) => worker.blocking(wait),
        None => wait(),
    };
    let mut report = left_over(engine);
    report.completed = completed() - before;
    report
}

/// Waits until all pools are empty at one moment. Items may queue on from one pool to another, so
/// a look at each in turn may miss them: it counts if between two such looks no item has ended.
/// `None` at the deadline.
fn wait_for_all(engine: &Engine, deadline: Time) -> Option<()> {
    let mut ended_before = None;
    loop {
        let ended = engine
            .pools()
            .map(|pool| wait_for(pool, deadline, own_items(pool)));
        let ended = ended.sum::<Option<u64>>()?;
        if ended_before.replace(ended) == Some(ended) {
            return Some(());
        }
    }
}

/// Waits until only `own` items are in flight; how many had ended then. `None` at the deadline.
fn wait_for(pool: &'static Pool, deadline: Time, own: u64) -> Option<u64> {
    pool.with(|core, _| core.watch_drain(true));
    let mut ended = 0;
    let in_time = pool.wait_progress(Some(deadline), |core, _| {
        ended = core.stats().completed;
        core.nr_in_flight() <= own
    });
    pool.with(|core, _| core.watch_drain(false));
    in_time.then_some(ended)
}

/// The items that the calling thread is in the middle of: its own, and those in whose waits it has
/// claimed that.
fn own_items(pool: &'static Pool) -> u64 {
    let stack = this_worker::current()
        .into_iter()
        .flat_map(|own| own.stack());
    stack.filter(|own| own.pool() == pool).count() as u64
}

fn left_over(engine: &Engine) -> ShutdownReport {
    let mut report = ShutdownReport::default();
    let timers = engine.timers().lock().expect("the core does not panic");
    report.armed = timers.len() as u64;
    drop(timers);
    for pool in engine.pools() {
        pool.with(|core, _| {
            let running = u64::from(core.nr_executing());
            report.queued += core.nr_in_flight() - running;
            report.running += running - own_items(pool);
        });
    }
    report
}
