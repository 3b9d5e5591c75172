//! Items that wait for one lock hold back those that would join them, and nobody else.

mod common;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cmwq::Workqueue;
use common::{eventually, queue, watchdog};

/// How long many short sleeps take on this queue.
fn sleeps_take(queue: &Workqueue) -> Duration {
    let began = Instant::now();
    for _ in 0..500 {
        drop(queue.spawn(|| std::thread::sleep(Duration::from_millis(1))));
    }
    queue.flush().unwrap();
    began.elapsed()
}

/// The best of some rounds with and without, in turns.
fn with_and_without(mut with: impl FnMut() -> Duration) -> (Duration, Duration) {
    let other = queue("other");
    let rounds = (0..5).map(|_| (with(), sleeps_take(&other)));
    rounds
        .reduce(|best, round| (best.0.min(round.0), best.1.min(round.1)))
        .expect("some rounds")
}

#[test]
fn items_that_are_all_blocked_hold_nobody_up() {
    let _watch = watchdog();
    for blocked in [8, 64, 300] {
        let (first, other) = (queue("first"), queue("other"));
        let (with, without) = with_and_without(|| {
            let (lock, began) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
            let guard = lock.lock().unwrap();
            for _ in 0..blocked {
                let (lock, began) = (lock.clone(), began.clone());
                drop(first.spawn(move || {
                    began.fetch_add(1, SeqCst);
                    drop(lock.lock());
                }));
            }
            eventually("all have begun", || began.load(SeqCst) == blocked);
            let took = sleeps_take(&other);
            drop(guard);
            first.flush().unwrap();
            took
        });
        // It was 260 times as long.
        assert!(
            with < 5 * without + Duration::from_millis(200),
            "{blocked}: {with:?}, {without:?}"
        );
    }
}

#[test]
fn nor_do_items_that_go_through_a_lock_one_by_one() {
    let _watch = watchdog();
    let (first, other) = (queue("first"), queue("other"));
    let lock = Arc::new(Mutex::new(()));
    let (with, without) = with_and_without(|| {
        for _ in 0..1000 {
            let lock = lock.clone();
            drop(first.spawn(move || {
                let _guard = lock.lock().unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }));
        }
        let took = sleeps_take(&other);
        first.flush().unwrap();
        took
    });
    assert!(
        with < 5 * without + Duration::from_millis(200),
        "{with:?}, {without:?}"
    );
}

/// Items of one queue with different functions are of different kinds.
#[test]
fn nor_do_they_hold_up_other_items_of_their_queue() {
    let _watch = watchdog();
    let queue = queue("both");
    let lock = Arc::new(Mutex::new(()));
    let (ended, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    // Some 2.4 s of one after another: a look may be long in coming beside other programs.
    for _ in 0..600 {
        let (lock, ended) = (lock.clone(), ended.clone());
        drop(queue.spawn(move || {
            let guard = lock.lock().unwrap();
            std::thread::sleep(Duration::from_millis(4));
            drop(guard);
            ended.fetch_add(1, SeqCst);
        }));
    }
    eventually("they queue up", || ended.load(SeqCst) > 60);
    for _ in 0..100 {
        let others = others.clone();
        drop(queue.spawn(move || {
            std::thread::sleep(Duration::from_millis(1));
            others.fetch_add(1, SeqCst);
        }));
    }
    eventually("the others have ended", || others.load(SeqCst) == 100);
    assert!(ended.load(SeqCst) < 550, "not behind those at the lock");
    queue.flush().unwrap();
}
