//! What the tests of the inbox and of what is dealt have in common.

use core::fmt::Debug;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::rig::{Doing, Pool};
use super::*;
use crate::pool::Cx;
use crate::pool::inbox::Left;
use crate::pool::tests::store::TestStore;
use crate::pool::{PlainInbox, Published, is_its_own};
use crate::stats::Stamp;
use crate::store::Store;
use crate::time::Nanos;

pub(super) type Plain = PlainInbox<usize, usize>;

/// The inbox, and what the rig knows of it.
#[derive(Default)]
pub(super) struct Box {
    pub(super) plain: Plain,
    /// The numbers of those that are dealt and not begun, for the rig.
    dealt: Rc<RefCell<Vec<usize>>>,
    pub(super) published: Published,
}

impl Box {
    /// Of this rig's pool.
    pub(super) fn of(rig: &Rig) -> Box {
        Box {
            dealt: rig.dealt.clone(),
            ..Box::default()
        }
    }

    /// How many were dealt and are not begun.
    pub(super) fn nr_dealt(&self) -> usize {
        self.plain.not_begun().count()
    }

    /// The same, of this worker.
    pub(super) fn dealt_to(&self, id: WorkerId) -> usize {
        self.plain.not_begun_by(id)
    }

    fn tell_rig(&self) {
        let works = self.plain.not_begun().map(|item| item.work);
        *self.dealt.borrow_mut() = works.collect();
    }
}

/// Everything is taken in, as before any event that is not a worker's own.
pub(super) fn take_in(rig: &mut Rig, inbox: &mut Box) {
    event(rig, inbox, |pool, cx, inbox| {
        pool.take_in_left(cx, inbox, usize::MAX);
    });
}

/// A pool for two CPUs that takes items for brief, at one of so many items of its queue.
pub(super) fn serving(items: usize) -> (Rig, Box) {
    let mut rig = Rig::one(attrs(2), 1000);
    let pool = rig.pools.remove(0);
    rig.pools.push(pool.with_brief_items());
    rig.queue_and_run(1, 0);
    rig.queue_new(items - 1, 0);
    rig.run();
    assert_eq!(rig.executing().len(), 1);
    let inbox = Box::of(&rig);
    (rig, inbox)
}

/// Leaves so many new items.
pub(super) fn leave(rig: &mut Rig, inbox: &mut Box, items: usize) -> Vec<usize> {
    leave_for(rig, inbox, items, 0)
}

/// The same, for this pool workqueue.
pub(super) fn leave_for(rig: &mut Rig, inbox: &mut Box, items: usize, pwq: usize) -> Vec<usize> {
    let stamp = Stamp::of(rig.now);
    let leave = |_| {
        let work = rig.pend_new();
        inbox.plain.put(Left {
            work,
            pwq,
            home: 0,
            stamp,
        });
        work
    };
    (0..items).map(leave).collect()
}

/// The item that this worker executes queues a new one. The new one, and whether the worker keeps
/// it.
pub(super) fn leave_own(rig: &mut Rig, inbox: &mut Box, id: WorkerId) -> (usize, bool) {
    let work = rig.item();
    let keeps = leave_by(rig, inbox, id, work);
    (work, keeps.expect("a new one is not pending"))
}

/// The item that this worker executes queues this one, which may be itself. Whether the worker
/// keeps it; `None`: it is pending already.
pub(super) fn leave_by(rig: &mut Rig, inbox: &mut Box, id: WorkerId, work: usize) -> Option<bool> {
    let Doing::Running(own) = rig.thread(0, id).doing else {
        panic!("worker {id} runs nothing");
    };
    if !rig.pend(work) {
        return None;
    }
    let left = Left {
        work,
        pwq: 0,
        home: 0,
        stamp: Stamp::of(rig.now),
    };
    let (own, key) = (rig.store.key(own), rig.store.key(work));
    let is_its_own = is_its_own(&own, &key, rig.store.is_new(work));
    let keeps = is_its_own && inbox.plain.keep_own(id, &left, key);
    if !keeps {
        inbox.plain.put(left);
    }
    inbox.tell_rig();
    Some(keeps)
}

/// Leaves an item again, which is not pending.
pub(super) fn leave_again(rig: &mut Rig, inbox: &mut Box, work: usize) {
    assert!(rig.pend(work));
    inbox.plain.put(Left {
        work,
        pwq: 0,
        home: 0,
        stamp: Stamp::of(rig.now),
    });
}

/// An event of the pool, and what it publishes after that.
pub(super) fn event<R>(
    rig: &mut Rig,
    inbox: &mut Box,
    act: impl FnOnce(&mut Pool, &mut Cx<TestStore>, &mut Plain) -> R,
) -> R {
    beside(rig, inbox, |pool, cx, inbox| {
        pool.recall(cx, inbox, None);
        act(pool, cx, inbox)
    })
}

/// The same, where what was dealt is recalled only if need be.
pub(super) fn beside<R>(
    rig: &mut Rig,
    inbox: &mut Box,
    act: impl FnOnce(&mut Pool, &mut Cx<TestStore>, &mut Plain) -> R,
) -> R {
    or_as_before(rig, inbox, |pool, cx, inbox| (act(pool, cx, inbox), false))
}

