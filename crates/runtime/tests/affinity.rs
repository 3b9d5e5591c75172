//! Where items run, on real threads: the machine's description says that each of two CPUs is a
//! node, with a cache of its own.

mod common;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use cmwq::{AffinityScope, AttrsError, Report, Work, Workqueue};
use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;
use common::alone::alone;
use common::threads::set_process_mask;
use common::two_nodes::on_two_nodes;
use common::{Permits, eventually, queue};

fn only(cpu: usize) -> CpuMask {
    [cpu].into_iter().collect()
}

fn strict(name: &str, scope: AffinityScope) -> Workqueue {
    let queue = Workqueue::builder(name).affinity_scope(scope);
    queue.affinity_strict(true).build().unwrap()
}

/// The mask of the worker that runs an item which is queued on this CPU, and where that was.
fn seen_on(queue: &Workqueue, cpu: usize) -> (CpuMask, usize) {
    let seen = Arc::new(Mutex::new(None));
    let sees = seen.clone();
    let work = Work::new(move || {
        *sees.lock().unwrap() = Some((sched::affinity(0).unwrap(), sched::current_cpu()));
    });
    assert_eq!(queue.queue_on(cpu, &work), Ok(true));
    work.flush().unwrap();
    let seen = *seen.lock().unwrap();
    seen.expect("it has run")
}

#[test]
fn a_strict_queue_stays_in_the_pod_and_another_may_leave_it() {
    alone(
        "a_strict_queue_stays_in_the_pod_and_another_may_leave_it",
        || {
            on_two_nodes(|[a, b]| {
                let both: CpuMask = [a, b].into_iter().collect();
                let own = strict("strict", AffinityScope::Cache);
                let other = Workqueue::builder("other").affinity_scope(AffinityScope::Cache);
                let other = other.build().unwrap();
                let everywhere = strict("system", AffinityScope::System);
                for cpu in [a, b, a, b, b] {
                    assert_eq!(seen_on(&own, cpu), (only(cpu), cpu));
                    assert_eq!(seen_on(&other, cpu).0, both);
                    assert_eq!(seen_on(&everywhere, cpu).0, both);
                }
            })
        },
    );
}

#[test]
fn attributes_can_be_changed_and_read_back() {
    alone("attributes_can_be_changed_and_read_back", || {
        on_two_nodes(|[a, b]| {
            let queue = queue("changed");
            let mut attrs = queue.attrs();
            assert_eq!((attrs.affinity_scope, attrs.affinity_strict), (None, false));
            attrs.affinity_scope = Some(AffinityScope::Numa);
            attrs.affinity_strict = true;
            attrs.locality = Duration::from_micros(30);
            queue.apply_attrs(&attrs).unwrap();
            assert_eq!(queue.attrs(), attrs);
            for cpu in [b, a] {
                assert_eq!(seen_on(&queue, cpu), (only(cpu), cpu));
            }
            attrs.affinity_scope = None;
            attrs.cpus = Some(vec![a]);
            queue.apply_attrs(&attrs).unwrap();
            assert_eq!(
                seen_on(&queue, b),
                (only(a), a),
                "its pod is not in its mask"
            );
        })
    });
}

#[test]
fn the_default_scope_counts_for_queues_that_name_none() {
    alone("the_default_scope_counts_for_queues_that_name_none", || {
        on_two_nodes(|[a, b]| {
            let queue = Workqueue::builder("default").affinity_strict(true);
            let queue = queue.build().unwrap();
            assert_eq!(seen_on(&queue, b).0, only(b), "cache_shard");
            cmwq::set_default_affinity_scope(AffinityScope::System).unwrap();
            assert_eq!(seen_on(&queue, b).0, [a, b].into_iter().collect());
        })
    });
}

#[test]
fn the_environment_names_the_default_scope() {
    alone("the_environment_names_the_default_scope", || {
        // SAFETY: no other thread of this process reads or changes the environment.
        unsafe { std::env::set_var("CMWQ_DEFAULT_AFFINITY_SCOPE", "numa") };
        let scope = cmwq::default_affinity_scope().unwrap();
        assert_eq!(scope, AffinityScope::Numa);
    });
}

