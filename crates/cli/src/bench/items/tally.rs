//! How many items have run, and when all have.
//!
//! An item adds one to a counter of its thread: workers that share a counter would pass its cache
//! line around for as long as an item of the fastest pool takes. So no item knows that it is the
//! last. The waiting thread adds the counters up, and sleeps half of the time that is left by the
//! pace so far: it looks a dozen times, and late by a ten-thousandth of the default run.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::super::clock::{self, MS, US, now};
use super::super::usage::Usage;

/// The shortest and the longest sleep between two looks.
const PAUSES: (u64, u64) = (20 * US, 100 * MS);
/// Longer than all items take on a slow machine, with [`PER_ITEM`] for each of them.
const PATIENCE: u64 = 60_000 * MS;
const PER_ITEM: u64 = 100 * US;

/// On a cache line of its own, and on its neighbour, which some CPUs fetch with it.
#[repr(align(128))]
struct Counter(AtomicU64);

static COUNTERS: Mutex<Vec<&'static Counter>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Cell<Option<&'static Counter>> = const { Cell::new(None) };
}

/// Nanoseconds that each item spins.
static SPIN: AtomicU64 = AtomicU64::new(0);

/// Items spin for so many nanoseconds from now on. Called before the first one.
pub(super) fn set_spin(ns: u32) {
    // Relaxed: no pool has a thread yet.
    SPIN.store(u64::from(ns), Relaxed);
}

/// What an item does: spins, if items do, and counts itself.
pub(super) fn item() {
    // Relaxed: it was written before any pool had a thread.
    let spin = SPIN.load(Relaxed);
    if spin > 0 {
        let end = now() + spin;
        while now() < end {}
    }
    count();
}

/// Counts an item that runs on the calling thread.
pub(super) fn count() {
    let Counter(own) = OWN.get().unwrap_or_else(register);
    // Relaxed: nobody else writes it. Release: whoever sees the count sees what the item did.
    own.store(own.load(Relaxed) + 1, Release);
}

#[cold]
fn register() -> &'static Counter {
    let counter: &Counter = Box::leak(Box::new(Counter(AtomicU64::new(0))));
    COUNTERS.lock().unwrap().push(counter);
    OWN.set(Some(counter));
    counter
}

/// Items that have run in this process.
fn total() -> u64 {
    let counters = COUNTERS.lock().unwrap();
    // Acquire: see `count`.
    counters.iter().map(|counter| counter.0.load(Acquire)).sum()
}

/// Some items, from before the first is queued until all have run.
pub(super) struct Span {
    began: u64,
    before: Usage,
    /// What [`total`] is at the end, and how many items that is.
    target: u64,
    items: u64,
}

/// What they took.
pub(super) struct Cost {
    pub(super) elapsed: u64,
    /// Of the whole process, the threads that queue included.
    pub(super) used: Usage,
}

impl Span {
    /// Begins now; `items` will be queued.
    pub(super) fn begin(items: usize) -> Span {
        let items = items as u64;
        Span {
            target: total() + items,
            items,
            before: Usage::now(),
            began: now(),
        }
    }

    /// Waits until all items have run.
    pub(super) fn wait(&self) -> Result<Cost, String> {
        loop {
            let left = self.target - total();
            let elapsed = now() - self.began;
            if left == 0 {
                return Ok(self.end(elapsed));
            }
            if elapsed > PATIENCE + self.items * PER_ITEM {
                return Err(format!("{left} of {} items have not run", self.items));
            }
            clock::sleep(pause(elapsed, self.items - left, left));
        }
    }

    fn end(&self, elapsed: u64) -> Cost {
        Cost {
            elapsed,
            used: Usage::now().since(&self.before),
        }
    }
}

/// Half of what the items that are left will take, at the pace of those that have run.
fn pause(elapsed: u64, run: u64, left: u64) -> u64 {
    let expected = u128::from(elapsed) * u128::from(left) / u128::from(run.max(1));
    let half = u64::try_from(expected / 2).unwrap_or(u64::MAX);
    half.clamp(PAUSES.0, elapsed.clamp(PAUSES.0, PAUSES.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_half_of_what_is_left() {
        assert_eq!(pause(10 * MS, 100, 50), 2_500 * US);
        assert_eq!(pause(10 * MS, 1_000_000, 1), PAUSES.0);
        // Nothing is known before the first item has run: as long again as it has been already.
        assert_eq!(pause(MS, 0, 1_000_000), MS);
        assert_eq!(pause(0, 0, 1_000_000), PAUSES.0);
        assert_eq!(pause(100_000 * MS, 1, 1_000_000), PAUSES.1);
    }

    #[test]
    fn items_of_all_threads_are_waited_for() {
        let span = Span::begin(300);
        let threads: Vec<_> = (0..3)
            .map(|_| std::thread::spawn(|| (0..100).for_each(|_| count())))
            .collect();
        assert!(span.wait().unwrap().elapsed > 0);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(span.target, total());
    }
}
