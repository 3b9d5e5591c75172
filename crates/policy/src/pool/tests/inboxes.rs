//! A rig of which each pool has an inbox and deals, with all that the machine does for that: what
//! is queued is left if it may be, whatever is told a pool recalls first, and workers go on by
//! themselves. The rig's own calls do so; nothing else differs.

use std::cell::RefCell;
use std::rc::Rc;

use super::leaving::Plain;
use super::rig::{Doing, Pool, Rig};
use super::store::TestStore;
use super::*;
use crate::pool::brief::Brief;
use crate::pool::inbox::Left;
use crate::pool::{Cx, NoInbox, Published, Step, is_its_own};
use crate::stats::Stamp;
use crate::store::Store;

/// The inbox of a pool, with the hands that are out, and what the pool has published.
#[derive(Default)]
pub(super) struct Inboxed {
    pub(super) plain: Plain,
    published: Published,
}

/// Whether a worker of this pool has done something of which it has not heard.
pub(super) fn has_news(inboxes: &[Rc<RefCell<Inboxed>>], pool: usize) -> bool {
    let inbox = inboxes.get(pool);
    inbox.is_some_and(|inbox| inbox.borrow().plain.has_news())
}

impl Rig {
    /// All pools have inboxes and deal from now on, and take items for short, or for light. Those
    /// of several hands overtake each other.
    pub(super) fn that_deals(mut self, light: bool) -> Rig {
        for pool in &mut self.pools {
            pool.brief = match light {
                true => Brief::presumed_light(),
                false => Brief::presumed_short(),
            };
        }
        self.inboxes = self.pools.iter().map(|_| Rc::default()).collect();
        self.may_pass = u64::MAX / 2;
        self
    }

    pub(super) fn has_news(&self) -> bool {
        (0..self.inboxes.len()).any(|pool| has_news(&self.inboxes, pool))
    }

    /// Whether this item was dealt and is not begun.
    pub(super) fn is_dealt(&self, work: usize) -> bool {
        self.inboxes.iter().any(|inbox| {
            let plain = &inbox.borrow().plain;
            plain.not_begun().any(|item| item.work == work)
        })
    }

