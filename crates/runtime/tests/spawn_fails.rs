//! Threads that cannot be made.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{Builder, JoinError};
use common::alone::alone;
use common::nproc::{become_bound, limit_threads};
use common::{Permits, eventually, queue, seccomp, threads};

/// A stack that no machine has the addresses for.
const HUGE: usize = 1 << 46;

/// Uses this many workers at once, so that they exist.
fn make_workers(count: usize) -> cmwq::Workqueue {
    let (queue, gate) = (queue("made"), Arc::new(Permits::new()));
    let started = cmwq::stats().started + count as u64;
    for _ in 0..count {
        let gate = gate.clone();
        drop(queue.spawn(move || gate.take()));
    }
    eventually("they all run", || cmwq::stats().started >= started);
    gate.open();
    queue.flush().unwrap();
    queue
}

#[test]
fn work_goes_on_with_the_workers_there_are() {
    alone("work_goes_on_with_the_workers_there_are", || {
        let queue = make_workers(3);
        seccomp::deny_threads();
        assert!(std::thread::Builder::new().spawn(|| ()).is_err());
        let (before, ran) = (cmwq::stats(), Arc::new(AtomicUsize::new(0)));
        for _ in 0..500 {
            let ran = ran.clone();
            drop(queue.spawn(move || {
                std::thread::sleep(Duration::from_millis(1));
                ran.fetch_add(1, SeqCst)
            }));
        }
        queue.flush().unwrap();
        assert_eq!(ran.load(SeqCst), 500);
        assert!(
            cmwq::stats().workers <= before.workers + 1,
            "one may have been on its way"
        );
    });
}

#[test]
fn a_failure_is_counted_and_the_next_try_comes_later() {
    alone("a_failure_is_counted_and_the_next_try_comes_later", || {
        let queue = make_workers(2);
        seccomp::deny_threads();
        // Blocks every worker, so that another one is wanted.
        let gate = Arc::new(Permits::new());
        for _ in 0..20 {
            let gate = gate.clone();
            drop(queue.spawn(move || gate.take()));
        }
        eventually("a thread could not be made", || {
            cmwq::stats().spawn_failures > 0
        });
        gate.open();
        queue.flush().unwrap();
        assert_eq!(queue.spawn(|| 4).join().unwrap(), 4);
        // Far fewer tries than ticks.
        let stats = cmwq::stats();
        assert!(stats.spawn_failures <= 2 + stats.ticks / 4, "{stats:?}");
    });
}

