//! What the engine keeps in headers and shared words: items, pool workqueues, limits, the budget.

use crate::budget::Budget;
use crate::limit::{Limit, Waiters};
use crate::list::Links;
use crate::pwq::PoolWorkqueue;
use crate::stats::Stamp;
use crate::store::{Home, ItemKey, PwqInfo, SharedLimit, Store};
use crate::work::{PWQ_ALIGN, WorkWord};
use crate::worker::Execution;
use core::cell::{Cell, RefCell};
use std::vec::Vec;

/// One instance of an item: the item, and its number among all queueings.
pub(super) type Instance = (usize, u64);

/// One item: what the engine keeps in its header, and what the checks want to know.
#[derive(Clone, Debug)]
pub(super) struct Item {
    next: Option<usize>,
    prev: Option<usize>,
    /// As it was queued, though it be dealt, and its word if it is.
    pub(super) word: WorkWord,
    dealt: Option<WorkWord>,
    pub(super) key: ItemKey,
    pub(super) home: Home,
    queued_at: Stamp,
    /// The number of its pending instance.
    pub(super) stamp: u64,
    /// The number of the last instance that went behind an execution of its own.
    pub(super) went_behind: u64,
    /// The number of the instance that was begun last.
    pub(super) begun: u64,
    /// Through which pwq that was queued.
    pub(super) begun_in: Option<usize>,
    pub(super) starts: u32,
    /// What it stands behind, if it is a barrier.
    pub(super) target: Option<Instance>,
    /// The execution that its pending instance waits for.
    pub(super) behind: Option<Execution>,
}

impl Item {
    pub(super) fn is_barrier(&self) -> bool {
        self.target.is_some()
    }

    /// Queued, not only owned by somebody.
    pub(super) fn is_queued(&self) -> bool {
        self.word.pwq().is_some()
    }

    /// Queued, and holds a slot.
    pub(super) fn is_active(&self) -> bool {
        self.is_queued() && !self.word.flags().inactive
    }
}

#[derive(Debug)]
pub(super) struct TestLimit {
    word: Cell<Limit>,
    waiters: RefCell<Waiters<usize>>,
}

impl TestLimit {
    fn new(max: u32) -> TestLimit {
        TestLimit {
            word: Cell::new(Limit::new(max)),
            waiters: RefCell::default(),
        }
    }

    pub(super) fn now(&self) -> Limit {
        self.word.get()
    }

    /// It is changed, and nobody is told.
    pub(super) fn set(&self, limit: Limit) {
        self.word.set(limit);
    }

    /// Who waits, in turn: once round, up to a mark that joins last.
    pub(super) fn waiters(&self) -> Vec<usize> {
        const MARK: usize = usize::MAX;
        let mut waiters = self.waiters.borrow_mut();
        waiters.join(MARK);
        let mut found = Vec::new();
        while let Some(pwq) = waiters.first().filter(|&pwq| pwq != MARK) {
            found.push(pwq);
            waiters.rotate();
        }
        waiters.leave(MARK);
        found
    }
}

impl SharedLimit<usize> for TestLimit {
    fn step(&self, step: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit> {
        let before = self.word.get();
        match step(before) {
            Some(next) => {
                self.word.set(next);
                Ok(before)
            }
            None => Err(before),
        }
    }

    fn with_waiters<R>(&self, act: impl FnOnce(&mut Waiters<usize>) -> R) -> R {
        act(&mut self.waiters.borrow_mut())
    }
}

#[derive(Debug)]
pub(super) struct TestPwq {
    pub(super) pool: usize,
    pub(super) queue: usize,
    pub(super) limit: usize,
    pub(super) state: PoolWorkqueue<TestStore>,
    /// How often the core has asked to keep its queue, less how often an action gave that back.
    pub(super) holds: u32,
}

#[derive(Debug, Default)]
pub(super) struct TestStore {
    pub(super) items: Vec<Item>,
    pub(super) pwqs: Vec<TestPwq>,
    pub(super) limits: Vec<TestLimit>,
    pub(super) budget: Budget,
    /// The pool that the running call holds.
    pub(super) locked: Option<usize>,
    stamps: u64,
}

impl TestStore {
    pub(super) fn add_item(&mut self) -> usize {
        let addr = 64 * (1 + self.items.len() as u64);
        self.items.push(Item {
            next: None,
            prev: None,
            word: WorkWord::NEW,
            key: ItemKey { addr, func: 7 },
            home: Home::default(),
            dealt: None,
            queued_at: Stamp::default(),
            stamp: 0,
            went_behind: 0,
            begun: 0,
            begun_in: None,
            starts: 0,
            target: None,
            behind: None,
        });
        self.items.len() - 1
    }

    pub(super) fn add_limit(&mut self, max: u32) -> usize {
        self.limits.push(TestLimit::new(max));
        self.limits.len() - 1
    }

    pub(super) fn pwq_of(&self, work: usize) -> Option<usize> {
        let (addr, _) = self.items[work].word.pwq()?;
        Some(self.pwq_at(addr))
    }

