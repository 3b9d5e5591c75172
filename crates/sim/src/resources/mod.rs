//! What threads and items share beside CPUs and queues: locks, semaphores, devices, data that has a
//! home.
//!
//! Each kind is a table of plain values here; a module has one kind, what may be done to it, and
//! what it counts.

mod data;
mod device;
mod lock;
mod pass;
mod semaphore;

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::api::names::LockId;

pub(crate) use device::Request;

/// All of a machine's.
#[derive(Default)]
pub(crate) struct Resources {
    locks: RefCell<Vec<lock::Lock>>,
    /// Optimistic ones at which somebody spins, or has lately.
    spun: RefCell<BTreeSet<LockId>>,
    semaphores: RefCell<Vec<semaphore::Semaphore>>,
    devices: RefCell<Vec<device::Device>>,
    /// The CPU that touched each last.
    data: RefCell<Vec<Option<usize>>>,
}

/// Adds one to a table; its number.
fn add<T>(table: &RefCell<Vec<T>>, new: T) -> u32 {
    let mut table = table.borrow_mut();
    table.push(new);
    table.len() as u32 - 1
}
