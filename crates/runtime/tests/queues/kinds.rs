//! Unmanaged, BH and high-priority queues, and those that every process has.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{AttrsError, Workqueue};
use cmwq_os::{sched, thread};

use crate::common::alone::alone;
use crate::common::{Occupancy, Opens, Permits, eventually, threads, watchdog};
use crate::kit::{Flag, Log, Raises, cpus, may_renice, nice, on, ticks_pass, two_cpus};

fn bh(name: &str) -> Workqueue {
    Workqueue::builder(name).bh().build().unwrap()
}

/// Items that compute until all of them do.
fn spin_together(queue: &Workqueue, items: usize) -> usize {
    let inside = Arc::new(Occupancy::default());
    for _ in 0..items {
        let inside = inside.clone();
        drop(queue.spawn(move || {
            let _counted = inside.enter();
            while inside.peak() < items {
                std::hint::spin_loop();
            }
        }));
    }
    queue.flush().unwrap();
    inside.peak()
}

#[test]
fn items_of_an_unmanaged_queue_all_start_at_once() {
    alone(
        "kinds::items_of_an_unmanaged_queue_all_start_at_once",
        || {
            cmwq::set_cpu_intensive_threshold(Duration::ZERO);
            let queue = Workqueue::builder("all").unmanaged().build().unwrap();
            let items = 4 * cpus().len() + 3;
            assert_eq!(spin_together(&queue, items), items);
        },
    );
}

#[test]
fn an_unmanaged_queue_has_a_limit() {
    let _watch = watchdog();
    let queue = Workqueue::builder("three").unmanaged().max_active(3);
    let (queue, inside) = (queue.build().unwrap(), Arc::new(Occupancy::default()));
    for _ in 0..60 {
        let inside = inside.clone();
        drop(queue.spawn(move || {
            let _counted = inside.enter();
            std::thread::sleep(Duration::from_micros(300));
        }));
    }
    queue.flush().unwrap();
    assert!(inside.peak() <= 3, "{}", inside.peak());
}

#[test]
fn bh_items_run_one_at_a_time_in_order_on_their_cpu() {
    alone(
        "kinds::bh_items_run_one_at_a_time_in_order_on_their_cpu",
        || {
            let (queue, cpus) = (bh("order"), cpus());
            let inside: Arc<Vec<Occupancy>> =
                Arc::new(cpus.iter().map(|_| Occupancy::default()).collect());
            let ran = Log::default();
            for number in 0..500 {
                for (index, &cpu) in cpus.iter().enumerate() {
                    let (ran, inside) = (ran.clone(), inside.clone());
                    on(&queue, cpu, move || {
                        let _counted = inside[index].enter();
                        ran.push((cpu, number, sched::current_cpu()));
                        if number % 100 == 50 {
                            // It may not, and holds up the others if it does.
                            std::thread::sleep(Duration::from_micros(500));
                        }
                    });
                }
            }
            queue.flush().unwrap();
            let ran = ran.take();
            assert!(ran.iter().all(|(asked, _, was)| asked == was));
            for (index, &cpu) in cpus.iter().enumerate() {
                let numbers = ran
                    .iter()
                    .filter(|entry| entry.0 == cpu)
                    .map(|entry| entry.1);
                assert!(numbers.eq(0..500), "CPU {cpu}");
                assert_eq!(inside[index].peak(), 1);
                assert_eq!(threads::count(&format!("cmwq/b{cpu}")), 1);
            }
        },
    );
}

