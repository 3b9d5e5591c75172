//! A latch: closed, and once opened open for ever.

use crate::cpu::ThreadId;

#[derive(Default)]
pub(crate) struct LatchState {
    pub(crate) open: bool,
    pub(crate) waiting: Vec<ThreadId>,
    pub(crate) spinning: Vec<ThreadId>,
}
