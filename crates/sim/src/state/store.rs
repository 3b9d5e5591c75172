//! Items, pwqs and limits behind the core's handles: numbers in tables.

use std::cell::{Cell, RefCell};

use cmwq_policy::limit::{Limit, Waiters};
use cmwq_policy::list::Links;
use cmwq_policy::pwq::PwqFlags;
use cmwq_policy::stats::Stamp;
use cmwq_policy::store::{Home, PwqInfo, SharedLimit};
use cmwq_policy::work::{PWQ_ALIGN, WorkWord};
use cmwq_policy::{Budget, ItemKey, PoolWorkqueue, Store};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::report::PwqView;

/// An item: what the engine has in its header, and what it does.
pub(crate) struct Item {
    next: Option<ItemId>,
    prev: Option<ItemId>,
    pub(crate) word: WorkWord,
    pub(crate) key: ItemKey,
    /// The CPU that it was queued on last.
    pub(crate) home: Home,
    /// The CPU of the thread that queued it last.
    pub(crate) queued_on: u32,
    stamp: Stamp,
    pub(crate) name: String,
    /// It only tells a flusher that it was reached.
    pub(crate) is_barrier: bool,
    /// Executions begun.
    pub(crate) started: u32,
    /// References that queues and timers have.
    pub(crate) references: u32,
}

struct Pwq {
    queue: QueueId,
    pool: PoolId,
    node: Option<u32>,
    fifo: bool,
    limit: usize,
    core: PoolWorkqueue<Items>,
}

/// The limit of a queue, or of its part on one CPU.
pub struct SimLimit {
    word: Cell<Limit>,
    waiters: RefCell<Waiters<PwqId>>,
    used: Cell<Used>,
}

/// Whether a word that pools share was used since somebody last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Used {
    #[default]
    No,
    Read,
    Written,
}

impl Used {
    fn more(&self, written: bool) -> Used {
        (*self).max(if written { Used::Written } else { Used::Read })
    }
}

impl SharedLimit<PwqId> for SimLimit {
    fn step(&self, step: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit> {
        let before = self.word.get();
        let next = step(before);
        self.used.set(self.used.get().more(next.is_some()));
        self.word.set(next.unwrap_or(before));
        next.map(|_| before).ok_or(before)
    }

    fn with_waiters<R>(&self, act: impl FnOnce(&mut Waiters<PwqId>) -> R) -> R {
        self.used.set(Used::Written);
        act(&mut self.waiters.borrow_mut())
    }

    fn nr_waiting(&self) -> u32 {
        self.used.set(self.used.get().more(false));
        self.waiters.borrow().nr()
    }
}

/// Everything that the pools of the machine order and share.
#[derive(Default)]
pub struct Items {
    items: Vec<Item>,
    pwqs: Vec<Pwq>,
    limits: Vec<SimLimit>,
    /// By queue: how many timers, flushers and actions that are still to come keep it.
    holds: Vec<u32>,
    budget: Budget,
    budget_used: Used,
}

impl Items {
    pub(crate) fn add_item(&mut self, name: String, is_barrier: bool) -> ItemId {
        let id = self.items.len() as u32;
        self.items.push(Item {
            next: None,
            prev: None,
            word: WorkWord::NEW,
            key: ItemKey {
                addr: u64::from(id),
                func: 0,
            },
            home: Home::default(),
            queued_on: 0,
            stamp: Stamp::default(),
            name,
            is_barrier,
            started: 0,
            references: 0,
        });
        ItemId(id)
    }

    pub(crate) fn add_limit(&mut self, max: u32) -> usize {
        self.limits.push(SimLimit {
            word: Cell::new(Limit::new(max)),
            waiters: RefCell::default(),
            used: Cell::default(),
        });
        self.limits.len() - 1
    }

    pub(crate) fn add_pwq(
        &mut self,
        queue: QueueId,
        (pool, node): (PoolId, Option<u32>),
        limit: usize,
        flags: PwqFlags,
    ) -> PwqId {
        self.pwqs.push(Pwq {
            queue,
            pool,
            node,
            fifo: flags.fifo,
            limit,
            core: PoolWorkqueue::new(flags),
        });
        PwqId(self.pwqs.len() as u32 - 1)
    }

    pub(crate) fn item(&self, item: ItemId) -> &Item {
        &self.items[item.0 as usize]
    }

    pub(crate) fn item_mut(&mut self, item: ItemId) -> &mut Item {
        &mut self.items[item.0 as usize]
    }

    fn at(&self, pwq: PwqId) -> &Pwq {
        &self.pwqs[pwq.0 as usize]
    }

    pub(crate) fn queue_of(&self, pwq: PwqId) -> QueueId {
        self.at(pwq).queue
    }

    /// Somebody keeps the queue.
    pub(crate) fn hold_queue(&mut self, queue: QueueId) {
        let at = queue.0 as usize;
        self.holds.resize(self.holds.len().max(at + 1), 0);
        self.holds[at] += 1;
    }

