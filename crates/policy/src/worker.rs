//! Workers: their states, the legal moves between them, and the table of busy ones.

use alloc::vec::Vec;
use core::fmt;

use crate::hog::Watch;
use crate::list::{Links, List};
use crate::pool::unseen::Unseen;
use crate::store::ItemKey;
use crate::time::Time;

/// A worker of one pool. Numbers are reused after a worker has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One execution: this item of this worker of this pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Number of the pool.
    pub pool: u32,
    /// The worker.
    pub worker: WorkerId,
    /// Which of its items.
    pub seq: u32,
}

impl WorkerId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a worker is in its life. Legal moves: see [`State::may_become`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The number is free.
    Free,
    /// A thread was asked for.
    Creating,
    /// Parked; on the idle list since this time.
    Idle(Time),
    /// Chosen to run, off the idle list, counted as running, not there yet.
    Waking,
    /// Awake and between two items: choosing, or managing.
    Between,
    /// Executing an item.
    Executing,
    /// A guest that executes nothing, and counts for nothing: a rescuer between two items (a thread of a
    /// queue that helps this pool for a while), or a waiter that is about to execute what it has claimed.
    Visiting,
    /// Told to end; never runs again.
    Retiring,
}

impl State {
    /// The table of legal moves.
    pub fn may_become(self, next: State) -> bool {
        use State::*;
        matches!(
            (self, next),
            (Free, Creating)
                | (Creating, Free | Between)
                | (Idle(_), Waking | Retiring)
                | (Waking, Between | Retiring)
                | (Between, Idle(_) | Executing | Retiring)
                | (Executing, Between)
                | (Free, Visiting)
                | (Visiting, Executing | Free)
                | (Executing, Visiting)
                | (Retiring, Free)
        )
    }
}

/// One worker.
#[derive(Debug)]
pub(crate) struct Worker<L: Links, P> {
    pub state: State,
    /// What it executes, and through which pool workqueue.
    pub current: Option<Current<P>>,
    /// What it alone may run, before anything else: the barriers behind its item, and the next
    /// instance of that item if it was queued meanwhile (kernel `worker->scheduled`).
    pub scheduled: List<L>,
    /// For whom it rescues, if it is a rescuer.
    pub rescues: Option<P>,
    /// It is no worker but somebody who has claimed the item that he waits for.
    pub claim: Option<Claim>,
    /// The claim that its item is in the middle of, if that is one of this pool.
    pub above: Option<WorkerId>,
    /// Next worker in the same bucket of the busy table.
    pub busy_next: Option<WorkerId>,
    /// Not counted as running, for so many reasons: hints that it blocks, a CPU-intensive item, a
    /// rescuer.
    pub hints: u32,
    /// The last scan saw it asleep in its current item.
    pub asleep: bool,
    /// The last scan could not see it in its current item.
    pub unseen: Option<Unseen>,
    /// The last scan saw so many threads of the process tree that it stands for, beyond one.
    pub extra: u32,
    /// The futex address that it slept on when it was last seen asleep on one, in its current item.
    pub futex: Option<u64>,
    /// How often in a row it asked and others wanted its CPU.
    pub crowded: u32,
    /// The item that it has just ended was long enough to ask that.
    pub asks: bool,
    /// It does not ask again before.
    pub asks_after: Time,
    /// Waits for items of this pool that nobody may have started.
    pub waiting: Option<Wait<P>>,
    /// When its item began.
    pub began: Time,
    /// Where it last went idle, in a pool that asks for that.
    pub cpu: u32,
    /// What is known of the CPU time of its item.
    pub watch: Watch,
    /// Counts its items, so that a late sample of an earlier one is known as such.
    pub item_seq: u32,
}

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait<P> {
    /// Some items that were queued through this pwq. Whoever ends the last one says `wait_over`.
    Items(P),
    /// Everything that was queued through it: over, or to be looked at again, at its next flush.
    Flush(P),
    /// Items of this pwq that have all begun. Such a wait never fails, but it may be what another one
    /// fails for: the items that have begun may wait themselves.
    Begun(P),
}

impl<P: Copy> Wait<P> {
    /// The pwq of what is waited for.
    pub fn pwq(self) -> P {
        match self {
            Wait::Items(pwq) | Wait::Flush(pwq) | Wait::Begun(pwq) => pwq,
        }
    }

