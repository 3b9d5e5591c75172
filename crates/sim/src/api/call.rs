//! The workqueue interface, as programs call it.

use cmwq_policy::Nanos;
use cmwq_policy::queue::Attrs;

use crate::api::names::{ItemId, QueueId};

/// One call. `Bool` and so on: what it answers.
///
/// A call that waits answers with a `Text` that [says so](crate::Answer::is_deadlock) where that
/// would never end: called by the very item, for the queue of the item that calls, or where all
/// threads that a pool may have, or all slots of a queue, wait likewise. What it has done before it
/// waited stays done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Queues an item; `Bool`: this call did. `Text`: the queue refuses, and why.
    QueueWork {
        /// The queue.
        queue: QueueId,
        /// The CPU to run it on, or near; `None`: the caller's.
        cpu: Option<usize>,
        /// The item.
        item: ItemId,
    },
    /// The same on a CPU of this node: the caller's, or else the first.
    QueueWorkNode(u32, QueueId, ItemId),
    /// The same after so many nanoseconds, unless it is pending.
    QueueDelayedWork(QueueId, Option<usize>, ItemId, Nanos),
    /// Queues an item after so many nanoseconds, whatever was planned; `Bool`: it was pending.
    ModDelayedWork(QueueId, Option<usize>, ItemId, Nanos),
    /// Waits for the last queued instance of the item; `Bool`: there was one.
    FlushWork(ItemId),
    /// The same, but if its queue [claims](crate::QueueSpec::stacking) and no worker has begun the
    /// item, the caller executes it itself where it may. Locks that the caller has are its own
    /// meanwhile.
    Join(ItemId),
    /// The same, after queueing it at once if its timer is armed.
    FlushDelayedWork(ItemId),
    /// Waits until everything queued so far has ended; `Void`.
    FlushWorkqueue(QueueId),
    /// Waits until nothing is queued any more, and admits only what the queue's own items queue;
    /// `Void`.
    DrainWorkqueue(QueueId),
    /// Drains the queue for ever, without its armed items; `Void`.
    DestroyWorkqueue(QueueId),
    /// Lets go of the queue's last handle: as destroying it, but it is thawed; `Bool`: it has
    /// waited until nothing is left. Not so inside one of its own items, or where that would never
    /// end: then whoever ends the last item frees the queue. Once per queue; nobody but its own
    /// items calls anything of it afterwards.
    DropWorkqueue(QueueId),
    /// The program wants to end: from now on nothing is queued but by items. Waits until everything
    /// has ended but the caller's own item, at most for so many nanoseconds. `Text`:
    /// `3 ended, 1 queued, 2 running, 1 armed`: since it was called, and what is left.
    Shutdown(Nanos),
    /// Takes a pending item off its queue or timer; `Bool`: it was pending.
    CancelWork(ItemId),
    /// The same, then waits until it does not run.
    CancelWorkSync(ItemId),
    /// Cancels the item, and refuses it until it is enabled as often; `Bool`: it was pending.
    DisableWork(ItemId),
    /// The same, then waits until it does not run.
    DisableWorkSync(ItemId),
    /// Takes a disable back; `Bool`: the item may be queued now.
    EnableWork(ItemId),
    /// The same, and queues the item if it may be; `Bool`: it may.
    EnableAndQueueWork(QueueId, ItemId),
    /// Changes the queue's limit; `Bool`: it has one to change.
    SetMaxActive(QueueId, u32),
    /// Changes what each node is granted at least; `Bool`: the queue is limited by node.
    SetMinActive(QueueId, u32),
    /// Changes the queue's attributes; `Bool`: they can be changed.
    ApplyAttrs(QueueId, Attrs),
    /// New items of freezable queues wait from now on; `Void`.
    FreezeBegin,
    /// Whether items that freezable queues began before still go on; `Bool`.
    FreezeBusy,
    /// Freezable queues go on; `Void`.
    Thaw,
    /// Whether the item is queued or armed; `Bool`.
    WorkPending(ItemId),
    /// What the item does, `Text`: `idle`, `pending`, `running` or `pending+running`.
    WorkBusy(ItemId),
    /// Whether items of the queue wait for a slot; of a per-CPU queue, on this CPU or, if `None`,
    /// on the caller's; `Bool`.
    Congested(QueueId, Option<usize>),
    /// Whether anything waits for the slot or the worker of the item that the caller executes;
    /// `Bool`.
    OthersWaiting,
    /// Initialises the item anew, whatever it does; `Void`.
    InitWork(ItemId),
    /// Gives the item another function; `Void`.
    SetFunc(ItemId, u64),
    /// The first item now is where the second one was, with this function; `Void`.
    ReuseMemory(ItemId, ItemId, u64),
}
