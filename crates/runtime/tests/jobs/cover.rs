//! Each unit is done once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cmwq::{Job, JobError};

use crate::rig::{Counts, Numbers, spin};

#[test]
fn whatever_the_shape_of_the_job() {
    let _watch = crate::common::watchdog();
    let mut numbers = Numbers::new(1);
    for round in 0..300 {
        let size = numbers.below(20_000);
        let (align, min_chunk) = (numbers.below(100), numbers.below(300));
        let counts = Counts::new(size);
        let mut job = Job::new(0..size)
            .align(align)
            .min_chunk(min_chunk)
            .max_threads(numbers.below(5));
        if round % 2 == 0 {
            job = job.adaptive_chunks();
        }
        let job = job.numa_aware(round % 3 == 0);
        let stats = job.for_each(|range| {
            assert!(range.start % align.max(1) == 0 && range.len() >= min_chunk.min(size));
            spin(range.len() * 20);
            counts.add(range);
        });
        assert!(
            counts.all_are(1),
            "size {size}, align {align}, min_chunk {min_chunk}"
        );
        assert!(stats.unwrap().helped <= size as u64);
    }
}

#[test]
fn an_empty_job_calls_nobody() {
    let range = std::hint::black_box(7)..3;
    let called = AtomicUsize::new(0);
    for job in [Job::new(range), Job::new(0..0), Job::on_nodes([])] {
        let job = job.undo(|_| panic!("nothing to undo"));
        job.for_each(|_| {
            called.fetch_add(1, SeqCst);
        })
        .unwrap();
    }
    assert_eq!(called.load(SeqCst), 0);
}

#[test]
fn the_range_need_not_begin_at_nothing() {
    let seen = Mutex::new(Vec::new());
    let job = Job::new(1_000_003..1_002_000).align(64).min_chunk(100);
    job.for_each(|range| seen.lock().unwrap().push(range))
        .unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_by_key(|range| range.start);
    assert_eq!(
        (seen[0].start, seen.last().unwrap().end),
        (1_000_003, 1_002_000)
    );
    assert!(
        seen.windows(2)
            .all(|pair| pair[0].end == pair[1].start && pair[1].start % 64 == 0)
    );
}

#[test]
fn the_last_numbers_there_are() {
    let counts = Counts::new(1000);
    let first = usize::MAX - 1000;
    Job::new(first..usize::MAX)
        .align(64)
        .for_each(|range| counts.add(range.start - first..range.end - first))
        .unwrap();
    assert!(counts.all_are(1));
    // As many as there can be, in as few calls as may be.
    let calls = AtomicUsize::new(0);
    let job = Job::new(0..usize::MAX).min_chunk(usize::MAX);
    job.for_each(|range| {
        calls.fetch_add(range.len(), SeqCst);
    })
    .unwrap();
    assert_eq!(calls.load(SeqCst), usize::MAX);
}

#[test]
fn elements_of_a_slice() {
    let mut slice: Vec<usize> = vec![0; 100_000];
    let job = Job::new(10..99_990).align(16);
    job.for_each_chunk_mut(&mut slice, |first, chunk| {
        for (index, element) in (first..).zip(chunk) {
            *element += index;
        }
    })
    .unwrap();
    let want = |index| {
        if (10..99_990).contains(&index) {
            index
        } else {
            0
        }
    };
    assert!(
        slice
            .iter()
            .enumerate()
            .all(|(index, &element)| element == want(index))
    );
}

#[test]
#[should_panic(expected = "0..4 is not within a slice of 3 elements")]
fn a_slice_that_is_too_short() {
    let _ = Job::new(0..4).for_each_chunk_mut(&mut [0; 3], |_, _| ());
}

#[test]
#[should_panic(expected = "nice 20 is not in -20..=19")]
fn a_nice_level_that_there_is_not() {
    let _ = Job::new(0..4).nice(20);
}

#[test]
#[should_panic(expected = "5..9 begins before 7")]
fn parts_that_overlap() {
    let _ = Job::on_nodes([(0, 0..7), (1, 5..9)]);
}

#[test]
fn progress_goes_up_to_the_end() {
    let mut told = Vec::new();
    let job = Job::new(0..10_000).progress(|at| {
        assert_eq!(at.size, 10_000);
        told.push(at.done);
    });
    job.for_each(|range| spin(range.len() * 100)).unwrap();
    assert!(told.is_sorted_by(|before, after| before < after));
    assert!(told.len() <= 102 && told.last() == Some(&10_000));
}

#[test]
fn progress_that_panics_ends_the_job() {
    let job = Job::new(0..1000).progress(|_| panic!("cannot draw it"));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.for_each(|_| ())));
    assert!(ended.is_err());
}

#[test]
fn the_error_is_displayed_as_itself() {
    let error = JobError::Failed("no memory");
    assert_eq!(error.to_string(), "no memory");
    assert_eq!(
        JobError::<&str>::Cancelled.to_string(),
        "the job was cancelled"
    );
}
