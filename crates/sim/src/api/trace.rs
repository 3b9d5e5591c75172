//! What happened, in order. Two runs of the same programs leave the same trace.

use std::fmt;

use cmwq_policy::Time;

use crate::api::names::{DeviceId, Execution, ItemId, LockId, PoolId, QueueId, WorkerRef};
use crate::cpu::ThreadId;

/// One line of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: Time,
    /// The CPU of the thread it is about.
    pub cpu: usize,
    /// The thread it is about.
    pub thread: ThreadId,
    /// What.
    pub what: What,
}

/// What happened to a thread, or what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread was created, as this worker or as a thread of the program.
    Created(Option<WorkerRef>),
    /// It queued this item; false: the item was queued already.
    Queued(QueueId, ItemId, bool),
    /// It begins an item that was queued on this queue.
    Start(Execution, QueueId),
    /// It has ended an item.
    End(Execution),
    /// It falls asleep.
    Sleep,
    /// It wakes up.
    Wake,
    /// It could not create a thread for its pool, or nobody could.
    SpawnFailed(PoolId),
    /// It waits for this lock, spinning or asleep.
    WaitsFor(LockId),
    /// It has got this lock.
    Locks(LockId),
    /// It has released this lock.
    Unlocks(LockId),
    /// The device begins to serve its request.
    IoBegin(DeviceId),
    /// The device has served its request.
    IoEnd(DeviceId),
    /// It has ended.
    Exit,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line {
            at, cpu, thread, ..
        } = self;
        write!(f, "{} cpu{cpu} t{} {}", at.0, thread.0, self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            What::Created(None) => write!(f, "is created"),
            What::Created(Some(w)) => write!(f, "is created as worker {}:{}", w.pool.0, w.id),
            What::Queued(queue, item, true) => write!(f, "queues i{} on q{}", item.0, queue.0),
            What::Queued(_, item, false) => write!(f, "finds i{} pending", item.0),
            What::Start(e, queue) => {
                write!(f, "starts i{}#{} of q{}", e.item.0, e.number, queue.0)
            }
            What::End(e) => write!(f, "ends i{}#{}", e.item.0, e.number),
            What::Sleep => write!(f, "sleeps"),
            What::Wake => write!(f, "wakes up"),
            What::SpawnFailed(pool) => write!(f, "gets no thread for pool {}", pool.0),
            What::WaitsFor(lock) => write!(f, "waits for lock {}", lock.0),
            What::Locks(lock) => write!(f, "gets lock {}", lock.0),
            What::Unlocks(lock) => write!(f, "releases lock {}", lock.0),
            What::IoBegin(device) => write!(f, "is served by device {}", device.0),
            What::IoEnd(device) => write!(f, "was served by device {}", device.0),
            What::Exit => write!(f, "exits"),
        }
    }
}
