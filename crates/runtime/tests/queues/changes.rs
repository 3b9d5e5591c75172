//! Limits and attributes that change while items run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{Attrs, AttrsError, Workqueue};
use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;

use crate::common::alone::{alone, has_levels};
use crate::common::sysfs::Sysfs;
use crate::common::{Occupancy, Opens, Permits, eventually, limited, queue, threads, watchdog};
use crate::kit::{Log, Stage, allocated, cpus, nice, others_run, two_cpus};

fn with_nice(queue: &Workqueue, nice: i32) -> Attrs {
    let mut attrs = queue.attrs();
    attrs.nice = nice;
    attrs
}

#[test]
fn the_limit_holds_over_old_and_new_attributes_together() {
    let _watch = watchdog();
    let (queue, stage) = (limited("shared", 3), Arc::new(Stage::default()));
    let _opens = Opens(&stage.permits);
    stage.spawn(&queue, 8);
    stage.has_started(3);
    for nice in [2, 4, 0] {
        queue.apply_attrs(&with_nice(&queue, nice)).unwrap();
        stage.spawn(&queue, 8);
    }
    others_run(100);
    assert_eq!(stage.started(), 3, "old items hold the slots");
    for ended in 1..=32 {
        stage.permits.give(1);
        eventually("one has ended", || stage.ended.load(SeqCst) == ended);
        stage.has_started((ended + 3).min(32));
    }
    queue.flush().unwrap();
    assert_eq!(stage.inside.peak(), 3);
}

#[test]
fn raising_the_limit_serves_old_and_new_attributes() {
    let _watch = watchdog();
    let (queue, stage) = (limited("raised", 1), Arc::new(Stage::default()));
    let _opens = Opens(&stage.permits);
    stage.spawn(&queue, 5);
    stage.has_started(1);
    queue.apply_attrs(&with_nice(&queue, 3)).unwrap();
    stage.spawn(&queue, 5);
    assert!(queue.set_max_active(10));
    stage.has_started(10);
    assert!(queue.set_max_active(1));
    stage.spawn(&queue, 2);
    stage.permits.give(9);
    eventually("nine have ended", || stage.ended.load(SeqCst) == 9);
    others_run(100);
    assert_eq!(stage.started(), 10);
    stage.permits.give(1);
    stage.has_started(11);
    stage.permits.open();
    queue.flush().unwrap();
    assert_eq!(stage.inside.peak(), 10);
}

/// Queues items from two threads, which sleep for a moment.
fn load(queue: &Workqueue, inside: &Arc<Occupancy>, items: usize) {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..items / 2 {
                    let inside = inside.clone();
                    drop(queue.spawn(move || {
                        let _counted = inside.enter();
                        std::thread::sleep(Duration::from_micros(if n % 4 == 0 { 100 } else { 0 }));
                    }));
                }
            });
        }
    });
    queue.flush().unwrap();
}

#[test]
fn under_load_each_limit_is_kept_from_the_next_item_on() {
    alone(
        "changes::under_load_each_limit_is_kept_from_the_next_item_on",
        || {
            let queue = limited("rounds", 1);
            for limit in [1, 8, 2, 7, 1, 3, 8, 1] {
                assert!(queue.set_max_active(limit));
                assert_eq!(queue.max_active(), limit);
                let inside = Arc::new(Occupancy::default());
                load(&queue, &inside, 300);
                assert!(inside.peak() <= limit, "{} of {limit}", inside.peak());
            }
        },
    );
}

#[test]
fn the_highest_limit_holds_while_limits_and_attributes_change() {
    alone(
        "changes::the_highest_limit_holds_while_limits_and_attributes_change",
        || {
            const HIGHEST: usize = 6;
            let (queue, inside) = (limited("restless", 1), Arc::new(Occupancy::default()));
            let loaded = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    (0..8).for_each(|_| load(&queue, &inside, 250));
                    loaded.store(true, SeqCst);
                });
                scope.spawn(|| {
                    for n in (1..=HIGHEST).cycle() {
                        assert!(queue.set_max_active(n));
                        std::thread::yield_now();
                        if loaded.load(SeqCst) {
                            break;
                        }
                    }
                });
                scope.spawn(|| {
                    for nice in (0..3).cycle() {
                        queue.apply_attrs(&with_nice(&queue, nice)).unwrap();
                        std::thread::sleep(Duration::from_micros(200));
                        if loaded.load(SeqCst) {
                            break;
                        }
                    }
                });
            });
            queue.drain().unwrap();
            assert!(inside.peak() <= HIGHEST, "{}", inside.peak());
            assert_eq!(cmwq::stats().in_flight, 0);
        },
    );
}

