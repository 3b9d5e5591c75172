//! Freezable queues between freeze and thaw. The freezer is the process's, so each test is alone.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{Work, Workqueue, WorkqueueBuilder, freezer};

use crate::common::alone::alone;
use crate::common::eventually;
use crate::kit::{Flag, Log, Stage, others_run};

fn freezable(name: &str) -> Workqueue {
    Workqueue::builder(name).freezable().build().unwrap()
}

/// Frozen until dropped.
struct Frozen;

impl Frozen {
    fn now() -> Self {
        freezer::freeze();
        Frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        freezer::thaw();
    }
}

type Kind = fn(WorkqueueBuilder) -> WorkqueueBuilder;

const KINDS: [(&str, Kind); 4] = [
    ("managed", |queue| queue),
    ("percpu", WorkqueueBuilder::percpu),
    ("unmanaged", WorkqueueBuilder::unmanaged),
    ("ordered", WorkqueueBuilder::ordered),
];

fn of_kind((name, kind): (&str, Kind)) -> Workqueue {
    kind(Workqueue::builder(name).freezable()).build().unwrap()
}

#[test]
fn what_runs_goes_on_and_what_comes_waits() {
    alone("freeze::what_runs_goes_on_and_what_comes_waits", || {
        for kind in KINDS {
            let (queue, stage) = (of_kind(kind), Arc::new(Stage::default()));
            stage.spawn(&queue, 1);
            stage.has_started(1);
            assert!(!freezer::is_busy() || kind.0 == queue.name());
            let frozen = Frozen::now();
            stage.spawn(&queue, 6);
            assert!(freezer::is_busy(), "one is being executed");
            stage.permits.open();
            eventually("it ends", || !freezer::is_busy());
            others_run(50);
            assert_eq!(stage.started(), 1, "{}", kind.0);
            drop(frozen);
            queue.flush().unwrap();
            assert_eq!(stage.ended.load(SeqCst), 7, "{}", kind.0);
        }
    });
}

#[test]
fn order_is_kept() {
    alone("freeze::order_is_kept", || {
        for kind in KINDS {
            let queue = kind.1(Workqueue::builder(kind.0)).freezable().max_active(1);
            let (queue, ran) = (queue.build().unwrap(), Log::default());
            // One caller on one CPU, so that there is one order on a per-CPU queue.
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let cpu = cmwq_os::sched::current_cpu();
                    let only = [cpu].into_iter().collect();
                    cmwq_os::sched::set_affinity_self(&only).unwrap();
                    for n in 0..60 {
                        match n % 20 {
                            5 => freezer::freeze(),
                            15 => freezer::thaw(),
                            _ => {}
                        }
                        let ran = ran.clone();
                        drop(queue.spawn(move || ran.push(n)));
                    }
                });
            });
            queue.flush().unwrap();
            assert!(ran.take().into_iter().eq(0..60), "{}", kind.0);
        }
    });
}

#[test]
fn a_queue_that_is_built_meanwhile_is_frozen() {
    alone("freeze::a_queue_that_is_built_meanwhile_is_frozen", || {
        let frozen = Frozen::now();
        let queues = KINDS.map(of_kind);
        let ran = Log::default();
        for queue in queues.iter().chain([cmwq::system_freezable()]) {
            let ran = ran.clone();
            drop(queue.spawn(move || ran.push(())));
        }
        others_run(50);
        assert_eq!(ran.len(), 0);
        drop(frozen);
        queues.iter().for_each(|queue| queue.flush().unwrap());
        cmwq::system_freezable().flush().unwrap();
        assert_eq!(ran.len(), 5);
    });
}

#[test]
fn other_queues_go_on() {
    alone("freeze::other_queues_go_on", || {
        let before = freezable("before");
        let _frozen = Frozen::now();
        drop(before.spawn(|| ()));
        for kind in KINDS {
            let queue = kind.1(Workqueue::builder(kind.0)).build().unwrap();
            assert_eq!(queue.spawn(|| 1).join().unwrap(), 1);
        }
        assert_eq!(cmwq::system_bh().spawn(|| 2).join().unwrap(), 2);
        assert!(!freezer::is_busy());
    });
}

