//! Items of a FIFO queue of which several workers take the first, one after the other: what for is
//! in `cmwq_policy::pool`'s `deal/row.rs`.
//!
//! The row has two parts with a lock each. Workers take items of the *front*, one after the other.
//! Who lines items up puts them *behind*, and need not wait for workers; whoever finds the front
//! empty brings there all that stands behind. Neither lock is held for anything else. Who holds the
//! pool may take either; who holds the front may take the other one.
//!
//! | who | does |
//! | --- | --- |
//! | lines up: a worker that asks, holding the pool | adds items behind |
//! | takes one: a worker that asks, holding the pool | takes the first of the front |
//! | goes on: a worker whose hand is out, without the pool | [notes](Hand::take) the first of the front as begun, and takes it |
//! | recalls: anybody, holding the pool, after all hands | takes all of both |
//!
//! An item is in the row until it is counted in the hand of the worker that begins it, or taken
//! with the pool held. A worker whose hand was recalled counts nothing. So whoever has recalled all
//! hands, and then the row, has found each item once.

use std::collections::VecDeque;

use cmwq_policy::pool::{Dealer, Ended, is_low, low_mark};

use super::hand::{Hand, Item};
use crate::queue::pwq::PwqRef;
use crate::sync::{AtomicU32, Mutex, MutexGuard, SeqCst};

/// See the module's page.
#[derive(Default)]
pub(crate) struct Row {
    front: Part<Front>,
    behind: Part<Items>,
}

/// What else is on its lines would go with them from CPU to CPU.
#[repr(align(128))]
#[derive(Default)]
struct Part<T> {
    inner: Mutex<T>,
    /// How many wait in it: written with the lock, and read by who holds the pool.
    waiting: AtomicU32,
}

#[derive(Default)]
struct Front {
    items: Items,
    /// See [`low_mark`].
    low: usize,
}

#[derive(Default)]
struct Items(VecDeque<Item>);

// SAFETY: items may be sent between threads.
unsafe impl Send for Items {}

impl<T> Part<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.inner.lock().expect("nobody panics with it")
    }

    fn waiting(&self) -> usize {
        self.waiting.load(SeqCst) as usize
    }

    fn note(&self, waiting: usize) {
        self.waiting.store(waiting as u32, SeqCst);
    }
}

/// What who holds the pool knows of the row.
#[derive(Default)]
pub(super) struct LinedUp {
    /// Of whom and what the row is, while any hand is in it or any item waits there: who lined up
    /// the first item since it was recalled. If nothing waits the pool workqueue may be gone.
    pub(super) of: Option<Dealer<PwqRef>>,
    /// Room for what is about to be lined up, or was recalled.
    pub(super) items: Vec<Item>,
}

impl Row {
    /// How many items wait. Workers take them meanwhile. In this order: what comes to the front is
    /// counted there before it is not counted behind.
    pub(super) fn waiting(&self) -> usize {
        let behind = self.behind.waiting();
        behind + self.front.waiting()
    }

    /// Adds these items behind the others. The caller holds the pool.
    pub(super) fn line_up(&self, items: &mut Vec<Item>) {
        let mut behind = self.behind.lock();
        behind.0.extend(items.drain(..));
        self.behind.note(behind.0.len());
    }

    /// The first one. What stands behind is brought to the front for it.
    fn first(&self, front: &mut Front) -> Option<Item> {
        if front.items.0.is_empty() && self.behind.waiting() > 0 {
            let mut behind = self.behind.lock();
            std::mem::swap(&mut front.items, &mut *behind);
            front.low = low_mark(front.items.0.len());
            self.front.note(front.items.0.len());
            self.behind.note(0);
        }
        front.items.0.front().copied()
    }

    /// The first one goes. Whether the row is to be filled up.
    fn goes(&self, front: &mut Front) -> bool {
        front.items.0.pop_front();
        self.front.note(front.items.0.len());
        let left = front.items.0.len();
        is_low(left, &mut front.low, || self.behind.waiting() > 0)
    }

    /// Takes the first one. The caller holds the pool.
    pub(super) fn take(&self) -> Option<Item> {
        let mut front = self.front.lock();
        let first = self.first(&mut front)?;
        self.goes(&mut front);
        Some(first)
    }

    /// Takes all. The caller holds the pool, and has recalled all hands that are in the row.
    pub(super) fn recall(&self, into: &mut Vec<Item>) {
        let mut front = self.front.lock();
        let mut behind = self.behind.lock();
        into.extend(front.items.0.drain(..).chain(behind.0.drain(..)));
        self.behind.note(0);
        self.front.note(0);
    }

    /// The worker whose hand this is has ended an item, and goes on to the first one. Tells whether
    /// somebody else had the front. `None`: it is to tell, or to ask.
    pub(super) fn go_on(&self, hand: &Hand, ended: Ended) -> Option<(Item, bool)> {
        let free = self.front.inner.try_lock().ok();
        let waited = free.is_none();
        let mut front = free.unwrap_or_else(|| self.front.lock());
        let first = self.first(&mut front)?;
        if !hand.take(first, ended) {
            return None;
        }
        if self.goes(&mut front) {
            hand.note_fills(true);
        }
        Some((first, waited))
    }
}
