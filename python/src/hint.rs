//! The hint that a task is about to block.

use std::any::Any;
use std::cell::RefCell;

use pyo3::prelude::*;

use crate::engine;

thread_local! {
    /// The hints of the calling thread that have begun, the innermost last.
    static HINTS: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// The calling task is about to block.
#[pyfunction]
pub(crate) fn blocking_begin() {
    let hint = engine::hint();
    HINTS.with_borrow_mut(|hints| hints.push(hint));
}

/// It goes on. Without a beginning on this thread it does nothing.
#[pyfunction]
pub(crate) fn blocking_end() {
    let hint = HINTS.with_borrow_mut(Vec::pop);
    drop(hint);
}

/// The calling thread's task has ended. It may have begun a hint in a generator, which it has left
/// in the middle.
pub(crate) fn end_all() {
    while let Some(hint) = HINTS.with_borrow_mut(Vec::pop) {
        drop(hint);
    }
}