    /// Whether the waiter can do something else if told that its wait would never end.
    pub fn may_fail(self) -> bool {
        !matches!(self, Wait::Begun(_))
    }
}

#[derive(Debug)]
pub(crate) struct Current<P> {
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
pub(crate) struct Claim {
    /// The worker of this pool whose item called, or the claim whose.
    pub within: Option<WorkerId>,
    /// The thread counts as running for this alone.
    pub adds: bool,
}

impl<L: Links, P> Worker<L, P> {
    /// Not one of the pool's own: it leaves after its item, or its items.
    pub(crate) fn is_guest(&self) -> bool {
        self.rescues.is_some() || self.claim.is_some()
    }

    fn new() -> Self {
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
            crowded: 0,
            asks: false,
            asks_after: Time(0),
            waiting: None,
            began: Time(0),
            cpu: 0,
            watch: Watch::default(),
            item_seq: 0,
        }
    }
}

const BUSY_BUCKETS: usize = 64;

/// All workers of a pool, and the table of busy ones by item (kernel `busy_hash`).
pub(crate) struct Workers<L: Links, P> {
    slots: Vec<Worker<L, P>>,
    busy: [Option<WorkerId>; BUSY_BUCKETS],
}

fn bucket(key: &ItemKey) -> usize {
    // Fibonacci hashing of the address: headers are aligned, so low bits alone would not spread.
    (key.addr.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % BUSY_BUCKETS
}

impl<L: Links, P: Copy> Workers<L, P> {
    pub(crate) fn new() -> Self {
        Workers {
            slots: Vec::new(),
            busy: [None; BUSY_BUCKETS],
        }
    }

    pub(crate) fn get(&self, id: WorkerId) -> &Worker<L, P> {
        &self.slots[id.index()]
    }

    pub(crate) fn get_mut(&mut self, id: WorkerId) -> &mut Worker<L, P> {
        &mut self.slots[id.index()]
    }

    /// Moves a worker to its next state.
    ///
    /// # Panics
    /// If the move is not in the table.
    pub(crate) fn set_state(&mut self, id: WorkerId, next: State) -> State {
        let worker = self.get_mut(id);
        let before = core::mem::replace(&mut worker.state, next);
        assert!(
            before.may_become(next),
            "worker {id}: {before:?} to {next:?}"
        );
        before
    }

    /// A free number, made if there is none. Numbers stay small: the lowest free one is taken.
    pub(crate) fn allocate(&mut self) -> WorkerId {
        let free = self.slots.iter().position(|w| w.state == State::Free);
        let index = free.unwrap_or_else(|| {
            self.slots.push(Worker::new());
            self.slots.len() - 1
        });
        WorkerId(index as u32)
    }

    /// Ids of all slots ever used, free ones included.
    pub(crate) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<L, P> {
        (0..self.slots.len() as u32).map(WorkerId)
    }

    /// The worker that executes this item now.
    pub(crate) fn executing(&self, key: &ItemKey) -> Option<WorkerId> {
        let mut next = self.busy[bucket(key)];
        while let Some(id) = next {
            let worker = self.get(id);
            let current = worker.current.as_ref().expect("busy workers have an item");
            if (current.key.addr, current.key.func) == (key.addr, key.func) {
                return Some(id);
            }
            next = worker.busy_next;
        }
        None
    }

    /// Enters a worker into the busy table.
    pub(crate) fn enter_busy(&mut self, id: WorkerId, current: Current<P>) {
        let head = bucket(&current.key);
        let next = self.busy[head].replace(id);
        let worker = self.get_mut(id);
        worker.busy_next = next;
        worker.current = Some(current);
        worker.item_seq = worker.item_seq.wrapping_add(1);
    }

    /// Takes a worker out of the busy table.
    pub(crate) fn leave_busy(&mut self, id: WorkerId) -> Current<P> {
        let current = self
            .get_mut(id)
            .current
            .take()
            .expect("the worker executed an item");
        let after = self.get_mut(id).busy_next.take();
        let head = bucket(&current.key);
        if self.busy[head] == Some(id) {
            self.busy[head] = after;
            return current;
        }
        let mut at = self.busy[head].expect("the worker is in its bucket");
        while self.get(at).busy_next != Some(id) {
            at = self.get(at).busy_next.expect("the worker is in its bucket");
        }
        self.get_mut(at).busy_next = after;
        current
    }
}
