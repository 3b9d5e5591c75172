//! What items leave behind in their worker's thread is reported, and the next item does not see it.

use std::time::{Duration, Instant};

use cmwq::{Report, Workqueue};
use cmwq_os::{sched, thread};

use crate::common::alone::{alone, alone_among_levels};
use crate::common::{eventually, threads};
use crate::kit::{Flag, Log, Raises, burn, cpus, may_renice, nice, reports, two_cpus};

/// One report of something left behind.
#[derive(Debug)]
struct Left {
    queue: String,
    items: u32,
    what: String,
    retired: bool,
    text: String,
}

fn left(log: &Log<Report>) -> Vec<Left> {
    let left = |report: Report| {
        let text = report.to_string();
        match report {
            Report::LeftBehind {
                queue,
                items,
                what,
                retired,
            } => Some(Left {
                queue,
                items,
                what,
                retired,
                text,
            }),
            _ => None,
        }
    };
    log.take().into_iter().filter_map(left).collect()
}

/// What a thread has that items can change.
fn state() -> (i32, Vec<usize>, u64) {
    let mask = sched::affinity(0).unwrap();
    (sched::nice_self(), mask.iter().collect(), thread::sigmask())
}

/// The same without the CPU mask, which a canary may narrow for a moment.
fn nice_and_signals() -> (i32, u64) {
    (sched::nice_self(), thread::sigmask())
}

/// An ordered queue: there is one worker at a time, and mostly the same.
fn one(name: &str) -> Workqueue {
    Workqueue::builder(name).ordered().build().unwrap()
}

/// Has an item do this and take a while; then waits for one that runs on the same thread, and says
/// what that found. `None` if the thread has ended. Other workers of the pool may be chosen for
/// ever: each keeps its item until that one is found.
fn next_sees(queue: &Workqueue, leave: fn()) -> Option<(i32, u64)> {
    let spoilt = queue.spawn(move || {
        leave();
        burn(1);
        thread::gettid()
    });
    let spoilt = spoilt.join().unwrap();
    let (seekers, seen, found) = (common_queue(), Log::default(), Flag::default());
    let _found = Raises(&found);
    let lives = || {
        let all = threads::of(std::process::id() as i32);
        all.iter().any(|thread| thread.tid == spoilt)
    };
    loop {
        let (log, found) = (seen.clone(), found.clone());
        let keep = move || {
            log.push((thread::gettid(), nice_and_signals()));
            found.wait("the thread gets an item");
        };
        drop(seekers.spawn(keep));
        eventually("it runs", || seen.len() > 0);
        let (tid, state) = seen.take()[0];
        if tid == spoilt {
            return Some(state);
        }
        if !lives() {
            return None;
        }
    }
}

/// A queue whose items run on the workers that [`one`]'s run on.
fn common_queue() -> Workqueue {
    Workqueue::builder("seekers").build().unwrap()
}

fn block_nothing() {
    thread::set_sigmask(0);
}

fn one_cpu() {
    sched::set_affinity_self(&[cpus()[0]].into_iter().collect()).unwrap();
}

fn be_nice() {
    sched::set_nice_self(nice(0) + 4).unwrap();
}

#[test]
fn a_signal_mask_is_set_right() {
    alone("leftovers::a_signal_mask_is_set_right", || {
        let (log, queue) = (reports(), one("signals"));
        let own = queue.spawn(nice_and_signals).join().unwrap();
        assert_ne!(own.1, 0, "workers block signals");
        assert_eq!(next_sees(&queue, block_nothing), Some(own));
        let left = left(&log);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(
            (left[0].queue.as_str(), left[0].retired),
            ("signals", false)
        );
        assert!(left[0].items >= 1);
        let what = "signal mask 0x0000000000000000 (was 0x";
        assert!(left[0].what.starts_with(what), "{}", left[0].what);
        for part in [
            "an item of queue \"signals\"",
            what,
            "the thread was set right",
        ] {
            assert!(left[0].text.contains(part), "{part} in {}", left[0].text);
        }
    });
}

