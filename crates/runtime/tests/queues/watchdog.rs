//! The watchdog: a worklist that stands still is reported, once.

use std::sync::Arc;
use std::time::Duration;

use cmwq::{Builder, Report, StalledWorker, Workqueue};
use cmwq_os::thread;

use crate::common::alone::alone;
use crate::common::{Opens, Permits, eventually, limited};
use crate::kit::{Flag, Log, Raises, cpus, on, reports, ticks_pass};

const THRESHOLD: Duration = Duration::from_millis(100);

/// The stalls among the reports.
#[derive(Clone, Debug)]
struct Stall {
    queue: String,
    item: &'static str,
    stood: Duration,
    workers: Vec<StalledWorker>,
    no_thread: Option<i32>,
    text: String,
}

fn stalls(log: &Log<Report>) -> Vec<Stall> {
    let stall = |report: Report| {
        let text = report.to_string();
        match report {
            Report::Stall {
                queue,
                item,
                stood,
                workers,
                no_thread,
            } => Some(Stall {
                queue,
                item,
                stood,
                workers,
                no_thread,
                text,
            }),
            _ => None,
        }
    };
    log.take().into_iter().filter_map(stall).collect()
}

/// Turns the watchdog on, waits for the one stall there is, and that it is not said again. It is
/// off before: on a busy machine a new worker may be long in coming, which is a stall.
fn one_stall(log: &Log<Report>) -> Stall {
    one_stall_if(log, || ())
}

/// The same, where somebody has to see to it that there is one.
fn one_stall_if(log: &Log<Report>, mut see_to_it: impl FnMut()) -> Stall {
    cmwq::set_watchdog_threshold(THRESHOLD);
    eventually("it is reported", || {
        see_to_it();
        log.len() > 0
    });
    ticks_pass(60);
    cmwq::set_watchdog_threshold(Duration::ZERO);
    let stalls = stalls(log);
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    stalls[0].clone()
}

#[test]
fn one_that_computes_before_others_is_named() {
    alone("watchdog::one_that_computes_before_others_is_named", || {
        cmwq::set_watchdog_threshold(Duration::ZERO);
        cmwq::set_cpu_intensive_threshold(Duration::ZERO);
        let log = reports();
        let stuck = Workqueue::builder("stuck").percpu().build().unwrap();
        let waits = Workqueue::builder("waits").percpu().build().unwrap();
        let cpu = cpus()[0];
        for _ in 0..2 {
            let (tid, end) = (Log::default(), Flag::default());
            let _raises = Raises(&end);
            let (own, until) = (tid.clone(), end.clone());
            on(&stuck, cpu, move || {
                cmwq::set_worker_desc("page 7 of 12");
                own.push(thread::gettid());
                until.spin();
            });
            eventually("it computes", || tid.len() == 1);
            // It may still begin: where the other thread waits for a page, the CPU is free.
            let began = Flag::default();
            let queue_one = || {
                let begins = began.clone();
                on(&waits, cpu, move || begins.raise());
            };
            queue_one();
            let stall = one_stall_if(&log, || {
                if began.take() {
                    queue_one();
                }
            });
            assert_eq!(stall.queue, "waits");
            assert!(stall.stood >= THRESHOLD);
            let here = "queues::watchdog::one_that_computes_before_others_is_named";
            assert!(stall.item.starts_with(here), "{}", stall.item);
            assert_eq!(stall.workers.len(), 1);
            let worker = &stall.workers[0];
            assert_eq!(
                (worker.tid, worker.queue.as_str()),
                (tid.take()[0], "stuck")
            );
            assert!(worker.item.starts_with(here), "{}", worker.item);
            assert_eq!(worker.desc.as_deref(), Some("page 7 of 12"));
            assert!(worker.place.starts_with("runs"), "{}", worker.place);
            for part in ["\"waits\"", "\"stuck\"", "(page 7 of 12)", "runs, or waits"] {
                assert!(stall.text.contains(part), "{part} in {}", stall.text);
            }
            end.raise();
            // Progress: the next stall is another one.
            waits.flush().unwrap();
        }
    });
}

#[test]
fn it_says_in_which_call_a_bh_item_sleeps() {
    alone("watchdog::it_says_in_which_call_a_bh_item_sleeps", || {
        cmwq::set_watchdog_threshold(Duration::ZERO);
        let log = reports();
        let queue = Workqueue::builder("bh").bh().build().unwrap();
        let gate = Arc::new(Permits::new());
        let _opens = Opens(&gate);
        for call in ["futex(", "nanosleep("] {
            let end = Flag::default();
            let _raises = Raises(&end);
            let (held, until, begun) = (gate.clone(), end.clone(), Flag::default());
            let first = begun.clone();
            on(&queue, cpus()[0], move || {
                first.raise();
                match call {
                    "futex(" => held.take(),
                    _ => {
                        while !until.is_up() {
                            std::thread::sleep(Duration::from_millis(300));
                        }
                    }
                }
            });
            begun.wait("it runs");
            on(&queue, cpus()[0], || ());
            let stall = one_stall(&log);
            assert_eq!((stall.queue.as_str(), stall.workers.len()), ("bh", 1));
            let place = &stall.workers[0].place;
            assert!(
                place.contains("sleeps in") && place.contains(call),
                "{place}"
            );
            assert_eq!(stall.workers[0].desc, None);
            gate.give(1);
            end.raise();
            queue.flush().unwrap();
        }
    });
}