    /// Who kept the queue does not need it any more.
    pub(crate) fn let_go_queue(&mut self, queue: QueueId) {
        let holds = &mut self.holds[queue.0 as usize];
        *holds = holds.checked_sub(1).expect("the queue was held");
    }

    /// As [`let_go_queue`](Self::let_go_queue), of the queue of this pwq.
    pub(crate) fn let_go(&mut self, pwq: PwqId) {
        self.let_go_queue(self.queue_of(pwq));
    }

    /// Items that a queue or timer refers to, and queues that somebody keeps. None when nothing is
    /// queued or armed.
    pub(crate) fn referred_to(&self) -> (Vec<ItemId>, Vec<QueueId>) {
        let ids = |n: usize| 0..n as u32;
        let items = ids(self.items.len()).map(ItemId);
        let queues = ids(self.holds.len()).map(QueueId);
        (
            items.filter(|&i| self.item(i).references > 0).collect(),
            queues.filter(|q| self.holds[q.0 as usize] > 0).collect(),
        )
    }

    pub(crate) fn nr_pwqs(&self) -> usize {
        self.pwqs.len()
    }

    /// How each word that pools share was used since the last call: that of the budget, and those
    /// of limits by number.
    pub(crate) fn take_used(&mut self) -> Vec<Used> {
        let budget = std::mem::take(&mut self.budget_used);
        let limits = self.limits.iter().map(|limit| limit.used.take());
        std::iter::once(budget).chain(limits).collect()
    }

    pub(crate) fn limit_at(&self, limit: usize) -> &SimLimit {
        &self.limits[limit]
    }

    pub(crate) fn pwq_view(&self, pwq: PwqId) -> PwqView {
        let at = self.at(pwq);
        PwqView {
            queue: at.queue,
            pool: at.pool,
            limit: at.limit,
            nr_active: at.core.nr_active(),
            nr_queued: at.core.nr_queued(),
            nr_inactive: at.core.nr_inactive(),
            nr_in_flight: at.core.nr_in_flight(),
            plugged: at.core.is_plugged(),
        }
    }

    /// The tokens of the machine's CPUs that pools hold.
    pub fn budget(&self) -> Budget {
        self.budget
    }
}

impl Links for Items {
    type Work = ItemId;

    fn next(&self, work: ItemId) -> Option<ItemId> {
        self.item(work).next
    }

    fn prev(&self, work: ItemId) -> Option<ItemId> {
        self.item(work).prev
    }

    fn set_next(&mut self, work: ItemId, next: Option<ItemId>) {
        self.item_mut(work).next = next;
    }

    fn set_prev(&mut self, work: ItemId, prev: Option<ItemId>) {
        self.item_mut(work).prev = prev;
    }
}

impl Store for Items {
    type Pwq = PwqId;
    type Limit = SimLimit;

    fn word(&self, work: ItemId) -> WorkWord {
        self.item(work).word
    }

    fn set_word(&mut self, work: ItemId, word: WorkWord) {
        self.item_mut(work).word = word;
    }

    fn key(&self, work: ItemId) -> ItemKey {
        self.item(work).key
    }

    fn home(&self, work: ItemId) -> Home {
        self.item(work).home
    }

    fn set_home(&mut self, work: ItemId, home: Home) {
        self.item_mut(work).home = home;
    }

    fn stamp(&self, work: ItemId) -> Stamp {
        self.item(work).stamp
    }

    fn set_stamp(&mut self, work: ItemId, stamp: Stamp) {
        self.item_mut(work).stamp = stamp;
    }

    fn pwq_addr(&self, pwq: PwqId) -> u64 {
        (u64::from(pwq.0) + 1) * PWQ_ALIGN
    }

    fn pwq_at(&self, addr: u64) -> PwqId {
        PwqId((addr / PWQ_ALIGN - 1) as u32)
    }

    fn info(&self, pwq: PwqId) -> PwqInfo {
        let Pwq {
            queue,
            pool,
            node,
            fifo,
            ..
        } = *self.at(pwq);
        PwqInfo {
            pool: pool.0,
            queue: u64::from(queue.0),
            node,
            fifo,
        }
    }

    fn pwq(&mut self, pwq: PwqId) -> &mut PoolWorkqueue<Items> {
        &mut self.pwqs[pwq.0 as usize].core
    }

    fn limit(&self, pwq: PwqId) -> &SimLimit {
        &self.limits[self.at(pwq).limit]
    }

    fn hold(&mut self, pwq: PwqId) {
        self.hold_queue(self.queue_of(pwq));
    }

    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let next = step(self.budget);
        self.budget_used = self.budget_used.more(next.is_some());
        self.budget = next.unwrap_or(self.budget);
        next.is_some()
    }

    fn budget(&mut self) -> Budget {
        self.budget_used = self.budget_used.more(false);
        self.budget
    }
}
