//! What a user is told, and what an onlooker sees: troubles, counts, queues and items as they are.

use cmwq_policy::contract::Starvation;
use cmwq_policy::leftovers::Leftovers;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Nanos, Time};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::cpu::ThreadId;

/// Something that a user is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Time,
    /// Of which pool, if it is about one.
    pub pool: Option<PoolId>,
    /// Of which queue: of the item that keeps the CPU, or that is the first of those that wait.
    pub queue: QueueId,
    /// What.
    pub what: Trouble,
}

/// What a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Items of a function keep their CPU for long without sleeping.
    Hog {
        /// The function.
        func: u64,
        /// How often that was seen so far.
        count: u32,
    },
    /// The first item of the worklist has been the first for so many nanoseconds.
    Stall(Nanos),
    /// The time of a delayed item came, or somebody hurried it, while its queue took no more: it
    /// was dropped.
    TimerDropped,
    /// Items wait for a slot, and nothing moves, with those that hold the slots.
    Starvation(Starvation<SlotHolder>),
}

/// An item that holds a slot and does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotHolder {
    /// The item.
    pub item: ItemId,
    /// The pool workqueue that it waits for, if it has called to wait for one of its own pool.
    pub awaits: Option<PwqId>,
    /// Who executes it.
    pub(crate) thread: ThreadId,
}

/// Something that an item has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// When that was found.
    pub at: Time,
    /// In which thread.
    pub thread: ThreadId,
    /// One of its last so many items did it.
    pub items: u32,
    /// What.
    pub what: Leftovers,
    /// It could not be set right: the thread ended, or if it is a rescuer's goes on with it.
    pub lost: bool,
}

/// A pool workqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PwqView {
    /// Its queue.
    pub queue: QueueId,
    /// Its pool.
    pub pool: PoolId,
    /// The number of the limit that it counts for.
    pub limit: usize,
    /// Items that hold a slot.
    pub nr_active: u32,
    /// Items queued since it was made.
    pub nr_queued: u64,
    /// Entries that wait for a slot.
    pub nr_inactive: usize,
    /// Items and barriers queued and not ended.
    pub nr_in_flight: u64,
    /// It starts nothing yet.
    pub plugged: bool,
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemView {
    /// Its word.
    pub word: WorkWord,
    /// Where it is queued.
    pub pwq: Option<PwqId>,
    /// Executions begun.
    pub started: u32,
    /// References that queues and timers have.
    pub references: u32,
}

/// What a lock has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Times it was acquired.
    pub acquired: u64,
    /// Times somebody had to wait for it, those who still do included.
    pub contended: u64,
    /// The most threads that waited at a time.
    pub max_waiters: u32,
    /// Nanoseconds in which somebody had it.
    pub held_ns: Nanos,
    /// Nanoseconds that those who got it had waited for it, together.
    pub waited_ns: Nanos,
}

/// What a semaphore has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemStats {
    /// Times it was taken.
    pub taken: u64,
    /// Takes that had to wait, those that still do included.
    pub waited: u64,
    /// The most threads that waited at a time.
    pub max_waiters: u32,
}

/// What a device has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Requests that are done.
    pub served: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Nanoseconds in which it served at least one request.
    pub active_ns: Nanos,
    /// Nanoseconds of service, of all requests together: at most `depth` times the active ones.
    pub service_ns: Nanos,
    /// The most requests that waited for others at a time.
    pub max_queued: u32,
}

/// What signals have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalStats {
    /// Reports that canaries have made.
    pub reports: u64,
    /// Of those, the ones that were lost.
    pub lost: u64,
    /// And those that came late.
    pub late: u64,
    /// And those of canaries that were not alone on their CPUs, as far as that was by chance.
    pub spurious: u64,
    /// Reports that a busy worker dropped, because they were old.
    pub dropped: u64,
    /// Rounds of the tick's thread that were due.
    pub ticks: u64,
    /// Workers that the tick's thread, or the taker of a report, has looked at.
    pub looked_at: u64,
    /// Looks at workers that could not see them.
    pub unseen: u64,
    /// Hints that items gave, beginnings only.
    pub hints: u64,
}
