//! The end of a program that wants its items done.

use std::time::Duration;

use cmwq_os::clock;

use crate::engine;
use crate::pool::worker;
use crate::stats::stats;

/// What became of the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Items that ended during the call.
    pub completed: u64,
    /// Items that nobody had begun at the deadline.
    pub queued: u64,
    /// Items that were running at the deadline, the caller's own not counted.
    pub running: u64,
}

impl ShutdownReport {
    /// Whether everything was done.
    pub fn is_complete(&self) -> bool {
        self.queued == 0 && self.running == 0
    }
}

/// Refuses further items, except from items that are running, and waits until everything queued in
/// the process has ended, at most for `deadline`. What is left then goes on as long as the process
/// does. Called from an item, it does not wait for that item.
///
/// Returning from `main` does not run what is queued; this does.
///
/// ```
/// drop(cmwq::system().spawn(|| println!("written before the program ends")));
/// let report = cmwq::shutdown(std::time::Duration::from_secs(10));
/// assert!(report.is_complete());
/// ```
pub fn shutdown(deadline: Duration) -> ShutdownReport {
    let Some(engine) = engine::existing() else { return ShutdownReport::default() };
    engine.close();
    let before = stats().completed;
    let nanos = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
    let deadline = clock::now().after(nanos);
    let own_pool = worker::current().map(|place| place.pool());
    let mut report = ShutdownReport::default();
    for pool in engine.pools() {
        let own = u64::from(own_pool == Some(pool));
        let wait = || {
            pool.wait_progress(Some(deadline), |core, _| {
                core.watch_drain(true);
                core.nr_in_flight() <= own
            });
        };
        match worker::current() {
            Some(place) => place.blocking(wait),
            None => wait(),
        }
        pool.with(|core, _| {
            core.watch_drain(false);
            let running = u64::from(core.nr_executing());
            report.queued += core.nr_in_flight() - running;
            report.running += running - own;
        });
    }
    report.completed = stats().completed - before;
    report
}
