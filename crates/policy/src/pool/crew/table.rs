//! The workers of a pool by number, and the table of busy ones by item (kernel `busy_hash`).

use alloc::vec::Vec;

use super::worker::{Current, Worker};
use crate::store::{ItemKey, Store};
use crate::worker::{State, WorkerId};

const BUSY_BUCKETS: usize = 64;

/// All workers of a pool, and the table of busy ones by item (kernel `busy_hash`).
#[cfg_attr(test, derive(Debug))]
pub(super) struct Table<S: Store> {
    slots: Vec<Worker<S>>,
    busy: [Option<WorkerId>; BUSY_BUCKETS],
}

fn bucket(key: &ItemKey) -> usize {
    // Fibonacci hashing of the address: headers are aligned, so low bits alone would not spread.
    (key.addr.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % BUSY_BUCKETS
}

impl<S: Store> Table<S> {
    pub(super) fn new() -> Self {
        Table {
            slots: Vec::new(),
            busy: [None; BUSY_BUCKETS],
        }
    }

    pub(super) fn get(&self, id: WorkerId) -> &Worker<S> {
        &self.slots[id.index()]
    }

    pub(super) fn get_mut(&mut self, id: WorkerId) -> &mut Worker<S> {
        &mut self.slots[id.index()]
    }

    /// A free number, made if there is none. Numbers stay small: the lowest free one is taken.
    pub(super) fn allocate(&mut self) -> WorkerId {
        let free = self.slots.iter().position(|w| w.state() == State::Free);
        let index = free.unwrap_or_else(|| {
            self.slots.push(Worker::new());
            self.slots.len() - 1
        });
        WorkerId(index as u32)
    }

    /// Ids of all slots ever used, free ones included.
    pub(super) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<S> {
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
    pub(super) fn enter_busy(&mut self, id: WorkerId, current: Current<S::Pwq>) {
        let head = bucket(&current.key);
        let next = self.busy[head].replace(id);
        let worker = self.get_mut(id);
        worker.busy_next = next;
        worker.current = Some(current);
        worker.item_seq = worker.item_seq.wrapping_add(1);
    }

    /// Takes a worker out of the busy table.
    pub(super) fn leave_busy(&mut self, id: WorkerId) -> Current<S::Pwq> {
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
