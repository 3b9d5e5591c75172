//! CPUs that go and come. For us that is the affinity mask of the process, which somebody outside
//! changes (`taskset -ap`), or its cpuset.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{Report, Work, Workqueue};
use cmwq_os::sched;
use cmwq_policy::CpuMask;

use crate::common::alone::alone;
use crate::common::{Occupancy, eventually, threads};
use crate::kit::{Flag, Log, Raises, Stage, on, reports, ticks_pass, two_cpus, without_canaries};

fn mask(cpus: &[usize]) -> CpuMask {
    cpus.iter().copied().collect()
}

fn set_process_cpus(cpus: &[usize]) {
    threads::set_process_mask(&mask(cpus));
}

/// Waits until that is noticed, as it is while items wait: has one item keep a CPU, and one wait
/// behind it.
fn noticed(cpus: usize) {
    let queue = Workqueue::builder("notice").percpu().build().unwrap();
    let cpu = sched::affinity(0).unwrap().iter().next().unwrap();
    let end = Flag::default();
    let _raises = Raises(&end);
    for _ in 0..2 {
        let end = end.clone();
        on(&queue, cpu, move || end.spin());
    }
    eventually("the change is noticed", || cmwq::stats().cpus == cpus);
}

/// A test with two CPUs, where no item is taken for a hog.
fn with_two_cpus(body: impl FnOnce(usize, usize)) {
    cmwq::set_cpu_intensive_threshold(Duration::ZERO);
    if let Some((one, other)) = two_cpus() {
        set_process_cpus(&[one, other]);
        body(one, other);
    }
}

#[test]
fn the_pool_of_a_cpu_that_left_goes_on_unbound_and_is_bound_again() {
    alone(
        "hotplug::the_pool_of_a_cpu_that_left_goes_on_unbound_and_is_bound_again",
        || {
            without_canaries();
            with_two_cpus(|stays, leaves| {
                let queue = Workqueue::builder("percpu").percpu().build().unwrap();
                let (begun, end, ran) = (Flag::default(), Flag::default(), Log::default());
                let _raises = Raises(&end);
                let (first, until) = (begun.clone(), end.clone());
                on(&queue, leaves, move || {
                    first.spins_until(&until);
                });
                begun.wait("it computes");
                for _ in 0..5 {
                    let ran = ran.clone();
                    on(&queue, leaves, move || ran.push(sched::current_cpu()));
                }
                ticks_pass(20);
                assert_eq!(ran.len(), 0, "one at a time");
                set_process_cpus(&[stays]);
                eventually("all pending ones run", || ran.len() == 5);
                noticed(1);
                ran.take();
                // Nobody counts who runs in a pool that has lost its CPU, so they do not wait.
                for _ in 0..5 {
                    let ran = ran.clone();
                    on(&queue, leaves, move || ran.push(sched::current_cpu()));
                }
                eventually("they run beside the first", || ran.len() == 5);
                assert_eq!(ran.take(), [stays; 5]);
                end.raise();
                queue.flush().unwrap();
                for _ in 0..20 {
                    let ran = ran.clone();
                    on(&queue, leaves, move || ran.push(sched::current_cpu()));
                }
                queue.flush().unwrap();
                assert_eq!(ran.take(), [stays; 20]);
                set_process_cpus(&[stays, leaves]);
                noticed(2);
                is_bound(&queue, leaves);
            });
        },
    );
}

/// Items for this CPU run there, one at a time.
fn is_bound(queue: &Workqueue, cpu: usize) {
    let (begun, end) = (Flag::default(), Flag::default());
    let _raises = Raises(&end);
    let ran = Log::default();
    let (first, until) = (begun.clone(), end.clone());
    on(queue, cpu, move || {
        first.spins_until(&until);
    });
    begun.wait("it computes");
    for _ in 0..10 {
        let ran = ran.clone();
        on(queue, cpu, move || ran.push(sched::current_cpu()));
    }
    ticks_pass(20);
    let early = ran.len();
    end.raise();
    queue.flush().unwrap();
    assert_eq!((early, ran.take()), (0, vec![cpu; 10]));
}

