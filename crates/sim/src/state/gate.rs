//! A gate: closed, and once opened open for ever.

use crate::cpu::ThreadId;

#[derive(Default)]
pub(crate) struct GateState {
    pub(crate) open: bool,
    pub(crate) waiting: Vec<ThreadId>,
    pub(crate) spinning: Vec<ThreadId>,
}
