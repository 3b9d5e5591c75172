//! The end of a process, and use at odd moments of one.

mod common;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{JoinError, QueueError, Work, Workqueue};
use common::alone::{alone, describe, is_child, output_of, text};
use common::{Permits, eventually, limited, queue, threads, watchdog};

/// A shutdown that need not wait must not: this is longer than any watchdog.
const LONG: Duration = Duration::from_secs(100_000);

#[test]
fn returning_from_main_does_not_run_what_is_queued() {
    const NAME: &str = "returning_from_main_does_not_run_what_is_queued";
    if is_child(NAME) {
        static GATE: Permits = Permits::new();
        let queue = limited("unfinished", 1);
        drop(queue.spawn(|| GATE.take()));
        drop(queue.spawn(|| println!("this ran")));
        cmwq::system().spawn(|| ()).join().unwrap();
        // As a static would be: nobody drops it. Main returns.
        std::mem::forget(queue);
        println!("main returns");
        return;
    }
    let output = output_of(NAME);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", describe(&output));
    assert!(
        stdout.contains("main returns") && !stdout.contains("this ran"),
        "{stdout}"
    );
}

#[test]
fn an_item_may_end_the_process() {
    const NAME: &str = "an_item_may_end_the_process";
    if is_child(NAME) {
        let _watch = watchdog();
        let queue = queue("exits");
        for _ in 0..10 {
            drop(queue.spawn(|| std::thread::sleep(Duration::from_millis(1))));
        }
        let handle = queue.spawn(|| std::process::exit(43));
        drop(handle.join());
        unreachable!("the process has ended");
    }
    let output = output_of(NAME);
    assert_eq!(output.status.code(), Some(43), "{}", describe(&output));
}

#[test]
fn a_shutdown_before_the_first_use_refuses_what_comes_later() {
    alone(
        "a_shutdown_before_the_first_use_refuses_what_comes_later",
        || {
            assert_eq!(cmwq::shutdown(LONG), cmwq::ShutdownReport::default());
            let refused = cmwq::spawn(|| ()).join();
            assert!(matches!(
                refused,
                Err(JoinError::Refused(QueueError::ShutDown))
            ));
        },
    );
}

#[test]
fn shutdown_runs_what_is_queued_and_reports() {
    alone("shutdown_runs_what_is_queued_and_reports", || {
        let ran = Arc::new(AtomicUsize::new(0));
        let queues = [limited("one", 1), limited("more", 8)];
        for n in 0..400 {
            let ran = ran.clone();
            drop(queues[n % 2].spawn(move || {
                std::thread::sleep(Duration::from_micros(50));
                ran.fetch_add(1, SeqCst)
            }));
        }
        let report = cmwq::shutdown(LONG);
        assert!(
            report.is_complete() && report.completed <= 400,
            "{report:?}"
        );
        assert_eq!(ran.load(SeqCst), 400);
        // Refused from now on.
        let work = Work::new(|| ());
        assert_eq!(queues[0].queue(&work), Err(QueueError::ShutDown));
        assert!(!work.is_pending());
        let refused = cmwq::system().spawn(|| ()).join();
        assert!(matches!(
            refused,
            Err(JoinError::Refused(QueueError::ShutDown))
        ));
        let joined = queues[1].scope(|scope| scope.spawn(|| ()).join().is_err());
        assert!(joined.unwrap());
        assert!(cmwq::shutdown(LONG).is_complete(), "once more");
    });
}

/// An item of the first queue queues one in the second, which queues one in the first.
fn queues_on(first: &Workqueue, second: &Workqueue) {
    let (gate, ran) = (Arc::new(Permits::new()), Arc::new(AtomicUsize::new(0)));
    let (there, back) = (second.clone(), first.clone());
    let (entry, counter) = (gate.clone(), ran.clone());
    drop(first.spawn(move || {
        entry.take();
        drop(there.spawn(move || {
            std::thread::sleep(Duration::from_millis(2));
            drop(back.spawn(move || {
                std::thread::sleep(Duration::from_millis(2));
                counter.fetch_add(1, SeqCst)
            }));
        }));
    }));
    eventually("it runs", || cmwq::stats().started == 1);
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        gate.open();
    });
    let report = cmwq::shutdown(LONG);
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(
        ran.load(SeqCst),
        1,
        "all that was queued meanwhile has ended as well"
    );
    opener.join().unwrap();
}

/// Queues of two pools, in the order in which these are made.
fn of_two_pools() -> [Workqueue; 2] {
    [0, 2].map(|nice| Workqueue::builder("pool").nice(nice).build().unwrap())
}

#[test]
fn shutdown_waits_for_what_items_queue_in_pools_before_their_own() {
    alone(
        "shutdown_waits_for_what_items_queue_in_pools_before_their_own",
        || {
            let [first, second] = of_two_pools();
            queues_on(&first, &second);
        },
    );
}

