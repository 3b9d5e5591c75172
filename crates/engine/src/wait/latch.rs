//! A latch: set for good, waited for by at most one at a time: a worker, a thread, or the waker of
//! a future.
//!
//! It is one word: the address of a waiter, or null, and two bits.
//!
//! | bit | means |
//! | --- | --- |
//! | SET | what is waited for has happened |
//! | LEFT | nobody waits from now on |
//!
//! The latch has two sides: one sets it, the other waits. Until it is set the waiter belongs to the
//! waiting side, which puts it there and takes it away again. The setter is who sets SET first, and
//! has the waiter that it finds then; whoever sets it after that has no part. A waiter beside SET
//! is the setter's, so the waiting side leaves it alone. Who sets it keeps the latch alive until
//! the call has returned.

use std::ptr;
use std::task::Waker;

use super::this_worker::{self, WaitRef};
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicPtr, SeqCst};
use crate::user;

const SET: usize = 1;
const LEFT: usize = 2;
const BITS: usize = SET | LEFT;

enum Waiter {
    Worker(WaitRef),
    Thread(Thread),
    Future(Waker),
}

const _: () = assert!(align_of::<Waiter>() > BITS);

/// Set for good, waited for by at most one at a time. It takes one word; a waiter is allocated.
pub struct Latch {
    word: AtomicPtr<Waiter>,
}

fn has(word: *mut Waiter, bit: usize) -> bool {
    word.addr() & bit != 0
}

/// The same bits beside this waiter, or null.
fn with(word: *mut Waiter, waiter: *mut Waiter) -> *mut Waiter {
    waiter.map_addr(|waiter| waiter | word.addr() & BITS)
}

/// # Safety
/// The waiter in the word, if there is one, is the caller's from now on.
unsafe fn waiter_in(word: *mut Waiter) -> Option<Box<Waiter>> {
    let waiter = word.map_addr(|word| word & !BITS);
    // SAFETY: it was a box's when it was put there.
    (!waiter.is_null()).then(|| unsafe { Box::from_raw(waiter) })
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
    #[inline]
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
#[inline]
fn discard(waiter: Option<Box<Waiter>>) {
    if let Some(waiter) = waiter {
        user::discard(waiter);
    }
}

// SAFETY: the protocol above gives the waiter to one thread at a time, and it may be sent.
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
            word: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether it is set. What was stored before that is seen then.
    #[inline]
    pub fn is_set(&self) -> bool {
        has(self.word.load(SeqCst), SET)
    }

    /// Sets it and wakes the waiter. What was stored before is seen by who finds it set. Where
    /// something is locked nobody may have called [`await_set`](Self::await_set).
    pub fn set(&self) {
        self.end().tell();
    }

    /// Sets it. The waiter is yet to be told. If it is set already, this finds nobody.
    #[inline]
    pub fn end(&self) -> End {
        let before = self.mark(SET);
        if has(before, SET) {
            return End {
                left: false,
                waiter: None,
            };
        }
        End {
            left: has(before, LEFT),
            // SAFETY: whoever sets it first has what it finds.
            waiter: unsafe { waiter_in(before) },
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
                // The program's code, which may panic: there is no waiter now.
                Box::new(Waiter::Future(waker.clone()))
            }
        };
        self.hold(new)
    }

    /// Nobody waits from now on. True if it is set: then the setter has not found this. The last
    /// call of the waiting side.
    #[inline]
    pub fn leave(&self) -> bool {
        discard(self.take_back());
        has(self.mark(LEFT), SET)
    }

    /// Leaves a waiter to the setter. True if that has been too late. There is none before.
    fn hold(&self, waiter: Box<Waiter>) -> bool {
        let waiter = Box::into_raw(waiter);
        let put = self.step(|word| (!has(word, SET)).then(|| with(word, waiter)));
        if put.is_err() {
            // SAFETY: nobody has seen it.
            discard(unsafe { waiter_in(waiter) });
        }
        put.is_err()
    }

    /// The waiter, unless it is the setter's. There is none after this, or the latch is set.
    #[inline]
    fn take_back(&self) -> Option<Box<Waiter>> {
        // Only this side puts one there, so a look is enough where there is none.
        let has_waiter = |word: *mut Waiter| word.addr() & !BITS != 0;
        let is_ours = |word| has_waiter(word) && !has(word, SET);
        let taken = self.step(|word| is_ours(word).then(|| with(word, ptr::null_mut())));
        // SAFETY: it was not set, and who sets it finds no waiter.
        taken.ok().and_then(|before| unsafe { waiter_in(before) })
    }

    /// Sets a bit; the word before.
    #[inline]
    fn mark(&self, bit: usize) -> *mut Waiter {
        let set = self.step(|word| Some(word.map_addr(|word| word | bit)));
        set.unwrap_or_else(|word| word)
    }

    /// `Ok` with the word as it was, `Err` with the one that the step refused.
    #[inline]
    fn step(
        &self,
        step: impl Fn(*mut Waiter) -> Option<*mut Waiter>,
    ) -> Result<*mut Waiter, *mut Waiter> {
        self.word.fetch_update(SeqCst, SeqCst, step)
    }
}

impl Drop for Latch {
    /// A waiter may be left that nobody has told.
    fn drop(&mut self) {
        discard(self.take_back());
    }
}
