//! Children that are forked while a thread of the parent starts. The standard library keeps a table
//! of threads, under a lock; here the allocator stops threads that start, also those that hold it.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;

use common::alone::alone;
use common::fork::in_child;

/// Threads that allocate before they run anything of ours stop at that.
static STOP: AtomicBool = AtomicBool::new(false);
/// How often one has stopped, and how often it was let go.
static STOPS: AtomicUsize = AtomicUsize::new(0);
static GOES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread does not stop. Without a destructor, so that it can be used by the allocator.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

struct Stops;

// SAFETY: the system's allocator, a moment later.
unsafe impl GlobalAlloc for Stops {
    /// # Safety
    /// As of the system's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if STOP.load(SeqCst) && !RUNS.get() {
            let stop = STOPS.fetch_add(1, SeqCst) + 1;
            while GOES.load(SeqCst) < stop {
                thread::yield_now();
            }
        }
        // SAFETY: as we were called.
        unsafe { System.alloc(layout) }
    }

    /// # Safety
    /// As of the system's.
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: as we were called.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Stops = Stops;

/// More threads than a node of the table has room for: one of them allocates under its lock.
const THREADS: usize = 24;

/// Starts a thread that then waits until all have started. Calls `meanwhile` each time that it
/// stops.
fn start<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    started: &'env AtomicUsize,
    meanwhile: impl Fn(),
) {
    let before = started.load(SeqCst);
    scope.spawn(move || {
        RUNS.set(true);
        started.fetch_add(1, SeqCst);
        while started.load(SeqCst) < THREADS {
            thread::yield_now();
        }
    });
    while started.load(SeqCst) == before {
        if STOPS.load(SeqCst) > GOES.load(SeqCst) {
            meanwhile();
            GOES.fetch_add(1, SeqCst);
        }
        thread::yield_now();
    }
}

#[test]
fn a_child_works_whichever_thread_of_the_parent_was_starting() {
    alone(
        "a_child_works_whichever_thread_of_the_parent_was_starting",
        || {
            RUNS.set(true);
            let started = AtomicUsize::new(0);
            let uses = || {
                let joined = cmwq::system().spawn(|| 6 * 7).join();
                assert_eq!(joined.unwrap(), 42);
            };
            thread::scope(|scope| {
                STOP.store(true, SeqCst);
                for _ in 0..THREADS {
                    start(scope, &started, || {
                        in_child(|| {
                            STOP.store(false, SeqCst);
                            uses();
                        });
                    });
                }
                STOP.store(false, SeqCst);
            });
            assert!(STOPS.load(SeqCst) > 0, "none has stopped");
            uses();
        },
    );
}
