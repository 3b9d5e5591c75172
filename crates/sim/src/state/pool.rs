//! A pool around the core.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use cmwq_policy::affinity::Near;
use cmwq_policy::pool::{PlainInbox, PoolKey};
use cmwq_policy::{PoolAttrs, Published, Time, WorkerId, WorkerPool};

use crate::api::names::{ItemId, PoolId, PwqId};
use crate::cpu::ThreadId;
use crate::cpu::lines::LineId;
use crate::state::event::Armed;
use crate::state::signals::PoolSignals;
use crate::state::store::Items;

/// Nothing happens in the middle of a call here, so no item is left while it is shut.
pub(crate) type Inbox = PlainInbox<ItemId, PwqId>;

/// The lines of a pool that its threads share.
pub(crate) struct PoolLines {
    pub(crate) lock: LineId,
    /// Of its row.
    pub(crate) row: LineId,
    pub(crate) behind: LineId,
    /// Of its inbox.
    pub(crate) trays: Box<[LineId]>,
}

pub(crate) struct Pool {
    pub(crate) id: PoolId,
    pub(crate) key: PoolKey,
    pub(crate) lines: PoolLines,
    /// How far its items are from its CPUs, if they come from several pods.
    pub(crate) near: Option<Arc<Near>>,
    /// The node of its pod, if that is in one.
    pub(crate) node: Option<u32>,
    /// The CPU of its pod that was given last to a worker that had left it, and how many there
    /// were.
    pub(crate) turn: Cell<usize>,
    pub(crate) repatriated: Cell<u64>,
    pub(crate) signals: PoolSignals,
    pub(crate) core: RefCell<WorkerPool<Items>>,
    /// Items that were queued without the pool's lock.
    pub(crate) inbox: RefCell<Inbox>,
    /// What was published last.
    pub(crate) published: Cell<Published>,
    pub(crate) threads: RefCell<BTreeMap<WorkerId, ThreadId>>,
    /// When its idle workers are looked at.
    pub(crate) cull: Cell<Armed>,
    /// When it wants to be looked at, beside the tick.
    pub(crate) look: Cell<Armed>,
    /// When it is looked at because items of it wait for slots.
    pub(crate) starving: Cell<Armed>,
}

impl Pool {
    pub(crate) fn new(
        key: PoolKey,
        lines: PoolLines,
        node: Option<u32>,
        near: Option<Arc<Near>>,
        attrs: PoolAttrs,
        brief_items: bool,
    ) -> Pool {
        let id = PoolId(attrs.id);
        let inbox = Inbox::default().with_trays(lines.trays.len());
        let core = match &near {
            Some(near) => WorkerPool::new(attrs).with_near(near.clone()),
            None => WorkerPool::new(attrs),
        };
        let core = match brief_items {
            true => core.with_brief_items(),
            false => core,
        };
        Pool {
            id,
            key,
            lines,
            near,
            node,
            turn: Cell::new(0),
            repatriated: Cell::new(0),
            signals: PoolSignals::default(),
            core: RefCell::new(core),
            inbox: RefCell::new(inbox),
            published: Cell::default(),
            threads: RefCell::default(),
            cull: Cell::new(None),
            look: Cell::new(None),
            starving: Cell::new(None),
        }
    }

    pub(crate) fn enter(&self, id: WorkerId, thread: ThreadId) {
        self.threads.borrow_mut().insert(id, thread);
    }

    /// The worker's thread ends; its number may have gone to another one.
    pub(crate) fn forget(&self, id: WorkerId, thread: ThreadId) {
        let mut threads = self.threads.borrow_mut();
        if threads.get(&id) == Some(&thread) {
            threads.remove(&id);
        }
    }

    pub(crate) fn worker_name(&self, id: WorkerId) -> String {
        format!("worker/{}:{id}", self.id.0)
    }

    pub(crate) fn thread(&self, id: WorkerId) -> Option<ThreadId> {
        self.threads.borrow().get(&id).copied()
    }

    /// The idle worker that a report wakes.
    pub(crate) fn standby(&self) -> Option<ThreadId> {
        self.thread(self.core.borrow().standby()?)
    }

    /// Whether idle workers are due to retire.
    pub(crate) fn is_cull_due(&self, now: Time) -> bool {
        self.core.borrow().cull_at().is_some_and(|at| at <= now)
    }
}
