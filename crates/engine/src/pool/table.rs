//! A table of pointers that grows: what was read of it stays where it is.

use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::SeqCst;

/// Entries that come at once.
const CHUNK: usize = 256;
/// Workers of all kinds that a pool can have: what threads may be at most, rescuers and claims.
const CHUNKS: usize = (crate::options::MAX_THREAD_LIMIT + CHUNK) / CHUNK;

type Chunk<T> = [AtomicPtr<T>; CHUNK];

/// Pointers by number, null at first. Never freed, as the pool that it belongs to.
pub(super) struct Table<T>(Box<[AtomicPtr<Chunk<T>>]>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table((0..CHUNKS).map(|_| AtomicPtr::default()).collect())
    }
}

impl<T> Table<T> {
    #[inline]
    pub(super) fn get(&self, at: usize) -> *mut T {
        // SAFETY: null or a leaked chunk.
        let chunk = unsafe { self.0[at / CHUNK].load(SeqCst).as_ref() };
        chunk.map_or(std::ptr::null_mut(), |chunk| chunk[at % CHUNK].load(SeqCst))
    }

    pub(super) fn set(&self, at: usize, to: *const T) {
        self.chunk(at / CHUNK)[at % CHUNK].store(to.cast_mut(), SeqCst);
    }

    /// Made by whoever needs it first.
    fn chunk(&self, at: usize) -> &Chunk<T> {
        let place = &self.0[at];
        if place.load(SeqCst).is_null() {
            let fresh: Box<Chunk<T>> = Box::new(std::array::from_fn(|_| AtomicPtr::default()));
            let fresh = Box::into_raw(fresh);
            let won = place.compare_exchange(std::ptr::null_mut(), fresh, SeqCst, SeqCst);
            if won.is_err() {
                // SAFETY: made above and seen by nobody: another thread was faster.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
        // SAFETY: a leaked chunk.
        unsafe { &*place.load(SeqCst) }
    }
}

const _: () = assert!(
    CHUNKS * CHUNK
        >= crate::options::MAX_THREAD_LIMIT
            + cmwq_policy::pool::MAX_RESCUERS as usize
            + cmwq_policy::pool::MAX_CLAIMS as usize
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_there_is_there() {
        let (table, one) = (Table::<i32>::default(), 1);
        assert!(table.get(5000).is_null());
        table.set(5000, &raw const one);
        assert_eq!(table.get(5000).cast_const(), &raw const one);
        assert!(table.get(5001).is_null() && table.get(0).is_null());
    }
}
