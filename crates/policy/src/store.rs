//! What the core needs from whoever drives it: the items it orders and the word its pool shares.

use crate::budget::Budget;
use crate::list::Links;
use crate::pwq::PoolWorkqueue;

/// What identifies an execution in the busy table: address, function and queue of the item.
///
/// The function is part of it so that memory which is reused for another item does not make that
/// item wait for the old one (kernel `find_worker_executing_work`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyKey {
    /// The item's address, or whatever number stands for it.
    pub addr: u64,
    /// Its function.
    pub func: u64,
    /// The queue it was queued on.
    pub queue: u64,
}

/// The items, pool workqueues and shared words behind the core's opaque handles.
///
/// All calls are made while the pool is exclusively held; only the budget is shared with others.
pub trait Store: Links + Sized {
    /// An opaque handle of a pool workqueue.
    type Pwq: Copy + Eq + core::fmt::Debug;

    /// The pool workqueue an item was queued through.
    fn pwq_of(&self, work: Self::Work) -> Self::Pwq;
    /// The state of a pool workqueue.
    fn pwq(&mut self, pwq: Self::Pwq) -> &mut PoolWorkqueue<Self>;
    /// The flush colour an item was queued with.
    fn colour_of(&self, work: Self::Work) -> u8;
    /// The item is now queued through `pwq` with this colour, on the inactive list or not.
    fn set_queued(&mut self, work: Self::Work, pwq: Self::Pwq, colour: u8, inactive: bool);
    /// The item is about to be executed: it is no longer pending and may be queued again.
    fn set_running(&mut self, work: Self::Work);
    /// What identifies an execution of this item.
    fn busy_key(&self, work: Self::Work) -> BusyKey;
    /// Applies a pure step to the budget word of the pool's CPU set: `None` leaves it unchanged and
    /// answers false. The runtime repeats the step until its compare-exchange succeeds.
    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool;
}
