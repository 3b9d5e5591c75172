//! Items with a timer.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cmwq::{Busy, QueueError, Report, Work};

use crate::common::alone::{Watched, alone, is_child};
use crate::common::{Opens, eventually, queue, threads, watchdog};
use crate::kit::{Gated, KINDS, Kind, counting, cpus, gated, others_run, reports, waiter};

/// A time that no test waits for.
pub(crate) const FAR: Duration = Duration::from_secs(3600);
pub(crate) const NEAR: Duration = Duration::from_millis(1);

pub(crate) fn runs(item: &Work<AtomicUsize>) -> usize {
    item.data().load(SeqCst)
}

const ARMED: Busy = Busy {
    pending: true,
    running: false,
};

#[test]
fn it_runs_after_its_time_and_in_the_order_of_times() {
    let _watch = watchdog();
    let queue = Kind::Ordered.queue();
    let began = Arc::new(Mutex::new(Vec::new()));
    let mut armed = Vec::new();
    for n in 0..40_u64 {
        // In no order, and some at once.
        let delay = Duration::from_millis(n * 7 % 40);
        let log = began.clone();
        let item = Work::new(move || log.lock().unwrap().push((n as usize, Instant::now())));
        let earliest = Instant::now() + delay;
        assert_eq!(queue.queue_after(&item, delay), Ok(true));
        armed.push((item, earliest, Instant::now() + delay));
    }
    eventually("all have run", || {
        began.lock().unwrap().len() == armed.len()
    });
    let began = began.lock().unwrap();
    for (place, &(n, at)) in began.iter().enumerate() {
        assert!(at >= armed[n].1, "{n} began before its time");
        // Whoever has run before it was not due for certain after it.
        let early = began[..place]
            .iter()
            .find(|(before, _)| armed[*before].1 > armed[n].2);
        assert_eq!(early, None, "ran before {n}, which was due earlier");
    }
}

#[test]
fn without_a_delay_it_is_queued_at_once() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        assert_eq!(queue.queue_after(&item, Duration::ZERO), Ok(true));
        // Which waits for no timer.
        queue.flush().unwrap();
        assert_eq!(runs(&item), 1, "{kind:?}");
        let queued = queue.queue_after_on(cpus()[0], &item, Duration::ZERO);
        assert_eq!(queued, Ok(true));
        queue.flush().unwrap();
        assert_eq!(runs(&item), 2, "{kind:?}");
    }
}

#[test]
fn it_runs_when_its_time_has_come() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        for times in 1..=5 {
            assert_eq!(queue.queue_after(&item, NEAR), Ok(true), "{kind:?}");
            eventually("it has run", || runs(&item) == times);
            item.flush().unwrap();
            assert_eq!(item.busy(), Busy::default(), "{kind:?}");
        }
    }
}

#[test]
fn what_the_calls_return_while_it_is_armed() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        let armed = || {
            assert_eq!(queue.queue_after(&item, FAR), Ok(true), "{kind:?}");
            assert_eq!(item.busy(), ARMED, "{kind:?}");
        };
        armed();
        assert!(
            queue.queue(&item) == Ok(false)
                && queue.queue_after(&item, Duration::ZERO) == Ok(false)
        );
        assert_eq!(queue.queue_on(cpus()[0], &item), Ok(false));
        // Neither waits for a timer.
        assert_eq!((item.flush(), queue.flush()), (Ok(false), Ok(())));
        assert!(item.cancel() && !item.cancel());
        armed();
        assert_eq!(
            (item.cancel_sync(), item.cancel_sync()),
            (Ok(true), Ok(false))
        );
        armed();
        let no = Err(QueueError::Disabled);
        assert!(item.disable() && queue.queue_after(&item, FAR) == no && item.enable());
        armed();
        assert_eq!(item.disable_sync(), Ok(true));
        assert!(queue.queue_after(&item, Duration::ZERO) == no && item.enable());
        assert_eq!((item.busy(), runs(&item)), (Busy::default(), 0), "{kind:?}");
        armed();
        // It may have ended before there is anybody to wait.
        let flushed = item.flush_now();
        assert!(flushed.is_ok() && runs(&item) == 1, "{kind:?}");
        assert_eq!((item.flush_now(), runs(&item)), (Ok(false), 1), "{kind:?}");
    }
}

