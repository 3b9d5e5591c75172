//! The end of a program that wants its items done.

use cmwq_os::clock;
use cmwq_policy::Time;
use cmwq_policy::contract::{self, Later};

use crate::engine::Engine;
use crate::pool::Pool;
use crate::stats;
use crate::wait::{graph, this_worker};

/// What became of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Items that ended during the call.
    pub completed: u64,
    /// Items that nobody had begun at the deadline, or can begin before the caller's own has ended.
    pub queued: u64,
    /// Items that were running at the deadline, not counted those that the caller is in, and those
    /// that wait for one of these.
    pub running: u64,
    /// Delayed items whose timer is armed: they are not waited for, and will not be queued.
    pub armed: u64,
}

impl ShutdownReport {
    /// Whether everything that was queued was done.
    ///
    /// ```
    /// # use cmwq_engine as cmwq;
    /// assert!(cmwq::ShutdownReport::default().is_complete());
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
    let wait = || {
        wait_for_all(engine, deadline);
        left_over(engine)
    };
    let mut report = match this_worker::current() {
        Some(worker) => worker.shutting_down(|| worker.blocking(wait)),
        None => wait(),
    };
    report.completed = completed() - before;
    report
}

/// Waits until all pools are empty at one moment. Items may queue on from one pool to another, so
/// one look at each pool in turn may miss them. Two such looks count if no item has ended between
/// them. `None` at the deadline.
fn wait_for_all(engine: &Engine, deadline: Time) -> Option<()> {
    let mut ended_before = None;
    loop {
        let ended = engine.pools().map(|pool| wait_for(pool, deadline));
        let ended = ended.sum::<Option<u64>>()?;
        if ended_before.replace(ended) == Some(ended) {
            return Some(());
        }
    }
}

/// Waits until only that is in flight which is not waited for; how many items had ended then.
/// `None` at the deadline.
fn wait_for(pool: &'static Pool, deadline: Time) -> Option<u64> {
    pool.with(|core, _| core.watch_drain(true));
    let ended = loop {
        let (later, look_at) = look(pool);
        let until = look_at.map_or(deadline, |at| at.min(deadline));
        let mut ended = 0;
        let done = pool.wait_progress(Some(until), |core, _| {
            ended = core.stats().completed;
            core.nr_in_flight() <= later.in_flight()
        });
        if done || until == deadline {
            break done.then_some(ended);
        }
    };
    pool.with(|core, _| core.watch_drain(false));
    ended
}

/// What of the pool is not waited for, as it ends after this call; when to look again.
fn look(pool: &'static Pool) -> (Later, Option<Time>) {
    // What is no item has none behind it.
    if this_worker::current().is_none() {
        return (Later::default(), None);
    }
    let before = clock::thread_cpu();
    let later = graph::later(pool);
    let cost = clock::thread_cpu().saturating_sub(before);
    (later, Some(contract::next_look(None, clock::now(), cost)))
}

fn left_over(engine: &Engine) -> ShutdownReport {
    let mut report = ShutdownReport::default();
    let timers = engine.timers().lock().expect("the core does not panic");
    report.armed = timers.len() as u64;
    drop(timers);
    for pool in engine.pools() {
        let (later, _) = look(pool);
        pool.with(|core, _| {
            let running = u64::from(core.nr_executing());
            let queued = core.nr_in_flight() - running;
            report.queued += queued.saturating_sub(later.barriers);
            report.running += running.saturating_sub(later.running);
        });
    }
    report
}
