//! The workers of a pool, and the table of busy ones.

use alloc::vec::Vec;

use super::unseen::Unseen;
use crate::hog::Watch;
use crate::list::{Links, List};
use crate::store::ItemKey;
use crate::time::Time;
use crate::worker::{State, Wait, WorkerId};

/// One worker.
#[derive(Debug)]
pub(super) struct Worker<L: Links, P> {
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

#[derive(Debug)]
pub(super) struct Current<P> {
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
pub(super) struct Claim {
    /// The worker of this pool whose item called, or the claim whose.
    pub within: Option<WorkerId>,
    /// The thread counts as running for this alone.
    pub adds: bool,
}

impl<L: Links, P> Worker<L, P> {
    /// Not one of the pool's own: it leaves after its item, or its items.
    pub(super) fn is_guest(&self) -> bool {
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
pub(super) struct Workers<L: Links, P> {
    slots: Vec<Worker<L, P>>,
    busy: [Option<WorkerId>; BUSY_BUCKETS],
}

fn bucket(key: &ItemKey) -> usize {
    // Fibonacci hashing of the address: headers are aligned, so low bits alone would not spread.
    (key.addr.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % BUSY_BUCKETS
}

impl<L: Links, P: Copy> Workers<L, P> {
    pub(super) fn new() -> Self {
        Workers {
            slots: Vec::new(),
            busy: [None; BUSY_BUCKETS],
        }
    }

    pub(super) fn get(&self, id: WorkerId) -> &Worker<L, P> {
        &self.slots[id.index()]
    }

    pub(super) fn get_mut(&mut self, id: WorkerId) -> &mut Worker<L, P> {
        &mut self.slots[id.index()]
    }

    /// Moves a worker to its next state.
    ///
    /// # Panics
    /// If the move is not in the table.
    pub(super) fn set_state(&mut self, id: WorkerId, next: State) -> State {
        let worker = self.get_mut(id);
        let before = core::mem::replace(&mut worker.state, next);
        assert!(
            before.may_become(next),
            "worker {id}: {before:?} to {next:?}"
        );
        before
    }

    /// A free number, made if there is none. Numbers stay small: the lowest free one is taken.
    pub(super) fn allocate(&mut self) -> WorkerId {
        let free = self.slots.iter().position(|w| w.state == State::Free);
        let index = free.unwrap_or_else(|| {
            self.slots.push(Worker::new());
            self.slots.len() - 1
        });
        WorkerId(index as u32)
    }

    /// Ids of all slots ever used, free ones included.
    pub(super) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<L, P> {
        (0..self.slots.len() as u32).map(WorkerId)
    }

    /// The worker that executes this item now.
    pub(super) fn executing(&self, key: &ItemKey) -> Option<WorkerId> {
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
    pub(super) fn enter_busy(&mut self, id: WorkerId, current: Current<P>) {
        let head = bucket(&current.key);
        let next = self.busy[head].replace(id);
        let worker = self.get_mut(id);
        worker.busy_next = next;
        worker.current = Some(current);
        worker.item_seq = worker.item_seq.wrapping_add(1);
    }

    /// Takes a worker out of the busy table.
    pub(super) fn leave_busy(&mut self, id: WorkerId) -> Current<P> {
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
