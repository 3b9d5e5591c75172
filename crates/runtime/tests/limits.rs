//! `max_active`, and the end of a queue.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::Workqueue;
use common::{Occupancy, Opens, Permits, eventually, limited, queue, watchdog};

#[test]
fn max_active_is_reached_and_not_exceeded() {
    const LIMIT: usize = 5;
    let _watch = watchdog();
    let queue = limited("five", LIMIT);
    let inside = Arc::new(Occupancy::default());
    for n in 0..200 {
        let inside = inside.clone();
        drop(queue.spawn(move || {
            let _counted = inside.enter();
            // The first ones stay until all slots are in use.
            if n < LIMIT {
                eventually("all slots are in use", || inside.peak() >= LIMIT);
            }
            std::thread::sleep(Duration::from_micros(200));
        }));
    }
    queue.flush().unwrap();
    assert_eq!(inside.peak(), LIMIT);
}

/// Items that count themselves in and out and wait for a permit each.
#[derive(Default)]
struct Stage {
    inside: Occupancy,
    started: AtomicUsize,
    ended: AtomicUsize,
    permits: Permits,
}

impl Stage {
    fn spawn(self: &Arc<Self>, queue: &Workqueue, items: usize) {
        for _ in 0..items {
            let stage = self.clone();
            drop(queue.spawn(move || stage.run()));
        }
    }

    fn run(&self) {
        let _counted = self.inside.enter();
        self.started.fetch_add(1, SeqCst);
        self.permits.take();
        self.ended.fetch_add(1, SeqCst);
    }

    fn has_started(&self, items: usize) {
        eventually("that many have started", || {
            self.started.load(SeqCst) == items
        });
    }
}

#[test]
fn raising_max_active_starts_waiting_items_at_once() {
    let _watch = watchdog();
    let (queue, stage) = (limited("raised", 1), Arc::new(Stage::default()));
    let _opens = Opens(&stage.permits);
    stage.spawn(&queue, 40);
    stage.has_started(1);
    queue.set_max_active(4);
    stage.has_started(4);
    assert_eq!(stage.inside.peak(), 4);
    queue.set_max_active(100);
    stage.has_started(40);
}

#[test]
fn lowering_max_active_lets_active_items_end() {
    let _watch = watchdog();
    let (queue, stage) = (limited("lowered", 4), Arc::new(Stage::default()));
    let _opens = Opens(&stage.permits);
    stage.spawn(&queue, 10);
    stage.has_started(4);
    queue.set_max_active(2);
    assert_eq!(stage.inside.now(), 4, "nobody is stopped");
    for ended in 1..=8 {
        stage.permits.give(1);
        eventually("one has ended", || stage.ended.load(SeqCst) == ended);
        // Two go without a successor, then each that ends lets one in.
        stage.has_started(4.max(ended + 2).min(10));
    }
    assert_eq!(stage.inside.now(), 2);
}

#[test]
fn a_limit_out_of_range_is_clamped_later_and_refused_at_first() {
    let _watch = watchdog();
    for wrong in [0, 2049, usize::MAX] {
        let error = Workqueue::builder("wrong")
            .max_active(wrong)
            .build()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("max_active {wrong} is not in 1..=2048")
        );
    }
    for wrong in [-21, 20] {
        let error = Workqueue::builder("wrong").nice(wrong).build().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("nice value {wrong} is not in -20..=19")
        );
    }
    let queue = limited("clamped", 2);
    queue.set_max_active(0);
    assert_eq!(queue.spawn(|| 1).join().unwrap(), 1);
    queue.set_max_active(usize::MAX);
    assert_eq!(queue.spawn(|| 2).join().unwrap(), 2);
}

#[test]
fn dropping_a_queue_runs_what_is_queued() {
    const ITEMS: usize = 10_000;
    let _watch = watchdog();
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..ITEMS).map(|_| AtomicUsize::new(0)).collect());
    let queue = limited("dropped", 3);
    for n in 0..ITEMS {
        let runs = runs.clone();
        drop(queue.spawn(move || {
            runs[n].fetch_add(1, SeqCst);
            if n % 100 == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }));
    }
    drop(queue);
    assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1));
}

#[test]
fn dropping_a_queue_runs_what_its_items_queue() {
    let _watch = watchdog();
    let runs = Arc::new(AtomicUsize::new(0));
    let queue = queue("grows");
    let weak = Arc::new(queue);
    for _ in 0..50 {
        let (own, runs) = (Arc::downgrade(&weak), runs.clone());
        drop(weak.spawn(move || {
            // Gone already if the last handle is being dropped: then nobody can queue any more.
            let queued = own.upgrade().map(|queue| {
                let runs = runs.clone();
                drop(queue.spawn(move || runs.fetch_add(1, SeqCst)));
            });
            runs.fetch_add(1 + usize::from(queued.is_none()), SeqCst);
        }));
    }
    drop(weak);
    eventually("all ran", || runs.load(SeqCst) == 100);
}

#[test]
fn the_last_handle_may_be_dropped_inside_an_own_item() {
    let _watch = watchdog();
    for round in 0..200 {
        let (runs, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Permits::new()));
        let queue = limited("own last", 1);
        let (own, entry) = (queue.clone(), gate.clone());
        drop(queue.spawn(move || {
            entry.take();
            drop(own);
        }));
        for _ in 0..round % 20 {
            let runs = runs.clone();
            drop(queue.spawn(move || runs.fetch_add(1, SeqCst)));
        }
        drop(queue);
        gate.open();
        eventually("what was queued behind it ran", || {
            runs.load(SeqCst) == round % 20
        });
    }
}

#[test]
fn queues_are_used_and_dropped_by_the_thousand() {
    let _watch = watchdog();
    let runs = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..1_000 {
                    let (queue, runs) = (queue("short-lived"), runs.clone());
                    drop(queue.spawn(move || runs.fetch_add(1, SeqCst)));
                }
            });
        }
    });
    assert_eq!(runs.load(SeqCst), 4_000);
}