#[test]
fn what_waits_can_be_cancelled() {
    alone("freeze::what_waits_can_be_cancelled", || {
        for kind in KINDS {
            let queue = of_kind(kind);
            let frozen = Frozen::now();
            let works: [Work; 4] = std::array::from_fn(|_| Work::new(|| panic!("cancelled")));
            assert!(works.iter().all(|work| queue.queue(work) == Ok(true)));
            assert!(works[0].cancel() && works[1].cancel_sync().unwrap());
            assert!(works[2].disable() && works[3].disable_sync().unwrap());
            // Nothing is left, so nothing waits for the thaw.
            queue.flush().unwrap();
            drop(frozen);
            queue.flush().unwrap();
        }
    });
}

#[test]
fn a_flush_waits_for_the_thaw() {
    alone("freeze::a_flush_waits_for_the_thaw", || {
        for kind in KINDS {
            let queue = of_kind(kind);
            let frozen = Frozen::now();
            let work = Work::new(|| ());
            assert_eq!(queue.queue(&work), Ok(true));
            let thawed = Flag::default();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    queue.flush().unwrap();
                    assert!(thawed.is_up(), "the queue's flush");
                });
                scope.spawn(|| {
                    work.flush().unwrap();
                    assert!(thawed.is_up(), "the item's flush");
                });
                // If they have not come to their waits by then, the test proves less, and passes.
                others_run(200);
                thawed.raise();
                drop(frozen);
            });
        }
    });
}

#[test]
fn dropping_a_frozen_queue_does_not_hang() {
    alone("freeze::dropping_a_frozen_queue_does_not_hang", || {
        for kind in KINDS {
            let (queue, ran) = (of_kind(kind), Log::default());
            let _frozen = Frozen::now();
            for _ in 0..5 {
                let ran = ran.clone();
                drop(queue.spawn(move || ran.push(())));
            }
            drop(queue);
            assert_eq!(ran.len(), 5, "{}: what was queued runs", kind.0);
        }
    });
}

#[test]
fn draining_a_frozen_queue_has_a_deadline() {
    alone("freeze::draining_a_frozen_queue_has_a_deadline", || {
        let (queue, ran) = (freezable("deadline"), Flag::default());
        let frozen = Frozen::now();
        let raised = ran.clone();
        drop(queue.spawn(move || raised.raise()));
        let drained = queue.drain_timeout(Duration::from_millis(30)).unwrap();
        assert!(!drained && !ran.is_up());
        drop(frozen);
        queue.drain().unwrap();
        assert!(ran.is_up());
    });
}

#[test]
fn a_limit_that_is_set_meanwhile_counts_after_the_thaw() {
    alone(
        "freeze::a_limit_that_is_set_meanwhile_counts_after_the_thaw",
        || {
            for kind in &KINDS[..3] {
                let (queue, stage) = (of_kind(*kind), Arc::new(Stage::default()));
                let frozen = Frozen::now();
                // One caller on one CPU: the limit of a per-CPU queue counts for each.
                let cpu = cmwq_os::sched::current_cpu();
                for _ in 0..10 {
                    let stage = stage.clone();
                    let work = Work::new(move || stage.run());
                    assert_eq!(queue.queue_on(cpu, &work), Ok(true));
                }
                assert!(queue.set_max_active(3));
                assert_eq!(queue.max_active(), 3);
                others_run(50);
                assert_eq!(stage.started(), 0, "it stays frozen");
                drop(frozen);
                stage.has_started(3);
                others_run(50);
                stage.permits.open();
                queue.flush().unwrap();
                assert_eq!(stage.inside.peak(), 3, "{}", kind.0);
            }
        },
    );
}

#[test]
fn new_attributes_do_not_thaw() {
    alone("freeze::new_attributes_do_not_thaw", || {
        for kind in [KINDS[0], KINDS[3]] {
            let (queue, ran) = (of_kind(kind), Log::default());
            let frozen = Frozen::now();
            for nice in 0..4 {
                let mut attrs = queue.attrs();
                attrs.nice = nice;
                queue.apply_attrs(&attrs).unwrap();
                let ran = ran.clone();
                drop(queue.spawn(move || ran.push(nice)));
            }
            others_run(50);
            assert_eq!(ran.len(), 0);
            drop(frozen);
            queue.flush().unwrap();
            let mut ran = ran.take();
            if kind.0 == "managed" {
                ran.sort_unstable();
            }
            assert_eq!(ran, [0, 1, 2, 3], "{}", kind.0);
        }
    });
}

