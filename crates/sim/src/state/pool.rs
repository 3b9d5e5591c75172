//! A pool around the core.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cmwq_policy::affinity::Near;
use cmwq_policy::pool::{
    Dealer, Dealt, Inbox as Policy, Left, MOST_DEALT, PoolKey, Recalled, looks_at_clock,
};
use cmwq_policy::stats::Stamp;
use cmwq_policy::{Nanos, PoolAttrs, Published, Time, WorkerId, WorkerPool};

use crate::api::names::{ItemId, PoolId, PwqId};
use crate::cpu::ThreadId;
use crate::state::event::Armed;
use crate::state::signals::PoolSignals;
use crate::state::store::Items;

pub(crate) struct Pool {
    pub(crate) id: PoolId,
    pub(crate) key: PoolKey,
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

/// The inbox of a pool. Nothing happens in the middle of a call here, so no item is left while it
/// is shut.
#[derive(Default)]
pub(crate) struct Inbox {
    until: Option<Time>,
    left: VecDeque<Left<ItemId, PwqId>>,
    hand: Option<Hand>,
}

/// What a worker was dealt.
struct Hand {
    dealer: Dealer<PwqId>,
    /// Those that it has not begun.
    rest: VecDeque<Dealt<ItemId>>,
    /// What it has done.
    begun: Vec<Recalled<ItemId>>,
}

impl Inbox {
    /// Leaves an item, if that may be.
    pub(crate) fn leave(&mut self, work: ItemId, pwq: PwqId, home: u32, now: Time) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        if looks_at_clock(self.left.len() as u32) && now >= until {
            return false;
        }
        let stamp = Stamp::of(now);
        self.left.push_back(Left {
            work,
            pwq,
            home,
            stamp,
        });
        true
    }

    /// Through which pool workqueue this item was left.
    pub(crate) fn left_for(&self, work: ItemId) -> Option<PwqId> {
        let is_it = |dealt: &Dealt<ItemId>| dealt.work == work;
        let dealt = self.hand.iter().find(|hand| hand.rest.iter().any(is_it));
        let left = self.left.iter().find(|left| left.work == work);
        left.map(|left| left.pwq)
            .or_else(|| dealt.map(|hand| hand.dealer.pwq))
    }

    /// The worker has ended an item then, which took so long, and goes on to the next one that it
    /// was dealt, if it was.
    pub(crate) fn go_on(&mut self, id: WorkerId, at: Time, ran: Nanos) -> Option<(ItemId, PwqId)> {
        let hand = self.hand.as_mut().filter(|hand| hand.dealer.worker == id)?;
        let item = hand.rest.pop_front()?;
        hand.begun.push(Recalled::Begun { item, at, ran });
        Some((item.work, hand.dealer.pwq))
    }

    /// Whether a worker has done something that its pool has not heard of.
    pub(crate) fn has_news(&self) -> bool {
        self.hand
            .as_ref()
            .is_some_and(|hand| !hand.begun.is_empty())
    }

    /// Whether there is an item in it, or a worker may hold one that it has not begun.
    pub(crate) fn has_left(&self) -> bool {
        self.has_any() || self.hand.is_some()
    }

    /// Whether there is an item in it, or may soon be.
    pub(crate) fn has_backlog(&self) -> bool {
        self.until.is_some() || self.has_left()
    }
}

impl Policy<Items> for Inbox {
    fn is_open(&self) -> bool {
        self.until.is_some()
    }

    fn open(&mut self, until: Time) {
        self.until = Some(until);
    }

    fn shut(&mut self) {
        self.until = None;
    }

    fn has_any(&self) -> bool {
        !self.left.is_empty()
    }

    fn take(&mut self) -> Option<Left<ItemId, PwqId>> {
        self.left.pop_front()
    }

    fn first(&mut self) -> Option<Left<ItemId, PwqId>> {
        self.left.front().copied()
    }

    fn deal(
        &mut self,
        to: Dealer<PwqId>,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<ItemId>>,
    ) -> usize {
        let dealt = core::iter::from_fn(|| next(self));
        let rest: VecDeque<_> = dealt.take(MOST_DEALT).collect();
        let dealt = rest.len();
        self.hand = (dealt > 0).then(|| Hand {
            dealer: to,
            rest,
            begun: Vec::new(),
        });
        dealt
    }

    fn recall(&mut self, mut told: impl FnMut(Dealer<PwqId>, Recalled<ItemId>)) {
        let Some(hand) = self.hand.take() else {
            return;
        };
        hand.begun.iter().for_each(|&step| told(hand.dealer, step));
        for item in hand.rest.into_iter().rev() {
            match item.listed {
                Some(_) => told(hand.dealer, Recalled::Rest(item)),
                None => self.left.push_front(Left {
                    work: item.work,
                    pwq: hand.dealer.pwq,
                    home: 0,
                    stamp: item.stamp,
                }),
            }
        }
    }
}

impl Pool {
    pub(crate) fn new(
        key: PoolKey,
        node: Option<u32>,
        near: Option<Arc<Near>>,
        attrs: PoolAttrs,
        brief_items: bool,
    ) -> Pool {
        let id = PoolId(attrs.id);
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
            near,
            node,
            turn: Cell::new(0),
            repatriated: Cell::new(0),
            signals: PoolSignals::default(),
            core: RefCell::new(core),
            inbox: RefCell::default(),
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
