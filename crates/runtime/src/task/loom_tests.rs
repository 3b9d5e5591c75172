//! The end of a task whose runner, whose handle and who looks at it let go of it at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;

/// How often something happened, counted where loom does not see it: a counter that it saw would
/// order what is tested.
#[derive(Default)]
struct Counts {
    ended: AtomicU32,
    freed: AtomicU32,
    dropped: AtomicU32,
}

/// Is part of the task. Who has a reference reads `looked`, who frees the task writes it: loom
/// fails if one of them did not come before.
struct Watcher {
    looked: UnsafeCell<u32>,
    counts: Arc<Counts>,
}

// SAFETY: what is being tested.
unsafe impl Sync for Watcher {}

impl Watcher {
    fn look(&self) {
        // SAFETY: what is being tested.
        self.looked.with(|looked| assert_eq!(unsafe { *looked }, 0));
    }
}

impl Observer for Watcher {
    fn ended(&self) {
        self.look();
        self.counts.ended.fetch_add(1, SeqCst);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.looked.with_mut(|looked| unsafe { *looked = 1 });
        assert_eq!(self.counts.ended.load(SeqCst), 1, "freed before its end");
        self.counts.freed.fetch_add(1, SeqCst);
    }
}

/// What comes of the task. It is written where it is made, and where it is dropped.
struct Value {
    whole: UnsafeCell<bool>,
    counts: Arc<Counts>,
}

// SAFETY: what is being tested.
unsafe impl Send for Value {}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: as above.
        let was_whole = self
            .whole
            .with_mut(|whole| unsafe { std::mem::take(&mut *whole) });
        assert!(was_whole);
        self.counts.dropped.fetch_add(1, SeqCst);
    }
}

/// A task is executed while its handle does this, and somebody else lets go of it.
fn beside_its_end(
    with_looker: bool,
    handle_does: impl Fn(&Handle<dyn AnyTask<Value>, Value>) + Send + Sync + Copy + 'static,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let counts = Arc::new(Counts::default());
        let watcher = Watcher {
            looked: UnsafeCell::new(0),
            counts: Arc::clone(&counts),
        };
        let made = Arc::clone(&counts);
        let func = move || Value {
            whole: UnsafeCell::new(true),
            counts: made,
        };
        let (handle, queued) = Task::pair(func, watcher);
        let looker = with_looker.then(|| {
            let task = handle.clone();
            thread::spawn(move || task.observer.look())
        });
        let handle = Handle::new(handle.any());
        let holder = thread::spawn(move || handle_does(&handle));
        execute(queued);
        holder.join().unwrap();
        if let Some(looker) = looker {
            looker.join().unwrap();
        }
        let Counts {
            ended,
            freed,
            dropped,
        } = &*counts;
        let times = [ended, freed, dropped].map(|times| times.load(SeqCst));
        assert_eq!(times, [1, 1, 1], "ended, freed, value dropped");
    });
}

/// As a worker does.
fn execute<F: FnOnce() -> T, T, O: Observer>(task: TaskRef<Task<F, T, O>>) {
    let header = task.header();
    std::mem::forget(task);
    // SAFETY: its queue's reference, which is given to this call.
    unsafe { run::<F, T, O>(header) };
}

#[test]
fn loom_a_task_that_its_handle_leaves_is_freed_once_and_last() {
    beside_its_end(false, |_| {});
}

#[test]
fn loom_who_still_looks_at_a_task_frees_it() {
    beside_its_end(true, |_| {});
}

#[test]
fn loom_a_value_that_the_handle_takes_is_dropped_by_it_alone() {
    beside_its_end(false, |handle| {
        if let Some(taken) = handle.take() {
            drop(taken.expect("it was executed"));
        }
    });
}