    /// The item that an execution with this key is of.
    pub(super) fn item_of(&self, key: &ItemKey) -> usize {
        let items = self.items.iter().enumerate();
        let of_key = items.filter(|(_, item)| item.key == *key);
        let last = of_key.max_by_key(|(_, item)| item.begun);
        last.expect("it was queued").0
    }

    /// A worker begins this item of this pwq by itself.
    pub(super) fn set_alone(&mut self, work: usize, pwq: usize) {
        if !self.items[work].is_queued() {
            self.note_queued(work);
        }
        let item = &mut self.items[work];
        item.starts += 1;
        (item.begun, item.behind) = (item.stamp, None);
        item.begun_in = Some(pwq);
        let pool = self.pwqs[pwq].pool as u32;
        (item.word, item.dealt) = (WorkWord::off_queue(pool), None);
    }

    fn note_queued(&mut self, work: usize) {
        self.stamps += 1;
        let item = &mut self.items[work];
        assert!(
            item.word.is_pending() || item.is_barrier(),
            "item {work} is queued, but nobody owns it"
        );
        item.stamp = self.stamps;
    }

    fn note_begun(&mut self, work: usize) {
        let pwq = self.pwq_of(work);
        let item = &mut self.items[work];
        item.begun_in = pwq;
        let flags = item.word.flags();
        assert!(!flags.deferred, "item {work} begins while deferred");
        assert_eq!(flags.inactive, item.is_barrier(), "item {work}: its slot");
        item.starts += 1;
        (item.begun, item.behind) = (item.stamp, None);
    }
}

impl Links for TestStore {
    type Work = usize;
    fn next(&self, work: usize) -> Option<usize> {
        self.items[work].next
    }
    fn prev(&self, work: usize) -> Option<usize> {
        self.items[work].prev
    }
    fn set_next(&mut self, work: usize, next: Option<usize>) {
        self.items[work].next = next;
    }
    fn set_prev(&mut self, work: usize, prev: Option<usize>) {
        self.items[work].prev = prev;
    }
}

impl Store for TestStore {
    type Pwq = usize;
    type Limit = TestLimit;

    fn word(&self, work: usize) -> WorkWord {
        let item = &self.items[work];
        item.dealt.unwrap_or(item.word)
    }

    fn set_dealt(&mut self, work: usize, word: WorkWord) {
        let item = &mut self.items[work];
        let is_owned = word.pwq().is_none();
        assert_ne!(item.dealt.is_some(), is_owned, "it is dealt once");
        assert!(is_owned || item.word == word, "as it was");
        item.dealt = is_owned.then_some(word);
    }

    fn set_begun(&mut self, work: usize, pwq: usize, _word: WorkWord) {
        self.set_alone(work, pwq);
    }

    /// Only moves that the state word's table has.
    fn set_word(&mut self, work: usize, word: WorkWord) {
        let before = self.items[work].word;
        match (before.pwq(), word.pwq()) {
            (None, Some(_)) => self.note_queued(work),
            (Some(from), Some(to)) => assert_eq!(from, to, "item {work} changes its pwq"),
            (Some(_), None) if word.is_pending() => {
                assert!(!self.items[work].is_barrier(), "a barrier is taken back");
                self.items[work].behind = None;
            }
            (Some(_), None) => self.note_begun(work),
            (None, None) => panic!("item {work} is not the pool's"),
        }
        self.items[work].word = word;
    }

    fn key(&self, work: usize) -> ItemKey {
        self.items[work].key
    }

    fn home(&self, work: usize) -> Home {
        self.items[work].home
    }

    fn set_home(&mut self, work: usize, home: Home) {
        self.items[work].home = home;
    }

    fn stamp(&self, work: usize) -> Stamp {
        self.items[work].queued_at
    }

    fn set_stamp(&mut self, work: usize, stamp: Stamp) {
        self.items[work].queued_at = stamp;
    }

    fn pwq_addr(&self, pwq: usize) -> u64 {
        (1 + pwq as u64) * PWQ_ALIGN
    }

    fn pwq_at(&self, addr: u64) -> usize {
        (addr / PWQ_ALIGN) as usize - 1
    }

    fn info(&self, pwq: usize) -> PwqInfo {
        let pwq = &self.pwqs[pwq];
        PwqInfo {
            pool: pwq.pool as u32,
            queue: pwq.queue as u64,
            node: None,
            fifo: pwq.state.flags.fifo,
        }
    }

    fn pwq(&mut self, pwq: usize) -> &mut PoolWorkqueue<Self> {
        let found = &mut self.pwqs[pwq];
        let locked = self.locked.expect("a pool is held");
        assert_eq!(locked, found.pool, "pwq {pwq} is of a pool not held");
        &mut found.state
    }

    fn limit(&self, pwq: usize) -> &TestLimit {
        &self.limits[self.pwqs[pwq].limit]
    }

    fn hold(&mut self, pwq: usize) {
        self.pwqs[pwq].holds += 1;
    }

    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let next = step(self.budget);
        self.budget = next.unwrap_or(self.budget);
        next.is_some()
    }

    fn budget(&mut self) -> Budget {
        self.budget
    }
}
