//! What a flush waits for, and what not.

mod common;

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use cmwq::{FlushError, Work};
use common::{Opens, Permits, eventually, limited, queue, watchdog};

#[test]
fn a_flush_of_an_empty_queue_returns() {
    let _watch = watchdog();
    queue("empty").flush().unwrap();
}

#[test]
fn a_flush_waits_for_what_was_queued_before() {
    let _watch = watchdog();
    let (queue, ended) = (limited("before", 3), Arc::new(AtomicUsize::new(0)));
    for round in 1..=100 {
        for n in 0..10 {
            let ended = ended.clone();
            drop(queue.spawn(move || {
                std::thread::sleep(std::time::Duration::from_micros(n * 20));
                // Relaxed: the flush alone orders this word.
                ended.fetch_add(1, Relaxed)
            }));
        }
        queue.flush().unwrap();
        // Relaxed: as above.
        assert_eq!(ended.load(Relaxed), round * 10);
    }
}

/// The worker may linger for the next item before it says that the last one has ended.
#[test]
fn a_flush_between_round_trips_sees_the_end_of_the_last_one() {
    let _watch = watchdog();
    let queue = queue("trips");
    let (done, ended) = std::sync::mpsc::channel();
    for trip in 1..=6_000 {
        let done = done.clone();
        drop(queue.spawn(move || done.send(trip).unwrap()));
        assert_eq!(ended.recv(), Ok(trip));
        // Seldom: otherwise no worker lingers.
        if trip % 50 == 0 {
            queue.flush().unwrap();
        }
    }
}

#[test]
fn a_flush_ends_however_often_items_queue_themselves_again() {
    let _watch = watchdog();
    static AGAIN: OnceLock<Vec<Work>> = OnceLock::new();
    static STOP: AtomicBool = AtomicBool::new(false);
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let queue = queue("constant");
    let endless = |n: usize| {
        let queue = queue.clone();
        Work::new(move || {
            RUNS.fetch_add(1, SeqCst);
            if !STOP.load(SeqCst) {
                queue.queue(&AGAIN.get().unwrap()[n]).unwrap();
            }
        })
    };
    let items = AGAIN.get_or_init(|| (0..4).map(endless).collect());
    items
        .iter()
        .for_each(|work| assert_eq!(queue.queue(work), Ok(true)));
    for _ in 0..50 {
        let before = RUNS.load(SeqCst);
        queue.flush().unwrap();
        assert!(RUNS.load(SeqCst) > before, "something was queued before");
    }
    STOP.store(true, SeqCst);
    queue.flush().unwrap();
}

#[test]
fn more_flushers_at_once_than_there_are_colours() {
    const FLUSHERS: usize = 40;
    let _watch = watchdog();
    let (queue, gate) = (limited("colours", 2), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let ended: Vec<Arc<AtomicBool>> = (0..FLUSHERS).map(|_| Arc::default()).collect();
    let queued = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for ended in &ended {
            let entry = gate.clone();
            let (queue, queued) = (&queue, &queued);
            threads.spawn(move || {
                let told = ended.clone();
                drop(queue.spawn(move || {
                    entry.take();
                    told.store(true, SeqCst);
                }));
                queued.fetch_add(1, SeqCst);
                queue.flush().unwrap();
                assert!(
                    ended.load(SeqCst),
                    "its own item was queued before its flush"
                );
            });
        }
        eventually("all have queued", || queued.load(SeqCst) == FLUSHERS);
        // One by one, so that the colours come free one by one.
        (0..FLUSHERS).for_each(|_| {
            gate.give(1);
            std::thread::yield_now();
        });
    });
}

#[test]
fn items_flush_other_queues() {
    let _watch = watchdog();
    let (outer, inner) = (queue("outer"), limited("inner", 2));
    let handles: Vec<_> = (0..50)
        .map(|_| {
            let inner = inner.clone();
            outer.spawn(move || {
                let done = Arc::new(AtomicBool::new(false));
                let told = done.clone();
                drop(inner.spawn(move || told.store(true, SeqCst)));
                inner.flush().unwrap();
                done.load(SeqCst)
            })
        })
        .collect();
    assert!(handles.into_iter().all(|handle| handle.join().unwrap()));
}

#[test]
fn items_flush_queues_of_another_pool() {
    let _watch = watchdog();
    let outer = queue("outer");
    let inner = cmwq::Workqueue::builder("nicer").nice(3).build().unwrap();
    let handles: Vec<_> = (0..20)
        .map(|_| {
            let inner = inner.clone();
            outer.spawn(move || {
                let handle = inner.spawn(|| ());
                inner.flush().unwrap();
                handle.is_finished()
            })
        })
        .collect();
    assert!(handles.into_iter().all(|handle| handle.join().unwrap()));
}

#[test]
fn a_flush_of_the_own_queue_is_refused() {
    let _watch = watchdog();
    let queue = queue("own");
    let inside = queue.clone();
    let error = queue
        .spawn(move || inside.flush())
        .join()
        .unwrap()
        .unwrap_err();
    let FlushError::WouldDeadlock(error) = error else {
        panic!("{error}")
    };
    assert_eq!(
        (error.waiter.as_str(), error.awaited.as_str()),
        ("own", "own")
    );
    let text = "an item of queue \"own\" would wait for ever for queue \"own\"";
    assert_eq!(error.to_string(), text);
    queue.flush().unwrap();
}