#[test]
fn flush_now_waits_for_the_execution() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        assert_eq!(queue.queue_after(&item, FAR), Ok(true));
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (item.flush_now(), item.data().ended()));
            assert!(!flush.is_finished());
            item.data().has_begun(1);
            // Armed again it is pending beside its execution, and flush does not wait for that.
            assert_eq!(queue.queue_after(&item, FAR), Ok(true));
            assert_eq!(
                item.busy(),
                Busy {
                    pending: true,
                    running: true
                }
            );
            item.data().gate.open();
            assert_eq!(flush.join().unwrap(), (Ok(true), 1), "{kind:?}");
        });
        assert!(item.cancel());
    }
}

#[test]
fn armed_while_it_runs_it_waits_for_its_time() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        assert_eq!(queue.queue(&item), Ok(true));
        item.data().has_begun(1);
        assert_eq!(queue.queue_after(&item, FAR), Ok(true));
        std::thread::scope(|scope| {
            let cancel = waiter(scope, || (item.cancel_sync(), item.data().ended()));
            assert!(
                !cancel.is_finished()
                    && queue.queue_after(&item, NEAR) == Err(QueueError::Disabled)
            );
            item.data().gate.open();
            assert_eq!(cancel.join().unwrap(), (Ok(true), 1), "{kind:?}");
        });
        assert_eq!(item.busy(), Busy::default(), "{kind:?}");
    }
}

#[test]
fn cancel_sync_stops_an_item_that_arms_itself() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let own = queue.clone();
        let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
            let delay = Duration::from_micros(item.data().fetch_add(1, SeqCst) as u64 % 3 * 100);
            let _ = own.queue_after(item, delay);
        });
        for _ in 0..100 {
            assert_eq!(
                queue.queue_after(&item, Duration::ZERO),
                Ok(true),
                "{kind:?}"
            );
            item.cancel_sync().unwrap();
            let before = runs(&item);
            assert_eq!(item.busy(), Busy::default(), "{kind:?}");
            others_run(&queue, 1);
            assert_eq!(runs(&item), before, "{kind:?}");
        }
    }
}

#[test]
fn dropping_a_queue_disarms_what_is_armed_for_it() {
    let _watch = watchdog();
    let other = queue("other");
    for kind in KINDS {
        let queue = kind.queue();
        let alive = Arc::new(());
        let items: Vec<_> = (0..10).map(|_| (counting(), alive.clone())).collect();
        let held = alive.clone();
        let forgotten = Work::new(move || drop(held.clone()));
        assert_eq!(queue.queue_after(&forgotten, FAR), Ok(true));
        drop(forgotten);
        items
            .iter()
            .for_each(|(item, _)| assert_eq!(queue.queue_after(item, FAR), Ok(true)));
        let elsewhere = counting();
        assert_eq!(other.queue_after(&elsewhere, FAR), Ok(true));
        drop(queue);
        for (item, _) in &items {
            assert_eq!((item.busy(), runs(item)), (Busy::default(), 0), "{kind:?}");
            assert!(other.queue_after(item, FAR) == Ok(true) && item.flush_now().is_ok());
            assert_eq!(runs(item), 1, "{kind:?}");
        }
        assert!(elsewhere.cancel(), "{kind:?}: of another queue");
        drop(items);
        assert_eq!(Arc::strong_count(&alive), 1, "{kind:?}");
    }
}

#[test]
fn a_timer_that_fires_into_a_drain_drops_its_item() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, delayed) = (gated(), counting());
        let _opens = Opens(&item.data().gate);
        assert!(queue.queue_after(&delayed, FAR) == Ok(true) && queue.queue(&item) == Ok(true));
        // Only an item of the queue may change anything while it is drained.
        let (own, inner) = (queue.clone(), delayed.clone());
        let changes = Work::with_data(Gated::default(), move |changes| {
            changes.data().pass();
            assert_eq!(own.modify(&inner, NEAR), Ok(false));
            eventually("its time has come", || !inner.is_pending());
        });
        let _changes_too = Opens(&changes.data().gate);
        assert_eq!(queue.queue(&changes), Ok(true));
        std::thread::scope(|scope| {
            let drain = waiter(scope, || queue.drain());
            assert!(!drain.is_finished());
            let refused = queue.queue_after(&counting(), NEAR);
            assert_eq!(refused, Err(QueueError::Draining));
            item.data().gate.open();
            changes.data().gate.open();
            assert_eq!(drain.join().unwrap(), Ok(()));
        });
        assert_eq!(
            (runs(&delayed), delayed.busy()),
            (0, Busy::default()),
            "{kind:?}"
        );
        assert_eq!(queue.queue_after(&delayed, NEAR), Ok(true));
        eventually("it runs", || runs(&delayed) == 1);
    }
}

