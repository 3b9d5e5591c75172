//! Cancelling, from outside and against queueing.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{Busy, QueueError, Work};

use crate::common::{Opens, watchdog};
use crate::flushing::LIMITED;
use crate::kit::{KINDS, counting, cpus, gated, others_run, running_on, start, waiter};

#[test]
fn cancel_sync_stops_an_item_that_queues_itself() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let own = queue.clone();
        let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
            item.data().fetch_add(1, SeqCst);
            let _ = own.queue(item);
        });
        for _ in 0..200 {
            assert_eq!(queue.queue(&item), Ok(true), "{kind:?}");
            item.cancel_sync().unwrap();
            let runs = item.data().load(SeqCst);
            assert_eq!(item.busy(), Busy::default(), "{kind:?}");
            others_run(&queue, 1);
            assert_eq!(item.data().load(SeqCst), runs, "{kind:?}");
        }
    }
}

#[test]
fn of_two_cancel_syncs_one_takes_the_pending_execution_and_both_wait() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        assert_eq!(queue.queue(&item), Ok(true));
        std::thread::scope(|scope| {
            let cancel = || (item.cancel_sync().unwrap(), item.data().ended());
            let cancels = [waiter(scope, cancel), waiter(scope, cancel)];
            assert!(cancels.iter().all(|cancel| !cancel.is_finished()));
            item.data().gate.open();
            let mut results = cancels.map(|cancel| cancel.join().unwrap());
            results.sort();
            assert_eq!(results, [(false, 1), (true, 1)], "{kind:?}");
        });
        assert_eq!(queue.queue(&item), Ok(true), "it is not disabled any more");
        queue.flush().unwrap();
        assert_eq!(item.data().ended(), 2, "{kind:?}");
    }
}

#[test]
fn queueing_is_refused_while_cancel_sync_waits() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        std::thread::scope(|scope| {
            let cancel = waiter(scope, || item.cancel_sync());
            assert!(!cancel.is_finished());
            assert_eq!(queue.queue(&item), Err(QueueError::Disabled), "{kind:?}");
            assert!(!item.is_pending());
            item.data().gate.open();
            assert_eq!(cancel.join().unwrap(), Ok(false));
        });
        assert_eq!(item.data().ended(), 1, "{kind:?}");
    }
}

#[test]
fn a_cancelled_item_gives_its_place_to_the_next() {
    let _watch = watchdog();
    for kind in LIMITED {
        let queue = kind.narrow();
        let blocker = running_on(&queue);
        let _opens = Opens(&blocker.data().gate);
        let items = [counting(), counting(), counting()];
        let queue_on = |item| assert_eq!(queue.queue_on(cpus()[0], item), Ok(true));
        items.iter().for_each(queue_on);
        assert!(items[1].cancel() && items[0].cancel_sync().unwrap());
        assert!(!items[1].cancel() && !items[0].cancel_sync().unwrap());
        blocker.data().gate.open();
        queue.flush().unwrap();
        let runs = items.map(|item| item.data().load(SeqCst));
        assert_eq!(runs, [0, 0, 1], "{kind:?}");
    }
}

/// Each true of a queueing is matched by an execution, or by the true of one cancel.
#[test]
fn each_queueing_is_executed_or_cancelled_once() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        let (queued, cancelled) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..3_000 {
                        // Refused while somebody is in cancel_sync.
                        let was_queued = queue.queue(&item) == Ok(true);
                        queued.fetch_add(usize::from(was_queued), SeqCst);
                    }
                });
            }
            for n in 0..2 {
                let (item, cancelled) = (&item, &cancelled);
                threads.spawn(move || {
                    for _ in 0..1_500 {
                        let was_pending = match n {
                            0 => item.cancel(),
                            _ => item.cancel_sync().unwrap(),
                        };
                        cancelled.fetch_add(usize::from(was_pending), SeqCst);
                    }
                });
            }
        });
        queue.flush().unwrap();
        let accounted = item.data().load(SeqCst) + cancelled.load(SeqCst);
        assert_eq!(accounted, queued.load(SeqCst), "{kind:?}");
    }
}

#[test]
fn a_pending_execution_that_is_cancelled_does_not_run_after_the_running_one() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        assert!(queue.queue(&item) == Ok(true) && item.cancel() && !item.cancel());
        assert!(queue.queue(&item) == Ok(true) && item.cancel());
        item.data().gate.open();
        queue.flush().unwrap();
        assert_eq!(item.data().ended(), 1, "{kind:?}");
    }
}