#[test]
fn an_unknown_scope_in_the_environment_is_reported_and_ignored() {
    alone(
        "an_unknown_scope_in_the_environment_is_reported_and_ignored",
        || {
            // SAFETY: as above.
            unsafe { std::env::set_var("CMWQ_DEFAULT_AFFINITY_SCOPE", "numma") };
            let said = Arc::new(Mutex::new(Vec::new()));
            let says = said.clone();
            cmwq::set_report_hook(move |report: &Report| {
                says.lock().unwrap().push(report.to_string());
            });
            drop((queue("one"), queue("two")));
            let expected = "CMWQ_DEFAULT_AFFINITY_SCOPE=numma is ignored: it may be cpu, smt, cache, \
                            cache_shard, numa, system";
            assert_eq!(*said.lock().unwrap(), [expected]);
            let scope = cmwq::default_affinity_scope().unwrap();
            assert_eq!(scope, AffinityScope::CacheShard);
        },
    );
}

#[test]
fn all_queues_keep_to_the_unbound_cpus() {
    alone("all_queues_keep_to_the_unbound_cpus", || {
        on_two_nodes(|[a, b]| {
            let (plain, pods) = (queue("plain"), strict("pods", AffinityScope::Cache));
            assert_eq!(seen_on(&pods, b).0, only(b));
            cmwq::set_unbound_cpus(&[a]).unwrap();
            assert_eq!(cmwq::unbound_cpus().unwrap(), [a]);
            assert_eq!(seen_on(&pods, b).0, only(a), "no CPU of its pod is left");
            assert_eq!(seen_on(&plain, b).0, only(a));
            let error = cmwq::set_unbound_cpus(&[]).unwrap_err();
            assert_eq!(error, AttrsError::NoCpus);
            assert_eq!(cmwq::set_unbound_cpus(&[9999]), Err(AttrsError::Cpu(9999)));
            cmwq::set_unbound_cpus(&[a, b]).unwrap();
            assert_eq!(seen_on(&pods, b).0, only(b));
        })
    });
}

#[test]
fn items_of_a_queue_whose_cpus_are_all_away_have_its_whole_limit() {
    const WAIT: usize = 13;
    alone(
        "items_of_a_queue_whose_cpus_are_all_away_have_its_whole_limit",
        || {
            let cpus: Vec<usize> = sched::affinity(0).unwrap().iter().collect();
            let [here, there, ..] = cpus[..] else {
                return println!("not on one CPU");
            };
            cmwq::set_unbound_cpus(&[there]).unwrap();
            set_process_mask(&only(here));
            eventually("the change is seen", || {
                queue("any").spawn(|| ()).join().unwrap();
                cmwq::stats().cpus == 1
            });
            let queue = Workqueue::builder("waits").max_active(WAIT).build();
            let (queue, all) = (queue.unwrap(), Arc::new(Barrier::new(WAIT)));
            let waits = |_| {
                let all = all.clone();
                queue.spawn(move || all.wait().is_leader())
            };
            let items: Vec<_> = (0..WAIT).map(waits).collect();
            let led = items.into_iter().map(|item| item.join().unwrap());
            assert_eq!(led.filter(|led| *led).count(), 1);
        },
    );
}

/// Items of each CPU in turn: whoever is woken for them is free to go anywhere again. How often a
/// worker was brought home for that depends on where workers have gone idle.
fn repatriated(locality: Duration, [a, b]: [usize; 2]) -> u64 {
    let queue = Workqueue::builder("tiles").locality(locality);
    let (queue, before) = (queue.build().unwrap(), cmwq::stats().repatriated);
    for cpu in [a, b].repeat(100) {
        let whole = [a, b].into_iter().collect();
        assert_eq!(seen_on(&queue, cpu).0, whole, "widened before the item");
    }
    cmwq::stats().repatriated - before
}

