//! Draining and dropping queues.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{QueueError, Report, Work, Workqueue};

use crate::common::alone::alone;
use crate::common::{Opens, Permits, eventually, queue, watchdog};
use crate::kit::{KINDS, counting, cpus, gated, running_on, waiter};

/// An item that lets `depth` others follow one after another, each queued by the one before it.
fn chain(queue: Workqueue, depth: usize, ends: Arc<AtomicUsize>) {
    let next = queue.clone();
    let link = Work::new(move || {
        if depth > 0 {
            chain(next.clone(), depth - 1, ends.clone());
        }
        ends.fetch_add(1, SeqCst);
    });
    assert_eq!(queue.queue(&link), Ok(true));
}

#[test]
fn a_drain_waits_for_what_its_items_queue() {
    const DEPTH: usize = 30;
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let ends = Arc::new(AtomicUsize::new(0));
        let (own, counter) = (queue.clone(), ends.clone());
        let (gate, opened) = (Arc::new(Permits::new()), Arc::new(Permits::new()));
        let (inner, _opens) = (gate.clone(), Opens(&opened));
        let first = Work::new(move || {
            inner.take();
            chain(own.clone(), DEPTH, counter.clone());
        });
        assert_eq!(queue.queue(&first), Ok(true));
        std::thread::scope(|scope| {
            let _opens = Opens(&gate);
            let drain = waiter(scope, || queue.drain());
            assert!(!drain.is_finished());
            // It is being drained before the first of them is queued.
            assert_eq!(queue.queue(&counting()), Err(QueueError::Draining));
            gate.open();
            assert_eq!(drain.join().unwrap(), Ok(()), "{kind:?}");
            assert_eq!(ends.load(SeqCst), DEPTH + 1, "{kind:?}");
        });
    }
}

/// All ways to queue something, from where this is called.
fn is_refused(queue: &Workqueue) {
    let item = counting();
    let delayed = Work::new(|| ());
    let no = QueueError::Draining;
    assert_eq!(queue.queue(&item), Err(no));
    assert_eq!(queue.queue_on(cpus()[0], &item), Err(no));
    assert_eq!(queue.queue_on_node(0, &item), Err(no));
    for delay in [Duration::ZERO, Duration::from_secs(9)] {
        assert_eq!(queue.queue_after(&delayed, delay), Err(no));
        assert_eq!(queue.queue_after_on(cpus()[0], &delayed, delay), Err(no));
        assert_eq!(queue.modify(&delayed, delay), Err(no));
        assert_eq!(queue.modify_on(cpus()[0], &delayed, delay), Err(no));
    }
    delayed.disable();
    assert_eq!(queue.enable_and_queue(&delayed), Err(no));
    assert!(!item.is_pending() && !delayed.is_pending());
    let joined = queue.spawn(|| ()).join();
    assert!(matches!(joined, Err(cmwq::JoinError::Refused(error)) if error == no));
    // What was refused is not lost.
    assert_eq!(cmwq::system().queue(&item), Ok(true));
    item.flush().unwrap();
    assert_eq!(item.data().load(SeqCst), 1);
}

#[test]
fn others_are_refused_until_the_last_drain_has_ended() {
    let _watch = watchdog();
    let other = queue("other");
    for kind in KINDS {
        let queue = kind.queue();
        let item = running_on(&queue);
        let _opens = Opens(&item.data().gate);
        std::thread::scope(|scope| {
            let drains = [(); 2].map(|()| waiter(scope, || queue.drain()));
            assert!(drains.iter().all(|drain| !drain.is_finished()));
            is_refused(&queue);
            let inner = queue.clone();
            other.spawn(move || is_refused(&inner)).join().unwrap();
            // One that gives up is not the last.
            assert_eq!(queue.drain_timeout(Duration::ZERO), Ok(false));
            assert_eq!(queue.queue(&counting()), Err(QueueError::Draining));
            item.data().gate.open();
            let ended = drains.map(|drain| drain.join().unwrap());
            assert_eq!(ended, [Ok(()), Ok(())], "{kind:?}");
        });
        let later = counting();
        assert_eq!(queue.queue(&later), Ok(true), "{kind:?}");
        queue.drain().unwrap();
        assert_eq!(later.data().load(SeqCst), 1, "{kind:?}");
    }
}

