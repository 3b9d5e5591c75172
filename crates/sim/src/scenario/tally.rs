//! What programs of a scenario count while they run.

use cmwq_policy::{Nanos, Time};

use crate::Distance;

/// Counts from some time on.
pub(crate) struct Tally {
    /// Nothing before this counts.
    pub(crate) since: Time,
    pub(crate) counters: Vec<u64>,
    /// By span: how long each took.
    pub(crate) spans: Vec<Vec<Nanos>>,
    /// By group of queues.
    pub(crate) queues: Vec<QueueTally>,
}

/// What the items of a queue have seen.
#[derive(Clone, Default)]
pub(crate) struct QueueTally {
    /// Executions by the distance of the CPU that began it from the one that queued it.
    pub(crate) executions: [u64; 5],
    /// From being queued to being begun, of items that were queued at once by a thread or an item.
    pub(crate) waits: Vec<Nanos>,
    /// Attempts to queue that were refused.
    pub(crate) refused: u64,
}

impl Tally {
    pub(crate) fn new(since: Time, counters: usize, spans: usize, queues: usize) -> Tally {
        Tally {
            since,
            counters: vec![0; counters],
            spans: vec![Vec::new(); spans],
            queues: vec![QueueTally::default(); queues],
        }
    }

    pub(crate) fn count(&mut self, now: Time, counter: usize, by: u64) {
        if now >= self.since {
            self.counters[counter] += by;
        }
    }

    /// A span ends that began then.
    pub(crate) fn span(&mut self, now: Time, span: usize, began: Time) {
        if now >= self.since {
            self.spans[span].push(now.since(began));
        }
    }

    pub(crate) fn execution(
        &mut self,
        now: Time,
        queue: usize,
        distance: Distance,
        queued: Option<Time>,
    ) {
        if now >= self.since {
            let queue = &mut self.queues[queue];
            queue.executions[distance as usize] += 1;
            queue.waits.extend(queued.map(|at| now.since(at)));
        }
    }

    pub(crate) fn refused(&mut self, queue: usize) {
        self.queues[queue].refused += 1;
    }
}
