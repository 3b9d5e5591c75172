//! Producers: each keeps a number of items in flight, and queues another when one of them ends.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};

use cmwq::Workqueue;

use super::super::clock::now;
use super::super::usage::Usage;
use super::log::Log;
use super::scratch::BLOCK;

/// Name of the producers' threads.
pub(super) const PRODUCER: &str = "producer";

/// When producers stop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// This many items were queued.
    Items(u64),
    /// This moment of the monotonic clock, in ns.
    Time(u64),
}

/// What producers and items share.
pub(super) struct Load {
    pub(super) log: Log,
    pub(super) queue: Workqueue,
    until: Until,
    queued: AtomicU64,
    failure: OnceLock<String>,
}

/// Where the items of one producer tell that they have ended.
struct Inbox {
    ended: AtomicUsize,
    producer: Thread,
}

impl Load {
    pub(super) fn new(log: Log, queue: Workqueue, until: Until) -> Load {
        Load {
            log,
            queue,
            until,
            queued: AtomicU64::new(0),
            failure: OnceLock::new(),
        }
    }

    /// The first error of an item, after which no more are queued.
    pub(super) fn failure(&self) -> Option<&String> {
        self.failure.get()
    }

    /// Whether one more item is to be queued; once no, always no.
    fn is_wanted(&self) -> bool {
        let number = self.queued.fetch_add(1, SeqCst);
        self.failure.get().is_none()
            && match self.until {
                Until::Items(items) => number < items,
                Until::Time(end) => now() < end,
            }
    }

    /// What a producer's thread does until all its items have ended; returns what that has cost it.
    pub(super) fn produce(self: &Arc<Load>, index: u32, depth: usize) -> Usage {
        let block = Arc::new([index as u8 + 1; BLOCK]);
        let inbox = Arc::new(Inbox::of_this_thread());
        let mut free = depth;
        loop {
            while free > 0 && self.is_wanted() {
                self.queue_one(&block, &inbox);
                free -= 1;
            }
            if free == depth {
                return Usage::of_this_thread();
            }
            free += inbox.wait();
        }
    }

    fn queue_one(self: &Arc<Load>, block: &Arc<[u8; BLOCK]>, inbox: &Arc<Inbox>) {
        let (load, block, inbox) = (Arc::clone(self), Arc::clone(block), Arc::clone(inbox));
        drop(self.queue.spawn(move || {
            if let Err(message) = load.log.add(&block) {
                // Only the first is told; the others are most likely the same.
                let _ = load.failure.set(message);
            }
            inbox.one_ended();
        }));
    }
}

impl Inbox {
    fn of_this_thread() -> Inbox {
        Inbox {
            ended: AtomicUsize::new(0),
            producer: thread::current(),
        }
    }

    fn one_ended(&self) {
        if self.ended.fetch_add(1, SeqCst) == 0 {
            self.producer.unpark();
        }
    }

    /// Waits for items; how many have ended since the last call.
    fn wait(&self) -> usize {
        loop {
            match self.ended.swap(0, SeqCst) {
                0 => thread::park(),
                ended => return ended,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: std::fs::File, until: Until) -> Arc<Load> {
        let queue = Workqueue::builder("load").build().unwrap();
        Arc::new(Load::new(Log::new(file, 16), queue, until))
    }

    #[test]
    fn as_many_items_as_wanted_end_before_the_producers_do() {
        let load = load(tempfile::tempfile().unwrap(), Until::Items(100));
        thread::scope(|scope| {
            for index in 0..3 {
                let load = &load;
                scope.spawn(move || load.produce(index, 4));
            }
        });
        assert_eq!((load.log.tally().items, load.failure()), (100, None));
        load.log.verify().unwrap();
    }

    #[test]
    fn a_time_that_has_passed_means_no_items() {
        let load = load(tempfile::tempfile().unwrap(), Until::Time(now()));
        load.produce(0, 4);
        assert_eq!(load.log.tally().items, 0);
    }

    #[test]
    fn an_error_ends_the_load() {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let load = load(full.unwrap(), Until::Items(u64::MAX));
        load.produce(0, 4);
        assert!(load.failure().unwrap().contains("No space left"));
    }
}