/// The same, where the event tells whether what is published stays as it is.
fn or_as_before<R>(
    rig: &mut Rig,
    inbox: &mut Box,
    act: impl FnOnce(&mut Pool, &mut Cx<TestStore>, &mut Plain) -> (R, bool),
) -> R {
    rig.call_that_knows(0, |pool, cx| {
        let plain = &mut inbox.plain;
        let (result, stays) = act(pool, cx, plain);
        if !stays {
            inbox.published = pool.publish(cx, plain);
        }
        inbox.tell_rig();
        // Of the hand that was just dealt nothing is begun.
        (result, !inbox.plain.has_news())
    })
}

pub(super) fn publish(rig: &mut Rig, inbox: &mut Box) -> Published {
    event(rig, inbox, |_, _, _| ());
    inbox.published
}

/// Somebody has left more than he was to.
pub(super) fn crowded(rig: &mut Rig, inbox: &mut Box) {
    beside(rig, inbox, |pool, cx, inbox| pool.crowded(cx, inbox));
}

/// Everybody who is awake asks, and what was asked for is done, until nothing is left to do.
pub(super) fn run(rig: &mut Rig, inbox: &mut Box) {
    loop {
        while !rig.todo.is_empty() {
            rig.deliver(0);
        }
        let mut threads = rig.threads[0].iter();
        let awake = threads.find(|(_, thread)| thread.doing == Doing::Awake);
        let Some((&id, _)) = awake else { return };
        let before = inbox.published;
        let step = beside(rig, inbox, |pool, cx, inbox| {
            pool.next_beside(cx, (inbox, &before), id)
        });
        rig.follow(0, id, &[], step);
    }
}

/// The worker ends its item, and tells whether it has begun another one.
pub(super) fn end(rig: &mut Rig, inbox: &mut Box) -> bool {
    end_after(rig, inbox, 0)
}

/// The same after so long.
pub(super) fn end_after(rig: &mut Rig, inbox: &mut Box, ran: Nanos) -> bool {
    let (_, id, _) = rig.running()[0];
    end_by(rig, inbox, id, ran)
}

/// The same, of this worker.
pub(super) fn end_by(rig: &mut Rig, inbox: &mut Box, id: WorkerId, ran: Nanos) -> bool {
    let report = ItemReport {
        ran: Some(ran),
        ..ItemReport::default()
    };
    if go_on(rig, inbox, id, &report) {
        return true;
    }
    rig.thread(0, id).doing = Doing::Awake;
    let before = inbox.published;
    let step = or_as_before(rig, inbox, |pool, cx, inbox| {
        pool.ended_beside(cx, (inbox, &before), id, report)
    });
    rig.follow(0, id, &[], step);
    rig.running().iter().any(|&(_, by, _)| by == id)
}

/// It goes on to what it was dealt, if it was, or is dealt then.
fn go_on(rig: &mut Rig, inbox: &mut Box, id: WorkerId, report: &ItemReport) -> bool {
    let goes_on = inbox.plain.goes_on(id, rig.now, report);
    if goes_on && inbox.plain.tells(id, rig.now) {
        let before = inbox.published;
        or_as_before(rig, inbox, |pool, cx, inbox| {
            ((), pool.tells(cx, (inbox, &before), id))
        });
    }
    if let Some((dealer, dealt)) = inbox.plain.wants_more(id, rig.now).filter(|_| goes_on) {
        // No event: what the pool knows is as old as before.
        let more = |pool: &mut Pool, cx: &mut Cx<_>| {
            pool.deal_more(cx, &mut inbox.plain, dealer, dealt);
        };
        let ((), out) = rig.hold(0, more);
        assert!(out.is_empty());
        inbox.tell_rig();
    }
    let Some((work, pwq)) = inbox.plain.go_on(id, rig.now, report) else {
        return false;
    };
    inbox.tell_rig();
    rig.store.set_alone(work, pwq);
    rig.started.push(work);
    rig.thread(0, id).doing = Doing::Running(work);
    true
}

/// What the test counts in all series of such things that happen.
pub(super) fn count_in_all<T: Debug>(
    happens: impl Strategy<Value = T>,
    file: &'static str,
    test: impl Fn(&[T]) -> usize,
) -> usize {
    let all = proptest::collection::vec(happens, 1..60);
    count_in(all, file, |all| test(&all))
}

/// What the test counts in all cases.
pub(super) fn count_in<T: Debug>(
    cases: impl Strategy<Value = T>,
    file: &'static str,
    test: impl Fn(T) -> usize,
) -> usize {
    let counted = Cell::new(0);
    let config = ProptestConfig {
        source_file: Some(file),
        ..ProptestConfig::default()
    };
    let found = TestRunner::new(config).run(&cases, |case| {
        counted.set(counted.get() + test(case));
        Ok(())
    });
    found.unwrap_or_else(|wrong| panic!("{wrong}"));
    counted.get()
}