#[test]
fn shutdown_waits_for_what_items_queue_in_pools_behind_their_own() {
    alone(
        "shutdown_waits_for_what_items_queue_in_pools_behind_their_own",
        || {
            let [first, second] = of_two_pools();
            queues_on(&second, &first);
        },
    );
}

#[test]
fn shutdown_waits_for_queues_without_handles() {
    alone("shutdown_waits_for_queues_without_handles", || {
        let (gate, ran) = (Arc::new(Permits::new()), Arc::new(AtomicUsize::new(0)));
        let queue = limited("without handles", 1);
        let (own, entry) = (queue.clone(), gate.clone());
        drop(queue.spawn(move || {
            entry.take();
            drop(own);
        }));
        for _ in 0..20 {
            let ran = ran.clone();
            drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
        }
        drop(queue);
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            gate.open();
        });
        assert!(cmwq::shutdown(LONG).is_complete());
        assert_eq!(ran.load(SeqCst), 20);
        opener.join().unwrap();
    });
}

#[test]
fn shutdown_reports_what_is_left_at_the_deadline() {
    alone("shutdown_reports_what_is_left_at_the_deadline", || {
        let gate = Arc::new(Permits::new());
        let (queue, begun) = (limited("left", 2), Arc::new(AtomicUsize::new(0)));
        for _ in 0..10 {
            let (gate, begun) = (gate.clone(), begun.clone());
            drop(queue.spawn(move || {
                begun.fetch_add(1, SeqCst);
                gate.take()
            }));
        }
        eventually("two have begun", || begun.load(SeqCst) == 2);
        let report = cmwq::shutdown(Duration::from_millis(20));
        assert!(!report.is_complete());
        assert_eq!((report.completed, report.queued, report.running), (0, 8, 2));
        // What is left goes on.
        gate.open();
        let report = cmwq::shutdown(LONG);
        assert!(report.is_complete() && report.completed <= 10, "{report:?}");
        assert_eq!(begun.load(SeqCst), 10);
    });
}

#[test]
fn shutdown_from_an_item_does_not_wait_for_itself() {
    alone("shutdown_from_an_item_does_not_wait_for_itself", || {
        let (queue, ran) = (queue("inside"), Arc::new(AtomicUsize::new(0)));
        for _ in 0..50 {
            let ran = ran.clone();
            drop(queue.spawn(move || {
                std::thread::sleep(Duration::from_millis(1));
                ran.fetch_add(1, SeqCst)
            }));
        }
        let report = queue.spawn(|| cmwq::shutdown(LONG)).join().unwrap();
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(ran.load(SeqCst), 50);
    });
}

/// Also not if they begin to wait when the shutdown already does, and not for those behind them.
#[test]
fn shutdown_does_not_wait_for_items_that_wait_for_its_caller() {
    alone(
        "shutdown_does_not_wait_for_items_that_wait_for_its_caller",
        || {
            let (queue, gate) = (queue("waits"), Arc::new(Permits::new()));
            let held = gate.clone();
            let ends = queue.spawn(move || {
                held.take();
                cmwq::shutdown(LONG)
            });
            let (shut, let_on) = (gate.clone(), Arc::new(Permits::new()));
            let (waits, late) = (let_on.clone(), queue.clone());
            let first = queue.spawn(move || {
                shut.give(1);
                ends.join().unwrap()
            });
            let second = queue.spawn(move || {
                // By then, the shutdown waits for this very item.
                waits.take();
                drop(late);
                first.join().unwrap()
            });
            std::thread::sleep(Duration::from_millis(20));
            let_on.give(1);
            let report = second.join().unwrap();
            assert!(report.is_complete(), "{report:?}");
        },
    );
}

#[test]
fn nor_for_items_that_wait_for_whichever_of_several_ends_first() {
    const NAME: &str = "nor_for_items_that_wait_for_whichever_of_several_ends_first";
    alone(NAME, || {
        let [queue, other] = [queue("waits"), queue("shuts")];
        let begun = queue.spawn(move || {
            let ends = other.spawn(|| cmwq::shutdown(LONG));
            let mut handles = [ends];
            cmwq::select(&mut handles).unwrap();
            let [ended] = handles;
            ended.join().unwrap()
        });
        let report = begun.join().unwrap();
        assert!(report.is_complete(), "{report:?}");
    });
}

/// It is reported at once, and not at the deadline.
#[test]
fn shutdown_does_not_wait_for_what_begins_after_its_caller() {
    alone(
        "shutdown_does_not_wait_for_what_begins_after_its_caller",
        || {
            let (ordered, own) = (limited("one", 1), Arc::new(AtomicUsize::new(0)));
            let (again, ended) = (ordered.clone(), own.clone());
            let ends = ordered.spawn(move || {
                let next = again.spawn(move || ended.fetch_add(1, SeqCst));
                // A third one, of which nobody knows: it waits for the second.
                let third = cmwq::system().spawn(move || next.join().unwrap());
                let report = cmwq::shutdown(LONG);
                (report, third)
            });
            let (report, third) = ends.join().unwrap();
            assert_eq!((report.queued, report.running), (1, 0), "{report:?}");
            assert_eq!(third.join().unwrap(), 0);
            assert_eq!(own.load(SeqCst), 1, "it runs all the same");
        },
    );
}

