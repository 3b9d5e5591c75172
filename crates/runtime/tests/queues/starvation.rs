//! Items that wait for slots in vain: reported once, with what those are at that have one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cmwq::{Awaited, LimitPart, Report, StalledWorker, Waits, Work, Workqueue};

use cmwq_os::{inspect, thread};

use crate::common::alone::alone;
use crate::common::{Opens, Permits, eventually, limited};
use crate::kit::{Flag, Log, Raises, cpus, on};

const THRESHOLD: Duration = Duration::from_millis(100);

/// A starvation among the reports.
#[derive(Clone, Debug)]
struct Starvation {
    queue: String,
    item: &'static str,
    stood: Duration,
    counts: [usize; 3],
    part: Option<LimitPart>,
    chain: Vec<StalledWorker>,
    text: String,
}

/// The reports that are of that kind: on a busy machine a worker may be long in coming, which is a
/// stall.
fn reports() -> Log<Report> {
    let log = Log::default();
    let hook = log.clone();
    cmwq::set_report_hook(move |report| {
        if matches!(report, Report::Starvation { .. }) {
            hook.push(report.clone());
        }
    });
    log
}

fn starvations(log: &Log<Report>) -> Vec<Starvation> {
    let starvation = |report: Report| {
        let text = report.to_string();
        match report {
            Report::Starvation {
                queue,
                item,
                stood,
                nr_inactive,
                nr_active,
                max_active,
                part,
                chain,
                ..
            } => Some(Starvation {
                queue,
                item,
                stood,
                counts: [nr_active, max_active, nr_inactive],
                part,
                chain,
                text,
            }),
            _ => None,
        }
    };
    log.take().into_iter().filter_map(starvation).collect()
}

