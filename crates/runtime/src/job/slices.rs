//! Jobs over the elements of a slice.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;

use super::{Job, JobError, JobStats};

/// A slice whose elements are given out once each.
struct Elements<'s, T> {
    first: *mut T,
    len: usize,
    slice: PhantomData<&'s mut [T]>,
}

// SAFETY: threads get elements that no other one has, and elements may be sent.
unsafe impl<T: Send> Sync for Elements<'_, T> {}

impl<T> Elements<'_, T> {
    /// # Safety
    /// No element is in two ranges that are in use.
    #[allow(clippy::mut_from_ref)]
    unsafe fn range(&self, range: Range<usize>) -> &mut [T] {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "within the slice"
        );
        // SAFETY: within the slice; the caller vouches that nobody else has these elements.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}

impl Job<'_> {
    /// Calls `func` for chunks of the slice, which it may change, with the index of the first
    /// element in each. The job's range is one of indices of the slice.
    ///
    /// ```
    /// let mut squares = vec![0u64; 10_000];
    /// cmwq::Job::new(0..squares.len()).for_each_chunk_mut(&mut squares, |first, chunk| {
    ///     for (index, square) in (first..).zip(chunk) {
    ///         *square = (index * index) as u64;
    ///     }
    /// })?;
    /// assert_eq!(squares[9_999], 9_999 * 9_999);
    /// # Ok::<(), cmwq::JobError<std::convert::Infallible>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run) but `Failed`.
    ///
    /// # Panics
    /// If the job's range is not within the slice; with a panic of `func`.
    pub fn for_each_chunk_mut<T: Send>(
        self,
        slice: &mut [T],
        func: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<JobStats, JobError<Infallible>> {
        let (first, len) = (slice.as_mut_ptr(), slice.len());
        let range = self.range();
        assert!(
            range.end <= len,
            "{range:?} is not within a slice of {len} elements"
        );
        let elements = Elements {
            first,
            len,
            slice: PhantomData,
        };
        self.for_each(|range| {
            let first = range.start;
            // SAFETY: a job calls its function once for each unit, so no element is given out
            // twice.
            func(first, unsafe { elements.range(range) });
        })
    }
}
