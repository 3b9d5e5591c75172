//! What the machine knows of the process around the queues.

use std::cell::{Cell, RefCell};

use crate::api::report::LeftBehind;

/// What the machine knows of it.
pub(crate) struct ProcessState {
    /// The program wants to end.
    pub(crate) closing: Cell<bool>,
    /// CPUs that a quota leaves.
    pub(crate) quota: Cell<u32>,
    pub(crate) left_behind: RefCell<Vec<LeftBehind>>,
}

impl Default for ProcessState {
    fn default() -> ProcessState {
        ProcessState {
            closing: Cell::new(false),
            quota: Cell::new(u32::MAX),
            left_behind: RefCell::default(),
        }
    }
}
