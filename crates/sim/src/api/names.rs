//! Names of things: numbers, in the order in which they were made.

use cmwq_policy::WorkerId;

/// Something that is closed, and once opened stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Latch(pub u32);

/// A work item. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemId(pub u32);

/// A workqueue. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// A worker pool. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolId(pub u32);

/// A pwq: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PwqId(pub u32);

/// A lock. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockId(pub u32);

impl LockId {
    /// Where waiters for it sleep, as the policy is told: nothing else has the same.
    pub(crate) fn address(self) -> u64 {
        1 << 32 | u64::from(self.0)
    }
}

/// A semaphore. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SemId(pub u32);

impl SemId {
    /// As a lock's.
    pub(crate) fn address(self) -> u64 {
        2 << 32 | u64::from(self.0)
    }
}

/// A device. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

/// Data that has a home. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataId(pub u32);

/// The execution of an item that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The item.
    pub item: ItemId,
    /// The how-manieth, from 1 on.
    pub number: u32,
}

/// The worker that a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRef {
    /// Its pool.
    pub pool: PoolId,
    /// Its number there, which is reused after it has retired.
    pub id: WorkerId,
}
