//! What items and queues cost in memory, and that what waits makes nothing slower. In a process of
//! its own, whose allocator counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicIsize, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cmwq::{Work, Workqueue};
use common::{Opens, Permits, limited, queue, watchdog};

/// Counts what is allocated, in all and by the calling thread.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static MINE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, SeqCst);
        let _ = MINE.try_with(|mine| {
            let (times, bytes) = mine.get();
            mine.set((times + 1, bytes + layout.size()));
        });
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(block, layout) }
    }
}

/// What one test allocates, and how fast it is, is not for others to change.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often this thread allocates meanwhile, and how much.
fn allocates(act: impl FnOnce()) -> (usize, usize) {
    let before = MINE.get();
    act();
    let after = MINE.get();
    (after.0 - before.0, after.1 - before.1)
}

/// A queue whose only slot is taken until its gate opens.
fn held(name: &str) -> (Workqueue, Arc<Permits>) {
    let (queue, gate) = (limited(name, 1), Arc::new(Permits::new()));
    let inside = gate.clone();
    drop(queue.spawn(move || inside.take()));
    (queue, gate)
}

#[test]
fn a_reusable_item_is_queued_without_an_allocation() {
    let (_watch, _alone) = (watchdog(), alone());
    let (waits, gate) = held("waits");
    let _opens = Opens(&gate);
    for queue in [&queue("runs"), &waits] {
        let works: Vec<Work> = (0..1000).map(|_| Work::new(|| ())).collect();
        // What is made at first use.
        queue.queue(&works[0]).unwrap();
        let count = allocates(|| works[1..].iter().for_each(|work| _ = queue.queue(work)));
        // A list of the pool may grow now and then.
        assert!(count.0 < 10, "{}: {}", queue.name(), count.0);
    }
}

#[test]
fn a_closure_is_one_small_allocation() {
    let (_watch, _alone) = (watchdog(), alone());
    let (queue, gate) = held("closures");
    let _opens = Opens(&gate);
    drop(queue.spawn(|| ()));
    assert_eq!(beside(&queue, || [7_u64; 4]), 64);
    let text = [7_u64; 8];
    assert_eq!(beside(&queue, move || text), 64);
    assert_eq!(beside(&queue, move || _ = std::hint::black_box(text)), 64);
    assert_eq!(beside(&queue, || ()), 64);
}

/// What a spawned closure takes beside itself and its result, which share their place with the
/// payload of a panic. It is one allocation.
fn beside<T: Send + 'static>(
    queue: &Workqueue,
    func: impl FnOnce() -> T + Send + 'static,
) -> usize {
    let result = size_of::<T>().max(size_of::<Box<dyn std::any::Any + Send>>());
    let itself = size_of_val(&func).max(result);
    let count = allocates(|| drop(queue.spawn(func)));
    assert_eq!(count.0, 1);
    count.1 - itself
}

#[test]
fn an_idle_queue_is_small() {
    const QUEUES: usize = 1000;
    let (_watch, _alone) = (watchdog(), alone());
    let before = LIVE.load(SeqCst);
    let queues: Vec<Workqueue> = (0..QUEUES).map(|n| queue(&format!("queue {n}"))).collect();
    queues
        .iter()
        .for_each(|queue| queue.spawn(|| ()).join().unwrap());
    let each = (LIVE.load(SeqCst) - before) as usize / QUEUES;
    println!("{each} bytes an idle queue");
    assert!(each <= 1024, "{each} bytes each");
}

/// Of twenty parts the last take about as long as the first: a cost that grows with what there is
/// would make them many times as long.
fn stays_flat(parts: &[f64]) {
    let fastest = |of: &[f64]| of.iter().copied().fold(f64::MAX, f64::min);
    let (first, last) = (fastest(&parts[..5]), fastest(&parts[15..]));
    println!("{first:.0} ns each at first, {last:.0} at last");
    assert!(last < 4.0 * first, "{parts:?}");
}

/// Nanoseconds that one of so many takes.
fn each(count: usize, act: impl FnOnce()) -> f64 {
    let began = Instant::now();
    act();
    began.elapsed().as_nanos() as f64 / count as f64
}

#[test]
fn the_millionth_item_is_queued_as_fast_as_the_first() {
    const PART: usize = 50_000;
    let (_watch, _alone) = (watchdog(), alone());
    let (queue, gate) = held("a million");
    let _opens = Opens(&gate);
    let ran = Arc::new(AtomicUsize::new(0));
    let part = |_| {
        each(PART, || {
            for _ in 0..PART {
                let ran = ran.clone();
                drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
            }
        })
    };
    let parts: Vec<f64> = (0..20).map(part).collect();
    stays_flat(&parts);
    gate.open();
    let drained = each(20 * PART, || queue.flush().unwrap());
    println!("{drained:.0} ns each to run");
    assert_eq!(ran.load(SeqCst), 20 * PART);
}

#[test]
fn the_last_of_ten_thousand_queues_is_made_and_used_as_fast_as_the_first() {
    const PART: usize = 500;
    let (_watch, _alone) = (watchdog(), alone());
    let mut queues = Vec::new();
    let mut part = |_| {
        each(PART, || {
            for _ in 0..PART {
                let queue = queue("one of many");
                queue.spawn(|| ()).join().unwrap();
                queues.push(queue);
            }
        })
    };
    let parts: Vec<f64> = (0..20).map(&mut part).collect();
    stays_flat(&parts);
}
