//! What is known of one worker.
//!
//! Whatever is counted (its state, hints, sleep, threads and waits) is read by the whole pool and
//! changed by the [`Crew`](super::Crew) alone. The rest is open.

use crate::hog::Watch;
use crate::list::List;
use crate::pool::unseen::Unseen;
use crate::store::{ItemKey, Store};
use crate::time::Time;
use crate::worker::{State, Wait, WorkerId};

/// One worker.
#[cfg_attr(test, derive(Debug))]
pub(in crate::pool) struct Worker<S: Store> {
    pub(super) state: State,
    /// What it executes, and through which pool workqueue.
    pub current: Option<Current<S::Pwq>>,
    /// What it alone may run, before anything else: the barriers behind its item, and the next
    /// instance of that item if it was queued meanwhile (kernel `worker->scheduled`).
    pub scheduled: List<S>,
    /// For whom it rescues, if it is a rescuer.
    pub rescues: Option<S::Pwq>,
    /// It is no worker but somebody who has claimed the item that he waits for.
    pub claim: Option<Claim>,
    /// The claim that its item is in the middle of, if that is one of this pool.
    pub above: Option<WorkerId>,
    /// Next worker in the same bucket of the busy table.
    pub(super) busy_next: Option<WorkerId>,
    /// Not counted as running, for so many reasons: hints that it blocks, a CPU-intensive item, a
    /// rescuer.
    pub(super) hints: u32,
    /// The last scan saw it asleep in its current item.
    pub(super) asleep: bool,
    /// The last scan could not see it in its current item.
    pub unseen: Option<Unseen>,
    /// The last scan saw so many threads of the process tree that it stands for, beyond one.
    pub(super) extra: u32,
    /// The futex address that it slept on when it was last seen asleep on one, in its current
    /// item.
    pub futex: Option<u64>,
    /// The same, if it was asleep there when it was last seen at all.
    pub waits_at: Option<u64>,
    /// How often in a row it asked and others wanted its CPU.
    pub crowded: u32,
    /// The item that it has just ended was long enough to ask that.
    pub asks: bool,
    /// It does not ask again before.
    pub asks_after: Time,
    /// Waits for items of this pool that nobody may have started.
    pub(super) waiting: Option<Wait<S::Pwq>>,
    /// When its item began.
    pub began: Time,
    /// From when on others recall what it was dealt.
    pub recalled_at: Option<Time>,
    /// Where it last went idle, in a pool that asks for that.
    pub cpu: u32,
    /// What is known of the CPU time of its item.
    pub watch: Watch,
    /// Counts its items, so that a late sample of an earlier one is known as such.
    pub item_seq: u32,
}

#[derive(Debug)]
pub(in crate::pool) struct Current<P> {
    pub key: ItemKey,
    pub pwq: P,
    pub colour: u8,
    /// Not an item: it stands behind one and says that it has ended. Holds no slot.
    pub barrier: bool,
    /// The pool in which the next instance waits for the end of this one.
    pub deferred_to: Option<u32>,
    /// The number of the queue in which the next instance is pending, in this pool or another one.
    pub requeued_to: Option<u64>,
}

/// Who executes an item that he has claimed.
#[derive(Clone, Copy, Debug)]
pub(in crate::pool) struct Claim {
    /// The worker of this pool whose item called, or the claim whose.
    pub within: Option<WorkerId>,
    /// The thread counts as running for this alone.
    pub adds: bool,
}

impl<S: Store> Worker<S> {
    pub(in crate::pool) fn state(&self) -> State {
        self.state
    }

    /// For how many reasons it does not count as running.
    pub(in crate::pool) fn hints(&self) -> u32 {
        self.hints
    }

    pub(in crate::pool) fn is_asleep(&self) -> bool {
        self.asleep
    }

    pub(in crate::pool) fn extra(&self) -> u32 {
        self.extra
    }

    pub(in crate::pool) fn waiting(&self) -> Option<Wait<S::Pwq>> {
        self.waiting
    }

    /// Whether it still executes the item with this number.
    pub(in crate::pool) fn is_at(&self, item: u32) -> bool {
        self.state == State::Executing && self.item_seq == item
    }

    /// Moves it to its next state; the one before.
    ///
    /// # Panics
    /// If the move is not in the table of legal ones.
    pub(super) fn set_state(&mut self, id: WorkerId, next: State) -> State {
        let before = core::mem::replace(&mut self.state, next);
        assert!(
            before.may_become(next),
            "worker {id}: {before:?} to {next:?}"
        );
        before
    }

    /// Nothing is known of its item but that it runs, and it has no other to run before others.
    pub(in crate::pool) fn is_plain(&self) -> bool {
        let counts = self.hints == 0 && !self.asleep && self.extra == 0;
        let is_known = self.futex.is_some() || self.unseen.is_some() || self.waiting.is_some();
        counts && !is_known && !self.is_guest() && self.scheduled.is_empty()
    }

    /// Not one of the pool's own: it leaves after its item, or its items.
    pub(in crate::pool) fn is_guest(&self) -> bool {
        self.rescues.is_some() || self.claim.is_some()
    }

    pub(super) fn new() -> Self {
        Worker {
            state: State::Free,
            current: None,
            scheduled: List::new(),
            rescues: None,
            claim: None,
            above: None,
            busy_next: None,
            hints: 0,
            asleep: false,
            unseen: None,
            extra: 0,
            futex: None,
            waits_at: None,
            crowded: 0,
            asks: false,
            asks_after: Time(0),
            waiting: None,
            began: Time(0),
            recalled_at: None,
            cpu: 0,
            watch: Watch::default(),
            item_seq: 0,
        }
    }
}
