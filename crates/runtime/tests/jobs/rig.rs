//! What the tests of jobs share.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread::{self, ThreadId};

/// How often each unit was done.
pub(crate) struct Counts(Vec<AtomicU32>);

impl Counts {
    pub(crate) fn new(units: usize) -> Self {
        Counts((0..units).map(|_| AtomicU32::new(0)).collect())
    }

    pub(crate) fn add(&self, range: Range<usize>) {
        for count in &self.0[range] {
            count.fetch_add(1, SeqCst);
        }
    }

    pub(crate) fn take_back(&self, range: Range<usize>) {
        for count in &self.0[range] {
            assert_eq!(count.fetch_sub(1, SeqCst), 1, "undone what was not done");
        }
    }

    pub(crate) fn all_are(&self, times: u32) -> bool {
        self.0.iter().all(|count| count.load(SeqCst) == times)
    }

    pub(crate) fn any_above(&self, times: u32) -> bool {
        self.0.iter().any(|count| count.load(SeqCst) > times)
    }
}

/// Whether this machine lets a job have a helper at all.
pub(crate) fn has_room_for_a_helper() -> bool {
    thread::available_parallelism().unwrap().get() > 1
}

/// Tells the calling thread of a job from its helpers.
#[derive(Clone, Copy)]
pub(crate) struct Caller(ThreadId);

impl Caller {
    pub(crate) fn new() -> Self {
        Caller(thread::current().id())
    }

    pub(crate) fn is_here(self) -> bool {
        self.0 == thread::current().id()
    }
}

/// Numbers that look random.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Some work that no compiler leaves out.
pub(crate) fn spin(turns: usize) {
    for turn in 0..turns {
        std::hint::black_box(turn);
    }
}
