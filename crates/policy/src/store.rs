//! What the core needs from its driver: the items that it orders, and the words that its pools
//! share.

use crate::budget::Budget;
use crate::limit::{Limit, Waiters};
use crate::list::Links;
use crate::pwq::PoolWorkqueue;
use crate::stats::Stamp;
use crate::work::WorkWord;

/// What identifies an execution in the busy table: address and function of the item.
///
/// The function is part of it so that memory which is reused for another item does not make that
/// item wait for the old one (kernel `find_worker_executing_work`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemKey {
    /// The item's address, or whatever number stands for it.
    pub addr: u64,
    /// Its function.
    pub func: u64,
}

/// Where a queued item comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home(pub u32);

const IS_NEW: u32 = 1 << 31;

impl Home {
    /// Queued on this CPU, which counts for pools that ask for that; for the first time or not.
    pub fn of(cpu: u32, is_new: bool) -> Home {
        debug_assert!(cpu < IS_NEW, "no CPU");
        Home(cpu | if is_new { IS_NEW } else { 0 })
    }

    /// The CPU that it was queued on.
    pub fn cpu(self) -> u32 {
        self.0 & !IS_NEW
    }

    /// It was not in any pool before: so nobody executes it.
    pub fn is_new(self) -> bool {
        self.0 & IS_NEW != 0
    }
}

/// What never changes about a pool workqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PwqInfo {
    /// Number of its pool.
    pub pool: u32,
    /// Number of its queue.
    pub queue: u64,
    /// The NUMA node whose part of the limit it counts for: the one that has all CPUs of its pool's
    /// pod. `None`: what pools that are in no node share, or the whole of an exact limit.
    pub node: Option<u32>,
    /// Its items begin in the order of queueing: of a [`Fifo`](crate::attrs::Kind::Fifo) queue.
    pub fifo: bool,
}

/// A limit that several pools share. Its lock is the innermost: nothing else is taken under it.
pub trait SharedLimit<P> {
    /// Applies a pure step to the word: `Ok` with the word as it was before, or `Err` with the word
    /// that the step refused. The engine repeats the step until its compare-exchange succeeds.
    fn step(&self, step: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit>;

    /// Works on the list of those who wait for a slot, under its lock.
    fn with_waiters<R>(&self, act: impl FnOnce(&mut Waiters<P>) -> R) -> R;

    /// How many are in that list. Without its lock, it may be another number by then.
    fn nr_waiting(&self) -> u32 {
        self.with_waiters(|waiters| waiters.nr())
    }
}

/// The items, pool workqueues and shared words behind the core's opaque handles.
///
/// All calls are made while the pool is exclusively held; budget and limits are shared with others.
pub trait Store: Links + Sized {
    /// An opaque handle of a pool workqueue.
    type Pwq: Copy + Eq + core::fmt::Debug;
    /// The limit of a queue.
    type Limit: SharedLimit<Self::Pwq>;

    /// The state word of an item.
    fn word(&self, work: Self::Work) -> WorkWord;
    /// Changes the word of a pending item, which is this pool's or the caller's.
    fn set_word(&mut self, work: Self::Work, word: WorkWord);
    /// The same of a queued item that is dealt, and owned from then on, or is not any more and
    /// queued as it was: nothing has become of it.
    fn set_dealt(&mut self, work: Self::Work, word: WorkWord) {
        self.set_word(work, word);
    }
    /// The same of an item that was dealt, through this pool workqueue, and begins: it is owned by
    /// nobody.
    fn set_begun(&mut self, work: Self::Work, _pwq: Self::Pwq, word: WorkWord) {
        self.set_word(work, word);
    }
    /// What identifies executions of this item.
    fn key(&self, work: Self::Work) -> ItemKey;
    /// Whether an item that is not queued was in no pool before.
    fn is_new(&self, work: Self::Work) -> bool {
        self.word(work).pool().is_none()
    }
    /// Where a queued item comes from.
    fn home(&self, work: Self::Work) -> Home;
    /// Notes it. The item is about to be queued.
    fn set_home(&mut self, work: Self::Work, home: Home);
    /// When a pending item was queued.
    fn stamp(&self, work: Self::Work) -> Stamp;
    /// Notes it. The item is about to be queued.
    fn set_stamp(&mut self, work: Self::Work, stamp: Stamp);
    /// The number by which items remember this pool workqueue: a multiple of
    /// [`PWQ_ALIGN`](crate::work::PWQ_ALIGN), not 0.
    fn pwq_addr(&self, pwq: Self::Pwq) -> u64;
    /// The pool workqueue with this number.
    fn pwq_at(&self, addr: u64) -> Self::Pwq;
    /// Through which pool workqueue an item was queued, and with which flush colour. One that may
    /// be in another pool must not be asked for: its pool workqueue may be gone.
    fn queued_as(&self, work: Self::Work) -> Option<(Self::Pwq, u8)> {
        let (addr, colour) = self.word(work).pwq()?;
        Some((self.pwq_at(addr), colour))
    }
    /// The pool workqueue alone.
    fn pwq_of(&self, work: Self::Work) -> Option<Self::Pwq> {
        self.queued_as(work).map(|(pwq, _)| pwq)
    }
    /// What never changes about a pool workqueue.
    fn info(&self, pwq: Self::Pwq) -> PwqInfo;
    /// The state of a pool workqueue, which must be of the pool that is held.
    fn pwq(&mut self, pwq: Self::Pwq) -> &mut PoolWorkqueue<Self>;
    /// The limit that its items count for.
    fn limit(&self, pwq: Self::Pwq) -> &Self::Limit;
    /// Keeps the queue of this pool workqueue in memory until an action that names it, `Released`
    /// included, has been carried out.
    fn hold(&mut self, pwq: Self::Pwq);
    /// An item has got its slot: a worker may take it (kernel tracepoint
    /// `workqueue_activate_work`).
    fn activated(&mut self, _work: Self::Work, _pwq: Self::Pwq) {}
    /// Applies a pure step to the budget word of the pool's CPU set: `None` leaves it unchanged and
    /// answers false. The engine repeats the step until its compare-exchange succeeds.
    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool;
    /// That word as it is now.
    fn budget(&mut self) -> Budget;
}
