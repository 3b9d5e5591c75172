//! Rescuers: `mem_reclaim` queues go on when no worker can be made.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{Builder, Work, Workqueue};
use cmwq_os::sched;

use crate::common::alone::alone;
use crate::common::nproc::{become_bound, limit_threads};
use crate::common::{Occupancy, Permits, eventually, fork, queue, seccomp, threads};
use crate::kit::{Flag, Log, may_renice, nice, on, others_run, ticks_pass, two_cpus};

fn reclaim(name: &str) -> Workqueue {
    Workqueue::builder(name).mem_reclaim().build().unwrap()
}

fn rescuers() -> Vec<threads::Thread> {
    let ours = threads::ours().into_iter();
    ours.filter(|thread| thread.name.starts_with("cmwq/R-"))
        .collect()
}

/// From now on no thread can be made; that of the tick is there already.
fn deny_threads() {
    cmwq::system_percpu().spawn(|| ()).join().unwrap();
    eventually("the tick is there", || threads::count("cmwq/tick") == 1);
    seccomp::deny_threads();
}

#[test]
fn it_is_there_from_the_beginning_and_goes_with_its_queue() {
    alone(
        "rescuer::it_is_there_from_the_beginning_and_goes_with_its_queue",
        || {
            let plain = queue("plain");
            plain.spawn(|| ()).join().unwrap();
            assert_eq!(rescuers().len(), 0, "others have none");
            let kinds = [
                reclaim("journal"),
                Workqueue::builder("serial")
                    .ordered()
                    .mem_reclaim()
                    .build()
                    .unwrap(),
                Workqueue::builder("percpu")
                    .percpu()
                    .mem_reclaim()
                    .build()
                    .unwrap(),
            ];
            let names = ["cmwq/R-journal", "cmwq/R-serial", "cmwq/R-percpu"];
            eventually("each has one", || {
                let found = rescuers();
                names
                    .iter()
                    .all(|name| found.iter().any(|thread| thread.name == *name))
            });
            let level = if may_renice() { -20 } else { nice(0) };
            eventually("their nice levels are set", || {
                let of = |thread: &threads::Thread| sched::nice_of(thread.tid).unwrap();
                rescuers().iter().all(|thread| of(thread) == level)
            });
            for queue in &kinds {
                // A first worker that is long in coming is a reason to help.
                eventually("workers do the work", || {
                    !queue.spawn(cmwq::is_rescuer).join().unwrap()
                });
            }
            drop(kinds);
            eventually("they have ended", || rescuers().is_empty());
        },
    );
}

/// Queues items on both, one by one; how many of the first ran on a rescuer, and of the second at
/// all.
fn items_of(rescued: &Workqueue, other: &Workqueue, items: usize) -> (Log<bool>, Log<bool>) {
    let (ours, theirs) = (Log::default(), Log::default());
    for _ in 0..items {
        let (own, their) = (ours.clone(), theirs.clone());
        drop(rescued.spawn(move || own.push(cmwq::is_rescuer())));
        drop(other.spawn(move || their.push(cmwq::is_rescuer())));
    }
    (ours, theirs)
}

#[test]
fn its_queue_goes_on_and_others_wait() {
    alone("rescuer::its_queue_goes_on_and_others_wait", || {
        let (rescued, other) = (reclaim("reclaim"), queue("other"));
        deny_threads();
        let (ours, theirs) = items_of(&rescued, &other, 60);
        rescued.flush().unwrap();
        assert_eq!(ours.take(), [true; 60]);
        ticks_pass(20);
        assert_eq!(theirs.len(), 0);
        assert!(!cmwq::is_rescuer());
        // What is queued later goes on as well.
        for n in 0..3 {
            assert_eq!(rescued.spawn(move || n).join().unwrap(), n);
        }
        drop(rescued);
        assert_eq!(theirs.len(), 0);
        // Dropping it would wait for its items.
        std::mem::forget(other);
    });
}