/// As by its timer: who waits for it is no item of the queue.
#[test]
fn an_item_that_is_hurried_into_a_drain_is_dropped_and_reported() {
    alone(
        "delayed::an_item_that_is_hurried_into_a_drain_is_dropped_and_reported",
        || {
            let (queue, log) = (queue("drained"), reports());
            let (item, delayed) = (gated(), counting());
            let _opens = Opens(&item.data().gate);
            assert!(queue.queue_after(&delayed, FAR) == Ok(true) && queue.queue(&item) == Ok(true));
            std::thread::scope(|scope| {
                let drain = waiter(scope, || queue.drain());
                assert_eq!(delayed.flush_now(), Ok(false));
                assert!(!drain.is_finished());
                item.data().gate.open();
                assert_eq!(drain.join().unwrap(), Ok(()));
            });
            assert_eq!((runs(&delayed), delayed.busy()), (0, Busy::default()));
            let said = log.lock().unwrap().clone();
            let dropped = |report: &&Report| matches!(report, Report::TimerDropped { .. });
            assert_eq!(said.iter().filter(dropped).count(), 1, "{said:?}");
            assert!(queue.queue_after(&delayed, FAR) == Ok(true) && delayed.flush_now().unwrap());
            assert_eq!(runs(&delayed), 1);
        },
    );
}

#[test]
fn no_worker_waits_with_an_armed_item() {
    alone("delayed::no_worker_waits_with_an_armed_item", || {
        let queue = queue("far");
        let item = counting();
        assert_eq!(queue.queue_after(&item, FAR), Ok(true));
        assert_eq!(threads::count("cmwq/u"), 0, "worker threads");
        item.flush_now().unwrap();
        assert_eq!(runs(&item), 1);
    });
}

fn switches(pid: i32) -> BTreeMap<i32, u64> {
    let switches = |thread: &threads::Thread| (thread.tid, thread.switches());
    threads::of(pid).iter().map(switches).collect()
}

#[test]
fn nobody_wakes_while_only_a_far_timer_is_armed() {
    const NAME: &str = "delayed::nobody_wakes_while_only_a_far_timer_is_armed";
    if is_child(NAME) {
        let queue = queue("far");
        let (near, far) = (counting(), counting());
        assert!(
            queue.queue_after(&far, FAR) == Ok(true) && queue.queue_after(&near, NEAR) == Ok(true)
        );
        eventually("it has run", || runs(&near) == 1);
        println!("armed");
        // Until the parent has seen enough.
        let _ = std::io::read_to_string(std::io::stdin());
        return;
    }
    let _watch = watchdog();
    let mut child = Watched::start(NAME);
    child.wait_for("armed");
    let mut seen = switches(child.pid());
    eventually("it has come to rest", || {
        std::thread::sleep(Duration::from_millis(500));
        let before = std::mem::replace(&mut seen, switches(child.pid()));
        let asleep = |thread: &threads::Thread| thread.field("State:").starts_with('S');
        before == seen && threads::of(child.pid()).iter().all(asleep)
    });
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(switches(child.pid()), seen);
}

/// The timer's reference may be the last one: then the item keeps the queue that it was just put
/// into.
#[test]
fn a_queue_that_goes_while_its_item_is_hurried_outlives_it() {
    let _watch = watchdog();
    for _ in 0..500 {
        let queue = queue("goes");
        let item = counting();
        assert_eq!(queue.queue_after(&item, FAR), Ok(true));
        std::thread::scope(|scope| {
            let hurried = scope.spawn(|| item.flush_now());
            drop(queue);
            hurried.join().unwrap().unwrap();
        });
        assert!(runs(&item) <= 1);
    }
}
