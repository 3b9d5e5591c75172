//! Jobs in odd places: in items, after the shutdown, in forked children.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};

use cmwq::{Job, JobError};

use crate::common::alone::alone;
use crate::common::fork::wait;
use crate::rig::{Caller, Counts, spin};

#[test]
fn in_items_of_every_kind_of_queue() {
    let _watch = crate::common::watchdog();
    let kinds = [
        cmwq::Workqueue::builder("managed"),
        cmwq::Workqueue::builder("percpu").percpu(),
        cmwq::Workqueue::builder("unmanaged").unmanaged(),
        cmwq::Workqueue::builder("ordered").ordered(),
        // In the very pool that the helpers are of.
        cmwq::Workqueue::builder("helpers").unmanaged().nice(19),
    ];
    for kind in kinds {
        let queue = kind.build().unwrap();
        let jobs: Vec<_> = (0..8)
            .map(|_| {
                queue.spawn(|| {
                    let counts = Counts::new(5000);
                    Job::new(0..5000)
                        .for_each(|range| {
                            spin(range.len() * 100);
                            counts.add(range);
                        })
                        .unwrap();
                    counts.all_are(1)
                })
            })
            .collect();
        assert!(jobs.into_iter().all(|job| job.join().unwrap()));
    }
}

#[test]
fn after_the_shutdown_the_caller_is_alone() {
    alone("places::after_the_shutdown_the_caller_is_alone", || {
        cmwq::system().spawn(|| ()).join().unwrap();
        cmwq::shutdown(std::time::Duration::from_secs(10));
        let (counts, caller) = (Counts::new(1000), Caller::new());
        let stats = Job::new(0..1000).for_each(|range| {
            assert!(caller.is_here());
            counts.add(range);
        });
        assert!(counts.all_are(1) && stats.unwrap().helpers == 0);
    });
}

/// The child has the memory of the parent's helpers, and none of their threads.
#[test]
fn a_fork_within_a_job() {
    alone("places::a_fork_within_a_job", || {
        let (caller, child) = (Caller::new(), AtomicI32::new(-1));
        let calls = AtomicUsize::new(0);
        let result = Job::new(0..100_000).for_each(|range| {
            spin(range.len() * 100);
            if caller.is_here() && calls.fetch_add(1, SeqCst) == 3 {
                // SAFETY: the child only runs the rest of this closure and the end of the job.
                child.store(unsafe { libc::fork() }, SeqCst);
            }
        });
        match child.load(SeqCst) {
            0 => {
                let status = i32::from(!matches!(result, Err(JobError::Forked)));
                // SAFETY: ends the child without the parent's exit handlers.
                unsafe { libc::_exit(status) }
            }
            child => {
                assert!(result.is_ok());
                assert_eq!(wait(child), 0);
            }
        }
    });
}

#[test]
fn in_a_forked_child() {
    alone("places::in_a_forked_child", || {
        Job::new(0..100_000)
            .for_each(|range| spin(range.len() * 50))
            .unwrap();
        crate::common::fork::in_child(|| {
            let counts = Counts::new(100_000);
            let job = Job::new(0..100_000);
            job.for_each(|range| counts.add(range)).unwrap();
            assert!(counts.all_are(1));
        });
    });
}