#[test]
fn it_does_so_from_the_first_item_on() {
    alone("rescuer::it_does_so_from_the_first_item_on", || {
        let rescued = reclaim("first");
        // Nothing of ours has been used yet: not even the tick has a thread.
        seccomp::deny_threads();
        let (ran, raised) = (Flag::default(), Flag::default());
        let (first, second) = (ran.clone(), raised.clone());
        drop(rescued.spawn(move || first.raise()));
        ran.wait("the first item");
        drop(rescued.spawn(move || second.raise()));
        raised.wait("the second item");
    });
}

#[test]
fn a_pool_whose_threads_all_block_is_helped_too() {
    alone(
        "rescuer::a_pool_whose_threads_all_block_is_helped_too",
        || {
            Builder::new().thread_limit(2).install().unwrap();
            let (rescued, other) = (reclaim("reclaim"), queue("other"));
            let gate = Arc::new(Permits::new());
            for _ in 0..2 {
                let gate = gate.clone();
                drop(other.spawn(move || gate.take()));
            }
            eventually("both are busy", || cmwq::stats().started == 2);
            let (ours, theirs) = items_of(&rescued, &other, 20);
            rescued.flush().unwrap();
            assert_eq!((ours.take(), theirs.len()), (vec![true; 20], 0));
            gate.open();
            other.flush().unwrap();
            assert_eq!(theirs.take(), [false; 20]);
            let (ours, _) = items_of(&rescued, &other, 20);
            rescued.flush().unwrap();
            assert!(ours.take().contains(&false), "workers can do it again");
        },
    );
}

#[test]
fn order_and_limits_hold() {
    alone("rescuer::order_and_limits_hold", || {
        let serial = Workqueue::builder("serial").ordered().mem_reclaim();
        let (serial, limited) = (serial.build().unwrap(), Workqueue::builder("two"));
        let limited = limited.max_active(2).mem_reclaim().build().unwrap();
        deny_threads();
        let (ran, inside) = (Log::default(), Arc::new(Occupancy::default()));
        for n in 0..100 {
            let ran = ran.clone();
            drop(serial.spawn(move || ran.push(n)));
            let inside = inside.clone();
            drop(limited.spawn(move || {
                let _counted = inside.enter();
                std::thread::yield_now();
            }));
        }
        serial.flush().unwrap();
        limited.flush().unwrap();
        assert!(ran.take().into_iter().eq(0..100));
        assert_eq!(inside.peak(), 1, "one thread");
    });
}

#[test]
fn pools_that_wait_are_served_in_turn() {
    alone("rescuer::pools_that_wait_are_served_in_turn", || {
        let Some((one, other)) = two_cpus() else {
            return;
        };
        let queue = Workqueue::builder("percpu")
            .percpu()
            .highpri()
            .mem_reclaim();
        let (queue, ran) = (queue.build().unwrap(), Log::default());
        deny_threads();
        for n in 0..100 {
            for cpu in [one, other] {
                let ran = ran.clone();
                on(&queue, cpu, move || {
                    if n == 0 {
                        // Until both pools have called.
                        ticks_pass(100);
                    }
                    ran.push((cpu, sched::current_cpu(), cmwq::is_rescuer()));
                });
            }
        }
        queue.flush().unwrap();
        let ran = ran.take();
        assert_eq!(ran.len(), 200);
        assert!(
            ran.iter()
                .all(|(asked, was, rescuer)| asked == was && *rescuer)
        );
        let turns = ran.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert!(turns >= 5, "16 items a turn: {turns} changes in 200 items");
    });
}

