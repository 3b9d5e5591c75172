//! Ordered queues: one item at a time, in the order of queueing, whatever happens.

use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{Work, Workqueue};
use cmwq_os::{sched, thread};

use crate::common::alone::alone;
use crate::common::{Occupancy, Opens, Permits, eventually, threads, watchdog};
use crate::kit::{Flag, Log, Raises, nice, others_run};

fn ordered(name: &str) -> Workqueue {
    Workqueue::builder(name).ordered().build().unwrap()
}

/// Items with numbers in the order of queueing.
#[derive(Default)]
struct Row {
    next: Mutex<usize>,
    ran: Log<(usize, i32)>,
    inside: Occupancy,
}

impl Row {
    /// The number and the queue's lists are in the same order: the lock is held.
    fn spawn(self: &Arc<Self>, queue: &Workqueue) {
        let mut next = self.next.lock().unwrap();
        let (row, number) = (self.clone(), *next);
        drop(queue.spawn(move || row.run(number)));
        *next += 1;
    }

    fn run(&self, number: usize) {
        let _counted = self.inside.enter();
        self.ran.push((number, sched::nice_self()));
        match number % 64 {
            7 => std::thread::sleep(Duration::from_micros(100)),
            8 => cmwq::blocking(|| std::thread::sleep(Duration::from_micros(100))),
            9 => std::thread::yield_now(),
            _ => {}
        }
    }

    /// All have run, in their order, one at a time; the nice levels they ran at.
    fn check(&self) -> Vec<i32> {
        let ran = self.ran.take();
        let numbers: Vec<usize> = ran.iter().map(|(number, _)| *number).collect();
        let all: Vec<usize> = (0..*self.next.lock().unwrap()).collect();
        assert_eq!(numbers, all);
        assert_eq!(self.inside.peak(), 1);
        ran.into_iter().map(|(_, nice)| nice).collect()
    }
}

#[test]
fn items_of_several_threads_run_one_at_a_time_in_queueing_order() {
    let _watch = watchdog();
    let (queue, row) = (ordered("several"), Arc::new(Row::default()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| row.spawn(&queue)));
        }
    });
    queue.flush().unwrap();
    assert_eq!(row.check().len(), 2000);
}

#[test]
fn an_item_that_blocks_holds_up_all_behind_it() {
    let _watch = watchdog();
    let (queue, row) = (ordered("held"), Arc::new(Row::default()));
    let gate = Arc::new(Permits::new());
    let _opens = Opens(&gate);
    for _ in 0..3 {
        let gate = gate.clone();
        drop(queue.spawn(move || gate.take()));
        (0..5).for_each(|_| row.spawn(&queue));
    }
    for blocked in 0..3 {
        others_run(100);
        assert_eq!(row.ran.len(), blocked * 5);
        gate.give(1);
        eventually("the next ones run", || row.ran.len() == (blocked + 1) * 5);
    }
    queue.flush().unwrap();
    row.check();
}

/// Nice levels that need no privilege, since each has its own workers, and back to the first.
const GENERATIONS: [i32; 4] = [0, 3, 6, 0];

#[test]
fn order_is_kept_across_changes_of_attributes() {
    alone(
        "ordered::order_is_kept_across_changes_of_attributes",
        || {
            let (queue, row) = (ordered("changed"), Arc::new(Row::default()));
            let gate = Arc::new(Permits::new());
            let first = gate.clone();
            drop(queue.spawn(move || first.take()));
            let mut attrs = queue.attrs();
            for nice in GENERATIONS {
                attrs.nice = nice;
                queue.apply_attrs(&attrs).unwrap();
                (0..20).for_each(|_| row.spawn(&queue));
            }
            others_run(100);
            assert_eq!(row.ran.len(), 0, "all wait for the first item");
            gate.open();
            queue.flush().unwrap();
            let expected = GENERATIONS.map(|generation| [nice(generation); 20]);
            assert_eq!(row.check(), expected.concat());
        },
    );
}

#[test]
fn attributes_may_change_while_items_come_and_go() {
    alone(
        "ordered::attributes_may_change_while_items_come_and_go",
        || {
            let (queue, row) = (ordered("restless"), Arc::new(Row::default()));
            let done = Flag::default();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        while !done.is_up() {
                            (0..100).for_each(|_| row.spawn(&queue));
                            queue.flush().unwrap();
                        }
                    });
                }
                // A change that fails lets the others go.
                let _raises = Raises(&done);
                let mut attrs = queue.attrs();
                for n in 0..150 {
                    attrs.nice = n % 4;
                    queue.apply_attrs(&attrs).unwrap();
                    let seen = row.ran.len();
                    eventually("items run", || row.ran.len() > seen + 5);
                }
            });
            let mut attrs = queue.attrs();
            for level in 0..4 {
                attrs.nice = level;
                queue.apply_attrs(&attrs).unwrap();
                row.spawn(&queue);
            }
            queue.flush().unwrap();
            let levels = row.check();
            assert!(levels.ends_with(&[0, 1, 2, 3].map(nice)), "the last four");
        },
    );
}

