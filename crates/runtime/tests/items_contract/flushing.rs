//! What a flush waits for, and what it does not.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use cmwq::Work;

use crate::common::{Opens, watchdog};
use crate::kit::{KINDS, Kind, counting, gated, running_on, start, waiter};

/// The kinds where one item can keep another from becoming active.
pub(crate) const LIMITED: [Kind; 4] = [Kind::PerCpu, Kind::Managed, Kind::Unmanaged, Kind::Ordered];

#[test]
fn a_flush_waits_for_the_last_queued_execution_only() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        assert_eq!(queue.queue(&item), Ok(true));
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (item.flush(), item.data().ended()));
            assert!(!flush.is_finished());
            item.data().gate.give(1);
            item.data().has_begun(2);
            assert_eq!(queue.queue(&item), Ok(true));
            item.data().gate.give(1);
            // The third execution has no permit.
            assert_eq!(flush.join().unwrap(), (Ok(true), 2), "{kind:?}");
        });
    }
}

#[test]
fn a_flush_of_a_running_item_does_not_wait_for_what_is_queued_later() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (item.flush(), item.data().ended()));
            assert!(!flush.is_finished() && queue.queue(&item) == Ok(true));
            item.data().gate.give(1);
            assert_eq!(flush.join().unwrap(), (Ok(true), 1), "{kind:?}");
        });
    }
}

#[test]
fn a_flush_of_a_queue_does_not_wait_for_what_is_queued_later() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, later) = (gated(), gated());
        let _opens = (Opens(&item.data().gate), Opens(&later.data().gate));
        start(&queue, &item);
        std::thread::scope(|scope| {
            let flush = waiter(scope, || queue.flush());
            assert!(!flush.is_finished() && queue.queue(&later) == Ok(true));
            item.data().gate.give(1);
            assert_eq!(flush.join().unwrap(), Ok(()), "{kind:?}");
            assert_eq!(later.data().ended(), 0);
        });
    }
}

/// An item that queues itself again until it is to stop.
fn endless(kind: Kind) -> (cmwq::Workqueue, Work<AtomicBool>, Arc<AtomicUsize>) {
    let (queue, runs) = (kind.queue(), Arc::new(AtomicUsize::new(0)));
    let (own, counter) = (queue.clone(), runs.clone());
    let item = Work::with_data(AtomicBool::new(false), move |item: &Work<AtomicBool>| {
        if !item.data().load(SeqCst) {
            let _ = own.queue(item);
        }
        // Last, so that whoever finds it uncounted finds it pending or running.
        counter.fetch_add(1, SeqCst);
    });
    (queue, item, runs)
}

#[test]
fn flushes_end_while_the_item_queues_itself_again_and_again() {
    let _watch = watchdog();
    for kind in KINDS {
        let (queue, item, runs) = endless(kind);
        assert_eq!(queue.queue(&item), Ok(true));
        for _ in 0..100 {
            let before = runs.load(SeqCst);
            // It is always pending or running.
            assert_eq!(item.flush(), Ok(true), "{kind:?}");
            assert!(runs.load(SeqCst) > before, "{kind:?}");
            queue.flush().unwrap();
        }
        item.data().store(true, SeqCst);
        item.cancel_sync().unwrap();
    }
}

#[test]
fn thirty_flushers_of_a_queue() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        std::thread::scope(|threads| {
            for _ in 0..30 {
                threads.spawn(|| {
                    let item = counting();
                    for times in 1..=30 {
                        assert_eq!(queue.queue(&item), Ok(true));
                        queue.flush().unwrap();
                        assert_eq!(item.data().load(SeqCst), times, "{kind:?}");
                    }
                });
            }
        });
    }
}

#[test]
fn thirty_flushers_of_an_item() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        std::thread::scope(|scope| {
            let flush = || (item.flush(), item.data().ended());
            let flushers: Vec<_> = (0..30).map(|_| scope.spawn(flush)).collect();
            drop(waiter(scope, flush));
            let last = waiter(scope, flush);
            assert!(!last.is_finished());
            item.data().gate.open();
            for flusher in flushers {
                // One that came late found nothing to wait for.
                let (_, ended) = flusher.join().unwrap();
                assert_eq!(ended, 1, "{kind:?}");
            }
            assert_eq!(last.join().unwrap(), (Ok(true), 1), "{kind:?}");
        });
    }
}

#[test]
fn the_flusher_of_an_item_over_the_limit_that_is_cancelled_goes_on_at_once() {
    let _watch = watchdog();
    for kind in LIMITED {
        let queue = kind.narrow();
        let blocker = running_on(&queue);
        let _opens = Opens(&blocker.data().gate);
        let items = [counting(), counting()];
        let cpu = crate::kit::cpus()[0];
        items
            .iter()
            .for_each(|item| assert_eq!(queue.queue_on(cpu, item), Ok(true)));
        std::thread::scope(|scope| {
            let flush = waiter(scope, || items[0].flush());
            let again = waiter(scope, || items[0].flush());
            assert!(!flush.is_finished() && !again.is_finished());
            assert!(items[0].cancel());
            // The blocker goes on meanwhile, which in the kernel leaves them asleep.
            assert_eq!(flush.join().unwrap(), Ok(true), "{kind:?}");
            assert_eq!(again.join().unwrap(), Ok(true), "{kind:?}");
        });
        assert_eq!(
            (blocker.data().ended(), items[0].data().load(SeqCst)),
            (0, 0),
            "{kind:?}"
        );
        assert!(items[1].is_pending());
        assert_eq!(queue.queue_on(cpu, &items[0]), Ok(true), "{kind:?}");
        blocker.data().gate.open();
        queue.flush().unwrap();
        assert_eq!(
            items.map(|item| item.data().load(SeqCst)),
            [1, 1],
            "{kind:?}"
        );
    }
}

#[test]
fn a_queue_flush_does_not_wait_for_what_is_cancelled() {
    let _watch = watchdog();
    for kind in LIMITED {
        let queue = kind.narrow();
        let blocker = running_on(&queue);
        let _opens = Opens(&blocker.data().gate);
        let item = counting();
        assert_eq!(queue.queue_on(crate::kit::cpus()[0], &item), Ok(true));
        std::thread::scope(|scope| {
            let flush = waiter(scope, || queue.flush());
            assert!(!flush.is_finished() && item.cancel());
            blocker.data().gate.open();
            assert_eq!(flush.join().unwrap(), Ok(()));
        });
        assert_eq!(item.data().load(SeqCst), 0, "{kind:?}");
    }
}
