//! The protocols that take more than one pool: what queueing, cancelling, flushing and changing a
//! queue mean, whatever happens at the same time.
//!
//! Each is written once, over a [`Machine`]: the engine has real locks behind it, the simulator
//! none. No protocol holds two pools at once; where two are needed, `README.md` in this folder says
//! why what happens between the two steps does no harm.
//!
//! | file | protocols |
//! | --- | --- |
//! | `items.rs` | queue, cancel, disable, enable, flush of one item, busy |
//! | `delayed.rs` | items with a timer |
//! | `decision.rs` | no protocol: what a machine has made of a queue |
//! | `knot.rs`, `node.rs` | items that wait for each other |
//! | `lookout.rs` | looks at workers: a round of the tick |
//! | `watch.rs` | no protocols: why items wait, and whether that will ever end |
//! | `counts.rs` | no protocol: how many items of a queue are where |
//! | `queues.rs` | flush and drain of a queue, limits, attributes, freezing of one |
//! | `freezer.rs` | freezing of all that are freezable |

mod counts;
mod decision;
mod delayed;
mod freezer;
mod items;
mod knot;
mod lookout;
mod need;
mod node;
mod queues;
mod shutdown;
mod watch;

pub use counts::{QueueCounts, counts, stats};
pub use decision::{Decides, Decision, decision};
pub use delayed::{cancel_timers, expire, flush_delayed, hurry, mod_delayed, queue_delayed};
pub use freezer::{Freezer, is_freezing};
pub use items::{
    Busy, Disabled, Enabled, busy, cancel, disable, enable, enqueue, flush_item, queue, settled,
};
pub use knot::{WaitGraph, next_look};
pub use lookout::{Looked, Lookout, look, look_round};
pub use node::{Node, Target, Until};
pub use queues::{
    PwqFlush, activate, apply_attrs, begin_flush, first_pwq, flush_step, freeze, gather,
    is_congested, is_drained, limit, pwq_emptied, pwq_for, refit, set_max_active, set_min_active,
    spread, thaw,
};
pub use shutdown::Later;

pub use watch::{Raised, Starvation, Witness, outgrow, starving, waits};

use crate::attrs::Spread;
use crate::cpumask::CpuMask;
use crate::pool::{Cx, NoInbox, WorkerPool};
use crate::queue::{Attrs, Queue};
use crate::store::{ItemKey, PwqInfo, Store};
use crate::time::Time;
use crate::timers::Timers;
use crate::work::WorkWord;

/// An item of a machine.
pub type WorkOf<M> = <<M as Machine>::Store as crate::list::Links>::Work;
/// A pool workqueue of a machine.
pub type PwqOf<M> = <<M as Machine>::Store as Store>::Pwq;
/// The armed items of a machine, by the address of the item.
pub type TimersOf<M> = Timers<Armed<M>>;

/// Where an item goes when its timer expires.
#[derive(Debug)]
pub struct Armed<M: Machine> {
    /// The item, which the timer owns.
    pub work: WorkOf<M>,
    /// Its queue.
    pub queue: M::Queue,
    /// The CPU that was asked for.
    pub cpu: Option<usize>,
}

/// What the protocols run on. Locks are taken in the order queue, pool; timers alone.
pub trait Machine: Sized {
    /// Items, pool workqueues and shared words.
    type Store: Store;
    /// A queue. Whoever names one keeps it in memory.
    type Queue: Copy + core::fmt::Debug;
    /// Why there is no pool with some attributes.
    type NoPool;
    /// Items that are waited for together, and may become more meanwhile.
    type Group: Copy + core::fmt::Debug;

