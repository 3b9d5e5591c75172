//! Jobs that are not completed: errors, panics, cancellation, and what is undone.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cmwq::{CancelToken, Job, JobError};

use crate::rig::{Counts, Numbers, spin};

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Error,
    Panic,
    Cancel,
}

/// A job that fails at `unit`; what was done by then, less what was undone.
fn fails_at(unit: usize, size: usize, way: Way, numbers: &mut Numbers) -> Counts {
    let counts = Counts::new(size);
    let token = CancelToken::new();
    let undone: RefCell<Vec<Range<usize>>> = RefCell::default();
    let mut job = Job::new(0..size)
        .align(numbers.below(20))
        .min_chunk(numbers.below(50));
    if numbers.below(2) == 0 {
        job = job.adaptive_chunks();
    }
    let job = job.cancel_token(&token).undo(|range| {
        counts.take_back(range.clone());
        undone.borrow_mut().push(range);
    });
    let run = || {
        job.run(|range| {
            spin(range.len() * 50);
            match way {
                Way::Error if range.contains(&unit) => return Err(unit),
                Way::Panic if range.contains(&unit) => panic!("unit {unit}"),
                Way::Cancel if range.contains(&unit) => token.cancel(),
                _ => {}
            }
            counts.add(range);
            Ok(())
        })
    };
    match (way, catch_unwind(AssertUnwindSafe(run))) {
        (Way::Error, Ok(result)) => assert_eq!(result, Err(JobError::Failed(unit))),
        // Unless that was the last step.
        (Way::Cancel, Ok(Ok(_))) => assert!(counts.all_are(1)),
        (Way::Cancel, Ok(result)) => assert_eq!(result, Err(JobError::Cancelled)),
        (Way::Panic, Err(payload)) => {
            assert_eq!(
                *payload.downcast::<String>().unwrap(),
                format!("unit {unit}")
            );
        }
        _ => panic!("another end"),
    }
    assert!(
        undone
            .borrow()
            .is_sorted_by(|one, next| one.end < next.start)
    );
    counts
}

#[test]
fn what_was_completed_is_undone_and_nothing_else() {
    let _watch = crate::common::watchdog();
    let mut numbers = Numbers::new(2);
    for way in [Way::Error, Way::Panic, Way::Cancel] {
        for _ in 0..60 {
            let size = 1 + numbers.below(20_000);
            let counts = fails_at(numbers.below(size), size, way, &mut numbers);
            let completed = way == Way::Cancel && counts.all_are(1);
            assert!(completed || counts.all_are(0));
        }
    }
}

#[test]
fn nobody_begins_a_step_after_an_error() {
    let _watch = crate::common::watchdog();
    let after = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let result = Job::new(0..1_000_000).max_threads(1).run(|_| {
        after.fetch_add(failed.load(SeqCst), SeqCst);
        failed.store(1, SeqCst);
        Err("at once")
    });
    assert_eq!(result, Err(JobError::Failed("at once")));
    assert_eq!(after.load(SeqCst), 0);
}

#[test]
fn the_panic_of_a_helper_is_the_callers() {
    if !crate::rig::has_room_for_a_helper() {
        return;
    }
    crate::common::alone::alone("ends::the_panic_of_a_helper_is_the_callers", || {
        let caller = crate::rig::Caller::new();
        let begun = AtomicUsize::new(0);
        let job = Job::new(0..1_000_000);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            job.for_each(|_| match caller.is_here() {
                // The helper has its chance.
                true => crate::common::eventually("a helper", || begun.load(SeqCst) > 0),
                false => {
                    begun.store(1, SeqCst);
                    std::panic::panic_any(42);
                }
            })
        }));
        assert_eq!(*ended.unwrap_err().downcast::<i32>().unwrap(), 42);
    });
}

/// What comes between two steps is not the step: that was completed, and is undone.
#[test]
fn a_progress_that_panics_behind_a_step_undoes_that_step() {
    let _watch = crate::common::watchdog();
    let counts = Counts::new(1000);
    let job = Job::new(0..1000)
        .progress(|_| panic!("progress"))
        .undo(|range| counts.take_back(range));
    let ended = catch_unwind(AssertUnwindSafe(|| job.for_each(|range| counts.add(range))));
    assert_eq!(*ended.unwrap_err().downcast::<&str>().unwrap(), "progress");
    assert!(counts.all_are(0));
}

/// Nor is it less undone if all was completed by then.
#[test]
fn a_progress_that_panics_when_it_is_dropped_undoes_all() {
    let _watch = crate::common::watchdog();
    struct Fuse;
    impl Drop for Fuse {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let (counts, fuse) = (Counts::new(1000), Fuse);
    let job = Job::new(0..1000)
        .progress(move |_| _ = &fuse)
        .undo(|range| counts.take_back(range));
    let ended = catch_unwind(AssertUnwindSafe(|| job.for_each(|range| counts.add(range))));
    assert_eq!(*ended.unwrap_err().downcast::<&str>().unwrap(), "dropped");
    assert!(counts.all_are(0));
}

#[test]
fn of_many_steps_that_fail_at_once_one_is_told() {
    let _watch = crate::common::watchdog();
    for round in 0..200 {
        let counts = Counts::new(64);
        let calls = Counts::new(64);
        let job = Job::new(0..64)
            .nice(0)
            .undo(|range| counts.take_back(range));
        let result = job.run(|range| {
            calls.add(range.clone());
            spin(round * 10);
            match range.start % 3 {
                0 => Err(range.start),
                _ => {
                    counts.add(range);
                    Ok(())
                }
            }
        });
        assert!(matches!(result, Err(JobError::Failed(unit)) if unit % 3 == 0));
        assert!(counts.all_are(0));
        assert!(!calls.any_above(1));
    }
}

#[test]
fn an_undo_that_panics() {
    let job = Job::new(0..1000).max_threads(1).undo(|_| panic!("undo"));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        job.run(|range| {
            if range.contains(&500) {
                Err(())
            } else {
                Ok(())
            }
        })
    }));
    assert_eq!(*ended.unwrap_err().downcast::<&str>().unwrap(), "undo");
}

#[test]
fn cancelled_before_it_began() {
    let token = CancelToken::new();
    token.cancel();
    let job = Job::new(0..1000)
        .cancel_token(&token)
        .undo(|_| panic!("nothing was done"));
    let result = job.for_each(|_| panic!("cancelled"));
    assert!(result.unwrap_err().is_cancelled());
}

#[test]
fn cancelled_when_all_is_done_is_completed() {
    let token = CancelToken::new();
    let done = AtomicUsize::new(0);
    let job = Job::new(0..1000).max_threads(1).cancel_token(&token);
    let result = job.for_each(|range| {
        if done.fetch_add(range.len(), SeqCst) + range.len() == 1000 {
            token.cancel();
        }
    });
    assert!(result.is_ok());
}

/// A job that is over before its helpers come: who has not begun has borrowed nothing for long.
#[test]
fn helpers_that_have_not_begun_are_taken_back() {
    for _ in 0..3 {
        let counts = Counts::new(40);
        let job = Job::new(0..40).for_each(|range| counts.add(range));
        assert!(job.is_ok() && counts.all_are(1));
    }
}
