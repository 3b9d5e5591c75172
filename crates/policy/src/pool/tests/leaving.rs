//! What the tests of the inbox and of what is dealt have in common.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::rig::{Doing, Pool};
use super::*;
use crate::pool::Cx;
use crate::pool::Published;
use crate::pool::dealt::{Dealer, Dealt, MOST_DEALT, Recalled, goes_on_alone};
use crate::pool::inbox::{Inbox, Left};
use crate::pool::tests::store::TestStore;
use crate::stats::Stamp;
use crate::time::Nanos;

/// An inbox in memory.
#[derive(Default)]
pub(super) struct Box {
    pub(super) until: Option<Time>,
    pub(super) left: VecDeque<Left<usize, usize>>,
    /// What was dealt: those that are not begun, and what the worker has done.
    pub(super) hand: Option<(Dealer<usize>, VecDeque<Dealt<usize>>)>,
    begun: Vec<Recalled<usize>>,
    /// The numbers of those that are not, for the rig.
    dealt: Rc<RefCell<Vec<usize>>>,
    /// Nothing ever is.
    pub(super) deals_nothing: bool,
    pub(super) published: Published,
}

impl Inbox<TestStore> for Box {
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
    fn take(&mut self) -> Option<Left<usize, usize>> {
        self.left.pop_front()
    }
    fn first(&mut self) -> Option<Left<usize, usize>> {
        self.left.front().copied()
    }
    fn deal(
        &mut self,
        to: Dealer<usize>,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<usize>>,
    ) -> usize {
        assert!(self.hand.is_none(), "one hand at a time");
        let most = if self.deals_nothing { 0 } else { MOST_DEALT };
        let dealt: VecDeque<_> = core::iter::from_fn(|| next(self)).take(most).collect();
        self.dealt
            .borrow_mut()
            .extend(dealt.iter().map(|item| item.work));
        let count = dealt.len();
        self.hand = (count > 0).then_some((to, dealt));
        count
    }
    fn recall(&mut self, mut told: impl FnMut(Dealer<usize>, Recalled<usize>)) {
        let Some((dealer, rest)) = self.hand.take() else {
            return;
        };
        self.dealt.borrow_mut().clear();
        self.begun.drain(..).for_each(|step| told(dealer, step));
        for item in rest.into_iter().rev() {
            match item.listed {
                Some(_) => told(dealer, Recalled::Rest(item)),
                None => self.left.push_front(Left {
                    work: item.work,
                    pwq: dealer.pwq,
                    home: 0,
                    stamp: item.stamp,
                }),
            }
        }
    }
}

impl Box {
    /// How many were dealt and are not begun.
    pub(super) fn nr_dealt(&self) -> usize {
        self.hand.as_ref().map_or(0, |(_, rest)| rest.len())
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
    let inbox = Box {
        dealt: rig.dealt.clone(),
        ..Box::default()
    };
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
        inbox.left.push_back(Left {
            work,
            pwq,
            home: 0,
            stamp,
        });
        work
    };
    (0..items).map(leave).collect()
}

/// An event of the pool, and what it publishes after that.
pub(super) fn event<R>(
    rig: &mut Rig,
    inbox: &mut Box,
    act: impl FnOnce(&mut Pool, &mut Cx<TestStore>, &mut Box) -> R,
) -> R {
    rig.call(0, |pool, cx| {
        pool.recall(cx, inbox);
        let result = act(pool, cx, inbox);
        inbox.published = pool.publish(cx, inbox);
        result
    })
}

pub(super) fn publish(rig: &mut Rig, inbox: &mut Box) -> Published {
    event(rig, inbox, |_, _, _| ());
    inbox.published
}

/// The worker ends its item, and tells whether it has begun another one.
pub(super) fn end(rig: &mut Rig, inbox: &mut Box) -> bool {
    end_after(rig, inbox, 0)
}

/// The same after so long.
pub(super) fn end_after(rig: &mut Rig, inbox: &mut Box, ran: Nanos) -> bool {
    let (_, id, _) = rig.running()[0];
    let report = ItemReport {
        ran: Some(ran),
        ..ItemReport::default()
    };
    if goes_on_alone(&report) && go_on(rig, inbox, id, ran) {
        return true;
    }
    let before = inbox.published;
    let step = event(rig, inbox, |pool, cx, inbox| {
        pool.ended_beside(cx, (inbox, &before), id, report).0
    });
    rig.follow(0, id, &[], step);
    rig.running().iter().any(|&(_, by, _)| by == id)
}

/// It goes on to what it was dealt, if it was.
fn go_on(rig: &mut Rig, inbox: &mut Box, id: WorkerId, ran: Nanos) -> bool {
    let hand = inbox.hand.as_mut().filter(|(to, _)| to.worker == id);
    let Some(item) = hand.and_then(|(_, rest)| rest.pop_front()) else {
        return false;
    };
    let at = rig.now;
    inbox.begun.push(Recalled::Begun { item, at, ran });
    rig.store.set_alone(item.work);
    inbox.dealt.borrow_mut().retain(|&work| work != item.work);
    rig.started.push(item.work);
    rig.thread(0, id).doing = Doing::Running(item.work);
    true
}