#[test]
fn what_waits_can_be_cancelled_and_the_rest_keeps_its_order() {
    let _watch = watchdog();
    let (queue, ran, gate) = (ordered("gaps"), Log::default(), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let first = gate.clone();
    drop(queue.spawn(move || first.take()));
    let works: Vec<Work> = (0..10)
        .map(|n| {
            let ran = ran.clone();
            Work::new(move || ran.push(n))
        })
        .collect();
    assert!(works.iter().all(|work| queue.queue(work) == Ok(true)));
    assert!(works.iter().step_by(3).all(Work::cancel));
    gate.open();
    queue.flush().unwrap();
    assert_eq!(ran.take(), [1, 2, 4, 5, 7, 8]);
}

#[test]
fn an_item_that_queues_itself_goes_behind_the_others() {
    let _watch = watchdog();
    let (queue, ran) = (ordered("turns"), Log::default());
    for name in ["a", "b", "c"] {
        let (own, ran) = (queue.clone(), ran.clone());
        let work = Work::with_data(Mutex::new(0), move |work| {
            ran.push(name);
            let mut turns = work.data().lock().unwrap();
            *turns += 1;
            if *turns < 4 {
                assert_eq!(own.queue(work), Ok(true));
            }
        });
        // All are queued before the first one runs.
        drop(queue.spawn(|| std::thread::sleep(Duration::from_millis(1))));
        assert_eq!(queue.queue(&work), Ok(true));
    }
    queue.drain().unwrap();
    let ran = ran.take();
    assert_eq!(ran.len(), 12);
    // The first turns may begin before all are queued; from then on it is round and round.
    assert!(
        ran[3..].windows(4).all(|turn| turn[0] == turn[3]),
        "{ran:?}"
    );
}

#[test]
fn its_limit_is_one_for_ever() {
    let _watch = watchdog();
    let queue = ordered("one");
    assert_eq!(queue.max_active(), 1);
    assert!(!queue.set_max_active(4) && !queue.set_min_active(4));
    assert_eq!((queue.max_active(), queue.min_active()), (1, 1));
    let error = Workqueue::builder("two").ordered().max_active(2).build();
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "an ordered queue has no max_active");
    assert!(
        Workqueue::builder("one")
            .ordered()
            .max_active(1)
            .build()
            .is_ok()
    );
}

#[test]
fn two_ordered_queues_do_not_wait_for_each_other() {
    let _watch = watchdog();
    let (one, two) = (ordered("one"), ordered("two"));
    let gate = Arc::new(Permits::new());
    let _opens = Opens(&gate);
    let held = gate.clone();
    drop(one.spawn(move || held.take()));
    for n in 0..50 {
        assert_eq!(two.spawn(move || n).join().unwrap(), n);
    }
}

#[test]
fn the_last_handle_may_go_inside_an_old_item_after_changes() {
    alone(
        "ordered::the_last_handle_may_go_inside_an_old_item_after_changes",
        || {
            for _ in 0..100 {
                let (queue, row) = (ordered("orphan"), Arc::new(Row::default()));
                let (gate, handle) = (Arc::new(Permits::new()), queue.clone());
                let (go, next) = (gate.clone(), row.clone());
                drop(queue.spawn(move || {
                    go.take();
                    // Its own queueing is accepted until the end, and comes last.
                    next.spawn(&handle);
                    drop(handle);
                }));
                let mut attrs = queue.attrs();
                for nice in GENERATIONS {
                    attrs.nice = nice;
                    queue.apply_attrs(&attrs).unwrap();
                    (0..5).for_each(|_| row.spawn(&queue));
                }
                // Not the last handle: the item has one.
                drop(queue);
                gate.open();
                eventually("all have run", || row.ran.len() == 21);
                row.check();
            }
            eventually("nothing is left", || cmwq::stats().in_flight == 0);
        },
    );
}

#[test]
fn items_that_wait_behind_a_change_can_be_cancelled() {
    let _watch = watchdog();
    let (queue, ran, gate) = (ordered("behind"), Log::default(), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let held = gate.clone();
    drop(queue.spawn(move || held.take()));
    let mut attrs = queue.attrs();
    attrs.nice = 2;
    queue.apply_attrs(&attrs).unwrap();
    let works: Vec<Work> = (0..6)
        .map(|n| {
            let ran = ran.clone();
            Work::new(move || ran.push(n))
        })
        .collect();
    assert!(works.iter().all(|work| queue.queue(work) == Ok(true)));
    assert!(works[0].cancel() && works[2].cancel_sync().unwrap());
    assert!(works[4].disable_sync().unwrap());
    assert_eq!(queue.queue(&works[0]), Ok(true), "last now");
    let tid = AtomicI32::new(0);
    std::thread::scope(|scope| {
        let flusher = scope.spawn(|| {
            tid.store(thread::gettid(), SeqCst);
            works[3].flush().unwrap()
        });
        eventually("it waits", || {
            let all = threads::of(std::process::id() as i32);
            let its = |thread: &threads::Thread| thread.tid == tid.load(SeqCst);
            all.into_iter()
                .any(|thread| its(&thread) && thread.is_asleep())
        });
        others_run(50);
        assert!(!flusher.is_finished());
        gate.open();
        assert!(flusher.join().unwrap());
    });
    queue.flush().unwrap();
    assert_eq!(ran.take(), [1, 3, 5, 0]);
}
