//! Locks that nobody sleeps for.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Takes a lock that is only held for moments. Whoever slept here would be seen to sleep by the
/// very queues that are tested, and another item would begin.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            // Each change under these locks is whole, whoever panicked.
            Err(TryLockError::Poisoned(broken)) => return broken.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}
