//! The end of a job, when its helpers are starved.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use cmwq::{Job, JobStats};

use crate::common::{alone::alone, eventually};
use crate::rig::{Caller, has_room_for_a_helper};

const SIZE: usize = 200_000;

/// A job whose helper stands still in its first step, as if it had lost its CPU, until the caller
/// has done everything else. It calls `first` in the beginning and `last` then.
fn with_a_starved_helper(
    job: Job<'_>,
    first: impl Fn() + Sync,
    last: impl Fn() + Sync,
) -> JobStats {
    let caller = Caller::new();
    let (came, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let stats = job.for_each(|range| {
        if caller.is_here() {
            eventually("a helper", || came.load(SeqCst));
        } else if !came.load(SeqCst) {
            first();
            came.store(true, SeqCst);
            let others = SIZE - range.len();
            eventually("all but this step", || done.load(SeqCst) == others);
            last();
        }
        done.fetch_add(range.len(), SeqCst);
    });
    assert_eq!(done.load(SeqCst), SIZE);
    stats.unwrap()
}

#[test]
fn the_caller_does_all_but_the_step_in_flight() {
    if !has_room_for_a_helper() {
        return;
    }
    let _watch = crate::common::watchdog();
    alone("tail::the_caller_does_all_but_the_step_in_flight", || {
        for adaptive in [false, true] {
            // Two threads, so that no other helper does what is left.
            let mut job = Job::new(0..SIZE).max_threads(2).min_chunk(64);
            if adaptive {
                job = job.adaptive_chunks();
            }
            let stats = with_a_starved_helper(job, || (), || ());
            // An adaptive chunk may be one step.
            assert!(adaptive || stats.claims >= 1, "{stats:?}");
        }
    });
}

fn nice() -> i32 {
    // SAFETY: asks for a number.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Whether this process may lower a nice level.
fn may_lift() -> bool {
    let there_and_back = || {
        // SAFETY: changes the nice level of this thread.
        unsafe {
            let tid = libc::gettid() as u32;
            libc::setpriority(libc::PRIO_PROCESS, tid, 19);
            libc::setpriority(libc::PRIO_PROCESS, tid, 0) == 0
        }
    };
    std::thread::spawn(there_and_back).join().unwrap()
}

#[test]
fn the_helper_that_is_waited_for_is_lifted_if_that_is_permitted() {
    if !has_room_for_a_helper() {
        return;
    }
    let _watch = crate::common::watchdog();
    alone(
        "tail::the_helper_that_is_waited_for_is_lifted_if_that_is_permitted",
        || {
            let base = nice();
            // At the last level a helper is no lower.
            let lifts = base < 19 && may_lift();
            let (before, after) = (AtomicI32::new(99), AtomicI32::new(99));
            for _ in 0..2 {
                let job = Job::new(0..SIZE).max_threads(2);
                let stats = with_a_starved_helper(
                    job,
                    || before.store(nice(), SeqCst),
                    || {
                        let patience = Instant::now() + Duration::from_secs(60);
                        while lifts && nice() != base && Instant::now() < patience {
                            std::thread::yield_now();
                        }
                        after.store(nice(), SeqCst);
                    },
                );
                // In the second round by a worker that was lifted in the first one.
                let low = (base + 19).min(19);
                assert_eq!(before.load(SeqCst), low);
                assert_eq!(after.load(SeqCst), if lifts { base } else { low });
                assert_eq!(stats.lifted, u32::from(lifts));
            }
        },
    );
}

/// Ordinary threads keep all CPUs busy; the job is done while they do.
#[test]
fn beside_hogs_a_job_ends() {
    let _watch = crate::common::watchdog();
    let hogs = std::thread::available_parallelism().unwrap().get();
    let (stop, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..hogs {
            threads.spawn(|| {
                while !stop.load(SeqCst) {
                    turns.fetch_add(1, SeqCst);
                }
            });
        }
        eventually("the hogs", || turns.load(SeqCst) > 1_000_000);
        let done = AtomicUsize::new(0);
        for _ in 0..5 {
            let job = Job::new(0..SIZE).for_each(|range| {
                crate::rig::spin(range.len() * 500);
                done.fetch_add(range.len(), SeqCst);
            });
            assert!(job.is_ok());
        }
        stop.store(true, SeqCst);
        assert_eq!(done.load(SeqCst), 5 * SIZE);
    });
}
