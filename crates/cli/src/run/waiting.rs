//! Jobs that are to begin, first come, first served. An item of a workqueue says when one begins,
//! and not which: so it does not matter which queue an item is in.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A job that is to begin.
pub(super) struct Line {
    /// From 0.
    pub(super) sequence: u64,
    /// What it was made of.
    pub(super) lines: Vec<Vec<u8>>,
    /// Its standard input, if it has one of its own.
    pub(super) input: Option<File>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Waiting(Mutex<VecDeque<Line>>);

impl Waiting {
    pub(super) fn push(&self, line: Line) {
        self.lock().push_back(line);
    }

    pub(super) fn pop(&self) -> Option<Line> {
        self.lock().pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
