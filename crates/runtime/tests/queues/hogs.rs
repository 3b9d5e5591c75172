//! Items that keep their CPU: by flag, and found out.

use std::sync::Arc;
use std::time::Duration;

use cmwq::{Report, Workqueue};
use cmwq_os::clock;

use crate::common::alone::alone;
use crate::common::{Occupancy, eventually};
use crate::kit::{Flag, Log, Raises, burn, cpus, on, reports, ticks_pass, without_canaries};

#[test]
fn flagged_items_start_beside_each_other() {
    alone("hogs::flagged_items_start_beside_each_other", || {
        cmwq::set_cpu_intensive_threshold(Duration::ZERO);
        let queue = Workqueue::builder("crypto").percpu().cpu_intensive();
        let (queue, inside) = (queue.build().unwrap(), Arc::new(Occupancy::default()));
        let cpu = cpus()[0];
        for _ in 0..4 {
            let inside = inside.clone();
            on(&queue, cpu, move || {
                let _counted = inside.enter();
                while inside.peak() < 4 {
                    std::hint::spin_loop();
                }
            });
        }
        queue.flush().unwrap();
        assert_eq!(inside.peak(), 4);
    });
}

#[test]
fn a_flagged_item_holds_up_no_other_queue_but_waits_its_turn() {
    alone(
        "hogs::a_flagged_item_holds_up_no_other_queue_but_waits_its_turn",
        || {
            without_canaries();
            cmwq::set_cpu_intensive_threshold(Duration::ZERO);
            let plain = Workqueue::builder("plain").percpu().build().unwrap();
            let flagged = Workqueue::builder("crypto").percpu().cpu_intensive();
            let (flagged, cpu) = (flagged.build().unwrap(), cpus()[0]);
            let (first, end) = (Flag::default(), Flag::default());
            let _raises = Raises(&end);
            let (begun, until) = (first.clone(), end.clone());
            on(&plain, cpu, move || {
                begun.spins_until(&until);
            });
            first.wait("the plain one spins");
            let (second, last) = (Flag::default(), Flag::default());
            let (begun, until) = (second.clone(), last.clone());
            on(&flagged, cpu, move || {
                begun.spins_until(&until);
            });
            ticks_pass(40);
            let early = second.is_up();
            end.raise();
            second.wait("its turn comes");
            let third = Flag::default();
            let begun = third.clone();
            on(&plain, cpu, move || begun.raise());
            third.wait("the flagged one does not count");
            last.raise();
            assert!(!early, "its start is managed like any other");
        },
    );
}

/// An item that spins until one that is queued behind it has run; the CPU time it took until then.
fn keep_cpu(queue: &Workqueue, cpu: usize) -> u64 {
    let (begun, next, took) = (Flag::default(), Flag::default(), Log::default());
    let (first, behind, log) = (begun.clone(), next.clone(), took.clone());
    on(queue, cpu, move || {
        let before = clock::thread_cpu();
        first.spins_until(&behind);
        log.push(clock::thread_cpu() - before);
    });
    begun.wait("it spins");
    on(queue, cpu, move || next.raise());
    queue.flush().unwrap();
    took.take()[0]
}

#[test]
fn one_that_is_found_out_does_not_hold_up_the_next() {
    alone(
        "hogs::one_that_is_found_out_does_not_hold_up_the_next",
        || {
            let queue = Workqueue::builder("unaware").percpu().build().unwrap();
            for cpu in cpus() {
                let took = keep_cpu(&queue, cpu);
                assert!(took >= 10_000_000, "{took} ns of CPU time are not 10 ms");
            }
        },
    );
}

/// How often functions were found out, of the reports about this queue.
fn hogs_of(log: &Log<Report>, of: &str) -> Vec<(u32, &'static str)> {
    let reports = log.take().into_iter();
    let hogs = reports.filter_map(|report| match report {
        Report::CpuIntensive {
            queue, count, item, ..
        } => (queue == of).then_some((count, item)),
        _ => None,
    });
    hogs.collect()
}

#[test]
fn habits_are_reported_ever_more_rarely() {
    alone("hogs::habits_are_reported_ever_more_rarely", || {
        let log = reports();
        let queue = Workqueue::builder("habit").percpu().build().unwrap();
        let mut rounds = 0;
        while log.len() < 4 {
            keep_cpu(&queue, cpus()[0]);
            rounds += 1;
            assert!(rounds < 40, "{:?}", log.take());
        }
        let hogs = hogs_of(&log, "habit");
        let counts: Vec<u32> = hogs.iter().map(|(count, _)| *count).collect();
        assert_eq!(counts, [4, 5, 7, 11]);
        let name = "queues::hogs::keep_cpu::{{closure}}";
        assert!(hogs.iter().all(|(_, item)| *item == name), "{hogs:?}");
        assert!(rounds >= 11);
    });
}

#[test]
fn a_threshold_of_zero_turns_it_off() {
    alone("hogs::a_threshold_of_zero_turns_it_off", || {
        without_canaries();
        cmwq::set_cpu_intensive_threshold(Duration::ZERO);
        let log = reports();
        let queue = Workqueue::builder("off").percpu().build().unwrap();
        for _ in 0..4 {
            let (begun, end, next) = (Flag::default(), Flag::default(), Flag::default());
            let _raises = Raises(&end);
            let (first, until, second) = (begun.clone(), end.clone(), next.clone());
            on(&queue, cpus()[0], move || {
                first.spins_until(&until);
                burn(30);
            });
            begun.wait("it spins");
            on(&queue, cpus()[0], move || second.raise());
            ticks_pass(20);
            assert!(!next.is_up(), "it holds up the next");
            end.raise();
            queue.flush().unwrap();
        }
        assert_eq!(log.len(), 0);
    });
}

#[test]
fn an_item_that_sleeps_now_and_then_is_none() {
    alone("hogs::an_item_that_sleeps_now_and_then_is_none", || {
        let log = reports();
        let queue = Workqueue::builder("sleeper").percpu().build().unwrap();
        for _ in 0..60 {
            on(&queue, cpus()[0], || {
                for _ in 0..5 {
                    burn(3);
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
        }
        queue.flush().unwrap();
        let hogs = hogs_of(&log, "sleeper");
        assert_eq!(hogs, [], "15 ms of CPU time, never more than 3 at once");
    });
}

#[test]
fn in_a_managed_queue_it_is_reported_and_nothing_else() {
    alone(
        "hogs::in_a_managed_queue_it_is_reported_and_nothing_else",
        || {
            without_canaries();
            let (log, inside) = (reports(), Arc::new(Occupancy::default()));
            let queue = Workqueue::builder("managed").build().unwrap();
            let end = Flag::default();
            let _raises = Raises(&end);
            // The last ones are still queued when the fourth is found out.
            for n in 0..10 * cpus().len() {
                let (inside, end) = (inside.clone(), end.clone());
                drop(queue.spawn(move || {
                    let _counted = inside.enter();
                    burn(40);
                    if n >= 8 * cpus().len() {
                        end.spin();
                    }
                }));
            }
            eventually("it is reported", || log.len() > 0);
            ticks_pass(40);
            let most = cmwq::stats().cpus + 2;
            let peak = inside.peak();
            end.raise();
            queue.flush().unwrap();
            assert!(peak <= most, "{peak} at once, at most {most}");
            assert_eq!(hogs_of(&log, "managed")[0].0, 4);
        },
    );
}