#[test]
fn what_is_out_of_range_is_an_error_and_changes_nothing() {
    let _watch = watchdog();
    let queue = queue("checked");
    let good = with_nice(&queue, 4);
    queue.apply_attrs(&good).unwrap();
    let bad = |nice, cpus: Option<Vec<usize>>| {
        let mut attrs = queue.attrs();
        (attrs.nice, attrs.cpus) = (nice, cpus);
        queue.apply_attrs(&attrs).unwrap_err()
    };
    assert_eq!(bad(20, None), AttrsError::Nice(20));
    assert_eq!(bad(-21, None), AttrsError::Nice(-21));
    assert_eq!(bad(0, Some(vec![0, 1024])), AttrsError::Cpu(1024));
    assert_eq!(bad(7, Some(vec![usize::MAX])), AttrsError::Cpu(usize::MAX));
    assert_eq!(
        bad(20, None).to_string(),
        "nice value 20 is not in -20..=19"
    );
    assert_eq!(
        bad(0, Some(vec![4096])).to_string(),
        "there can be no CPU 4096"
    );
    assert_eq!(queue.attrs(), good);
    assert_eq!(queue.spawn(sched::nice_self).join().unwrap(), nice(4));
}

#[test]
fn old_items_end_as_they_began_and_new_ones_go_by_the_new_attributes() {
    let Some((one, other)) = two_cpus().filter(|_| has_levels()) else {
        return;
    };
    let _watch = watchdog();
    let (queue, gate, log) = (queue("moved"), Arc::new(Permits::new()), Log::default());
    let _opens = Opens(&gate);
    let spawn = || {
        let (gate, log) = (gate.clone(), log.clone());
        drop(queue.spawn(move || {
            let seen = || (sched::nice_self(), sched::affinity(0).unwrap());
            let before = seen();
            gate.take();
            let cpu = sched::current_cpu();
            log.push((before, seen(), cpu));
        }));
    };
    let generations = [(1, vec![one]), (3, vec![other]), (2, vec![one, other])];
    for (level, cpus) in &generations {
        let mut attrs = queue.attrs();
        (attrs.nice, attrs.cpus) = (*level, Some(cpus.clone()));
        queue.apply_attrs(&attrs).unwrap();
        (0..4).for_each(|_| spawn());
        assert_eq!(queue.attrs(), attrs);
    }
    gate.open();
    queue.flush().unwrap();
    let seen = log.take();
    assert_eq!(seen.len(), 12);
    for (level, cpus) in generations {
        let of_it: Vec<_> = seen.iter().filter(|s| s.0.0 == nice(level)).collect();
        assert_eq!(of_it.len(), 4, "nice {level}: {seen:?}");
        for (before, after, cpu) in of_it {
            assert_eq!(before.0, after.0);
            let mask: CpuMask = cpus.iter().copied().collect();
            // A report narrows a worker's mask, never more than that.
            assert!(
                after.1.and(&mask) == after.1 && cpus.contains(cpu),
                "{seen:?}"
            );
        }
    }
}

#[test]
fn a_queue_is_dropped_right_after_a_change() {
    let _watch = watchdog();
    for n in 0..200 {
        let (queue, stage) = (queue("dropped"), Arc::new(Stage::default()));
        stage.spawn(&queue, 3);
        for nice in [1, 2, 1] {
            queue.apply_attrs(&with_nice(&queue, nice)).unwrap();
            stage.spawn(&queue, 2);
        }
        if n % 2 == 0 {
            // Old items end while the drop waits.
            let opens = stage.clone();
            drop(cmwq::system().spawn(move || opens.permits.open()));
        } else {
            stage.permits.open();
        }
        drop(queue);
        assert_eq!(stage.ended.load(SeqCst), 9);
    }
}

#[test]
fn cpus_that_the_process_does_not_have_count_for_nothing() {
    let _watch = watchdog();
    let mine = cpus();
    let queue = Workqueue::builder("elsewhere")
        .cpus([1000, 1001])
        .build()
        .unwrap();
    assert_eq!(queue.attrs().cpus, Some(vec![1000, 1001]));
    let seen = queue.spawn(|| sched::affinity(0).unwrap()).join().unwrap();
    assert!(seen.iter().all(|cpu| mine.contains(&cpu)));
    let mut attrs = queue.attrs();
    attrs.cpus = Some(vec![1000, mine[0]]);
    queue.apply_attrs(&attrs).unwrap();
    let seen = queue.spawn(|| sched::affinity(0).unwrap()).join().unwrap();
    assert_eq!(seen, [mine[0]].into_iter().collect());
    attrs.cpus = Some(vec![]);
    queue.apply_attrs(&attrs).unwrap();
    assert_eq!(
        queue.spawn(|| 5).join().unwrap(),
        5,
        "an empty list counts for nothing"
    );
}

