//! Per-CPU queues: bound to their CPU, one item at a time there unless it sleeps.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{JoinError, QueueError, Work, Workqueue};
use cmwq_os::sched;

use crate::common::alone::alone;
use crate::common::{Opens, eventually, threads, watchdog};
use crate::kit::{
    Flag, Log, Raises, Stage, cpus, on, others_run, ticks_pass, two_cpus, without_canaries,
};

fn percpu(name: &str) -> Workqueue {
    Workqueue::builder(name).percpu().build().unwrap()
}

#[test]
fn an_item_runs_on_the_cpu_that_was_asked_for() {
    alone("percpu::an_item_runs_on_the_cpu_that_was_asked_for", || {
        let (queue, ran) = (percpu("asked"), Log::default());
        for round in 0..100 {
            for cpu in cpus() {
                let ran = ran.clone();
                on(&queue, cpu, move || {
                    if round % 10 == 0 {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    ran.push((cpu, sched::current_cpu()));
                });
            }
        }
        queue.flush().unwrap();
        let ran = ran.take();
        assert_eq!(ran.len(), 100 * cpus().len());
        assert!(ran.iter().all(|(asked, was)| asked == was), "{ran:?}");
        for cpu in cpus() {
            // A thread has its creator's name for a moment.
            let name = format!("cmwq/{cpu}:0");
            eventually(&name, || threads::ours().iter().any(|t| t.name == name));
        }
    });
}

#[test]
fn an_item_runs_on_the_cpu_that_queues_it() {
    let _watch = watchdog();
    let queue = percpu("near");
    for cpu in cpus() {
        let queue = &queue;
        // A thread of its own: it stays on the CPU.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sched::set_affinity_self(&[cpu].into_iter().collect()).unwrap();
                for _ in 0..50 {
                    assert_eq!(queue.spawn(sched::current_cpu).join().unwrap(), cpu);
                }
            });
        });
    }
}

/// Queues a spinning item and one behind it; when the first runs.
fn spinner_and_next(queue: &Workqueue, cpu: usize) -> (Flag, Flag) {
    let (begun, end, next) = (Flag::default(), Flag::default(), Flag::default());
    let (first, until) = (begun.clone(), end.clone());
    on(queue, cpu, move || {
        first.spins_until(&until);
    });
    begun.wait("the first one spins");
    let second = next.clone();
    on(queue, cpu, move || second.raise());
    (end, next)
}

#[test]
fn an_item_that_computes_holds_the_next_one_of_its_cpu_only() {
    alone(
        "percpu::an_item_that_computes_holds_the_next_one_of_its_cpu_only",
        || {
            without_canaries();
            cmwq::set_cpu_intensive_threshold(Duration::ZERO);
            let queue = percpu("held");
            let cpu = cpus()[0];
            let (end, next) = spinner_and_next(&queue, cpu);
            let _raises = Raises(&end);
            ticks_pass(40);
            assert!(!next.is_up(), "one runs at a time");
            for other in cpus().into_iter().filter(|&other| other != cpu) {
                let ran = Flag::default();
                let raised = ran.clone();
                on(&queue, other, move || raised.raise());
                ran.wait("another CPU is free");
            }
            assert!(!next.is_up());
            end.raise();
            next.wait("the next one runs");
        },
    );
}

#[test]
fn items_that_block_let_the_next_start() {
    alone("percpu::items_that_block_let_the_next_start", || {
        let (queue, stage) = (percpu("sleepers"), Arc::new(Stage::default()));
        let cpu = *cpus().last().unwrap();
        for _ in 0..20 {
            let stage = stage.clone();
            on(&queue, cpu, move || {
                assert_eq!(sched::current_cpu(), cpu);
                stage.run();
                assert_eq!(sched::current_cpu(), cpu);
            });
        }
        stage.has_started(20);
        stage.permits.open();
        queue.flush().unwrap();
        assert_eq!((stage.inside.peak(), stage.ended.load(SeqCst)), (20, 20));
    });
}

