//! Locks of ours. No code of the program runs while its thread holds one: see `crate::user`.
//!
//! Debug builds count the locks that each thread holds, so that every test checks the rule.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

#[cfg(loom)]
use loom::sync as inner;
#[cfg(not(loom))]
use std::sync as inner;

/// `std::sync::Mutex`, counted.
#[derive(Default)]
pub struct Mutex<T>(inner::Mutex<T>);

/// The lock is held until this is dropped.
pub struct MutexGuard<'a, T> {
    guard: inner::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Mutex<T> {
    /// One that nobody holds.
    pub fn new(value: T) -> Self {
        Mutex(inner::Mutex::new(value))
    }

    /// Waits for it.
    ///
    /// # Errors
    /// If somebody has panicked with it.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.0.lock() {
            Ok(guard) => Ok(MutexGuard::new(guard)),
            Err(poisoned) => Err(std::sync::PoisonError::new(MutexGuard::new(
                poisoned.into_inner(),
            ))),
        }
    }

    /// Takes it if nobody holds it.
    ///
    /// # Errors
    /// If somebody does.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(MutexGuard::new(guard)),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    /// What it guards, which nobody else can be at.
    ///
    /// # Errors
    /// If somebody has panicked with it.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    /// What it has guarded.
    ///
    /// # Errors
    /// If somebody has panicked with it.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<'a, T> MutexGuard<'a, T> {
    fn new(guard: inner::MutexGuard<'a, T>) -> Self {
        MutexGuard {
            guard,
            _held: Held::begin(),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Counts one lock for the calling thread. Nothing in release builds.
struct Held;

#[cfg(debug_assertions)]
thread_local! {
    // Without a destructor, so that it can be used at any moment of a thread's life.
    static HELD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl Held {
    fn begin() -> Self {
        #[cfg(debug_assertions)]
        HELD.set(HELD.get() + 1);
        Held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        HELD.set(HELD.get() - 1);
    }
}

/// Code of the program is about to run.
///
/// # Panics
/// In debug builds, if the calling thread holds a lock of ours.
pub(crate) fn assert_none_held() {
    #[cfg(debug_assertions)]
    assert_eq!(HELD.get(), 0, "code of the program runs under a lock");
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "code of the program runs under a lock")]
    fn code_of_the_program_under_a_lock_is_seen() {
        let lock = Mutex::new(());
        let _held = lock.lock().unwrap();
        assert_none_held();
    }

    #[test]
    fn a_lock_that_was_let_go_is_not_held() {
        let lock = Mutex::new(1);
        *lock.lock().unwrap() += 1;
        assert!(lock.try_lock().is_ok());
        assert_none_held();
        assert_eq!(lock.into_inner().unwrap(), 2);
    }
}
