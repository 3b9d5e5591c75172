//! Waits that could never end: inside of items, where every worker under the limit waits.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier};

use cmwq::{Builder, FlushError, JoinError, WouldDeadlock};
use common::alone::alone;
use common::{Permits, elsewhere, eventually, limited, queue, watchdog};

fn workers(limit: usize) {
    Builder::new().thread_limit(limit).install().unwrap();
}

fn names(error: &WouldDeadlock) -> (&str, &str) {
    (&error.waiter, &error.awaited)
}

fn deadlock_of_join<T: std::fmt::Debug>(result: Result<T, JoinError>) -> WouldDeadlock {
    match result {
        Err(JoinError::WouldDeadlock(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn deadlock_of_flush(result: Result<(), FlushError>) -> WouldDeadlock {
    match result {
        Err(FlushError::WouldDeadlock(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_come_before_the_first_queue_and_are_checked() {
    alone(
        "options_come_before_the_first_queue_and_are_checked",
        || {
            let error = Builder::new().thread_limit(0).install().unwrap_err();
            assert_eq!(error.to_string(), "thread limit 0 is not in 1..=32768");
            Builder::new().thread_limit(32_769).install().unwrap_err();
            assert!(!Builder::in_force().fixed);
            workers(1);
            assert!(Builder::in_force().fixed);
            let error = Builder::new().install().unwrap_err();
            assert_eq!(error.to_string(), "options have been installed already");
            let queue = queue("first");
            let error = Builder::new().install().unwrap_err();
            assert_eq!(error.to_string(), "options come before the first queue");
            assert_eq!(queue.spawn(|| 1).join().unwrap(), 1);
            assert_eq!(cmwq::stats().peak_workers, 1);
        },
    );
}

#[test]
fn one_worker_finishes_plain_items() {
    alone("one_worker_finishes_plain_items", || {
        workers(1);
        let (queue, sum) = (queue("plain"), Arc::new(AtomicUsize::new(0)));
        for n in 0..500 {
            let sum = sum.clone();
            drop(queue.spawn(move || {
                if n % 50 == 0 {
                    cmwq::blocking(|| std::thread::sleep(std::time::Duration::from_millis(1)));
                }
                sum.fetch_add(n, SeqCst)
            }));
        }
        queue.flush().unwrap();
        assert_eq!(sum.load(SeqCst), (0..500).sum());
        assert_eq!(cmwq::stats().peak_workers, 1);
    });
}

#[test]
fn the_only_worker_cannot_join_what_nobody_has_begun() {
    alone("the_only_worker_cannot_join_what_nobody_has_begun", || {
        workers(1);
        let (outer, inner) = (queue("outer"), queue("inner"));
        let ran = Arc::new(AtomicBool::new(false));
        let (own, told) = (inner.clone(), ran.clone());
        let result = outer.spawn(move || own.spawn(move || told.store(true, SeqCst)).join());
        let error = deadlock_of_join(result.join().unwrap());
        assert_eq!(names(&error), ("outer", "inner"));
        inner.flush().unwrap();
        assert!(ran.load(SeqCst), "the item runs all the same");
    });
}

#[test]
fn the_only_worker_cannot_flush_what_nobody_has_begun() {
    alone("the_only_worker_cannot_flush_what_nobody_has_begun", || {
        workers(1);
        let (outer, inner) = (queue("outer"), queue("inner"));
        let ran = Arc::new(AtomicBool::new(false));
        let (own, told) = (inner.clone(), ran.clone());
        let result = outer.spawn(move || {
            own.flush().unwrap();
            drop(own.spawn(move || told.store(true, SeqCst)));
            own.flush()
        });
        let error = deadlock_of_flush(result.join().unwrap());
        assert_eq!(names(&error), ("outer", "inner"));
        inner.flush().unwrap();
        assert!(ran.load(SeqCst));
    });
}

/// Two queues of different pools, of which each has one thread.
#[test]
fn the_only_workers_of_two_pools_cannot_wait_for_each_other() {
    alone(
        "the_only_workers_of_two_pools_cannot_wait_for_each_other",
        || {
            workers(1);
            let queues = [queue("here"), elsewhere("there").build().unwrap()];
            let met = Arc::new(Barrier::new(2));
            // Neither joins the other: each joins what only the other's worker could begin.
            let joins = [0, 1].map(|at| {
                let (other, met) = (queues[1 - at].clone(), met.clone());
                queues[at].spawn(move || {
                    met.wait();
                    let joined = other.spawn(|| 7).join();
                    joined.map_err(|error| matches!(error, JoinError::WouldDeadlock(_)))
                })
            });
            let joined = joins.map(|join| join.join().unwrap());
            let refused = joined.iter().filter(|joined| **joined == Err(true)).count();
            assert_eq!(refused, 1, "{joined:?}");
            assert!(joined.contains(&Ok(7)), "{joined:?}");
        },
    );
}

#[test]
fn a_scope_in_several_pools_cannot_wait_for_its_own_thread() {
    alone(
        "a_scope_in_several_pools_cannot_wait_for_its_own_thread",
        || {
            workers(1);
            let queue = queue("moves");
            let own = queue.clone();
            let result = queue.spawn(move || {
                own.scope(|scope| {
                    drop(scope.spawn(|| ()));
                    let mut attrs = own.attrs();
                    attrs.nice = 1;
                    own.apply_attrs(&attrs).unwrap();
                    drop(scope.spawn(|| ()));
                })
            });
            let error = result.join().unwrap().unwrap_err();
            assert_eq!(names(&error), ("moves", "moves"));
        },
    );
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_scope_that_cannot_wait_takes_its_items_back() {
    alone("a_scope_that_cannot_wait_takes_its_items_back", || {
        workers(1);
        let (outer, inner) = (queue("outer"), limited("inner", 3));
        let (dropped, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (own, captured, counter) = (inner.clone(), dropped.clone(), ran.clone());
        let result = outer.spawn(move || {
            let ran = &counter;
            let result = own.scope(|scope| {
                for _ in 0..10 {
                    let captured = Counted(captured.clone());
                    scope.spawn(move || {
                        ran.fetch_add(1, SeqCst);
                        drop(captured);
                    });
                }
                let last = scope.spawn(|| ());
                names(&deadlock_of_join(last.join())) == ("outer", "inner")
            });
            // Gone when the scope returns, whether they hold a slot or wait for one.
            (result, captured.load(SeqCst))
        });
        let (result, dropped) = result.join().unwrap();
        assert_eq!(names(&result.unwrap_err()), ("outer", "inner"));
        assert_eq!((dropped, ran.load(SeqCst)), (10, 0));
        assert_eq!(inner.spawn(|| 3).join().unwrap(), 3, "the queue goes on");
        inner.flush().unwrap();
    });
}

#[test]
fn a_value_with_a_queue_in_it_is_dropped_where_waiting_would_never_end() {
    alone(
        "a_value_with_a_queue_in_it_is_dropped_where_waiting_would_never_end",
        || {
            workers(1);
            let (outer, ran) = (queue("outer"), Arc::new(AtomicUsize::new(0)));
            let told = ran.clone();
            let handle = outer.spawn(move || {
                let inner = queue("inner");
                for _ in 0..20 {
                    let told = told.clone();
                    drop(inner.spawn(move || told.fetch_add(1, SeqCst)));
                }
                // The last handle: it does not wait, as nobody else could run these items.
                drop(inner);
            });
            handle.join().unwrap();
            eventually("they run all the same", || ran.load(SeqCst) == 20);
            outer.flush().unwrap();
        },
    );
}

#[test]
fn of_two_workers_that_wait_one_is_told() {
    alone("of_two_workers_that_wait_one_is_told", || {
        workers(2);
        let (left, right, late) = (queue("left"), queue("right"), queue("late"));
        let both = Arc::new(Permits::new());
        let spawn = |queue: &cmwq::Workqueue| {
            let (both, late) = (both.clone(), late.clone());
            queue.spawn(move || {
                both.take();
                late.spawn(|| 1).join()
            })
        };
        let handles = [spawn(&left), spawn(&right)];
        eventually("both run", || cmwq::stats().started == 2);
        both.open();
        let results = handles.map(|handle| handle.join().unwrap());
        // Whoever waits last is told. Its worker then does what both have queued.
        let mut errors = results.into_iter().filter_map(Result::err);
        let told = deadlock_of_join::<()>(Err(errors.next().unwrap()));
        assert!(
            told.awaited == "late" && ["left", "right"].contains(&&*told.waiter),
            "{told}"
        );
        assert!(errors.next().is_none(), "only one is told");
        late.flush().unwrap();
        // An item has ended a moment after its value is there.
        eventually("all four have ended", || cmwq::stats().completed == 4);
    });
}

#[test]
fn an_item_of_a_queue_with_one_slot_cannot_join_another_of_it() {
    let _watch = watchdog();
    let queue = limited("one slot", 1);
    let ran = Arc::new(AtomicBool::new(false));
    let (own, told) = (queue.clone(), ran.clone());
    let result = queue.spawn(move || own.spawn(move || told.store(true, SeqCst)).join());
    let error = deadlock_of_join(result.join().unwrap());
    assert_eq!(names(&error), ("one slot", "one slot"));
    queue.flush().unwrap();
    assert!(ran.load(SeqCst));
}

#[test]
fn all_slots_may_wait_for_the_queue_that_they_belong_to() {
    let _watch = watchdog();
    let queue = limited("three slots", 3);
    let handles: Vec<_> = (0..30)
        .map(|_| {
            let own = queue.clone();
            queue.spawn(move || own.spawn(|| 1).join().is_err())
        })
        .collect();
    // Who is told and who is not depends on who comes first; nobody hangs, and everything runs.
    handles
        .into_iter()
        .for_each(|handle| assert!(handle.join().is_ok()));
    queue.flush().unwrap();
    assert_eq!(queue.spawn(|| 2).join().unwrap(), 2);
}

#[test]
fn two_queues_with_one_slot_each_whose_items_wait_for_each_other() {
    let _watch = watchdog();
    for _ in 0..50 {
        let queues = [limited("left", 1), limited("right", 1)];
        let both = Arc::new(std::sync::Barrier::new(2));
        let waits = |from: usize| {
            let (other, both) = (queues[1 - from].clone(), both.clone());
            queues[from].spawn(move || {
                both.wait();
                other
                    .spawn(move || from)
                    .join()
                    .map_err(|error| error.to_string())
            })
        };
        let results = [waits(0), waits(1)].map(|handle| handle.join().unwrap());
        let told: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        // Each holds the slot that the other's item needs: whoever waits last is told. It is the
        // only one, as its slot is free then.
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("left") && told[0].contains("right"),
            "{told:?}"
        );
    }
}

#[test]
fn a_scope_on_the_own_queue_with_one_slot() {
    let _watch = watchdog();
    let queue = limited("scoped", 1);
    let own = queue.clone();
    let result = queue.spawn(move || {
        let ran = AtomicBool::new(false);
        let result = own.scope(|scope| drop(scope.spawn(|| ran.store(true, SeqCst))));
        (result, ran.load(SeqCst))
    });
    let (result, ran) = result.join().unwrap();
    assert_eq!(names(&result.unwrap_err()), ("scoped", "scoped"));
    assert!(!ran);
    queue.flush().unwrap();
}

#[test]
fn a_few_workers_that_wait_in_all_ways_at_once() {
    alone("a_few_workers_that_wait_in_all_ways_at_once", || {
        workers(3);
        let queues: Arc<Vec<_>> = Arc::new((1..=4).map(|n| limited("mixed", n)).collect());
        let ran = Arc::new(AtomicUsize::new(0));
        let mut handles = Vec::new();
        for n in 0..2_000 {
            let (others, ran) = (queues.clone(), ran.clone());
            handles.push(queues[n % 4].spawn(move || {
                let other = &others[(n / 4) % 4];
                let add = || ran.fetch_add(1, SeqCst);
                match n % 5 {
                    0 => drop(other.scope(|scope| drop(scope.spawn(add)))),
                    1 => drop(other.flush()),
                    2 | 3 => drop(other.spawn(|| ()).join()),
                    _ => std::thread::yield_now(),
                }
                add();
            }));
        }
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert!(ran.load(SeqCst) >= 2_000);
        queues.iter().for_each(|queue| queue.flush().unwrap());
        assert!(cmwq::stats().peak_workers <= 3);
        eventually("all have ended", || cmwq::stats().in_flight == 0);
    });
}

/// The next execution of an item begins when this one has ended, wherever it was queued.
fn flushes_where_it_is_pending(first: cmwq::Workqueue, second: cmwq::Workqueue) {
    let _watch = watchdog();
    let (results, runs) = (
        Arc::new(std::sync::Mutex::new(Vec::new())),
        AtomicUsize::new(0),
    );
    let of = (results.clone(), second.clone());
    let work = cmwq::Work::with_data(runs, move |work| {
        let (results, second) = &of;
        if work.data().fetch_add(1, SeqCst) == 0 {
            assert_eq!(second.queue(work), Ok(true));
            let mut results = results.lock().unwrap();
            results.push(second.flush());
            results.push(second.drain());
            assert!(work.cancel(), "it is still pending");
            results.push(second.flush());
        }
    });
    assert_eq!(first.queue(&work), Ok(true));
    first.flush().unwrap();
    second.flush().unwrap();
    let mut results = results.lock().unwrap();
    assert_eq!(
        results.pop(),
        Some(Ok(())),
        "there is nothing to wait for any more"
    );
    for result in results.drain(..) {
        assert_eq!(names(&deadlock_of_flush(result)), ("first", "second"));
    }
    assert_eq!(work.data().load(SeqCst), 1);
}

#[test]
fn an_item_that_is_pending_on_another_queue_of_its_pool_cannot_wait_for_that() {
    flushes_where_it_is_pending(queue("first"), queue("second"));
}

#[test]
fn an_item_that_is_pending_on_a_queue_of_another_pool_cannot_wait_for_that() {
    let second = elsewhere("second").build().unwrap();
    flushes_where_it_is_pending(queue("first"), second);
}

#[test]
fn an_item_may_wait_for_the_only_other_one_of_its_queue() {
    let _watch = watchdog();
    for _ in 0..200 {
        let (queue, gate) = (queue("pair"), Arc::new(Permits::default()));
        let of = gate.clone();
        let awaited = cmwq::Work::new(move || of.take());
        let waiter = awaited.clone();
        assert_eq!(queue.queue(&awaited), Ok(true));
        eventually("it runs", || awaited.busy().running);
        // When it ends, every slot that is taken is that of an item which waits: for a barrier,
        // which needs none.
        let waited = queue.spawn(move || (waiter.flush(), waiter.cancel_sync()));
        gate.give(1);
        let (flushed, cancelled) = waited.join().unwrap();
        assert!(
            flushed.is_ok() && cancelled == Ok(false),
            "{flushed:?} {cancelled:?}"
        );
    }
}
