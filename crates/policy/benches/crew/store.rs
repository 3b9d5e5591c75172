//! Items, pool workqueues and limits as numbers in tables: as little as there can be behind the
//! core's handles, so that what is measured is the core.

use std::cell::{Cell, RefCell};

use cmwq_policy::limit::{Limit, Waiters};
use cmwq_policy::list::Links;
use cmwq_policy::pwq::PwqFlags;
use cmwq_policy::stats::Stamp;
use cmwq_policy::store::{Home, PwqInfo, SharedLimit};
use cmwq_policy::work::{PWQ_ALIGN, WorkWord};
use cmwq_policy::{Budget, ItemKey, PoolWorkqueue, Store};

struct Item {
    next: Option<u32>,
    prev: Option<u32>,
    word: WorkWord,
}

pub(crate) struct OneLimit {
    word: Cell<Limit>,
    waiters: RefCell<Waiters<u32>>,
}

impl SharedLimit<u32> for OneLimit {
    fn step(&self, step: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit> {
        let before = self.word.get();
        let next = step(before).ok_or(before)?;
        self.word.set(next);
        Ok(before)
    }

    fn with_waiters<R>(&self, act: impl FnOnce(&mut Waiters<u32>) -> R) -> R {
        act(&mut self.waiters.borrow_mut())
    }
}

/// Everything that the pools share. All pool workqueues have one limit.
pub(crate) struct Tables {
    items: Vec<Item>,
    pwqs: Vec<(u32, PoolWorkqueue<Tables>)>,
    limit: OneLimit,
    budget: Budget,
}

impl Tables {
    /// A pool workqueue in each of these pools, and so many items.
    pub(crate) fn new(pools: impl Iterator<Item = u32>, max_active: u32, items: u32) -> Tables {
        let item = |_| Item {
            next: None,
            prev: None,
            word: WorkWord::NEW,
        };
        let pwq = |pool| (pool, PoolWorkqueue::new(PwqFlags::default()));
        Tables {
            items: (0..items).map(item).collect(),
            pwqs: pools.map(pwq).collect(),
            limit: OneLimit {
                word: Cell::new(Limit::new(max_active)),
                waiters: RefCell::default(),
            },
            budget: Budget::default(),
        }
    }

    pub(crate) fn pool_of(&self, pwq: u32) -> u32 {
        self.pwqs[pwq as usize].0
    }

    /// The caller owns the item from now on.
    pub(crate) fn pend(&mut self, work: u32) {
        let word = &mut self.items[work as usize].word;
        *word = word.try_pend().expect("an item is queued once at a time");
    }

    /// The caller, who owns the item, lets it go.
    pub(crate) fn disown(&mut self, work: u32) {
        let word = &mut self.items[work as usize].word;
        *word = word.disowned();
    }
}

impl Links for Tables {
    type Work = u32;

    fn next(&self, work: u32) -> Option<u32> {
        self.items[work as usize].next
    }

    fn prev(&self, work: u32) -> Option<u32> {
        self.items[work as usize].prev
    }

    fn set_next(&mut self, work: u32, next: Option<u32>) {
        self.items[work as usize].next = next;
    }

    fn set_prev(&mut self, work: u32, prev: Option<u32>) {
        self.items[work as usize].prev = prev;
    }
}

impl Store for Tables {
    type Pwq = u32;
    type Limit = OneLimit;

    fn word(&self, work: u32) -> WorkWord {
        self.items[work as usize].word
    }

    fn set_word(&mut self, work: u32, word: WorkWord) {
        self.items[work as usize].word = word;
    }

    fn home(&self, _: u32) -> Home {
        Home::default()
    }

    fn set_home(&mut self, _: u32, _: Home) {}

    fn stamp(&self, _: u32) -> Stamp {
        Stamp::default()
    }

    fn set_stamp(&mut self, _: u32, _: Stamp) {}

    fn key(&self, work: u32) -> ItemKey {
        ItemKey {
            addr: 64 * (1 + u64::from(work)),
            func: 1,
        }
    }

    fn pwq_addr(&self, pwq: u32) -> u64 {
        (1 + u64::from(pwq)) * PWQ_ALIGN
    }

    fn pwq_at(&self, addr: u64) -> u32 {
        (addr / PWQ_ALIGN) as u32 - 1
    }

    fn info(&self, pwq: u32) -> PwqInfo {
        PwqInfo {
            pool: self.pool_of(pwq),
            queue: 0,
            node: None,
            fifo: false,
        }
    }

    fn pwq(&mut self, pwq: u32) -> &mut PoolWorkqueue<Tables> {
        &mut self.pwqs[pwq as usize].1
    }

    fn limit(&self, _: u32) -> &OneLimit {
        &self.limit
    }

    fn hold(&mut self, _: u32) {}

    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let next = step(self.budget);
        self.budget = next.unwrap_or(self.budget);
        next.is_some()
    }

    fn budget(&mut self) -> Budget {
        self.budget
    }
}
