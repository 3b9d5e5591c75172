//! Everything that a pool counts, for those who check it from outside.

use super::WorkerPool;
use crate::store::Store;
use crate::time::Time;

/// A pool's counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Threads, idle ones included, rescuers not.
    pub workers: u32,
    /// Parked.
    pub idle: u32,
    /// Asked for and not there yet.
    pub creating: u32,
    /// Chosen and not there yet.
    pub waking: u32,
    /// Awake, with nothing to execute.
    pub between: u32,
    /// Executing an item or a barrier, rescuers included.
    pub executing: u32,
    /// Of those, not counted as running.
    pub hinted: u32,
    /// Rescuers that are here.
    pub rescuers: u32,
    /// Threads that execute here what they have claimed, once for each claim.
    pub claims: u32,
    /// The estimate of runnable workers.
    pub running: u32,
    /// Items that a worker may take now.
    pub queued: usize,
    /// Tokens of the budget that the pool holds.
    pub tokens: u32,
    /// No thread is asked for before.
    pub spawn_after: Time,
}

impl<S: Store> WorkerPool<S> {
    /// What the pool counts.
    pub fn census(&self) -> Census {
        let c = self.crew.counts();
        Census {
            workers: c.workers,
            idle: self.nr_idle(),
            creating: c.creating,
            waking: c.waking,
            between: c.between,
            executing: c.executing,
            hinted: c.hinted,
            rescuers: self.crew.rescuers().count() as u32,
            claims: c.claims,
            running: self.nr_running(),
            queued: self.worklist.nr_ready(),
            tokens: self.estimate.tokens(),
            spawn_after: self.spawn_after,
        }
    }
}
