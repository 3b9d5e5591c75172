//! A latch: set once, waited for by at most one thread.
//!
//! | state | means |
//! | --- | --- |
//! | OPEN | not set, nobody waits |
//! | WAITED | not set; the waiter is written down and may sleep |
//! | SET | for ever |
//!
//! The waiter writes itself down before OPEN becomes WAITED, and the setter reads it only after it
//! found WAITED by its swap to SET, so the cell is never shared. Whoever sets keeps the latch alive
//! until `set` has returned.

use super::this_worker::{self, WaitRef};
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicU32, SeqCst, UnsafeCell};

const OPEN: u32 = 0;
const WAITED: u32 = 1;
const SET: u32 = 2;

enum Waiter {
    Worker(WaitRef),
    Thread(Thread),
}

/// Set once, waited for by at most one thread.
pub struct Latch {
    state: AtomicU32,
    waiter: UnsafeCell<Option<Waiter>>,
}

// SAFETY: the protocol above gives the cell to one thread at a time, and a waiter may be sent.
unsafe impl Sync for Latch {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Latch {}

impl Default for Latch {
    fn default() -> Self {
        Self::new()
    }
}

impl Latch {
    /// One that is not set.
    pub fn new() -> Self {
        Latch {
            state: AtomicU32::new(OPEN),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Whether it is set. What was stored before that is seen then.
    pub fn is_set(&self) -> bool {
        self.state.load(SeqCst) == SET
    }

    /// Sets it and wakes the waiter. What was stored before is seen by who finds it set.
    pub fn set(&self) {
        if self.state.swap(SET, SeqCst) != WAITED {
            return;
        }
        // SAFETY: WAITED was found, so the waiter has left the cell to us.
        match self.waiter.with_mut(|waiter| unsafe { (*waiter).take() }) {
            Some(Waiter::Worker(wait)) => wait.is_over(),
            Some(Waiter::Thread(thread)) => thread.unpark(),
            None => unreachable!("a waited latch has a waiter"),
        }
    }

    /// Writes the calling thread down as the waiter, once. Follow with parking until it is set.
    ///
    /// # Panics
    /// If there already was a waiter: a latch has one.
    pub fn announce(&self) {
        let waiter = match this_worker::current() {
            Some(worker) => Waiter::Worker(worker.next_wait()),
            None => Waiter::Thread(thread::current()),
        };
        // One look: it may be set at any moment.
        let state = self.state.load(SeqCst);
        assert_ne!(state, WAITED, "a latch has one waiter");
        if state == SET {
            return;
        }
        // SAFETY: only the one waiter writes, and the setter does not look while it is OPEN.
        self.waiter.with_mut(|cell| unsafe { *cell = Some(waiter) });
        let _ = self.state.compare_exchange(OPEN, WAITED, SeqCst, SeqCst);
    }
}