#[test]
fn several_items_shut_down_at_once() {
    alone("several_items_shut_down_at_once", || {
        let (one, others) = (limited("one", 1), queue("others"));
        let gate = Arc::new(Permits::new());
        let held = gate.clone();
        let first = one.spawn(move || {
            held.take();
            cmwq::shutdown(LONG)
        });
        let second = others.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            cmwq::shutdown(LONG)
        });
        gate.give(1);
        for report in [first, second].map(|handle| handle.join().unwrap()) {
            assert!(report.is_complete() && report.completed < 2, "{report:?}");
        }
    });
}

#[test]
fn several_threads_shut_down_at_once() {
    alone("several_threads_shut_down_at_once", || {
        let (queue, ran) = (limited("several", 2), Arc::new(AtomicUsize::new(0)));
        for _ in 0..100 {
            let ran = ran.clone();
            drop(queue.spawn(move || {
                std::thread::sleep(Duration::from_micros(300));
                ran.fetch_add(1, SeqCst)
            }));
        }
        std::thread::scope(|threads| {
            for millis in [1, 3, 5, 100_000_000] {
                threads.spawn(move || cmwq::shutdown(Duration::from_millis(millis)));
            }
        });
        assert_eq!(ran.load(SeqCst), 100);
    });
}

/// Uses cmwq when its thread ends.
struct UsesItLate(Arc<AtomicUsize>);

impl Drop for UsesItLate {
    fn drop(&mut self) {
        let answer = cmwq::system().spawn(|| 42).join().unwrap();
        let own = queue("late");
        own.queue(&Work::new(|| ())).unwrap();
        own.flush().unwrap();
        let scoped = own
            .scope(|scope| scope.spawn(|| 1).join().unwrap())
            .unwrap();
        cmwq::blocking(std::thread::yield_now);
        self.0.fetch_add(answer + scoped, SeqCst);
    }
}

thread_local! {
    static LATE: RefCell<Option<UsesItLate>> = const { RefCell::new(None) };
}

#[test]
fn thread_local_destructors_may_use_it() {
    let _watch = watchdog();
    let sum = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let sum = sum.clone();
        let thread = std::thread::spawn(move || LATE.set(Some(UsesItLate(sum))));
        thread.join().unwrap();
    }
    assert_eq!(sum.load(SeqCst), 50 * 43);
}

extern "C" fn at_exit() {
    let answer = cmwq::system().spawn(|| 42).join().unwrap();
    let own = queue("at exit");
    own.scope(|scope| drop(scope.spawn(|| ()))).unwrap();
    own.flush().unwrap();
    println!("at exit: {answer}");
}

#[test]
fn exit_handlers_may_use_it() {
    const NAME: &str = "exit_handlers_may_use_it";
    if is_child(NAME) {
        // SAFETY: the handler is a function of this program.
        unsafe { libc::atexit(at_exit) };
        cmwq::system().spawn(|| ()).join().unwrap();
        return;
    }
    let output = output_of(NAME);
    let fine = output.status.success() && text(&output.stdout).contains("at exit: 42");
    assert!(fine, "{}", describe(&output));
}

#[test]
fn first_use_by_many_threads_at_once() {
    alone("first_use_by_many_threads_at_once", || {
        const THREADS: usize = 16;
        let start = std::sync::Barrier::new(THREADS);
        std::thread::scope(|threads| {
            for n in 0..THREADS {
                let start = &start;
                threads.spawn(move || {
                    start.wait();
                    let queue = match n % 2 {
                        0 => cmwq::system().clone(),
                        _ => queue("own"),
                    };
                    assert_eq!(queue.spawn(move || n).join().unwrap(), n);
                });
            }
        });
        // A worker has the name of its creator for a moment.
        eventually("one engine", || threads::count("cmwq/tick") == 1);
        assert_eq!(cmwq::stats().started, THREADS as u64);
    });
}

#[test]
fn first_use_inside_of_first_use() {
    alone("first_use_inside_of_first_use", || {
        static LAZY: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
            let inner = cmwq::system().spawn(|| cmwq::system().spawn(|| 20).join().unwrap());
            inner.join().unwrap() + 1
        });
        let handle = cmwq::system().spawn(|| *LAZY * 2);
        assert_eq!(handle.join().unwrap(), 42);
    });
}

#[test]
fn stats_count_what_was_done() {
    alone("stats_count_what_was_done", || {
        let queue = queue("counted");
        (0..100).for_each(|_| queue.spawn(|| ()).join().unwrap());
        queue.flush().unwrap();
        let stats = cmwq::stats();
        assert_eq!(
            (stats.started, stats.completed, stats.in_flight),
            (100, 100, 0)
        );
        assert!(stats.workers >= 1 && stats.peak_workers >= stats.workers);
        assert!(stats.cpus >= 1 && stats.spawn_failures == 0);
    });
}