#[test]
fn items_over_the_limit_and_sleeping_ones_are_kept() {
    alone(
        "hotplug::items_over_the_limit_and_sleeping_ones_are_kept",
        || {
            with_two_cpus(|stays, leaves| {
                let queue = Workqueue::builder("percpu").percpu().max_active(2);
                let (queue, stage) = (queue.build().unwrap(), Arc::new(Stage::default()));
                for _ in 0..8 {
                    let stage = stage.clone();
                    on(&queue, leaves, move || stage.run());
                }
                stage.has_started(2);
                set_process_cpus(&[stays]);
                noticed(1);
                assert_eq!(stage.started(), 2, "the limit holds");
                stage.permits.give(2);
                stage.has_started(4);
                set_process_cpus(&[stays, leaves]);
                noticed(2);
                stage.permits.open();
                queue.flush().unwrap();
                assert_eq!((stage.ended.load(SeqCst), stage.inside.peak()), (8, 2));
            });
        },
    );
}

#[test]
fn bh_pools_lose_their_cpu_and_keep_their_order() {
    alone(
        "hotplug::bh_pools_lose_their_cpu_and_keep_their_order",
        || {
            with_two_cpus(|stays, leaves| {
                let queue = Workqueue::builder("bh").bh().build().unwrap();
                let (inside, ran) = (Arc::new(Occupancy::default()), Log::default());
                let begun = Flag::default();
                let end = Flag::default();
                let _raises = Raises(&end);
                let (first, until) = (begun.clone(), end.clone());
                on(&queue, leaves, move || {
                    first.spins_until(&until);
                });
                begun.wait("it computes");
                for n in 0..30 {
                    let (inside, ran) = (inside.clone(), ran.clone());
                    on(&queue, leaves, move || {
                        let _counted = inside.enter();
                        ran.push((n, sched::current_cpu()));
                    });
                }
                set_process_cpus(&[stays]);
                eventually("the change is noticed", || cmwq::stats().cpus == 1);
                assert_eq!(ran.len(), 0, "still one at a time");
                end.raise();
                queue.flush().unwrap();
                let expected: Vec<_> = (0..30).map(|n| (n, stays)).collect();
                assert_eq!((ran.take(), inside.peak()), (expected, 1));
                set_process_cpus(&[stays, leaves]);
                noticed(2);
                let log = ran.clone();
                on(&queue, leaves, move || log.push((0, sched::current_cpu())));
                queue.flush().unwrap();
                assert_eq!(ran.take(), [(0, leaves)]);
            });
        },
    );
}

/// Where items of this queue may run.
fn allowed(queue: &Workqueue) -> CpuMask {
    let masks = (0..20).map(|_| queue.spawn(|| sched::affinity(0).unwrap()).join().unwrap());
    masks.fold(CpuMask::EMPTY, |all, mask| {
        all.iter().chain(mask.iter()).collect()
    })
}

#[test]
fn managed_pools_follow() {
    alone("hotplug::managed_pools_follow", || {
        with_two_cpus(|stays, leaves| {
            let free = Workqueue::builder("free").build().unwrap();
            let bound = Workqueue::builder("bound").cpus([leaves]).build().unwrap();
            let serial = Workqueue::builder("serial").ordered().build().unwrap();
            let all = mask(&[stays, leaves]);
            let is = |cpus: [CpuMask; 3]| {
                let is = [&free, &bound, &serial].map(allowed);
                assert_eq!(is, cpus);
            };
            is([all, mask(&[leaves]), all]);
            set_process_cpus(&[stays]);
            noticed(1);
            is([mask(&[stays]); 3]);
            set_process_cpus(&[stays, leaves]);
            noticed(2);
            is([all, mask(&[leaves]), all]);
        });
    });
}

#[test]
fn items_that_run_across_a_change_are_not_blamed_for_it() {
    alone(
        "hotplug::items_that_run_across_a_change_are_not_blamed_for_it",
        || {
            with_two_cpus(|stays, leaves| {
                let log = reports();
                let managed = Workqueue::builder("managed").build().unwrap();
                let percpu = Workqueue::builder("percpu").percpu().build().unwrap();
                let ran = Arc::new(AtomicUsize::new(0));
                for round in 0..6 {
                    let cpus: &[usize] = if round % 2 == 0 {
                        &[stays]
                    } else {
                        &[stays, leaves]
                    };
                    let stage = Arc::new(Stage::default());
                    stage.spawn(&managed, 3);
                    let other = stage.clone();
                    on(&percpu, leaves, move || other.run());
                    stage.has_started(4);
                    set_process_cpus(cpus);
                    stage.permits.open();
                    managed.flush().unwrap();
                    percpu.flush().unwrap();
                    // Whoever looks next must not set the old mask.
                    let ran = ran.clone();
                    drop(managed.spawn(move || ran.fetch_add(1, SeqCst)));
                    managed.flush().unwrap();
                    let mine = mask(cpus);
                    let strays = |thread: &threads::Thread| {
                        let has = sched::affinity(thread.tid).unwrap_or(CpuMask::EMPTY);
                        has.iter().any(|cpu| !mine.contains(cpu))
                    };
                    // One that has just ended its item may be about to follow.
                    eventually("nobody is outside", || !threads::ours().iter().any(strays));
                }
                let said: Vec<Report> = log.take();
                assert!(said.is_empty(), "{said:?}");
            });
        },
    );
}

