//! The contract in a few steps each: small enough for an interpreter of the language (miri), which
//! sees every wrong use of memory, and for many schedules of each. What is written here without
//! atomics is ordered by the queues alone.

mod common;

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use cmwq::{Work, Workqueue};
use common::{Opens, Permits, limited, queue, watchdog};

/// A number without any protection.
#[derive(Default)]
struct Plain(UnsafeCell<usize>);

// SAFETY: that no two threads use it at once is what the tests test.
unsafe impl Sync for Plain {}

impl Plain {
    fn add(&self, n: usize) -> usize {
        // SAFETY: as above.
        unsafe {
            *self.0.get() += n;
            *self.0.get()
        }
    }
}

/// An item that counts its executions, and lets others in while it does.
fn counting() -> (Work, Arc<Plain>) {
    let runs = Arc::new(Plain::default());
    let counter = runs.clone();
    let work = Work::new(move || {
        counter.add(1);
        std::thread::yield_now();
        counter.add(1);
    });
    (work, runs)
}

fn of_another_pool(name: &str) -> Workqueue {
    Workqueue::builder(name).nice(3).build().unwrap()
}

#[test]
fn an_item_runs_once_per_queueing_and_never_twice_at_once() {
    let _watch = watchdog();
    let queues = [queue("left"), queue("right")];
    let (work, runs) = counting();
    let queued = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for queue in &queues {
            threads.spawn(|| {
                for _ in 0..8 {
                    queued.fetch_add(usize::from(queue.queue(&work).unwrap()), SeqCst);
                    std::thread::yield_now();
                }
            });
        }
    });
    queues.iter().for_each(|queue| queue.flush().unwrap());
    assert_eq!(runs.add(0), 2 * queued.load(SeqCst));
}

#[test]
fn an_execution_sees_what_was_written_before_its_item_was_queued() {
    let _watch = watchdog();
    let (queue, data) = (queue("visible"), Arc::new(Plain::default()));
    let inside = data.clone();
    let work = Work::new(move || _ = inside.add(1));
    for round in 1..=5 {
        assert_eq!(data.add(1), 2 * round - 1);
        assert_eq!(queue.queue(&work), Ok(true));
        queue.flush().unwrap();
        assert_eq!(data.add(0), 2 * round);
    }
}

#[test]
fn an_item_queues_itself_again() {
    const TIMES: usize = 5;
    let _watch = watchdog();
    static ITSELF: OnceLock<Work> = OnceLock::new();
    let (queue, runs) = (queue("again"), Plain::default());
    let (own, (ended, told)) = (queue.clone(), mpsc::channel());
    let work = ITSELF.get_or_init(|| {
        Work::new(move || match runs.add(1) {
            TIMES => ended.send(()).unwrap(),
            _ => assert_eq!(own.queue(ITSELF.get().unwrap()), Ok(true)),
        })
    });
    assert_eq!(queue.queue(work), Ok(true));
    told.recv().unwrap();
}

#[test]
fn an_item_drops_its_own_last_handle() {
    let _watch = watchdog();
    let queue = queue("last handle");
    let own = Arc::new(Mutex::new(None::<Work>));
    let (inside, captured) = (own.clone(), Arc::new(Plain::default()));
    let weak = Arc::downgrade(&captured);
    let work = Work::new(move || {
        drop(inside.lock().unwrap().take());
        captured.add(1);
    });
    // Its handle is there before it may run.
    let mut slot = own.lock().unwrap();
    queue.queue(&work).unwrap();
    *slot = Some(work);
    drop(slot);
    queue.flush().unwrap();
    drop(queue);
    assert_eq!(weak.strong_count(), 0);
}

#[test]
fn a_queue_is_dropped_inside_of_its_own_item() {
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), limited("own queue", 1));
    let _opens = Opens(&gate);
    let (ran, told) = mpsc::channel();
    let (first, own, behind) = (gate.clone(), queue.clone(), ran.clone());
    drop(queue.spawn(move || {
        first.take();
        drop(own);
        ran.send(1).unwrap();
    }));
    let work = Work::new(move || behind.send(2).unwrap());
    assert_eq!(queue.queue(&work), Ok(true));
    drop(queue);
    gate.open();
    assert_eq!((told.recv(), told.recv()), (Ok(1), Ok(2)));
}

#[test]
fn values_come_back_and_nothing_is_left_behind() {
    let _watch = watchdog();
    let (queue, captured) = (queue("values"), Arc::new(()));
    let weak = Arc::downgrade(&captured);
    let handles: Vec<_> = (0..6)
        .map(|n| {
            let captured = captured.clone();
            queue.spawn(move || (n, captured))
        })
        .collect();
    drop(captured);
    for (n, handle) in handles.into_iter().enumerate() {
        // Every second value is taken, the others are dropped by whoever is last.
        if n % 2 == 0 {
            assert_eq!(handle.join().unwrap().0, n);
        }
    }
    drop(queue);
    assert_eq!(weak.strong_count(), 0);
}

#[test]
fn closures_of_a_scope_borrow() {
    let _watch = watchdog();
    let (queue, total) = (queue("borrow"), AtomicUsize::new(0));
    let mut numbers = [1, 2, 3, 4, 5, 6];
    let body = queue.scope(|scope| {
        for pair in numbers.chunks_mut(2) {
            scope.spawn(|| pair.iter_mut().for_each(|n| *n *= 2));
        }
        scope.spawn(|| scope.spawn(|| total.fetch_add(1, SeqCst)));
    });
    body.unwrap();
    assert_eq!((numbers, total.load(SeqCst)), ([2, 4, 6, 8, 10, 12], 1));
}

#[test]
fn items_wait_for_items_of_their_own_and_of_another_pool() {
    let _watch = watchdog();
    let (near, far) = (queue("near"), of_another_pool("far"));
    let (inner, other) = (near.clone(), far.clone());
    let outer = near.spawn(move || {
        let joined = inner.spawn(|| 1).join().unwrap() + other.spawn(|| 2).join().unwrap();
        drop(other.spawn(|| ()));
        other.flush().unwrap();
        joined
    });
    assert_eq!(outer.join().unwrap(), 3);
}

#[test]
fn several_flush_at_once() {
    let _watch = watchdog();
    let (queue, ended) = (limited("flushers", 1), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let own = Arc::new(Plain::default());
                let inside = own.clone();
                drop(queue.spawn(move || inside.add(1)));
                queue.flush().unwrap();
                ended.fetch_add(own.add(0), SeqCst);
            });
        }
    });
    assert_eq!(ended.load(SeqCst), 3);
}

#[test]
fn a_panic_ends_its_execution_only() {
    let _watch = watchdog();
    let (queue, runs) = (limited("panics", 1), Arc::new(Plain::default()));
    let inside = runs.clone();
    let work = Work::new(move || assert!(inside.add(1) > 1, "the first time"));
    for _ in 0..2 {
        assert_eq!(queue.queue(&work), Ok(true));
        queue.flush().unwrap();
    }
    assert_eq!(runs.add(0), 2);
    assert!(
        queue
            .spawn(|| panic!("a task"))
            .join()
            .unwrap_err()
            .is_panic()
    );
}