#[test]
fn a_drain_of_an_item_that_queues_itself_can_be_given_a_deadline_and_is_reported() {
    alone(
        "draining::a_drain_of_an_item_that_queues_itself_can_be_given_a_deadline_and_is_reported",
        || {
            for kind in KINDS {
                let queue = kind.queue();
                let own = queue.clone();
                let item =
                    Work::with_data(AtomicBool::new(false), move |end: &Work<AtomicBool>| {
                        if !end.data().load(SeqCst) {
                            own.queue(end).unwrap();
                        }
                    });
                assert_eq!(queue.queue(&item), Ok(true));
                assert_eq!(queue.drain_timeout(Duration::from_millis(2)), Ok(false));
                // It may queue others again.
                assert_eq!(queue.queue(&counting()), Ok(true), "{kind:?}");
                let said = Arc::new(Mutex::new(Vec::new()));
                let (log, ends) = (said.clone(), item.clone());
                cmwq::set_report_hook(move |report| {
                    log.lock().unwrap().push(report.clone());
                    ends.data()
                        .store(matches!(report, Report::SlowDrain { .. }), SeqCst);
                });
                assert_eq!(queue.drain(), Ok(()), "{kind:?}");
                let slow = Report::SlowDrain {
                    queue: queue.name().to_owned(),
                    looks: 10,
                };
                assert_eq!(*said.lock().unwrap(), [slow]);
            }
        },
    );
}

#[test]
fn the_last_handle_goes_inside_an_item_whose_followers_run_elsewhere() {
    let _watch = watchdog();
    for kind in KINDS {
        let alive = Arc::new(());
        let ends = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Permits::new());
        let _opens = Opens(&gate);
        let handle = Arc::new(Mutex::new(Some(kind.queue())));
        let (own, counter, inner, held) =
            (handle.clone(), ends.clone(), gate.clone(), alive.clone());
        let item = Work::new(move || {
            let _held = &held;
            let queue = own.lock().unwrap().take().unwrap();
            for n in 0..10 {
                let cpu = cpus()[n % cpus().len()];
                let (counter, gate, held) = (counter.clone(), inner.clone(), held.clone());
                let follower = Work::new(move || {
                    let _held = &held;
                    gate.take();
                    counter.fetch_add(1, SeqCst);
                });
                assert_eq!(queue.queue_on(cpu, &follower), Ok(true));
            }
            drop(queue);
            counter.fetch_add(1, SeqCst);
        });
        assert_eq!(
            handle.lock().unwrap().as_ref().unwrap().queue(&item),
            Ok(true)
        );
        // The item ends although nothing that it has queued can.
        eventually("the item ends", || ends.load(SeqCst) == 1);
        gate.open();
        eventually("the others end", || ends.load(SeqCst) == 11);
        item.flush().unwrap();
        drop(item);
        eventually("all is given back", || Arc::strong_count(&alive) == 1);
    }
}

#[test]
fn a_queue_that_goes_waits_for_what_its_items_queue() {
    const DEPTH: usize = 30;
    let _watch = watchdog();
    for kind in KINDS {
        let (ends, name) = (Arc::new(AtomicUsize::new(0)), format!("{kind:?}"));
        let queue = Arc::new(Mutex::new(Some(kind.queue())));
        let item = gated();
        let _opens = Opens(&item.data().gate);
        crate::kit::start(queue.lock().unwrap().as_ref().unwrap(), &item);
        let counter = ends.clone();
        let handle = queue.lock().unwrap().take().unwrap();
        let own = handle.clone();
        drop(handle.spawn(move || chain(own, DEPTH, counter)));
        std::thread::scope(|scope| {
            let drops = waiter(scope, || drop(handle));
            item.data().gate.open();
            drops.join().unwrap();
        });
        // Its items had handles of their own: the last of them was dropped inside.
        eventually(&name, || ends.load(SeqCst) == DEPTH + 1);
    }
}

#[test]
fn dropping_the_last_handle_waits_and_refuses_others() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let items = [running_on(&queue), gated()];
        let _opens = [Opens(&items[0].data().gate), Opens(&items[1].data().gate)];
        assert_eq!(queue.queue_on(cpus()[0], &items[0]), Ok(true));
        assert_eq!(queue.queue_on(cpus()[0], &items[1]), Ok(true));
        std::thread::scope(|scope| {
            let drops = waiter(scope, || drop(queue));
            assert!(!drops.is_finished());
            items.iter().for_each(|item| item.data().gate.open());
            drops.join().unwrap();
        });
        let ended = [items[0].data().ended(), items[1].data().ended()];
        assert_eq!(ended, [2, 1], "{kind:?}");
        assert!(!items[0].busy().running && !items[1].is_pending());
    }
}
