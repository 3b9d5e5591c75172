//! A latch: set for good, waited for by at most one at a time: a worker, a thread, or the waker of
//! a future.
//!
//! | bit | means |
//! | --- | --- |
//! | SET | what is waited for has happened |
//! | LEFT | nobody waits from now on |
//! | HELD | a waiter is in the cell, for the setter |
//!
//! The latch has two sides: one sets it, the other waits. While HELD is clear the cell belongs to
//! the waiting side. The setter is who sets SET first; whoever does so after that has no part. It
//! reads the word once, as it sets SET. If it finds HELD, the cell is the setter's from then on,
//! else it stays the waiting side's. So the waiting side looks at what it found each time that it
//! sets or clears HELD. Who sets it keeps the latch alive until the call has returned.

use std::task::Waker;

use super::this_worker::{self, WaitRef};
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicU32, SeqCst, UnsafeCell};
use crate::user;

const SET: u32 = 1;
const LEFT: u32 = 2;
const HELD: u32 = 4;

enum Waiter {
    Worker(WaitRef),
    Thread(Thread),
    Future(Waker),
}

/// Set for good, waited for by at most one at a time. It takes 16 bytes; a waiter is allocated.
pub struct Latch {
    word: AtomicU32,
    waiter: UnsafeCell<Option<Box<Waiter>>>,
}

/// What the setter has found.
#[must_use = "a waiter is to be told"]
pub struct End {
    left: bool,
    waiter: Option<Box<Waiter>>,
}

impl End {
    /// Whether the waiting side has [left](Latch::leave).
    pub fn is_left(&self) -> bool {
        self.left
    }

    /// Wakes the waiter. A waker is code of the program: to be called where nothing is locked.
    pub fn tell(self) {
        match self.waiter.map(|waiter| *waiter) {
            Some(Waiter::Worker(wait)) => wait.is_over(),
            Some(Waiter::Thread(thread)) => thread.unpark(),
            Some(Waiter::Future(waker)) => {
                user::run(|| waker.wake());
            }
            None => {}
        }
    }
}

/// A waker is code of the program.
fn discard(waiter: Option<Box<Waiter>>) {
    if let Some(waiter) = waiter {
        user::discard(waiter);
    }
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
            word: AtomicU32::new(0),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Whether it is set. What was stored before that is seen then.
    pub fn is_set(&self) -> bool {
        self.word.load(SeqCst) & SET != 0
    }

    /// Sets it and wakes the waiter. What was stored before is seen by who finds it set. Where
    /// something is locked nobody may have called [`await_set`](Self::await_set).
    pub fn set(&self) {
        self.end().tell();
    }

    /// Sets it. The waiter is yet to be told. If it is set already, this finds nobody.
    pub fn end(&self) -> End {
        let before = self.word.fetch_or(SET, SeqCst);
        let finds = |bit| before & (bit | SET) == bit;
        End {
            left: finds(LEFT),
            // SAFETY: HELD was found by who has set it first, so the cell is the setter's.
            waiter: finds(HELD).then(|| unsafe { self.replace(None) }).flatten(),
        }
    }

    /// Writes the calling thread down as the waiter. Follow with parking until it is set. Called by
    /// the waiting side, as everything below.
    ///
    /// # Panics
    /// If a thread is the waiter already: a latch has one.
    pub fn announce(&self) {
        let old = self.take_back();
        let is_thread = |old: &Waiter| !matches!(old, Waiter::Future(_));
        assert!(
            !old.as_deref().is_some_and(is_thread),
            "a latch has one waiter"
        );
        discard(old);
        if self.is_set() {
            return;
        }
        let waiter = match this_worker::current() {
            Some(worker) => Waiter::Worker(worker.next_wait()),
            None => Waiter::Thread(thread::current()),
        };
        self.hold(Box::new(waiter));
    }

    /// True if it is set. Else this waker is called when it is, and no earlier one.
    pub fn await_set(&self, waker: &Waker) -> bool {
        if self.is_set() {
            return true;
        }
        let old = self.take_back();
        if self.is_set() {
            discard(old);
            return true;
        }
        let is_it = |old: &Waiter| matches!(old, Waiter::Future(old) if old.will_wake(waker));
        let new = match old {
            Some(old) if is_it(&old) => old,
            old => {
                discard(old);
                // The program's code, which may panic: nothing is in the cell now, and HELD is
                // clear.
                Box::new(Waiter::Future(waker.clone()))
            }
        };
        self.hold(new)
    }

    /// Nobody waits from now on. True if it is set: then the setter has not found this. The last
    /// call of the waiting side.
    pub fn leave(&self) -> bool {
        discard(self.take_back());
        self.word.fetch_or(LEFT, SeqCst) & SET != 0
    }

    /// Leaves a waiter to the setter. True if that has been too late. HELD is clear before.
    fn hold(&self, waiter: Box<Waiter>) -> bool {
        // SAFETY: HELD is clear, so the cell is ours.
        unsafe { self.replace(Some(waiter)) };
        if self.word.fetch_or(HELD, SeqCst) & SET == 0 {
            return false;
        }
        // SAFETY: it was set in between, by who found HELD clear.
        discard(unsafe { self.replace(None) });
        true
    }

    /// The waiter in the cell, unless the setter has it. HELD is clear after this, or it is set.
    fn take_back(&self) -> Option<Box<Waiter>> {
        // Only this side sets it, so a look is enough where nobody waits.
        if self.word.load(SeqCst) & HELD == 0 {
            return None;
        }
        let before = self.word.fetch_and(!HELD, SeqCst);
        // SAFETY: it was not set, and who sets it finds HELD clear.
        (before & SET == 0).then(|| unsafe { self.replace(None) })?
    }

    /// # Safety
    /// The cell is the caller's.
    unsafe fn replace(&self, with: Option<Box<Waiter>>) -> Option<Box<Waiter>> {
        // SAFETY: says the caller.
        self.waiter
            .with_mut(|waiter| unsafe { std::mem::replace(&mut *waiter, with) })
    }
}