#[test]
fn waits_that_only_a_new_thread_could_end_fail() {
    alone("waits_that_only_a_new_thread_could_end_fail", || {
        let queue = make_workers(2);
        seccomp::deny_threads();
        // More items than workers, each of which waits for one that is queued behind all of them:
        // none goes on before all are queued.
        let (ran, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Permits::new()));
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let (own, inner, gate) = (queue.clone(), ran.clone(), gate.clone());
                queue.spawn(move || {
                    gate.take();
                    let result = own.spawn(move || inner.fetch_add(1, SeqCst)).join();
                    match result {
                        Ok(_) => false,
                        Err(JoinError::WouldDeadlock(error)) => error.awaited == "made",
                        Err(other) => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        gate.open();
        let told = handles.into_iter().map(|handle| handle.join().unwrap());
        assert!(told.filter(|&told| told).count() > 0);
        queue.flush().unwrap();
        assert_eq!(ran.load(SeqCst), 20, "the awaited items run all the same");
    });
}

#[test]
fn with_no_worker_at_all_queueing_does_no_harm() {
    alone("with_no_worker_at_all_queueing_does_no_harm", || {
        Builder::new().stack_size(HUGE).install().unwrap();
        let queue = queue("none");
        for _ in 0..100 {
            assert_eq!(
                queue.queue(&cmwq::Work::new(|| panic!("nobody can run this"))),
                Ok(true)
            );
        }
        eventually("a thread could not be made", || {
            cmwq::stats().spawn_failures > 0
        });
        let stats = cmwq::stats();
        assert_eq!((stats.workers, stats.started, stats.in_flight), (0, 0, 100));
        let report = cmwq::shutdown(Duration::from_millis(20));
        assert_eq!(
            (report.queued, report.running, report.completed),
            (100, 0, 0)
        );
        // Dropping it would wait for its items.
        std::mem::forget(queue);
    });
}

#[test]
fn with_no_thread_at_all_waiting_does_no_harm() {
    alone("with_no_thread_at_all_waiting_does_no_harm", || {
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = queue("no thread");
        // Threads of the test, made while that is possible.
        let gate = Arc::new(Permits::new());
        for n in 0..3 {
            let (gate, queue, waiting) = (gate.clone(), queue.clone(), waiting.clone());
            std::thread::spawn(move || {
                gate.take();
                let handle = queue.spawn(|| ());
                waiting.fetch_add(1, SeqCst);
                match n {
                    0 => drop(handle.join()),
                    1 => drop(queue.flush()),
                    _ => drop(queue.scope(|scope| drop(scope.spawn(|| ())))),
                }
                panic!("nobody can have run it");
            });
        }
        seccomp::deny_threads();
        gate.open();
        eventually("all wait", || waiting.load(SeqCst) == 3);
        eventually("a worker was tried", || cmwq::stats().spawn_failures > 0);
        assert_eq!(threads::count("cmwq/u"), 0);
        assert_eq!(queue.queue(&cmwq::Work::new(|| ())), Ok(true));
        assert_eq!(cmwq::stats().started, 0);
        std::mem::forget(queue);
    });
}

/// Nobody else's user: its threads are this file's.
const SOMEBODY: libc::uid_t = 65_533;

/// What one thread waits for while no thread can be made, ends once that is possible again.
fn recovers(wait: impl FnOnce(cmwq::Workqueue, Arc<AtomicUsize>) + Send + 'static) {
    let (queue, ran) = (queue("recovers"), Arc::new(AtomicUsize::new(0)));
    let (go, counter) = (Arc::new(Permits::new()), ran.clone());
    let entry = go.clone();
    let waiter = std::thread::spawn(move || {
        entry.take();
        wait(queue, counter);
    });
    if !become_bound(SOMEBODY) {
        eprintln!("skipped: root here, and nobody else");
        return;
    }
    limit_threads(Some(0));
    go.open();
    eventually("no thread can be made", || cmwq::stats().spawn_failures > 0);
    // Lets the waiter come to its wait. If it has not, the test proves less, and passes.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(threads::count("cmwq/u"), 0);
    limit_threads(None);
    waiter.join().unwrap();
    assert_eq!(ran.load(SeqCst), 1);
}

#[test]
fn a_join_goes_on_when_threads_can_be_made_again() {
    alone("a_join_goes_on_when_threads_can_be_made_again", || {
        recovers(|queue, ran| drop(queue.spawn(move || ran.fetch_add(1, SeqCst)).join()));
    });
}

#[test]
fn a_flush_goes_on_when_threads_can_be_made_again() {
    alone("a_flush_goes_on_when_threads_can_be_made_again", || {
        recovers(|queue, ran| {
            drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
            queue.flush().unwrap();
        });
    });
}

#[test]
fn dropping_a_queue_goes_on_when_threads_can_be_made_again() {
    alone(
        "dropping_a_queue_goes_on_when_threads_can_be_made_again",
        || {
            recovers(|queue, ran| drop(queue.spawn(move || ran.fetch_add(1, SeqCst))));
        },
    );
}

#[test]
fn shutdown_goes_on_when_threads_can_be_made_again() {
    alone("shutdown_goes_on_when_threads_can_be_made_again", || {
        recovers(|queue, ran| {
            drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
            assert!(cmwq::shutdown(Duration::from_secs(100)).is_complete());
        });
    });
}

#[test]
fn items_go_on_although_nobody_waits_through_cmwq() {
    alone("items_go_on_although_nobody_waits_through_cmwq", || {
        recovers(|queue, ran| {
            let (tell, told) = std::sync::mpsc::channel();
            drop(queue.spawn(move || {
                ran.fetch_add(1, SeqCst);
                tell.send(()).unwrap();
            }));
            told.recv().unwrap();
            std::mem::forget(queue);
        });
    });
}

#[test]
fn timers_go_on_although_nobody_waits_through_cmwq() {
    alone("timers_go_on_although_nobody_waits_through_cmwq", || {
        recovers(|queue, ran| {
            let (tell, told) = std::sync::mpsc::channel();
            let work = cmwq::Work::new(move || {
                ran.fetch_add(1, SeqCst);
                tell.send(()).unwrap();
            });
            assert_eq!(
                queue.queue_after(&work, Duration::from_millis(10)),
                Ok(true)
            );
            told.recv().unwrap();
            std::mem::forget(queue);
        });
    });
}

/// What every engine needs is made with it, or the first use fails and the next one tries again.
#[test]
fn a_first_use_without_threads_is_an_error() {
    alone("a_first_use_without_threads_is_an_error", || {
        if !become_bound(SOMEBODY) {
            eprintln!("skipped: root here, and nobody else");
            return;
        }
        limit_threads(Some(0));
        for _ in 0..3 {
            let error = cmwq::Workqueue::builder("early").build().unwrap_err();
            assert!(matches!(error, cmwq::BuildError::System(_)), "{error:?}");
        }
        limit_threads(None);
        let queue = cmwq::Workqueue::builder("later").build().unwrap();
        assert_eq!(queue.spawn(|| 5).join().unwrap(), 5);
    });
}