/// A function that left nothing a moment ago is not looked at again so soon, but before another one
/// begins on its thread.
#[test]
fn what_a_trusted_function_leaves_is_no_item_of_another_ones() {
    alone(
        "leftovers::what_a_trusted_function_leaves_is_no_item_of_another_ones",
        || {
            let (log, queue) = (reports(), one("trusted"));
            let own = queue.spawn(nice_and_signals).join().unwrap();
            let item = |leaves: bool| {
                move || {
                    if leaves {
                        block_nothing();
                    }
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_micros(100) {}
                }
            };
            for _ in 0..50 {
                for leaves in [false, false, true] {
                    drop(queue.spawn(item(leaves)));
                }
                assert_eq!(queue.spawn(nice_and_signals).join().unwrap(), own);
            }
            assert!(!left(&log).is_empty());
        },
    );
}

#[test]
fn a_cpu_mask_is_set_right() {
    alone("leftovers::a_cpu_mask_is_set_right", || {
        let Some((first, last)) = two_cpus() else {
            return;
        };
        let (log, queue) = (reports(), Workqueue::builder("cpus").percpu());
        let queue = queue.build().unwrap();
        // On a per-CPU queue nobody but the item has touched the mask.
        let item = cmwq::Work::new(move || {
            one_cpu();
            burn(1);
        });
        assert_eq!(queue.queue_on(last, &item), Ok(true));
        queue.flush().unwrap();
        let seen = Log::default();
        for _ in 0..20 {
            let seen = seen.clone();
            let item = cmwq::Work::new(move || seen.push(state().1));
            assert_eq!(queue.queue_on(last, &item), Ok(true));
            queue.flush().unwrap();
        }
        assert_eq!(seen.take(), vec![vec![last]; 20]);
        let left = left(&log);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].what, format!("CPUs {first} (was {last})"));
        assert_eq!((left[0].queue.as_str(), left[0].retired), ("cpus", false));
    });
}

#[test]
fn a_nice_level_is_set_right_or_the_thread_ends() {
    alone_among_levels(
        "leftovers::a_nice_level_is_set_right_or_the_thread_ends",
        || {
            let (log, queue) = (reports(), one("nice"));
            let own = queue.spawn(nice_and_signals).join().unwrap();
            for _ in 0..4 {
                let found = next_sees(&queue, be_nice);
                assert_eq!(found, may_renice().then_some(own));
                let left = left(&log);
                assert_eq!(left.len(), 1, "{left:?}");
                assert_eq!(left[0].retired, !may_renice());
                let what = format!("nice {} (was {})", nice(0) + 4, nice(0));
                assert!(left[0].what.starts_with(&what), "{}", left[0].what);
            }
            let levels = (0..50).map(|_| queue.spawn(sched::nice_self).join().unwrap());
            assert!(levels.into_iter().all(|level| level == nice(0)));
        },
    );
}

#[test]
fn all_at_once_also_by_an_item_that_panics() {
    alone_among_levels("leftovers::all_at_once_also_by_an_item_that_panics", || {
        let (log, queue) = (reports(), one("panics"));
        let own = queue.spawn(state).join().unwrap();
        let panicked = queue.spawn(|| {
            block_nothing();
            be_nice();
            burn(1);
            panic!("on purpose");
        });
        assert!(panicked.join().unwrap_err().is_panic());
        for _ in 0..50 {
            let seen = queue.spawn(state).join().unwrap();
            assert_eq!((seen.0, seen.2), (own.0, own.2));
        }
        let left = left(&log);
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].what.contains("nice ") && left[0].what.contains("signal mask "));
    });
}

#[test]
fn what_short_items_leave_is_found_before_the_worker_rests() {
    alone(
        "leftovers::what_short_items_leave_is_found_before_the_worker_rests",
        || {
            let (log, queue) = (reports(), one("short"));
            let own = queue.spawn(state).join().unwrap();
            for round in 1..=10 {
                drop(queue.spawn(block_nothing));
                queue.flush().unwrap();
                eventually("it is found", || log.len() == round);
                assert_eq!(queue.spawn(state).join().unwrap().2, own.2);
            }
            for left in left(&log) {
                assert!(["", "short"].contains(&left.queue.as_str()), "{left:?}");
                assert!(left.items >= 1 && !left.retired);
            }
        },
    );
}

