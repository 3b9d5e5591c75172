//! A queue around the core.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use cmwq_policy::queue::{Intake, Queue as Core};

use crate::api::names::PwqId;
use crate::api::specs::QueueSpec;
use crate::cpu::ThreadId;

/// A queue of the machine.
pub(crate) struct Queue {
    pub(crate) spec: QueueSpec,
    pub(crate) core: RefCell<Core<PwqId>>,
    /// All CPUs' items go the first one's way.
    pub(crate) one_route: Cell<bool>,
    /// Where new items go, by CPU.
    pub(crate) by_cpu: RefCell<Vec<Option<PwqId>>>,
    /// The limits that its pwqs share, where they do: of each node, and of pools that are in none.
    pub(crate) limits: Vec<usize>,
    /// What it admits, but for the end of the whole program.
    pub(crate) admission: Cell<Intake>,
    /// It has no handle any more.
    pub(crate) dropped: Cell<bool>,
    pub(crate) rescuer: Cell<Option<ThreadId>>,
    /// The pwqs that have called it, in order.
    pub(crate) maydays: RefCell<VecDeque<PwqId>>,
}

impl Queue {
    /// A look at what the policy knows of it.
    pub(crate) fn with_core<R>(&self, look: impl FnOnce(&Core<PwqId>) -> R) -> R {
        look(&self.core.borrow())
    }

    /// Where the route of this CPU stands.
    pub(crate) fn slot(&self, cpu: usize) -> usize {
        match self.one_route.get() {
            true => 0,
            false => cpu,
        }
    }
}
