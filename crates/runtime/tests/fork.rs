//! Forked children: the parent's queues are an error there, and cmwq works anew.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize};
use std::time::Duration;

use cmwq::{FlushError, JoinError, QueueError, Work, Workqueue};
use common::alone::alone;
use common::fork::{fork, in_child, wait};
use common::{Opens, Permits, eventually, limited, queue, threads};

/// In a child: whatever a new process can do.
fn works_anew() {
    assert_eq!(cmwq::system().spawn(|| 6 * 7).join().unwrap(), 42);
    let own = queue("the child's");
    let sum: usize = (0..200)
        .map(|n| own.spawn(move || n))
        .map(|h| h.join().unwrap())
        .sum();
    assert_eq!(sum, 19_900);
    for _ in 0..20 {
        drop(own.spawn(|| std::thread::sleep(Duration::from_millis(1))));
    }
    own.flush().unwrap();
    own.scope(|scope| drop(scope.spawn(|| ()))).unwrap();
    assert!(threads::ours().iter().any(|thread| thread.is_worker()));
}

fn refuses(queue: &Workqueue) {
    let work = Work::new(|| panic!("not in the child"));
    assert_eq!(queue.try_queue(&work), Err(QueueError::Forked));
    assert!(!queue.queue(&work) && !work.is_pending());
    let spawned = queue.spawn(|| panic!("not in the child")).join();
    assert!(matches!(
        spawned,
        Err(JoinError::Refused(QueueError::Forked))
    ));
    assert_eq!(queue.flush(), Err(FlushError::Forked));
    let scoped = queue.scope(|scope| scope.spawn(|| panic!("not in the child")).join());
    assert!(matches!(
        scoped.unwrap(),
        Err(JoinError::Refused(QueueError::Forked))
    ));
    queue.set_max_active(7);
}

#[test]
fn the_childs_use_of_a_parents_queue_is_an_error() {
    alone("the_childs_use_of_a_parents_queue_is_an_error", || {
        let (gate, busy, idle) = (Arc::new(Permits::new()), queue("busy"), queue("idle"));
        let _opens = Opens(&gate);
        let entry = gate.clone();
        let running = busy.spawn(move || entry.take());
        let finished = idle.spawn(|| 5);
        eventually("it is over", || finished.is_finished());
        let (parents_system, handles) = (cmwq::system(), [running, busy.spawn(|| ())]);
        let kept = (busy.clone(), idle.clone());
        in_child(move || {
            refuses(&busy);
            refuses(&idle);
            refuses(parents_system);
            for handle in handles {
                let joined = handle.join();
                assert!(matches!(
                    joined,
                    Err(JoinError::Refused(QueueError::Forked))
                ));
            }
            drop(finished);
            drop((busy, idle));
            works_anew();
        });
        gate.open();
        kept.0.flush().unwrap();
    });
}

#[test]
fn the_child_works_also_where_the_parent_never_did() {
    alone("the_child_works_also_where_the_parent_never_did", || {
        in_child(works_anew);
        works_anew();
        in_child(|| {
            works_anew();
            // A child of the child.
            in_child(works_anew);
        });
        works_anew();
    });
}

#[test]
fn the_parent_goes_on_after_a_fork() {
    alone("the_parent_goes_on_after_a_fork", || {
        let (queue, ran) = (limited("goes on", 4), Arc::new(AtomicUsize::new(0)));
        for _ in 0..1_000 {
            let ran = ran.clone();
            drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
        }
        let own = queue.clone();
        in_child(move || drop(own));
        queue.flush().unwrap();
        assert_eq!(ran.load(SeqCst), 1_000);
    });
}

#[test]
fn a_fork_while_others_queue_like_mad() {
    alone("a_fork_while_others_queue_like_mad", || {
        let (queue, stop) = (queue("mad"), AtomicBool::new(false));
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !stop.load(SeqCst) {
                        drop(queue.spawn(|| ()));
                        drop(queue.spawn(std::thread::yield_now).join());
                    }
                });
            }
            for _ in 0..12 {
                in_child(|| {
                    refuses(&queue);
                    works_anew();
                });
            }
            stop.store(true, SeqCst);
        });
        queue.flush().unwrap();
    });
}

#[test]
fn a_fork_inside_an_item() {
    alone("a_fork_inside_an_item", || {
        let queue = queue("forks");
        let own = queue.clone();
        let handle = queue.spawn(move || {
            in_child(|| {
                // No worker any more: an ordinary thread of a new process.
                refuses(&own);
                cmwq::blocking(works_anew);
            });
        });
        handle.join().unwrap();
    });
}

#[test]
fn a_child_that_returns_from_its_item_runs_no_other() {
    alone("a_child_that_returns_from_its_item_runs_no_other", || {
        static CHILD: AtomicI32 = AtomicI32::new(0);
        static GATE: Permits = Permits::new();
        let parent = std::process::id();
        let queue = limited("returns", 1);
        drop(queue.spawn(move || {
            GATE.take();
            // SAFETY: the child returns into the worker that it is a copy of, which lets it end.
            let pid = cmwq::blocking(|| unsafe { libc::fork() });
            if pid != 0 {
                CHILD.store(pid, SeqCst);
            }
        }));
        for _ in 0..100 {
            drop(queue.spawn(move || {
                if std::process::id() != parent {
                    // SAFETY: ends the child, with a number that the parent knows it by.
                    unsafe { libc::_exit(77) };
                }
            }));
        }
        GATE.open();
        queue.flush().unwrap();
        assert_eq!(
            wait(CHILD.load(SeqCst)),
            0,
            "it ended as a process without threads does"
        );
    });
}

#[test]
fn a_fork_inside_a_scope() {
    alone("a_fork_inside_a_scope", || {
        let (gate, queue) = (Permits::new(), queue("scoped"));
        let _opens = Opens(&gate);
        let mut child = 0;
        let result = queue.scope(|scope| {
            let handle = scope.spawn(|| gate.take());
            child = fork(|| {
                let joined = handle.join();
                assert!(matches!(
                    joined,
                    Err(JoinError::Refused(QueueError::Forked))
                ));
                works_anew();
                0
            });
            gate.open();
        });
        result.unwrap();
        assert_eq!(wait(child), 0);
        // The child leaves the scope.
        let forked = AtomicI32::new(0);
        let parent = std::process::id();
        let gate = Permits::new();
        let result = queue.scope(|scope| {
            scope.spawn(|| gate.take());
            // SAFETY: as in `common::fork`; the child exits below.
            forked.store(unsafe { libc::fork() }, SeqCst);
            if std::process::id() == parent {
                gate.open();
            }
        });
        if std::process::id() != parent {
            // SAFETY: ends the child.
            unsafe { libc::_exit(if result.is_err() { 5 } else { 6 }) };
        }
        result.unwrap();
        assert_eq!(
            wait(forked.load(SeqCst)),
            5,
            "the scope says that nobody ran its items"
        );
    });
}