#[test]
fn a_storm_of_changes_loses_nothing() {
    alone("hotplug::a_storm_of_changes_loses_nothing", || {
        with_two_cpus(|one, other| {
            let queues = [
                Workqueue::builder("managed").build().unwrap(),
                Workqueue::builder("percpu").percpu().build().unwrap(),
                Workqueue::builder("ordered").ordered().build().unwrap(),
                Workqueue::builder("bh").bh().build().unwrap(),
            ];
            let (ran, done) = (Arc::new(AtomicUsize::new(0)), Flag::default());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for n in 0..4000 {
                        let (queue, counter) = (&queues[n % 4], ran.clone());
                        let cpu = if n % 3 == 0 { one } else { other };
                        let work = Work::new(move || {
                            if n % 40 == 1 {
                                std::thread::sleep(Duration::from_micros(300));
                            }
                            counter.fetch_add(1, SeqCst);
                        });
                        assert_eq!(queue.queue_on(cpu, &work), Ok(true));
                        if n % 400 == 0 {
                            queue.flush().unwrap();
                        }
                    }
                    done.raise();
                });
                let masks: [&[usize]; 3] = [&[one], &[other], &[one, other]];
                for cpus in masks.into_iter().cycle() {
                    set_process_cpus(cpus);
                    std::thread::sleep(Duration::from_millis(2));
                    if done.is_up() {
                        break;
                    }
                }
            });
            queues.iter().for_each(|queue| queue.flush().unwrap());
            assert_eq!(ran.load(SeqCst), 4000);
        });
    });
}

/// A cpuset of our own, below the one of this process. `None` where none can be made.
struct Cpuset(PathBuf);

impl Cpuset {
    fn make() -> Option<Self> {
        let dir = Path::new("/sys/fs/cgroup/cpuset").join(format!("cmwq-{}", std::process::id()));
        std::fs::create_dir(&dir).ok()?;
        let set = Cpuset(dir);
        set.write("cpuset.mems", "0")?;
        Some(set)
    }

    fn write(&self, file: &str, text: &str) -> Option<()> {
        std::fs::write(self.0.join(file), text).ok()
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        // Empty first: the process goes back to where it may.
        let pid = std::process::id().to_string();
        let _ = std::fs::write("/sys/fs/cgroup/cpuset/cgroup.procs", pid);
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cpuset_that_shrinks_is_followed() {
    alone("hotplug::a_cpuset_that_shrinks_is_followed", || {
        without_canaries();
        with_two_cpus(|stays, leaves| {
            let Some(set) = Cpuset::make() else {
                return eprintln!("skipped: no cpuset can be made");
            };
            let (log, both) = (reports(), format!("{stays},{leaves}"));
            let pid = std::process::id().to_string();
            let entered = set
                .write("cpuset.cpus", &both)
                .and_then(|()| set.write("cgroup.procs", &pid));
            assert!(entered.is_some(), "the process goes into its set");
            let queue = Workqueue::builder("percpu").percpu().build().unwrap();
            let managed = Workqueue::builder("managed").build().unwrap();
            is_bound(&queue, leaves);
            assert_eq!(allowed(&managed), mask(&[stays, leaves]));
            let stage = Arc::new(Stage::default());
            stage.spawn(&managed, 3);
            stage.has_started(3);
            set.write("cpuset.cpus", &stays.to_string()).unwrap();
            stage.permits.open();
            managed.flush().unwrap();
            noticed(1);
            let ran = Log::default();
            let cpu = ran.clone();
            on(&queue, leaves, move || cpu.push(sched::current_cpu()));
            queue.flush().unwrap();
            assert_eq!(ran.take(), [stays]);
            assert_eq!(allowed(&managed), mask(&[stays]));
            set.write("cpuset.cpus", &both).unwrap();
            set_process_cpus(&[stays, leaves]);
            noticed(2);
            is_bound(&queue, leaves);
            let said = log.take();
            assert!(said.is_empty(), "{said:?}");
        });
    });
}
