//! What a pool does for a shape.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::super::engine::Engine;

/// How long a round trip may take before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pool with its kind of items. Lives as long as the process: a pool that lost an item would hang
/// when it is dropped.
pub(super) trait Load: Sync {
    /// The calling thread queues `count` items; of those made beforehand, from the `from`th on.
    fn fill(&'static self, from: usize, count: usize);

    /// Queues an item, which is not counted, that queues `count` items.
    fn fill_inside(&'static self, count: usize);

    /// Queues an item that queues the next, until `count` have run.
    fn chain(&'static self, count: usize);

    /// Queues an item that gives `answer`.
    fn ask(&'static self, answer: &'static Answer);

    /// What the pool knows about itself after the run.
    fn engine(&self) -> Option<Engine> {
        None
    }
}

/// What an item tells the thread that waits for it: the same for all pools. There is one, since
/// an item that is made beforehand tells it again and again.
pub(super) struct Answer {
    given: AtomicBool,
    asker: Thread,
}

impl Answer {
    /// The one to this thread, which is the first to call this.
    pub(super) fn to_caller() -> &'static Answer {
        static ANSWER: OnceLock<Answer> = OnceLock::new();
        ANSWER.get_or_init(|| Answer {
            given: AtomicBool::new(false),
            asker: thread::current(),
        })
    }

    pub(super) fn give(&self) {
        self.given.store(true, SeqCst);
        self.asker.unpark();
    }

    /// Waits for one answer, and takes it.
    pub(super) fn take(&self) -> Result<(), String> {
        while !self.given.swap(false, SeqCst) {
            let parked = Instant::now();
            thread::park_timeout(PATIENCE);
            if parked.elapsed() >= PATIENCE {
                return Err("an item has not run".to_owned());
            }
        }
        Ok(())
    }
}