#[test]
fn a_bh_item_that_blocks_holds_up_its_cpu_and_no_other() {
    let Some((one, other)) = two_cpus() else {
        return;
    };
    let _watch = watchdog();
    let (queue, gate) = (bh("blocks"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let (begun, behind) = (Flag::default(), Flag::default());
    let (first, held, next) = (begun.clone(), gate.clone(), behind.clone());
    on(&queue, one, move || {
        first.raise();
        held.take();
    });
    on(&queue, one, move || next.raise());
    begun.wait("it blocks");
    for _ in 0..20 {
        let ran = Flag::default();
        let raised = ran.clone();
        on(&queue, other, move || raised.raise());
        ran.wait("the other CPU goes on");
    }
    ticks_pass(20);
    assert!(!behind.is_up(), "they run to completion");
    gate.open();
    behind.wait("the next one runs");
}

/// How often this thread had to let another one run.
fn switched_out(tid: i32) -> u64 {
    let all = threads::of(std::process::id() as i32);
    let thread = all.into_iter().find(|thread| thread.tid == tid).unwrap();
    thread.field("nonvoluntary_ctxt_switches:").parse().unwrap()
}

#[test]
fn a_long_row_of_bh_items_lets_others_have_the_cpu() {
    alone(
        "kinds::a_long_row_of_bh_items_lets_others_have_the_cpu",
        || {
            const ITEMS: usize = 2000;
            let (queue, cpu) = (bh("turns"), cpus()[0]);
            let tid = {
                let log = Log::default();
                let tid = log.clone();
                on(&queue, cpu, move || tid.push(thread::gettid()));
                queue.flush().unwrap();
                log.take()[0]
            };
            let (end, stop) = (Flag::default(), Flag::default());
            let _raises = (Raises(&end), Raises(&stop));
            // Somebody who always wants that CPU.
            let (until, ready) = (stop.clone(), Flag::default());
            let spins = ready.clone();
            let rival = std::thread::spawn(move || {
                sched::set_affinity_self(&[cpu].into_iter().collect()).unwrap();
                spins.spins_until(&until);
            });
            ready.wait("it spins");
            let (first, until) = (Flag::default(), end.clone());
            let begun = first.clone();
            on(&queue, cpu, move || {
                begun.spins_until(&until);
            });
            first.wait("the row can be queued behind it");
            (0..ITEMS).for_each(|_| on(&queue, cpu, || ()));
            let before = switched_out(tid);
            end.raise();
            queue.flush().unwrap();
            let switches = switched_out(tid) - before;
            stop.raise();
            rival.join().unwrap();
            // They take a part of a time slice together, so without turns there is hardly any.
            let turns = ITEMS / 10;
            assert!(
                switches as usize >= turns / 4,
                "{switches} in {turns} turns"
            );
        },
    );
}

#[test]
fn a_bh_queue_has_no_attributes() {
    let _watch = watchdog();
    let error = |builder: cmwq::WorkqueueBuilder| builder.build().unwrap_err().to_string();
    let builder = || Workqueue::builder("bh").bh();
    assert_eq!(
        error(builder().max_active(1)),
        "a bh queue has no max_active"
    );
    assert_eq!(
        error(builder().mem_reclaim()),
        "a bh queue has no mem_reclaim"
    );
    assert_eq!(error(builder().freezable()), "a bh queue has no freezable");
    assert_eq!(error(builder().nice(1)), "a bh queue has no nice");
    assert_eq!(error(builder().cpus([0])), "a bh queue has no cpus");
    let cpu_intensive = error(builder().cpu_intensive());
    assert_eq!(cpu_intensive, "a bh queue has no cpu_intensive");
    let queue = bh("fixed");
    assert!(!queue.set_max_active(1) && !queue.set_min_active(1));
    assert_eq!(queue.apply_attrs(&queue.attrs()), Err(AttrsError::PerCpu));
}

#[test]
fn words_that_contradict_each_other_are_errors() {
    let _watch = watchdog();
    let error = |builder: cmwq::WorkqueueBuilder| builder.build().unwrap_err().to_string();
    let new = || Workqueue::builder("both");
    let contradictions = [
        (new().percpu().ordered(), "percpu and ordered"),
        (new().ordered().percpu().ordered(), "ordered and percpu"),
        (new().unmanaged().bh(), "unmanaged and bh"),
        (new().fifo().unmanaged(), "fifo and unmanaged"),
        (new().highpri().nice(0), "highpri and nice"),
        (new().nice(3).highpri(), "nice and highpri"),
        (
            new().max_active(2).max_active_exact(2),
            "max_active and max_active_exact",
        ),
    ];
    for (builder, words) in contradictions {
        assert_eq!(error(builder), format!("{words} contradict each other"));
    }
    let far = Duration::from_micros(50);
    let useless = [
        (
            new().cpu_intensive(),
            "a managed queue has no cpu_intensive",
        ),
        (
            new().unmanaged().cpu_intensive(),
            "an unmanaged queue has no cpu_intensive",
        ),
        (
            new().percpu().locality(far),
            "a percpu queue has no locality",
        ),
    ];
    for (builder, said) in useless {
        assert_eq!(error(builder), said);
    }
    // The last one counts.
    let queue = new().nice(3).nice(4).max_active(2).max_active(3).ordered();
    assert_eq!(error(queue), "an ordered queue has no max_active");
    let queue = new().nice(3).nice(4).max_active(2).max_active(3).build();
    let queue = queue.unwrap();
    assert_eq!((queue.attrs().nice, queue.max_active()), (4, 3));
}

#[test]
fn high_priority_is_nice_minus_20_or_said_to_be_denied() {
    alone(
        "kinds::high_priority_is_nice_minus_20_or_said_to_be_denied",
        || {
            let managed = Workqueue::builder("urgent").highpri().build().unwrap();
            let bh = Workqueue::builder("urgent").bh().highpri().build().unwrap();
            for queue in [cmwq::system_highpri(), &managed, &bh] {
                let found = queue.spawn(sched::nice_self).join().unwrap();
                match may_renice() {
                    true => assert_eq!(found, nice(-20), "{}", queue.name()),
                    false => assert_eq!(found, nice(0), "{}", queue.name()),
                }
            }
            assert_eq!(cmwq::stats().nice_denied, !may_renice());
            assert!(
                threads::ours().iter().any(|thread| {
                    thread.name.starts_with("cmwq/b") && thread.name.ends_with('H')
                })
            );
        },
    );
}

#[test]
fn system_queues_work_and_do_not_wait_for_each_other() {
    alone(
        "kinds::system_queues_work_and_do_not_wait_for_each_other",
        || {
            let all = [
                cmwq::system(),
                cmwq::system_percpu(),
                cmwq::system_highpri(),
                cmwq::system_long(),
                cmwq::system_freezable(),
            ];
            let gate = Arc::new(Permits::new());
            for held in all {
                let (gate, begun) = (gate.clone(), Flag::default());
                let first = begun.clone();
                let item = held.spawn({
                    let gate = gate.clone();
                    move || {
                        first.raise();
                        gate.take();
                    }
                });
                begun.wait("it holds up its queue");
                for other in all.iter().chain([&cmwq::system_bh()]) {
                    if other.name() != held.name() {
                        assert_eq!(other.spawn(|| 1).join().unwrap(), 1);
                        other.flush().unwrap();
                    }
                }
                assert!(!item.is_finished());
                gate.give(1);
                held.flush().unwrap();
                assert!(item.is_finished());
            }
        },
    );
}

#[test]
fn system_queues_are_the_same_for_everybody() {
    let _watch = watchdog();
    let ran = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for queue in [cmwq::system_long(), cmwq::system_bh()] {
                    let ran = ran.clone();
                    drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
                }
            });
        }
    });
    cmwq::system_long().flush().unwrap();
    cmwq::system_bh().flush().unwrap();
    assert_eq!(ran.load(SeqCst), 16);
    eventually("nothing is left", || {
        !cmwq::system_long().is_congested(None)
    });
}