#[test]
fn the_limit_counts_for_each_cpu() {
    let Some((one, other)) = two_cpus() else {
        return;
    };
    let _watch = watchdog();
    let queue = Workqueue::builder("two")
        .percpu()
        .max_active(2)
        .build()
        .unwrap();
    let stages = [one, other].map(|cpu| {
        let stage = Arc::new(Stage::default());
        for _ in 0..4 {
            let stage = stage.clone();
            on(&queue, cpu, move || stage.run());
        }
        stage
    });
    let _opens = stages.each_ref().map(|stage| Opens(&stage.permits));
    stages.iter().for_each(|stage| stage.has_started(2));
    others_run(100);
    assert!(queue.is_congested(Some(one)) && queue.is_congested(Some(other)));
    assert_eq!((stages[0].started(), stages[1].started()), (2, 2));
    stages[0].permits.give(1);
    stages[0].has_started(3);
    others_run(100);
    assert_eq!((stages[0].started(), stages[1].started()), (3, 2));
    assert!(queue.set_max_active(3));
    stages[0].has_started(4);
    stages[1].has_started(3);
    stages.iter().for_each(|stage| stage.permits.open());
    queue.flush().unwrap();
    assert_eq!((stages[0].inside.peak(), stages[1].inside.peak()), (3, 3));
}

#[test]
fn a_cpu_that_does_not_exist_is_an_error() {
    let _watch = watchdog();
    let kinds = [
        percpu("percpu"),
        Workqueue::builder("bh").bh().build().unwrap(),
        Workqueue::builder("managed").build().unwrap(),
        Workqueue::builder("ordered").ordered().build().unwrap(),
        Workqueue::builder("unmanaged").unmanaged().build().unwrap(),
    ];
    for queue in &kinds {
        let work = Work::new(|| panic!("it was not queued"));
        for cpu in [5000, usize::MAX] {
            let error = queue.queue_on(cpu, &work).unwrap_err();
            assert_eq!(error, QueueError::NoSuchCpu(cpu));
            assert_eq!(error.to_string(), format!("the machine has no CPU {cpu}"));
            let delayed = queue.queue_after_on(cpu, &work, Duration::ZERO);
            assert_eq!(delayed, Err(error));
            assert_eq!(queue.modify_on(cpu, &work, Duration::ZERO), Err(error));
            let joined = queue.spawn_on(cpu, || ()).join();
            assert!(matches!(joined, Err(JoinError::Refused(why)) if why == error));
        }
        assert!(!work.is_pending(), "{}", queue.name());
        assert!(!queue.is_congested(Some(5000)));
    }
}

#[test]
fn a_node_means_one_of_its_cpus() {
    let _watch = watchdog();
    let (queue, ran) = (percpu("node"), Log::default());
    let nodes = cmwq_os::topology::read(std::path::Path::new("/")).nodes;
    for (node, of_node) in nodes.iter().enumerate() {
        let usable: Vec<usize> = of_node.iter().filter(|cpu| cpus().contains(cpu)).collect();
        let log = ran.clone();
        let work = Work::new(move || log.push(sched::current_cpu()));
        assert_eq!(queue.queue_on_node(node, &work), Ok(true));
        work.flush().unwrap();
        let cpu = ran.take()[0];
        assert!(
            usable.is_empty() || usable.contains(&cpu),
            "node {node}: {cpu}"
        );
    }
    for nowhere in [nodes.len(), usize::MAX] {
        let log = ran.clone();
        let work = Work::new(move || log.push(0));
        assert_eq!(queue.queue_on_node(nowhere, &work), Ok(true));
        work.flush().unwrap();
    }
    assert_eq!(ran.len(), 2, "any CPU will do");
}

#[test]
fn what_its_kind_does_not_have_is_an_error() {
    let _watch = watchdog();
    let nice = Workqueue::builder("nice").percpu().nice(1).build();
    assert_eq!(nice.unwrap_err().to_string(), "a percpu queue has no nice");
    let cpus = Workqueue::builder("cpus").percpu().cpus([0]).build();
    assert_eq!(cpus.unwrap_err().to_string(), "a percpu queue has no cpus");
    let queue = percpu("fixed");
    let error = queue.apply_attrs(&queue.attrs()).unwrap_err();
    assert_eq!(error, cmwq::AttrsError::PerCpu);
}

#[test]
fn a_queue_that_was_used_on_all_cpus_drains_them_all() {
    let _watch = watchdog();
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let queue = percpu("short life");
        for cpu in cpus().into_iter().cycle().take(20) {
            let ran = ran.clone();
            on(&queue, cpu, move || {
                std::thread::sleep(Duration::from_micros(50));
                ran.fetch_add(1, SeqCst);
            });
        }
    }
    assert_eq!(ran.load(SeqCst), 1000);
}
