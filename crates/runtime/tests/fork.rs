//! Forked children: the parent's queues are an error there, and cmwq works anew.

mod common;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize};
use std::task::{Context, Poll, Waker};
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
    assert_eq!(queue.queue(&work), Err(QueueError::Forked));
    assert!(!work.is_pending());
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
        // One runs, one may have ended, and one has.
        let ended = busy.spawn(|| ());
        eventually("it has ended", || ended.is_finished());
        let handles = [running, busy.spawn(|| ()), ended];
        let parents_system = cmwq::system();
        let kept = (busy.clone(), idle.clone());
        in_child(move || {
            refuses(&busy);
            refuses(&idle);
            refuses(parents_system);
            for mut handle in handles {
                let context = &mut Context::from_waker(Waker::noop());
                assert!(handle.is_finished() && !handle.cancel());
                assert!(matches!(
                    Pin::new(&mut handle).poll(context),
                    Poll::Ready(Err(JoinError::Refused(QueueError::Forked)))
                ));
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

/// Whatever another thread was in the middle of: in the child nobody has queued the item.
#[test]
fn an_item_on_its_way_at_a_fork_is_new_in_the_child() {
    alone("an_item_on_its_way_at_a_fork_is_new_in_the_child", || {
        let queue = queue("forked");
        let (latest, stop) = (AtomicPtr::<Work>::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The latest ones are kept: a child may be forked at any moment.
                let mut kept = std::collections::VecDeque::new();
                for turn in 0.. {
                    let work = Box::new(Work::new(|| ()));
                    latest.store(std::ptr::from_ref(&*work).cast_mut(), SeqCst);
                    match turn % 3 {
                        0 => drop(queue.queue(&work)),
                        1 => drop(work.disable()),
                        _ => drop((queue.queue(&work), work.cancel(), queue.queue(&work))),
                    }
                    kept.push_back(work);
                    if kept.len() > 16 {
                        kept.pop_front();
                    }
                    if stop.load(SeqCst) {
                        break;
                    }
                }
            });
            for _ in 0..200 {
                in_child(|| {
                    // SAFETY: null or among those that are kept.
                    let Some(work) = (unsafe { latest.load(SeqCst).as_ref() }) else {
                        return;
                    };
                    assert!(!work.is_pending());
                    work.disable();
                    while !work.enable() {}
                    assert_eq!(cmwq::system().queue(work), Ok(true));
                });
            }
            stop.store(true, SeqCst);
        });
    });
}

/// Two threads of a child that both come first.
#[test]
fn a_child_has_one_engine_whoever_comes_first() {
    alone("a_child_has_one_engine_whoever_comes_first", || {
        cmwq::system().spawn(|| ()).join().unwrap();
        for turn in 0..300 {
            in_child(move || {
                let ready = Arc::new(std::sync::Barrier::new(2));
                let other = ready.clone();
                let other = std::thread::spawn(move || {
                    other.wait();
                    // The race is at the end of what the first one does.
                    let end = std::time::Instant::now() + Duration::from_micros(turn);
                    while std::time::Instant::now() < end {}
                    std::ptr::from_ref(cmwq::system()).addr()
                });
                ready.wait();
                cmwq::freezer::thaw();
                let own = std::ptr::from_ref(cmwq::system()).addr();
                assert_eq!(own, other.join().unwrap());
            });
        }
    });
}

/// A hook is no lock that somebody held at the fork.
#[test]
fn a_child_reports_whatever_was_done_with_hooks_at_the_fork() {
    alone(
        "a_child_reports_whatever_was_done_with_hooks_at_the_fork",
        || {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        cmwq::set_report_hook(|_| ());
                    }
                });
                for _ in 0..50 {
                    // Enabling what is not disabled is reported.
                    in_child(|| assert!(Work::new(|| ()).enable()));
                }
                stop.store(true, SeqCst);
            });
        },
    );
}

/// The standard library's lock of the standard error output may be held by a thread that is not
/// there.
#[test]
fn a_child_reports_whoever_wrote_at_the_fork() {
    alone("a_child_reports_whoever_wrote_at_the_fork", || {
        let (locked, over) = (Permits::new(), Permits::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _stderr = std::io::stderr().lock();
                locked.open();
                over.take();
            });
            let _ends = Opens(&over);
            locked.take();
            // Enabling what is not disabled is reported.
            in_child(|| assert!(Work::new(|| ()).enable()));
        });
    });
}

/// Options are no lock either.
#[test]
fn a_child_works_whoever_chose_options_at_the_fork() {
    alone("a_child_works_whoever_chose_options_at_the_fork", || {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    // The first one counts.
                    let _ = cmwq::Builder::new().install();
                }
            });
            for _ in 0..50 {
                in_child(|| assert_eq!(cmwq::system().spawn(|| 6 * 7).join().unwrap(), 42));
            }
            stop.store(true, SeqCst);
        });
    });
}