#[test]
fn the_pool_goes_on_whoever_is_lost() {
    alone("leftovers::the_pool_goes_on_whoever_is_lost", || {
        let (log, ran) = (reports(), Log::default());
        let kinds = [
            Workqueue::builder("managed").build().unwrap(),
            Workqueue::builder("percpu").percpu().build().unwrap(),
            Workqueue::builder("bh").bh().build().unwrap(),
            Workqueue::builder("unmanaged").unmanaged().build().unwrap(),
        ];
        for n in 0..400 {
            for queue in &kinds {
                let ran = ran.clone();
                drop(queue.spawn(move || {
                    ran.push(());
                    match n % 10 {
                        3 => be_nice(),
                        4 => burn(1),
                        5 => std::thread::sleep(Duration::from_micros(100)),
                        6 => block_nothing(),
                        _ => {}
                    }
                }));
            }
        }
        kinds.iter().for_each(|queue| queue.flush().unwrap());
        assert_eq!(ran.len(), 1600);
        assert!(left(&log).len() >= 4);
        for queue in &kinds {
            let level = || queue.spawn(sched::nice_self).join().unwrap();
            eventually("all are as they should be", || level() == nice(0));
        }
    });
}

#[test]
fn nothing_is_reported_of_items_that_clean_up() {
    alone(
        "leftovers::nothing_is_reported_of_items_that_clean_up",
        || {
            let (log, queue) = (reports(), Workqueue::builder("clean").build().unwrap());
            for _ in 0..300 {
                drop(queue.spawn(|| {
                    let (_, mask, sigmask) = state();
                    block_nothing();
                    one_cpu();
                    burn(1);
                    thread::set_sigmask(sigmask);
                    sched::set_affinity_self(&mask.into_iter().collect()).unwrap();
                }));
            }
            queue.flush().unwrap();
            let left = left(&log);
            assert!(left.is_empty(), "{left:?}");
        },
    );
}

/// Who reports an idle CPU narrows a worker's mask for its wake.
#[test]
fn nobody_is_blamed_for_what_canaries_do() {
    alone("leftovers::nobody_is_blamed_for_what_canaries_do", || {
        let (log, queue) = (reports(), Workqueue::builder("sleepers").build().unwrap());
        for _ in 0..8 {
            for n in 0..400 {
                drop(queue.spawn(move || {
                    burn(u64::from(n % 16 == 0));
                    std::thread::sleep(Duration::from_micros(50 * (n % 7)));
                }));
            }
            queue.flush().unwrap();
        }
        let left = left(&log);
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn who_hears_a_report_may_use_queues() {
    alone("leftovers::who_hears_a_report_may_use_queues", || {
        let (heard, queue) = (Log::default(), one("heard"));
        let (log, own) = (heard.clone(), queue.clone());
        cmwq::set_report_hook(move |report| {
            let (log, text) = (log.clone(), report.to_string());
            drop(own.spawn(move || log.push(text)));
            drop(cmwq::system().spawn(|| ()));
        });
        for round in 1..=5 {
            drop(queue.spawn(|| {
                block_nothing();
                burn(1);
            }));
            eventually("it is heard", || heard.len() == round);
        }
    });
}

/// It is no item that waits then, though the thread is a worker's.
#[test]
fn who_hears_a_report_may_say_that_it_blocks() {
    alone(
        "leftovers::who_hears_a_report_may_say_that_it_blocks",
        || {
            let (heard, queue) = (Log::default(), one("heard"));
            let log = heard.clone();
            cmwq::set_report_hook(move |report| log.push(cmwq::blocking(|| report.to_string())));
            for round in 1..=5 {
                drop(queue.spawn(block_nothing));
                queue.flush().unwrap();
                eventually("it is heard", || heard.len() == round);
            }
        },
    );
}