#[test]
fn who_is_brought_home_may_leave_again_and_nobody_is_where_it_is_not_worth_it() {
    alone(
        "who_is_brought_home_may_leave_again_and_nobody_is_where_it_is_not_worth_it",
        || {
            on_two_nodes(|cpus| {
                assert!(repatriated(Duration::from_micros(20), cpus) <= 200);
                assert_eq!(repatriated(Duration::from_micros(19), cpus), 0);
            })
        },
    );
}

#[test]
fn nothing_is_lost_when_cpus_go_and_come_while_items_wait() {
    alone(
        "nothing_is_lost_when_cpus_go_and_come_while_items_wait",
        || {
            on_two_nodes(|[a, b]| {
                const ITEMS: usize = 5_000;
                let queues = [
                    strict("strict", AffinityScope::Cache),
                    queue("managed"),
                    Workqueue::builder("unmanaged").unmanaged().build().unwrap(),
                ];
                let (gate, ran) = (Arc::new(Permits::new()), Arc::new(AtomicUsize::new(0)));
                let mut works = Vec::new();
                let mut wave = |cpus: [usize; 2]| {
                    for n in 0..ITEMS {
                        let (gate, ran) = (gate.clone(), ran.clone());
                        let work = Work::new(move || {
                            gate.take();
                            ran.fetch_add(1, SeqCst);
                        });
                        let queue = &queues[n % queues.len()];
                        assert_eq!(queue.queue_on(cpus[n / queues.len() % 2], &work), Ok(true));
                        works.push(work);
                    }
                };
                wave([a, b]);
                set_process_mask(&only(a));
                eventually("the CPU is gone", || {
                    gate.give(1);
                    drop(queues[0].spawn(|| ()));
                    cmwq::stats().cpus == 1
                });
                wave([a, b]);
                gate.give(ITEMS);
                set_process_mask(&[a, b].into_iter().collect());
                gate.open();
                eventually("the CPU is back", || {
                    drop(queues[0].spawn(|| ()));
                    cmwq::stats().cpus == 2
                });
                queues.iter().for_each(|queue| queue.flush().unwrap());
                assert_eq!(ran.load(SeqCst), 2 * ITEMS);
                eventually("strict again", || {
                    [a, b]
                        .iter()
                        .all(|&cpu| seen_on(&queues[0], cpu) == (only(cpu), cpu))
                });
            })
        },
    );
}

/// Whether a waiter was seen to stay on its CPU while an item of a per-CPU queue ran there: one of
/// some tries, as it may be moved between queueing and waiting. Its mask is what it was after each.
fn waiter_stays(stacking: cmwq::Stacking) -> bool {
    let queue = Workqueue::builder("beside").percpu().stacking(stacking);
    let (queue, tid) = (queue.build().unwrap(), thread::gettid());
    let before = sched::affinity(0).unwrap();
    let look = move || {
        let end = std::time::Instant::now() + Duration::from_millis(20);
        let narrow = || sched::affinity(tid).unwrap().count() == 1;
        while std::time::Instant::now() < end {
            if narrow() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    };
    (0..50).any(|_| {
        let seen = queue.spawn(look).join().unwrap();
        assert_eq!(sched::affinity(0).unwrap(), before, "it is free again");
        seen
    })
}

#[test]
fn who_waits_for_an_item_on_its_own_cpu_stays_there() {
    alone("who_waits_for_an_item_on_its_own_cpu_stays_there", || {
        if sched::affinity(0).unwrap().count() == 1 {
            eprintln!("skipped: one CPU");
            return;
        }
        assert!(waiter_stays(cmwq::Stacking::Stay));
        assert!(!waiter_stays(cmwq::Stacking::Off));
    });
}

#[test]
fn who_waits_for_long_is_let_go() {
    alone("who_waits_for_long_is_let_go", || {
        let queue = Workqueue::builder("long").percpu().build().unwrap();
        let (whole, tid) = (sched::affinity(0).unwrap(), thread::gettid());
        let item = queue.spawn(move || {
            // Longer than it stays: at first, and for good.
            std::thread::sleep(Duration::from_millis(10));
            eventually("it may go anywhere", || {
                sched::affinity(tid).unwrap() == whole
            });
        });
        item.join().unwrap();
    });
}
