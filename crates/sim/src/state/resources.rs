//! Everything that threads share beside CPUs and queues: a table of plain values for each kind.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::api::names::LockId;
use crate::state::device::Device;
use crate::state::lock::Lock;
use crate::state::semaphore::Semaphore;

/// All of a machine's.
#[derive(Default)]
pub(crate) struct Resources {
    pub(crate) locks: RefCell<Vec<Lock>>,
    /// Optimistic ones at which somebody spins, or has lately.
    pub(crate) spun: RefCell<BTreeSet<LockId>>,
    pub(crate) semaphores: RefCell<Vec<Semaphore>>,
    pub(crate) devices: RefCell<Vec<Device>>,
    /// The CPU that touched each last.
    pub(crate) data: RefCell<Vec<Option<usize>>>,
}

/// Adds one to a table; its number.
pub(crate) fn add<T>(table: &RefCell<Vec<T>>, new: T) -> u32 {
    let mut table = table.borrow_mut();
    table.push(new);
    table.len() as u32 - 1
}