#[test]
fn items_that_queue_themselves_and_waits_go_on() {
    alone(
        "rescuer::items_that_queue_themselves_and_waits_go_on",
        || {
            let rescued = reclaim("chain");
            deny_threads();
            let (own, count) = (rescued.clone(), Arc::new(AtomicUsize::new(0)));
            let counter = count.clone();
            let work = Work::with_data((), move |work| {
                assert!(cmwq::is_rescuer());
                if counter.fetch_add(1, SeqCst) < 49 {
                    own.queue(work).unwrap();
                }
            });
            assert_eq!(rescued.queue(&work), Ok(true));
            rescued.drain().unwrap();
            assert_eq!(count.load(SeqCst), 50);
            assert_eq!(rescued.queue(&work), Ok(true));
            work.flush().unwrap();
            assert_eq!(work.cancel_sync(), Ok(false));
            assert_eq!(count.load(SeqCst), 51);
        },
    );
}

#[test]
fn a_queue_may_go_while_its_rescuer_works() {
    alone("rescuer::a_queue_may_go_while_its_rescuer_works", || {
        let (outside, inside) = (reclaim("outside"), reclaim("inside"));
        deny_threads();
        let (begun, gate, ended) = (Flag::default(), Arc::new(Permits::new()), Flag::default());
        let (first, held, last) = (begun.clone(), gate.clone(), ended.clone());
        drop(outside.spawn(move || {
            first.raise();
            held.take();
            last.raise();
        }));
        begun.wait("its rescuer is in an item");
        std::thread::scope(|scope| {
            // Made before: no thread can be made any more, so this is the main thread's part.
            let _ = scope;
            gate.open();
            drop(outside);
            assert!(ended.is_up(), "it waits for the item");
        });
        // The last handle is dropped by its own item, on its own rescuer.
        let (ran, after) = (Log::default(), Flag::default());
        let (log, done, handle) = (ran.clone(), after.clone(), inside.clone());
        let gate = Arc::new(Permits::new());
        let go = gate.clone();
        drop(inside.spawn(move || {
            go.take();
            drop(handle);
            log.push(cmwq::is_rescuer());
        }));
        drop(inside.spawn(move || done.raise()));
        // The main thread's handle is not the last one any more.
        drop(inside);
        gate.open();
        after.wait("what was queued runs");
        assert_eq!(ran.take(), [true]);
        eventually("the rescuers have ended", || rescuers().is_empty());
    });
}

#[test]
fn a_rescuer_that_cannot_be_made_is_an_error() {
    alone("rescuer::a_rescuer_that_cannot_be_made_is_an_error", || {
        deny_threads();
        let error = Workqueue::builder("none")
            .mem_reclaim()
            .build()
            .unwrap_err();
        assert!(matches!(error, cmwq::BuildError::Rescuer(_)), "{error:?}");
        let said = error.to_string();
        assert!(
            said.starts_with("cannot make the rescuer's thread: "),
            "{said}"
        );
        assert!(std::error::Error::source(&error).is_some());
        assert!(Workqueue::builder("plain").build().is_ok());
    });
}

#[test]
fn changes_of_attributes_are_followed() {
    alone("rescuer::changes_of_attributes_are_followed", || {
        let serial = Workqueue::builder("serial").ordered().mem_reclaim();
        let (serial, ran) = (serial.build().unwrap(), Log::default());
        deny_threads();
        for n in 0..60 {
            if n % 10 == 0 {
                let mut attrs = serial.attrs();
                attrs.nice = n % 4;
                serial.apply_attrs(&attrs).unwrap();
            }
            let ran = ran.clone();
            drop(serial.spawn(move || ran.push((n, cmwq::is_rescuer()))));
        }
        serial.flush().unwrap();
        assert!(ran.take().into_iter().eq((0..60).map(|n| (n, true))));
    });
}