    /// Runs one event of a pool, then carries out what it asks for. It sees everything that was
    /// queued before.
    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Self::Store>, &mut Cx<Self::Store>) -> R,
    ) -> R;
    /// The same for an event about workers, which need not see what lies in the pool's
    /// [inbox](crate::pool::Inbox) as long as anything else waits.
    fn with_workers<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Self::Store>, &mut Cx<Self::Store>) -> R,
    ) -> R {
        self.with_pool(pool, event)
    }
    /// Runs [`WorkerPool::activate`], of a pool with an inbox with that at hand: nothing need be
    /// taken in.
    fn activate(&self, pool: u32, pwq: PwqOf<Self>) {
        self.with_pool(pool, |core, cx| core.activate(cx, &mut NoInbox, pwq));
    }
    /// Works on the state of a queue. Pools may be used inside, no other queue.
    fn with_queue<R>(
        &self,
        queue: Self::Queue,
        act: impl FnOnce(&mut Queue<PwqOf<Self>>) -> R,
    ) -> R;
    /// Works on the armed items. Nothing else may be used inside.
    fn with_timers<R>(&self, act: impl FnOnce(&mut TimersOf<Self>) -> R) -> R;
    /// An item was armed for this time.
    fn timer_armed(&self, at: Time);
    /// The time.
    fn now(&self) -> Time;

    /// The state word of an item whose memory the caller keeps.
    fn word(&self, work: WorkOf<Self>) -> WorkWord;
    /// Applies a pure step to that word: `Ok` with the word as it was, `Err` with the one that the
    /// step refused. Also a step that leaves the word as it is must write it: see `items.rs`.
    fn step_word(
        &self,
        work: WorkOf<Self>,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord>;
    /// What identifies its executions.
    fn key(&self, work: WorkOf<Self>) -> ItemKey;
    /// The queue has a reference to the item from now on.
    fn retain(&self, work: WorkOf<Self>);
    /// And has it no more: the item may be gone afterwards.
    fn release(&self, work: WorkOf<Self>);

    /// A timer keeps the queue in memory.
    fn retain_queue(&self, queue: Self::Queue);
    /// And does so no more: the queue may be gone afterwards.
    fn release_queue(&self, queue: Self::Queue);

    /// An item was queued by a timer, which keeps the queue no longer; perhaps no handle does any
    /// more, and nobody waits for what is in flight. Then the item is to keep it.
    fn timer_has_queued(&self, _queue: Self::Queue) {}

    /// An armed item was to be queued, and its queue takes no more: it is dropped, and somebody
    /// should hear of it. Called without any lock.
    fn timer_dropped(&self, queue: Self::Queue);

    /// An item, which the caller owns, is about to be queued (kernel tracepoint
    /// `workqueue_queue_work`). Called with nothing held.
    fn queueing(&self, _queue: Self::Queue, _cpu: Option<usize>, _work: WorkOf<Self>) {}
    /// What never changes about a pool workqueue of a queue that the caller keeps.
    fn info(&self, pwq: PwqOf<Self>) -> PwqInfo;
    /// What never changes about a queue: its number, and whether it is ordered.
    fn queue_info(&self, queue: Self::Queue) -> QueueInfo;
    /// Where new items of this queue go, from this CPU or, if none was asked for, from the
    /// caller's.
    fn route(&self, queue: Self::Queue, cpu: Option<usize>) -> PwqOf<Self>;
    /// The limit of a queue, which is being worked on, is one item from now on, or is not any more:
    /// whoever [leaves](Self::leave) an item goes by that.
    fn one_at_a_time(&self, _queue: Self::Queue, _is: bool) {}
    /// Leaves an item, which the caller owns, in the inbox of its pool. False if that is shut, and
    /// for queues [without](crate::queue::Kind::has_inbox): then the caller goes by the pool's
    /// lock. The caller keeps the queue until this returns; the item is the pool's once it is left.
    fn leave(
        &self,
        _queue: Self::Queue,
        _work: WorkOf<Self>,
        _pwq: PwqOf<Self>,
        _home: u32,
    ) -> bool {
        false
    }
    /// Has all pools take in what was left for them. True if there was anything.
    fn take_in(&self) -> bool {
        false
    }
    /// The CPU that an item which is queued there is near to: the one asked for, or the caller's.
    /// Anything where the pool's items come from one pod.
    fn home(&self, pwq: PwqOf<Self>, cpu: Option<usize>) -> u32;
    /// Which way the items of a queue's CPUs go follows from these attributes from now on:
    /// [`Layout::has_one_route`](crate::affinity::Layout::has_one_route).
    fn route_by(&self, queue: Self::Queue, attrs: &Attrs, spread: Spread);
    /// The CPUs of this queue, which is not per CPU, that something was published for; the first
    /// one stands for all while they have one route.
    fn routed(&self, queue: Self::Queue) -> CpuMask;
    /// What was published for this CPU.
    fn routed_to(&self, queue: Self::Queue, cpu: usize) -> Option<PwqOf<Self>>;
    /// New items of this queue, which is not per CPU, go there from now on.
    fn publish(&self, queue: Self::Queue, cpu: usize, pwq: PwqOf<Self>);
    /// The pool for a queue of this kind with these attributes, and this CPU.
    fn pool_for(
        &self,
        queue: Self::Queue,
        attrs: &Attrs,
        spread: Spread,
        cpu: usize,
    ) -> Result<u32, Self::NoPool>;
    /// How many slots of a limit a node has: [`Layout::share`](crate::affinity::Layout::share).
    fn share(&self, attrs: &Attrs, node: Option<u32>, max_active: u32, min_active: u32) -> u32;
    /// A new pool workqueue of the queue, in this pool. It is published by the caller.
    fn new_pwq(
        &self,
        queue: Self::Queue,
        core: &Queue<PwqOf<Self>>,
        pool: u32,
        plugged: bool,
    ) -> PwqOf<Self>;

    /// Somebody else owns an item for a moment, and it is in no inbox.
    fn relax(&self);

    /// Shows all items of a group that have not ended, each of which runs once. Whoever waits for a
    /// group keeps it. Pools are used inside, no queue.
    fn members(&self, group: Self::Group, show: impl FnMut(WorkOf<Self>));
}

/// What never changes about a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    /// Its number.
    pub id: u64,
    /// Its items run one at a time, in order.
    pub ordered: bool,
}
