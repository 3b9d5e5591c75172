//! Reusable items: when they run, how often, and that nothing of them is left behind.

mod common;

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};

use cmwq::Work;
use common::{Opens, Permits, eventually, limited, queue, watchdog};

/// An item that counts its executions.
fn counting() -> (Work, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let work = Work::new(move || {
        counter.fetch_add(1, SeqCst);
    });
    (work, runs)
}

#[test]
fn queueing_a_pending_item_changes_nothing() {
    let _watch = watchdog();
    let gate = Arc::new(Permits::new());
    let queue = limited("pending", 1);
    let _opens = Opens(&gate);
    let (work, runs) = counting();
    let first = gate.clone();
    drop(queue.spawn(move || first.take()));
    assert!(!work.is_pending());
    assert_eq!(queue.queue(&work), Ok(true));
    assert!(work.is_pending());
    assert!(queue.queue(&work) == Ok(false) && queue.queue(&work.clone()) == Ok(false));
    assert_eq!(queue.queue(&work), Ok(false));
    gate.open();
    queue.flush().unwrap();
    assert_eq!((runs.load(SeqCst), work.is_pending()), (1, false));
    assert_eq!(queue.queue(&work), Ok(true));
    queue.flush().unwrap();
    assert_eq!(runs.load(SeqCst), 2);
}

#[test]
fn an_item_runs_once_per_queueing() {
    let _watch = watchdog();
    let queue = queue("once");
    let (work, runs) = counting();
    let queued = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..5_000 {
                    queued.fetch_add(usize::from(queue.queue(&work).unwrap()), SeqCst);
                }
            });
        }
    });
    queue.flush().unwrap();
    assert_eq!(runs.load(SeqCst), queued.load(SeqCst));
}

#[test]
fn an_item_queues_itself_again() {
    const TIMES: usize = 2_000;
    let _watch = watchdog();
    static ITSELF: OnceLock<Work> = OnceLock::new();
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let runs = Arc::new(AtomicUsize::new(0));
    let queue = queue("again");
    let (own_queue, own_runs) = (queue.clone(), runs.clone());
    let work = ITSELF.get_or_init(|| {
        Work::new(move || {
            if own_runs.fetch_add(1, SeqCst) + 1 < TIMES {
                // It runs, so it is not pending.
                let queued = own_queue.queue(ITSELF.get().unwrap());
                REFUSED.fetch_add(usize::from(queued != Ok(true)), SeqCst);
            }
        })
    });
    assert_eq!(queue.queue(work), Ok(true));
    eventually("it ran that often", || runs.load(SeqCst) == TIMES);
    queue.flush().unwrap();
    assert_eq!((runs.load(SeqCst), REFUSED.load(SeqCst)), (TIMES, 0));
}

#[test]
fn an_item_never_runs_twice_at_once() {
    const ITEMS: usize = 50;
    let _watch = watchdog();
    let queues = [queue("left"), queue("right")];
    let (runs, queued) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let twice = Arc::new(AtomicBool::new(false));
    let items: Vec<Work> = (0..ITEMS)
        .map(|n| {
            let (runs, twice, inside) = (runs.clone(), twice.clone(), AtomicBool::new(false));
            Work::new(move || {
                twice.fetch_or(inside.swap(true, SeqCst), SeqCst);
                match n % 3 {
                    0 => std::thread::yield_now(),
                    1 => std::thread::sleep(std::time::Duration::from_micros(50)),
                    _ => {}
                }
                runs.fetch_add(1, SeqCst);
                inside.store(false, SeqCst);
            })
        })
        .collect();
    std::thread::scope(|threads| {
        for from in 0..8 {
            let (items, queues, queued) = (&items, &queues, &queued);
            threads.spawn(move || {
                for n in 0..10_000 {
                    let work = &items[(from * 7 + n * 11) % ITEMS];
                    queued.fetch_add(usize::from(queues[n % 2].queue(work).unwrap()), SeqCst);
                }
            });
        }
    });
    queues.iter().for_each(|queue| queue.flush().unwrap());
    assert!(!twice.load(SeqCst));
    assert_eq!(runs.load(SeqCst), queued.load(SeqCst));
}

