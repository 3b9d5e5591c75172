//! Who helps, and at which nice level.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};

use cmwq::Job;

use crate::common::alone::alone;
use crate::common::eventually;
use crate::rig::{Caller, Counts, has_room_for_a_helper};

/// Runs a job that does not end before a helper has done a step; the nice level of that.
fn with_a_helper(job: Job<'_>) -> i32 {
    let caller = Caller::new();
    let (came, nice) = (AtomicBool::new(false), AtomicI32::new(i32::MIN));
    let stats = job.for_each(|_| match caller.is_here() {
        true => eventually("a helper", || came.load(SeqCst)),
        false => {
            // SAFETY: asks for a number.
            nice.store(unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }, SeqCst);
            came.store(true, SeqCst);
        }
    });
    let stats = stats.unwrap();
    assert!(
        stats.helpers >= 1 && stats.helped >= 1 && stats.chunks >= 2,
        "{stats:?}"
    );
    nice.into_inner()
}

#[test]
fn helpers_are_nice() {
    if !has_room_for_a_helper() {
        return;
    }
    alone("helpers::helpers_are_nice", || {
        // SAFETY: asks for a number.
        let base = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        assert_eq!(with_a_helper(Job::new(0..1000)), (base + 19).min(19));
        assert_eq!(with_a_helper(Job::new(0..1000).nice(0)), base);
        assert_eq!(
            with_a_helper(Job::new(0..1000).adaptive_chunks().nice(7)),
            (base + 7).min(19)
        );
    });
}

#[test]
fn a_job_for_one_thread_has_no_helper() {
    for job in [
        Job::new(0..100_000).max_threads(1),
        Job::new(0..100).min_chunk(51),
    ] {
        let caller = Caller::new();
        let stats = job.for_each(|_| assert!(caller.is_here())).unwrap();
        assert_eq!((stats.helpers, stats.helped, stats.claims), (0, 0, 0));
    }
}

/// Helpers that have ended, were never begun or came too late are none any more.
#[test]
fn helpers_are_given_back() {
    if !has_room_for_a_helper() {
        return;
    }
    alone("helpers::helpers_are_given_back", || {
        for size in 0..500 {
            Job::new(0..size).for_each(|_| ()).unwrap();
        }
        let _ = std::panic::catch_unwind(|| Job::new(0..100).for_each(|_| panic!("as planned")));
        with_a_helper(Job::new(0..1000));
    });
}

/// A job that has to begin alone gets its helpers when another one has ended.
#[test]
fn who_comes_too_late_gets_helpers_later() {
    if !has_room_for_a_helper() {
        return;
    }
    alone("helpers::who_comes_too_late_gets_helpers_later", || {
        let (all_taken, late_began) = (AtomicBool::new(false), AtomicBool::new(false));
        let helping = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            let cpus = std::thread::available_parallelism().unwrap().get();
            let (helping, all_taken, late_began) = (&helping, &all_taken, &late_began);
            threads.spawn(move || {
                let caller = Caller::new();
                let first = Job::new(0..1000).for_each(|_| {
                    helping.fetch_add(usize::from(!caller.is_here()), SeqCst);
                    eventually("all helpers", || helping.load(SeqCst) >= cpus * 4 / 5);
                    all_taken.store(true, SeqCst);
                    eventually("the late job", || late_began.load(SeqCst));
                });
                first.unwrap();
            });
            eventually("no helper left", || all_taken.load(SeqCst));
            let (caller, came) = (Caller::new(), AtomicBool::new(false));
            let late = Job::new(0..1_000_000).for_each(|range| {
                late_began.store(true, SeqCst);
                came.fetch_or(!caller.is_here(), SeqCst);
                // Goes on in short steps, so that it may ask, until there is one; but ends.
                if !came.load(SeqCst) && range.end < 900_000 {
                    std::thread::sleep(std::time::Duration::from_micros(250 * range.len() as u64));
                }
            });
            assert!(late.unwrap().helpers >= 1);
        });
    });
}

/// At most 4/5 of the CPUs, however many jobs there are.
#[test]
fn helpers_have_a_quota() {
    alone("helpers::helpers_have_a_quota", || {
        let cpus = std::thread::available_parallelism().unwrap().get();
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..cpus + 3 {
                threads.spawn(|| {
                    let caller = Caller::new();
                    Job::new(0..200).min_chunk(1).for_each(|_| {
                        let helps = usize::from(!caller.is_here());
                        most.fetch_max(now.fetch_add(helps, SeqCst) + helps, SeqCst);
                        std::thread::sleep(std::time::Duration::from_micros(100));
                        now.fetch_sub(helps, SeqCst);
                    })
                });
            }
        });
        assert!(
            most.load(SeqCst) <= cpus * 4 / 5,
            "{most:?} helpers on {cpus} CPUs"
        );
    });
}

#[test]
fn on_many_threads_at_once_and_nested() {
    let _watch = crate::common::watchdog();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..5 {
                    let counts = Counts::new(40 * 500);
                    let outer = Job::new(0..40).for_each(|rows| {
                        for row in rows {
                            let inner = Job::new(row * 500..(row + 1) * 500);
                            inner.for_each(|range| counts.add(range)).unwrap();
                        }
                    });
                    assert!(outer.is_ok() && counts.all_are(1));
                }
            });
        }
    });
}

#[test]
fn parts_of_nodes_are_all_done() {
    let seen = Mutex::new(Vec::new());
    // The second node need not exist.
    let job = Job::on_nodes([(0, 0..600), (63, 800..1000)]).min_chunk(10);
    job.for_each(|range| seen.lock().unwrap().extend(range))
        .unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert!(seen.into_iter().eq((0..600).chain(800..1000)));
}
