//! What a call waits for.

use cmwq_policy::Time;
use cmwq_policy::contract::{Node, PwqFlush};
use cmwq_policy::worker::Wait;

use crate::api::act::Answer;
use crate::api::names::{ItemId, Latch, PoolId, PwqId, QueueId};
use crate::events::EventKey;

/// Items that a call waits for now, if it is for particular ones.
pub(crate) type Awaited = Option<Wait<PwqId>>;

/// How a call goes on.
pub(crate) enum Reply {
    Done(Answer),
    Wait(Pending),
    /// The thread executes what it would wait for, and is answered when that is over.
    Claimed,
}

/// What a thread waits for in a call: looked at whenever a flush, a drain or a barrier has moved
/// on.
pub(crate) enum Pending {
    Barrier(ForBarrier),
    Flush(ForFlush),
    Drain(ForDrain),
    Dropped(ForDropped),
    All(ForAll),
}

/// Until a barrier is reached.
pub(crate) struct ForBarrier {
    pub(crate) latch: Latch,
    pub(crate) barrier: ItemId,
    /// What it stands behind.
    pub(crate) item: ItemId,
    pub(crate) pwq: PwqId,
    pub(crate) answer: bool,
    /// Is enabled then.
    pub(crate) enables: Option<ItemId>,
}

/// Until what a queue had when it was called has ended.
pub(crate) struct ForFlush(pub(crate) Vec<PwqFlush<PwqId>>);

/// Until nothing of a queue is left: flush after flush.
pub(crate) struct ForDrain {
    pub(crate) queue: QueueId,
    pub(crate) flush: ForFlush,
}

/// Until nothing of a queue without handles is left.
pub(crate) struct ForDropped(pub(crate) QueueId);

/// Until all pools are empty but for what is not waited for.
pub(crate) struct ForAll {
    /// The items that the caller is in.
    pub(crate) own: Vec<Node>,
    pub(crate) deadline: Time,
    /// Wakes the caller then.
    pub(crate) alarm: EventKey,
    /// The pool that is watched.
    pub(crate) at: Option<PoolId>,
    /// Items that had ended when it was called.
    pub(crate) before: u64,
}