#[test]
fn an_execution_sees_what_was_stored_before_queueing_refused_or_not() {
    let _watch = watchdog();
    let queue = queue("visible");
    let (data, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (from, to) = (data.clone(), seen.clone());
    // Relaxed: queueing and flushing alone order these two words.
    let work = Work::new(move || to.store(from.load(Relaxed), Relaxed));
    for value in 1..=40_000 {
        // Relaxed: as above.
        data.store(value, Relaxed);
        queue.queue(&work).unwrap();
        if value % 64 == 0 {
            queue.flush().unwrap();
            // Relaxed: as above.
            assert_eq!(seen.load(Relaxed), value);
        }
    }
}

#[test]
fn items_of_a_queue_with_one_slot_run_in_order() {
    let _watch = watchdog();
    let queue = limited("in order", 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    for n in 0..2_000 {
        let order = order.clone();
        drop(queue.spawn(move || order.lock().unwrap().push(n)));
    }
    queue.flush().unwrap();
    assert!(order.lock().unwrap().iter().copied().eq(0..2_000));
}

#[test]
fn items_of_any_queue_begin_in_order() {
    let _watch = watchdog();
    // One worker at a time is let in, so that the order of beginning can be written down.
    let (gate, door) = (Arc::new(Permits::new()), limited("door", 1));
    let _opens = Opens(&gate);
    let first = gate.clone();
    drop(door.spawn(move || first.take()));
    let order = Arc::new(Mutex::new(Vec::new()));
    let items: Vec<Work> = (0..100)
        .map(|n| {
            let order = order.clone();
            Work::new(move || order.lock().unwrap().push(n))
        })
        .collect();
    items
        .iter()
        .for_each(|work| assert_eq!(door.queue(work), Ok(true)));
    gate.open();
    door.flush().unwrap();
    assert!(order.lock().unwrap().iter().copied().eq(0..100));
}

#[test]
fn a_panic_leaves_worker_and_item_usable() {
    let _watch = watchdog();
    let queue = limited("panics", 1);
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let work = Work::new(move || {
        if counter.fetch_add(1, SeqCst).is_multiple_of(2) {
            panic!("every second time");
        }
    });
    for _ in 0..10 {
        assert_eq!(queue.queue(&work), Ok(true));
        queue.flush().unwrap();
    }
    assert_eq!(runs.load(SeqCst), 10);
    assert_eq!(queue.spawn(|| 7).join().unwrap(), 7);
}

/// Panics when dropped, unless that happens while something panics already.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

/// Panics when it is dropped as the payload of a panic.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("the payload was dropped");
    }
}

#[test]
fn a_panic_while_something_is_dropped_leaves_the_worker_usable() {
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), limited("bombs", 1));
    let _opens = Opens(&gate);
    let first = gate.clone();
    drop(queue.spawn(move || first.take()));
    // The value that nobody takes, what the closure captured, what an item captured, a payload.
    drop(queue.spawn(|| Bomb));
    let captured = Bomb;
    let handle = queue.spawn(move || drop(captured));
    let captured = Bomb;
    let work = Work::new(move || _ = &captured);
    assert_eq!(queue.queue(&work), Ok(true));
    drop(work);
    assert_eq!(
        queue.queue(&Work::new(|| std::panic::panic_any(Payload))),
        Ok(true)
    );
    gate.open();
    assert!(handle.join().unwrap_err().is_panic());
    queue.flush().unwrap();
    assert_eq!(queue.spawn(|| 7).join().unwrap(), 7);
}

#[test]
fn an_item_may_drop_its_own_last_handle() {
    let _watch = watchdog();
    let queue = queue("last handle");
    let captured = Arc::new(());
    let own = Arc::new(Mutex::new(None::<Work>));
    let (own_inside, weak) = (own.clone(), Arc::downgrade(&captured));
    let (gone, told) = std::sync::mpsc::channel();
    let work = Work::new(move || {
        let last = own_inside.lock().unwrap().take();
        drop(last);
        // What was captured is still there: the execution holds on to it.
        gone.send(Arc::strong_count(&captured)).unwrap();
    });
    queue.queue(&work).unwrap();
    *own.lock().unwrap() = Some(work);
    // It may have run before its handle was there to be taken: then once more.
    if let Some(work) = own.lock().unwrap().take() {
        drop(work);
    }
    assert_eq!(told.recv().unwrap(), 1);
    queue.flush().unwrap();
    eventually("it is freed", || weak.upgrade().is_none());
}

#[test]
fn nothing_of_an_item_is_left_behind() {
    let _watch = watchdog();
    let queue = queue("freed");
    let captured = Arc::new(());
    let weak = Arc::downgrade(&captured);
    let never_queued = {
        let captured = captured.clone();
        Work::new(move || _ = &captured)
    };
    drop(never_queued);
    for _ in 0..200 {
        let (one, other, third) = (captured.clone(), captured.clone(), captured.clone());
        let work = Work::new(move || _ = &one);
        queue.queue(&work).unwrap();
        queue.queue(&work).unwrap();
        drop(queue.spawn(move || drop(other)));
        drop(queue.spawn(move || third));
    }
    drop(captured);
    queue.flush().unwrap();
    eventually("all are freed", || weak.strong_count() == 0);
}

#[test]
fn a_million_queued_items_run() {
    const ITEMS: usize = 1_000_000;
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), limited("million", 2));
    let _opens = Opens(&gate);
    for _ in 0..2 {
        let gate = gate.clone();
        drop(queue.spawn(move || gate.take()));
    }
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..ITEMS {
        let runs = runs.clone();
        drop(queue.spawn(move || {
            runs.fetch_add(1, SeqCst);
        }));
    }
    assert_eq!(runs.load(SeqCst), 0, "both slots are taken");
    gate.open();
    queue.flush().unwrap();
    assert_eq!(runs.load(SeqCst), ITEMS);
}