#[test]
fn freezing_twice_is_freezing_once() {
    alone("freeze::freezing_twice_is_freezing_once", || {
        let queue = freezable("twice");
        freezer::thaw();
        freezer::freeze();
        freezer::freeze();
        let item = queue.spawn(|| 4);
        others_run(20);
        assert!(!item.is_finished());
        freezer::thaw();
        assert_eq!(item.join().unwrap(), 4);
    });
}

#[test]
fn a_timer_that_expires_meanwhile_queues_its_item() {
    alone(
        "freeze::a_timer_that_expires_meanwhile_queues_its_item",
        || {
            let (queue, ran) = (freezable("timer"), Flag::default());
            let frozen = Frozen::now();
            let raised = ran.clone();
            let work = Work::new(move || raised.raise());
            assert_eq!(queue.queue_after(&work, Duration::from_millis(1)), Ok(true));
            // Armed later and for later, on a queue that is not frozen.
            let after = Flag::default();
            let raised = after.clone();
            let later = Work::new(move || raised.raise());
            assert_eq!(
                cmwq::system().queue_after(&later, Duration::from_millis(5)),
                Ok(true)
            );
            after.wait("the second timer expires");
            assert!(!ran.is_up());
            drop(frozen);
            ran.wait("it was queued");
        },
    );
}

#[test]
fn items_that_queue_on_stop_with_the_freeze() {
    alone("freeze::items_that_queue_on_stop_with_the_freeze", || {
        let (queue, ran) = (freezable("chain"), Log::default());
        let (own, log) = (queue.clone(), ran.clone());
        let work = Work::with_data((), move |work| {
            log.push(());
            let _ = own.queue(work);
        });
        assert_eq!(queue.queue(&work), Ok(true));
        for round in 1..=20 {
            eventually("it runs", || ran.len() >= round * 5);
            let frozen = Frozen::now();
            eventually("it stands still", || !freezer::is_busy());
            let seen = ran.len();
            others_run(20);
            assert_eq!(ran.len(), seen);
            drop(frozen);
            eventually("it goes on", || ran.len() > seen);
        }
        assert!(work.cancel_sync().is_ok());
    });
}

#[test]
fn to_wait_for_what_is_frozen_is_no_deadlock() {
    alone("freeze::to_wait_for_what_is_frozen_is_no_deadlock", || {
        for kind in [KINDS[0], KINDS[1], KINDS[2]] {
            let queue = of_kind(kind);
            let (own, frozen) = (queue.clone(), Flag::default());
            let says = frozen.clone();
            let waiter = queue.spawn(move || {
                freezer::freeze();
                says.raise();
                own.spawn(|| 1).join()
            });
            eventually("it is frozen", || frozen.is_up());
            others_run(50);
            freezer::thaw();
            assert_eq!(waiter.join().unwrap().unwrap(), 1, "{}", kind.0);
        }
    });
}

/// Each slot goes to the other CPU's pool in turn, and the thread that thaws has a small stack.
#[test]
fn what_many_pools_take_in_turn_needs_no_deep_stack() {
    alone(
        "freeze::what_many_pools_take_in_turn_needs_no_deep_stack",
        || {
            let builder = Workqueue::builder("turns").freezable().unmanaged();
            let queue = builder
                .affinity_scope(cmwq::AffinityScope::Cpu)
                .build()
                .unwrap();
            freezer::freeze();
            let items: Vec<_> = (0..2000).map(|_| Work::new(|| ())).collect();
            for (n, work) in items.iter().enumerate() {
                queue.queue_on(n % cmwq::stats().cpus, work).unwrap();
            }
            let small = std::thread::Builder::new().stack_size(128 << 10);
            small.spawn(freezer::thaw).unwrap().join().unwrap();
            for work in &items {
                work.flush().unwrap();
            }
        },
    );
}
