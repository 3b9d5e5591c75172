//! The only door to atomics and futexes of the sleep/wake protocols, so that loom can stand behind
//! it (`RUSTFLAGS="--cfg loom"`).
//!
//! Hand-overs are written with `fence(SeqCst)` between a store and a load of another word. Loom
//! takes sequentially consistent loads and stores for weaker than they are, but fences for what
//! they are.

#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, fence};

mod locks;
pub(crate) use locks::assert_none_held;
pub use locks::{Mutex, MutexGuard};

/// What a lock elsewhere guards.
#[cfg(not(loom))]
pub(crate) use std::cell::Cell;

#[cfg(loom)]
pub(crate) use loom::cell::Cell;

/// Threads that are no workers park here.
#[cfg(not(loom))]
pub(crate) use std::thread;

#[cfg(loom)]
pub(crate) use loom::thread;

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

pub(crate) use std::sync::atomic::Ordering::Relaxed;
pub use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::Nanos;

/// `std::cell::UnsafeCell` with the methods that loom can watch.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `act` with the address of what is inside, to read it.
    pub(crate) fn with<R>(&self, act: impl FnOnce(*const T) -> R) -> R {
        act(self.0.get())
    }

    /// Calls `act` with the address of what is inside.
    pub(crate) fn with_mut<R>(&self, act: impl FnOnce(*mut T) -> R) -> R {
        act(self.0.get())
    }
}

/// A word that a thread can sleep on; where it is `SHARED`, a thread of another process that has
/// the memory as well.
#[derive(Debug)]
pub(crate) struct Futex<const SHARED: bool = false> {
    pub(crate) word: AtomicU32,
    #[cfg(loom)]
    sleepers: (loom::sync::Mutex<()>, loom::sync::Condvar),
}

impl<const SHARED: bool> Futex<SHARED> {
    pub(crate) fn new(value: u32) -> Self {
        Futex {
            word: AtomicU32::new(value),
            #[cfg(loom)]
            sleepers: (loom::sync::Mutex::new(()), loom::sync::Condvar::new()),
        }
    }
}

#[cfg(not(loom))]
impl<const SHARED: bool> Futex<SHARED> {
    /// Sleeps while the word holds `expected`, at most `timeout`, which a shared one does not know.
    /// May return early.
    pub(crate) fn wait(&self, expected: u32, timeout: Option<Nanos>) {
        if SHARED {
            return cmwq_os::futex::wait_shared(&self.word, expected);
        }
        let _ = cmwq_os::futex::wait(&self.word, expected, timeout);
    }

    /// Wakes up to `n` sleepers.
    pub(crate) fn wake(&self, n: u32) {
        match SHARED {
            true => cmwq_os::futex::wake_shared(&self.word, n),
            false => drop(cmwq_os::futex::wake(&self.word, n)),
        }
    }
}

#[cfg(loom)]
impl<const SHARED: bool> Futex<SHARED> {
    pub(crate) fn wait(&self, expected: u32, _timeout: Option<Nanos>) {
        let guard = self.sleepers.0.lock().unwrap();
        // The kernel compares and goes to sleep in one step, under its own lock.
        if self.word.load(SeqCst) == expected {
            drop(self.sleepers.1.wait(guard).unwrap());
        }
    }

    pub(crate) fn wake(&self, _n: u32) {
        drop(self.sleepers.0.lock().unwrap());
        self.sleepers.1.notify_all();
    }
}
