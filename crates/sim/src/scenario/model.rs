//! A scenario that was read and checked: plain data, things named by their numbers.

use cmwq_policy::{CpuMask, Nanos};

use super::acts::Step;
use crate::{DeviceSpec, LockSpec, Options, QueueSpec};

/// Everything.
pub(crate) struct Model {
    pub(crate) options: Options,
    /// When the run ends, at the latest.
    pub(crate) duration: Option<Nanos>,
    /// What happens before this does not count in the report.
    pub(crate) warmup: Nanos,
    /// Items that keep their CPU for so long are reported; 0: none.
    pub(crate) hog_threshold: Nanos,
    pub(crate) queues: Vec<Many<QueueModel>>,
    pub(crate) items: Vec<ItemModel>,
    pub(crate) threads: Vec<ThreadModel>,
    pub(crate) locks: Vec<Many<LockSpec>>,
    pub(crate) semaphores: Vec<Many<SemaphoreModel>>,
    pub(crate) devices: Vec<Many<DeviceSpec>>,
    pub(crate) data: Vec<Many<()>>,
    pub(crate) counters: Vec<String>,
    pub(crate) spans: Vec<String>,
}

/// How many there are of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// So many; thread number n uses the n-th, and so on round.
    Of(u32),
    /// One for each thread.
    PerThread,
}

/// A thing, of which there may be several.
pub(crate) struct Many<T> {
    pub(crate) name: String,
    pub(crate) one: T,
    pub(crate) copies: Copies,
}

/// A queue.
pub(crate) struct QueueModel {
    pub(crate) spec: QueueSpec,
    pub(crate) min_active: Option<u32>,
}

/// A kind of items.
pub(crate) struct ItemModel {
    pub(crate) name: String,
    pub(crate) does: Vec<Step>,
}

/// Threads that do the same.
pub(crate) struct ThreadModel {
    pub(crate) name: String,
    pub(crate) count: u32,
    pub(crate) nice: i8,
    pub(crate) cpus: Option<CpuMask>,
    /// Each is bound to one of the CPUs, in turn.
    pub(crate) pinned: bool,
    pub(crate) idle_class: bool,
    /// The first one begins then, the others so much after each other.
    pub(crate) start: Nanos,
    pub(crate) stagger: Nanos,
    /// KiB.
    pub(crate) footprint: u32,
    /// The run ends when all of these have ended.
    pub(crate) main: bool,
    pub(crate) does: Vec<Step>,
}

/// A semaphore.
pub(crate) struct SemaphoreModel {
    pub(crate) initial: u32,
    /// Whoever takes it goes on with the request of whoever posted it.
    pub(crate) requests: bool,
}