#[test]
fn a_child_that_its_item_forks_ends_with_the_item() {
    alone(
        "rescuer::a_child_that_its_item_forks_ends_with_the_item",
        || {
            Builder::new().thread_limit(1).install().unwrap();
            let (rescued, other) = (reclaim("forks"), queue("other"));
            let gate = Arc::new(Permits::new());
            let held = gate.clone();
            drop(other.spawn(move || held.take()));
            eventually("the worker is busy", || cmwq::stats().started == 1);
            let child = rescued.spawn(|| {
                assert!(cmwq::is_rescuer());
                // SAFETY: the child returns from the item, and ends.
                unsafe { libc::fork() }
            });
            let pid = child.join().unwrap();
            assert_eq!(fork::wait(pid), 0);
            assert_eq!(rescued.spawn(|| 2).join().unwrap(), 2, "the parent goes on");
            fork::in_child(|| {
                let refused = rescued.queue(&Work::new(|| ()));
                assert_eq!(refused, Err(cmwq::QueueError::Forked));
                assert_eq!(reclaim("child").spawn(|| 3).join().unwrap(), 3);
            });
            gate.open();
        },
    );
}

/// What an item leaves behind is not there for the next one, on a rescuer either.
#[test]
fn what_an_item_leaves_is_not_there_for_the_next() {
    alone(
        "rescuer::what_an_item_leaves_is_not_there_for_the_next",
        || {
            let rescued = reclaim("tidy");
            deny_threads();
            let own = rescued.spawn(cmwq_os::thread::sigmask).join().unwrap();
            assert_ne!(own, 0);
            let spoils = || {
                cmwq_os::thread::set_sigmask(0);
                crate::kit::burn(1);
            };
            drop(rescued.spawn(spoils));
            assert_eq!(rescued.spawn(cmwq_os::thread::sigmask).join().unwrap(), own);
        },
    );
}

/// Nobody else's user: its threads are this file's.
const SOMEBODY: libc::uid_t = 65_531;

/// Items of a queue with a rescuer go on while threads cannot be made; all when they can again.
fn goes_on(limit: impl FnOnce(), lift: impl FnOnce()) {
    let (rescued, other) = (reclaim("reclaim"), queue("other"));
    // The tick's thread is there before.
    cmwq::system_percpu().spawn(|| ()).join().unwrap();
    limit();
    assert!(std::thread::Builder::new().spawn(|| ()).is_err());
    let (ours, theirs) = items_of(&rescued, &other, 40);
    rescued.flush().unwrap();
    assert_eq!((ours.take(), theirs.len()), (vec![true; 40], 0));
    assert!(cmwq::stats().spawn_failures > 0);
    lift();
    other.flush().unwrap();
    assert_eq!(theirs.take(), [false; 40]);
    others_run(5);
    let (ours, _) = items_of(&rescued, &other, 40);
    rescued.flush().unwrap();
    other.flush().unwrap();
    assert!(ours.take().contains(&false), "workers do it again");
}

#[test]
fn a_limit_of_threads_is_survived() {
    alone(
        "rescuer::a_limit_of_threads_is_survived",
        || match become_bound(SOMEBODY) {
            true => goes_on(|| limit_threads(Some(0)), || limit_threads(None)),
            false => eprintln!("skipped: root here, and nobody else"),
        },
    );
}

/// A pids cgroup of our own. `None` where none can be made.
struct Pids(PathBuf);

impl Pids {
    fn make() -> Option<Self> {
        let dir = Path::new("/sys/fs/cgroup/pids").join(format!("cmwq-{}", std::process::id()));
        std::fs::create_dir(&dir).ok()?;
        Some(Pids(dir))
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Pids {
    fn drop(&mut self) {
        // Empty first: the process goes back to where it may.
        let pid = std::process::id().to_string();
        let _ = std::fs::write("/sys/fs/cgroup/pids/cgroup.procs", pid);
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_full_pids_cgroup_is_survived() {
    alone("rescuer::a_full_pids_cgroup_is_survived", || {
        let Some(group) = Pids::make() else {
            return eprintln!("skipped: no pids cgroup can be made");
        };
        group.write("cgroup.procs", &std::process::id().to_string());
        let full = || group.write("pids.max", "0");
        goes_on(full, || group.write("pids.max", "max"));
    });
}