#[test]
fn a_pool_at_its_thread_limit_names_all_that_could_have_taken_it() {
    alone(
        "watchdog::a_pool_at_its_thread_limit_names_all_that_could_have_taken_it",
        || {
            Builder::new().thread_limit(3).install().unwrap();
            cmwq::set_watchdog_threshold(Duration::ZERO);
            let (log, gate) = (reports(), Arc::new(Permits::new()));
            let _opens = Opens(&gate);
            let queues = ["a", "b", "c"].map(|name| limited(name, 4));
            for queue in &queues {
                let (gate, name) = (gate.clone(), queue.name().to_owned());
                drop(queue.spawn(move || {
                    cmwq::set_worker_desc(&name);
                    gate.take();
                }));
            }
            eventually("all are busy", || cmwq::stats().started == 3);
            let last = limited("last", 4).clone();
            let item = last.spawn(|| 5);
            let stall = one_stall(&log);
            assert_eq!(stall.queue, "last");
            let mut named: Vec<_> = stall.workers.iter().map(|w| w.queue.as_str()).collect();
            named.sort_unstable();
            assert_eq!(named, ["a", "b", "c"]);
            for worker in &stall.workers {
                assert_eq!(worker.desc.as_ref(), Some(&worker.queue));
                assert!(worker.place.contains("futex("), "{}", worker.place);
            }
            gate.open();
            assert_eq!(item.join().unwrap(), 5);
        },
    );
}

#[test]
fn without_a_worker_there_is_none_to_name() {
    alone("watchdog::without_a_worker_there_is_none_to_name", || {
        cmwq::set_watchdog_threshold(Duration::ZERO);
        let log = reports();
        // The tick's thread is there before threads cannot be made any more.
        cmwq::system_percpu().spawn(|| ()).join().unwrap();
        crate::common::seccomp::deny_threads();
        let queue = limited("nobody", 4);
        assert_eq!(queue.queue(&cmwq::Work::new(|| ())), Ok(true));
        let stall = one_stall(&log);
        assert_eq!((stall.queue.as_str(), stall.workers.len()), ("nobody", 0));
        assert_eq!(stall.no_thread, Some(libc::EAGAIN));
        // Dropping it would wait for its item.
        std::mem::forget(queue);
    });
}

#[test]
fn that_no_thread_can_be_made_for_a_pool_without_one_is_said_at_once() {
    let test = "watchdog::that_no_thread_can_be_made_for_a_pool_without_one_is_said_at_once";
    alone(test, || {
        // The watchdog alone would say it when nobody waits for it any more.
        cmwq::set_watchdog_threshold(Duration::from_secs(100_000));
        let log = reports();
        // The tick's thread is there before threads cannot be made any more.
        cmwq::system_percpu().spawn(|| ()).join().unwrap();
        log.take();
        crate::common::seccomp::deny_threads();
        let queue = limited("nobody", 4);
        assert_eq!(queue.queue(&cmwq::Work::new(|| ())), Ok(true));
        eventually("it is said", || log.len() > 0);
        let failures = cmwq::stats().spawn_failures;
        eventually("it is tried again", || {
            cmwq::stats().spawn_failures > failures + 2
        });
        let stalls = stalls(&log);
        assert_eq!(stalls.len(), 1, "{stalls:?}");
        let (stall, end) = (&stalls[0], "no thread can be made: Resource temporarily");
        assert_eq!((stall.queue.as_str(), stall.workers.len()), ("nobody", 0));
        assert!(stall.text.contains(end), "{}", stall.text);
        // Dropping it would wait for its item.
        std::mem::forget(queue);
    });
}

#[test]
fn a_threshold_of_zero_turns_it_off() {
    alone("watchdog::a_threshold_of_zero_turns_it_off", || {
        cmwq::set_watchdog_threshold(Duration::ZERO);
        let log = reports();
        let queue = Workqueue::builder("off").bh().build().unwrap();
        let gate = Arc::new(Permits::new());
        let _opens = Opens(&gate);
        let held = gate.clone();
        on(&queue, cpus()[0], move || held.take());
        on(&queue, cpus()[0], || ());
        ticks_pass(150);
        assert_eq!(stalls(&log).len(), 0);
        // Set while it stands still, it counts from where it began to.
        cmwq::set_watchdog_threshold(Duration::from_millis(1));
        eventually("it is reported", || log.len() == 1);
    });
}
