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

pub(crate) use device::Request;
pub use device::{Completion, DeviceSpec, DeviceStats};
pub use lock::{LockSpec, LockStats};
pub use semaphore::SemStats;

/// A lock. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockId(pub u32);

/// A semaphore. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SemId(pub u32);

/// A device. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

/// Data that has a home. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataId(pub u32);

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

impl LockId {
    /// Where waiters for it sleep, as the policy is told: nothing else has the same.
    pub(crate) fn address(self) -> u64 {
        1 << 32 | u64::from(self.0)
    }
}

impl SemId {
    /// As a lock's.
    pub(crate) fn address(self) -> u64 {
        2 << 32 | u64::from(self.0)
    }
}

/// Adds one to a table; its number.
fn add<T>(table: &RefCell<Vec<T>>, new: T) -> u32 {
    let mut table = table.borrow_mut();
    table.push(new);
    table.len() as u32 - 1
}