/// Waits until something is said. Until then nothing has woken the watchdog but its own time.
fn one_starvation(log: &Log<Report>) -> Starvation {
    eventually("it is reported", || log.len() > 0);
    let found = starvations(log);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// A chain of so many items, the first of which ends last: each waits for word from the next one.
/// What is returned gives the word to the last one.
fn chain(queue: &Workqueue, links: usize) -> (Sender<()>, Vec<cmwq::JoinHandle<()>>) {
    let (mut first, mut ends): (Vec<Sender<()>>, Vec<Receiver<()>>) = (vec![], vec![]);
    for _ in 0..=links {
        let (send, receive) = channel();
        first.push(send);
        ends.push(receive);
    }
    let last = first.pop().unwrap();
    let mut ends = ends.into_iter();
    drop(ends.next());
    let link = |(nr, (own, next)): (usize, (Sender<()>, Receiver<()>))| {
        queue.spawn(move || {
            cmwq::set_worker_desc(&format!("link {nr}"));
            next.recv().unwrap();
            // Nobody waits for the first one.
            let _ = own.send(());
        })
    };
    let links = first.into_iter().zip(ends).enumerate();
    (last, links.map(link).collect())
}

#[test]
fn a_chain_that_is_longer_than_the_limit_is_named_once() {
    alone(
        "starvation::a_chain_that_is_longer_than_the_limit_is_named_once",
        || {
            cmwq::set_watchdog_threshold(THRESHOLD);
            let log = reports();
            let queue = limited("chain", 2);
            let (last, links) = chain(&queue, 4);
            let found = one_starvation(&log);
            assert_eq!((found.queue.as_str(), found.part), ("chain", None));
            assert_eq!(found.counts, [2, 2, 2]);
            assert!(found.stood >= THRESHOLD, "{:?}", found.stood);
            let here = "queues::starvation::chain";
            assert!(found.item.starts_with(here), "{}", found.item);
            let descs: Vec<_> = found
                .chain
                .iter()
                .map(|w| w.desc.clone().unwrap())
                .collect();
            assert_eq!(descs, ["link 0", "link 1"]);
            for worker in &found.chain {
                assert_eq!((worker.queue.as_str(), &worker.awaits), ("chain", &None));
                assert!(worker.item.starts_with(here), "{}", worker.item);
                assert!(worker.place.contains("futex("), "{}", worker.place);
            }
            for part in [
                "\"chain\"",
                "2 slots",
                "raise max_active",
                "3 or more",
                "(link 1)",
            ] {
                assert!(found.text.contains(part), "{part} in {}", found.text);
            }
            // As it says.
            assert!(queue.set_max_active(4));
            last.send(()).unwrap();
            links.into_iter().for_each(|link| link.join().unwrap());
            assert_eq!(starvations(&log).len(), 0, "it was said once");
        },
    );
}

#[test]
fn a_chain_that_is_as_long_as_the_limit_ends() {
    alone(
        "starvation::a_chain_that_is_as_long_as_the_limit_ends",
        || {
            cmwq::set_watchdog_threshold(Duration::ZERO);
            for links in [1, 2, 5, 12] {
                let queue = limited("chain", links);
                let (last, links) = chain(&queue, links);
                last.send(()).unwrap();
                links.into_iter().for_each(|link| link.join().unwrap());
            }
        },
    );
}

#[test]
fn it_is_said_again_when_it_has_moved_and_stands_still_again() {
    alone(
        "starvation::it_is_said_again_when_it_has_moved_and_stands_still_again",
        || {
            cmwq::set_watchdog_threshold(THRESHOLD);
            let (log, gate) = (reports(), Arc::new(Permits::new()));
            let _opens = Opens(&gate);
            let queue = limited("again", 1);
            for _ in 0..4 {
                let gate = gate.clone();
                drop(queue.spawn(move || gate.take()));
            }
            for waiting in [3, 2, 1] {
                let found = one_starvation(&log);
                assert_eq!(found.counts, [1, 1, waiting]);
                gate.give(1);
            }
            gate.open();
            queue.flush().unwrap();
        },
    );
}

#[test]
fn it_says_for_which_item_of_which_queue_one_waits() {
    alone(
        "starvation::it_says_for_which_item_of_which_queue_one_waits",
        || {
            cmwq::set_watchdog_threshold(Duration::ZERO);
            let (log, gate) = (reports(), Arc::new(Permits::new()));
            let _opens = Opens(&gate);
            // Another pool's, so that nobody can know that it would wait for ever.
            let elsewhere = Workqueue::builder("elsewhere").nice(1).build().unwrap();
            let held = gate.clone();
            let stuck = Work::new(move || held.take());
            assert_eq!(elsewhere.queue(&stuck), Ok(true));
            let queue = limited("waits", 2);
            let (other, flushed) = (elsewhere.clone(), stuck.clone());
            let tids = Log::default();
            let (first, second) = (tids.clone(), tids.clone());
            drop(queue.spawn(move || {
                first.push(thread::gettid());
                drop(flushed.flush());
            }));
            drop(queue.spawn(move || {
                second.push(thread::gettid());
                drop(other.flush());
            }));
            drop(queue.spawn(|| ()));
            eventually("both run", || tids.len() == 2);
            let tids = tids.take();
            let waits = |tid: &i32| inspect::where_is(*tid).starts_with("sleeps in futex(");
            eventually("both wait", || tids.iter().all(waits));
            cmwq::set_watchdog_threshold(THRESHOLD);
            let found = one_starvation(&log);
            let awaits: Vec<Awaited> = found
                .chain
                .iter()
                .map(|worker| worker.awaits.clone().expect("it says so"))
                .collect();
            assert!(awaits.iter().all(|awaits| awaits.queue == "elsewhere"));
            let here = "queues::starvation::it_says_for_which";
            let item = awaits[0].item.expect("it waits for one");
            assert!(item.starts_with(here), "{item}");
            assert_eq!(awaits[1].item, None);
            for part in ["and waits for queues::", "and waits for items of queue"] {
                assert!(found.text.contains(part), "{part} in {}", found.text);
            }
            gate.open();
            queue.flush().unwrap();
        },
    );
}

#[test]
fn of_a_per_cpu_queue_it_is_the_limit_of_one_cpu() {
    alone(
        "starvation::of_a_per_cpu_queue_it_is_the_limit_of_one_cpu",
        || {
            cmwq::set_watchdog_threshold(THRESHOLD);
            let (log, gate) = (reports(), Arc::new(Permits::new()));
            let _opens = Opens(&gate);
            let queue = Workqueue::builder("cpu").percpu().max_active(1);
            let queue = queue.build().unwrap();
            let (held, cpu) = (gate.clone(), cpus()[0]);
            on(&queue, cpu, move || held.take());
            on(&queue, cpu, || ());
            let found = one_starvation(&log);
            assert_eq!(found.part, Some(LimitPart::Cpu(cpu)));
            assert_eq!(found.counts, [1, 1, 1]);
            gate.open();
            queue.flush().unwrap();
        },
    );
}

#[test]
fn an_ordered_queue_is_told_what_helps_it() {
    alone("starvation::an_ordered_queue_is_told_what_helps_it", || {
        cmwq::set_watchdog_threshold(THRESHOLD);
        let (log, gate) = (reports(), Arc::new(Permits::new()));
        let _opens = Opens(&gate);
        let queue = Workqueue::builder("in order").ordered().build().unwrap();
        let held = gate.clone();
        drop(queue.spawn(move || held.take()));
        drop(queue.spawn(|| ()));
        let found = one_starvation(&log);
        let help = "belongs on another queue";
        assert!(found.text.contains(help), "{}", found.text);
        gate.open();
        queue.flush().unwrap();
    });
}

/// Long sleeps, a peer that says nothing, a long computation: those with a slot go on by
/// themselves, and nobody starves behind them.
#[test]
fn behind_items_that_are_only_slow_nobody_starves() {
    alone(
        "starvation::behind_items_that_are_only_slow_nobody_starves",
        || {
            cmwq::set_watchdog_threshold(THRESHOLD);
            let (log, over) = (reports(), Flag::default());
            let _raises = Raises(&over);
            let slow = |name, item: Box<dyn FnOnce() + Send>| {
                let queue = limited(name, 1);
                drop(queue.spawn(item));
                drop(queue.spawn(|| ()));
                queue
            };
            let (mut reader, writer) = std::io::pipe().unwrap();
            let (sleeps, spins) = (over.clone(), over.clone());
            let queues = [
                slow(
                    "sleeps",
                    Box::new(move || {
                        while !sleeps.is_up() {
                            std::thread::sleep(THRESHOLD * 2);
                        }
                    }),
                ),
                slow(
                    "reads",
                    Box::new(move || {
                        let _ = std::io::Read::read(&mut reader, &mut [0]);
                    }),
                ),
                slow("computes", Box::new(move || spins.spin())),
            ];
            // They wait for longer than these, and those are reported.
            for name in ["chain", "another"] {
                let queue = limited(name, 1);
                let (last, links) = chain(&queue, 2);
                assert_eq!(one_starvation(&log).queue, name);
                assert!(queue.set_max_active(2));
                last.send(()).unwrap();
                links.into_iter().for_each(|link| link.join().unwrap());
            }
            over.raise();
            drop(writer);
            queues.iter().for_each(|queue| queue.flush().unwrap());
        },
    );
}

/// It may go on by itself, but what it waits for is an item.
#[test]
fn an_item_that_joins_one_without_a_slot_is_reported() {
    alone(
        "starvation::an_item_that_joins_one_without_a_slot_is_reported",
        || {
            cmwq::set_watchdog_threshold(THRESHOLD);
            let (log, over) = (reports(), Flag::default());
            let _raises = Raises(&over);
            let queue = limited("joins", 2);
            let (own, slow) = (queue.clone(), over.clone());
            let begun = Flag::default();
            let has_begun = begun.clone();
            drop(queue.spawn(move || {
                has_begun.raise();
                while !slow.is_up() {
                    std::thread::sleep(THRESHOLD / 10);
                }
            }));
            begun.wait("it has a slot");
            let outer = queue.spawn(move || own.spawn(|| 5).join());
            let found = one_starvation(&log);
            assert_eq!((found.queue.as_str(), found.counts), ("joins", [2, 2, 1]));
            assert!(found.chain.iter().any(|link| link.awaits.is_some()));
            over.raise();
            assert_eq!(outer.join().unwrap().unwrap(), 5);
        },
    );
}

#[test]
fn what_is_frozen_is_not_reported() {
    alone("starvation::what_is_frozen_is_not_reported", || {
        cmwq::set_watchdog_threshold(THRESHOLD);
        let log = reports();
        let frozen = Workqueue::builder("frozen").freezable().max_active(1);
        let frozen = frozen.build().unwrap();
        cmwq::freezer::freeze();
        let work = Work::new(|| ());
        assert_eq!(frozen.queue(&work), Ok(true));
        assert_eq!(work.waits(), Some(Waits::Limit));
        // It waits for longer than these, and those are reported.
        let queue = limited("chain", 1);
        let (last, links) = chain(&queue, 2);
        assert_eq!(one_starvation(&log).queue, "chain");
        assert!(queue.set_max_active(2));
        last.send(()).unwrap();
        links.into_iter().for_each(|link| link.join().unwrap());
        cmwq::freezer::thaw();
        frozen.flush().unwrap();
    });
}