    /// One hold of a pool, and what it publishes after that.
    fn publishing<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>, &mut Plain, Published) -> R,
    ) -> R {
        let inbox = self.inboxes[pool].clone();
        self.call_that_knows(pool, |pool, cx| {
            let Inboxed { plain, published } = &mut *inbox.borrow_mut();
            let result = act(pool, cx, plain, *published);
            *published = pool.publish(cx, plain);
            assert!(plain.opening().is_some() || plain.nr_left() == 0);
            (result, true)
        })
    }

    /// A call for which the pool recalls what was dealt, and takes in what was left.
    pub(super) fn call_that_recalls<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R,
    ) -> R {
        self.publishing(pool, |pool, cx, plain, _| {
            pool.recall(cx, plain, None);
            pool.take_in_left(cx, plain, usize::MAX);
            act(pool, cx)
        })
    }

    /// It may be the turn of this pwq, which is one of this pool's.
    pub(super) fn activate(&mut self, pool: usize, pwq: usize) {
        if self.inboxes.is_empty() {
            return self.call(pool, |p, cx| p.activate(cx, &mut NoInbox, pwq));
        }
        self.publishing(pool, |p, cx, plain, _| p.activate(cx, plain, pwq));
    }

    /// All pools take in what was left for them.
    pub(super) fn take_in(&mut self) {
        for pool in 0..self.inboxes.len() {
            let has_left = self.inboxes[pool].borrow().plain.has_left();
            if has_left {
                self.call(pool, |_, _| ());
            }
        }
    }

    /// The caller wants an item that may have been left, or dealt.
    pub(super) fn give_way(&mut self, work: usize) {
        let word = self.store.word(work);
        if word.is_pending() && word.pwq().is_none() {
            self.take_in();
        }
    }

    /// A worker asks for its next step, and tells of the item that it has ended.
    pub(super) fn question(
        &mut self,
        pool: usize,
        id: WorkerId,
        ended: Option<ItemReport>,
    ) -> Step<usize, usize> {
        if self.inboxes.is_empty() {
            return self.call(pool, |pool, cx| match ended {
                Some(report) => pool.ended(cx, id, report),
                None => pool.next(cx, id),
            });
        }
        self.publishing(pool, |pool, cx, plain, before| match ended {
            Some(report) => pool.ended_beside(cx, (plain, &before), id, report).0,
            None => pool.next_beside(cx, (plain, &before), id),
        })
    }

    /// A worker that has ended its item goes on to the next one that it was dealt, or is dealt
    /// then.
    pub(super) fn goes_on(&mut self, pool: usize, id: WorkerId, report: &ItemReport) -> bool {
        let Some(inbox) = self.inboxes.get(pool).cloned() else {
            return false;
        };
        let plain = &mut inbox.borrow_mut().plain;
        let more = plain.wants_more(id, self.now);
        if let Some((dealer, dealt)) = more.filter(|_| plain.goes_on(id, self.now, report)) {
            let ((), out) = self.hold(pool, |pool, cx| pool.deal_more(cx, plain, dealer, dealt));
            assert!(out.is_empty(), "it is no event");
        }
        let dealt: Vec<_> = plain.not_begun().copied().collect();
        let Some((work, pwq)) = plain.go_on(id, self.now, report) else {
            return false;
        };
        let limit = self.store.limits[self.store.pwqs[pwq].limit].now();
        let mut is_it = dealt.iter().filter(|item| item.work == work);
        let takes_over = is_it.any(|item| item.was.takes_slot_over());
        assert!(
            !takes_over || limit.is_kept(),
            "its slot is to be given back"
        );
        self.store.set_alone(work, pwq);
        self.started.push(work);
        self.thread(pool, id).doing = Doing::Running(work);
        true
    }

    fn left(&self, work: usize, pwq: usize) -> Left<usize, usize> {
        Left {
            work,
            pwq,
            home: self.cpu,
            stamp: Stamp::of(self.now),
        }
    }

    /// Leaves an item that the caller owns, if that may be.
    pub(super) fn leaves(&mut self, work: usize, pwq: usize) -> bool {
        let pool = self.store.pwqs[pwq].pool;
        let Some(inbox) = self.inboxes.get(pool) else {
            return false;
        };
        let left = self.left(work, pwq);
        let crowds = inbox.borrow_mut().plain.leave(left, 0, self.now);
        if crowds == Some(true) {
            self.publishing(pool, |pool, cx, plain, _| pool.crowded(cx, plain));
        }
        crowds.is_some()
    }

    /// The item that a worker executes queues one: false if that is pending already. The worker
    /// keeps it if it can.
    pub(super) fn queue_from(
        &mut self,
        (pool, id): (usize, WorkerId),
        work: usize,
        pwq: usize,
    ) -> bool {
        let Doing::Running(own) = self.thread(pool, id).doing else {
            panic!("worker {id} runs nothing");
        };
        let pended = self.pend(work);
        if pended {
            let (pwq, how) = self.register(work, pwq);
            let left = self.left(work, pwq);
            let key = self.store.key(work);
            let is_its_own = is_its_own(&self.store.key(own), &key, self.store.is_new(work));
            let may_keep =
                is_its_own && how == self.queueing() && self.store.pwqs[pwq].pool == pool;
            let mut inbox = self.inboxes[pool].borrow_mut();
            let is_open = inbox.plain.opening().is_some();
            let keeps = may_keep && is_open && inbox.plain.keep_own(id, &left, key);
            drop(inbox);
            if !keeps {
                self.insert(work, pwq, how);
            }
        }
        pended
    }
}