/// Changes the nice level so often, with an item each time that some later ones overtake.
fn change(queue: &Workqueue, times: i32) {
    for n in 0..times {
        queue.apply_attrs(&with_nice(queue, n % 4)).unwrap();
        drop(queue.spawn(move || {
            if n % 10 == 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }));
        if n % 50 == 0 {
            queue.flush().unwrap();
        }
    }
    queue.flush().unwrap();
}

#[test]
fn changes_leave_nothing_behind() {
    alone("changes::changes_leave_nothing_behind", || {
        for kind in ["managed", "ordered"] {
            let builder = Workqueue::builder(kind);
            let builder = if kind == "ordered" {
                builder.ordered()
            } else {
                builder
            };
            let queue = builder.build().unwrap();
            change(&queue, 400);
            let leaves_little = |_| {
                let (before, threads_before) = (allocated(), threads::ours().len());
                change(&queue, 2000);
                let grown = allocated() - before;
                // A pool workqueue is a KiB; thread handles come and go.
                assert!(grown < 200_000, "{grown} bytes more after 2000 changes");
                threads::ours().len() <= threads_before + 8
            };
            // Load makes more workers, but each time fewer.
            assert!((0..10).any(leaves_little), "threads for each change");
        }
        let of_pools = threads::ours()
            .into_iter()
            .filter(threads::Thread::is_worker);
        let pools = of_pools.map(|t| t.name.split_once(':').unwrap().0.to_owned());
        let pools: std::collections::BTreeSet<String> = pools.collect();
        assert!(pools.len() <= 5, "four levels and the system's: {pools:?}");
    });
}

#[test]
fn attributes_for_which_there_is_no_pool_change_nothing() {
    alone(
        "changes::attributes_for_which_there_is_no_pool_change_nothing",
        || {
            // A machine on which so many sets of CPUs differ.
            let sysfs = Sysfs::of_cpus(1024);
            sysfs.install();
            let queue = queue("many");
            let mut last = queue.attrs();
            let refused = (0..1023).find_map(|cpu| {
                let mut attrs = queue.attrs();
                attrs.cpus = Some(vec![cpu, 1023]);
                match queue.apply_attrs(&attrs) {
                    Ok(()) => last = attrs,
                    Err(error) => return Some((cpu, error)),
                }
                None
            });
            let (made, error) = refused.expect("there are 1000 pools at most");
            assert_eq!(made, 999, "the first one had none");
            assert!(matches!(&error, AttrsError::NoPool(_)), "{error:?}");
            let said = "more than 1000 pools of different attributes";
            assert_eq!(error.to_string(), said);
            assert_eq!(queue.attrs(), last);
            assert_eq!(queue.spawn(|| 3).join().unwrap(), 3);
            let built = Workqueue::builder("more").cpus([1023]).build();
            assert_eq!(built.unwrap_err().to_string(), said);
            queue.apply_attrs(&with_nice(&queue, last.nice)).unwrap();
        },
    );
}

#[test]
fn an_item_that_queues_itself_stays_where_it_is() {
    alone(
        "changes::an_item_that_queues_itself_stays_where_it_is",
        || {
            let queue = queue("stays");
            let (own, log) = (queue.clone(), Log::default());
            let (gate, seen) = (Arc::new(Permits::new()), log.clone());
            let next = gate.clone();
            let work = cmwq::Work::with_data((), move |work| {
                next.take();
                seen.push(sched::nice_self());
                let _ = own.queue(work);
            });
            assert_eq!(queue.queue(&work), Ok(true));
            gate.give(1);
            eventually("it has run once", || log.len() == 1);
            queue.apply_attrs(&with_nice(&queue, 5)).unwrap();
            gate.give(3);
            eventually("and goes on", || log.len() == 4);
            assert_eq!(log.take(), [nice(0); 4], "back to back");
            let other = queue.spawn(sched::nice_self).join().unwrap();
            assert_eq!(other, nice(5));
            gate.open();
            work.cancel_sync().unwrap();
            log.take();
            assert_eq!(queue.queue(&work), Ok(true), "after a pause");
            eventually("it has run", || log.len() > 1);
            work.cancel_sync().unwrap();
            let levels = log.take();
            assert!(levels.iter().all(|&level| level == nice(5)), "{levels:?}");
        },
    );
}

#[test]
fn nothing_of_the_callers_thread_changes() {
    let _watch = watchdog();
    let of_me = || {
        let mask = sched::affinity(0).unwrap();
        (sched::nice_self(), mask, thread::sigmask())
    };
    let before = of_me();
    let queue = queue("aside");
    for nice in [3, 1, 2] {
        queue.apply_attrs(&with_nice(&queue, nice)).unwrap();
        queue.spawn(|| ()).join().unwrap();
    }
    assert_eq!(of_me(), before);
}
