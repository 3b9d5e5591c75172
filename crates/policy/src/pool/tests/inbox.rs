//! Items that are left without the pool's lock: when that may be, and when they are taken in.

use std::collections::VecDeque;

use super::*;
use crate::pool::brief::LATE;
use crate::pool::inbox::{Inbox, Left, REFRESH, left_after, left_at, looks_at_clock};
use crate::pool::tests::store::TestStore;
use crate::pool::{Published, Queueing, Retired};
use crate::stats::Stamp;
use crate::time::MICROSECOND;

/// An inbox in memory.
#[derive(Default)]
struct Box {
    until: Option<Time>,
    left: VecDeque<Left<usize, usize>>,
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
}

/// A pool for two CPUs that takes items for brief, at one of so many items of its queue.
fn serving(items: usize) -> (Rig, Box) {
    let mut rig = Rig::one(attrs(2), 1000);
    let pool = rig.pools.remove(0);
    rig.pools.push(pool.with_brief_items());
    rig.queue_and_run(1, 0);
    rig.queue_new(items - 1, 0);
    rig.run();
    assert_eq!(rig.executing().len(), 1);
    (rig, Box::default())
}

/// Leaves so many new items.
fn leave(rig: &mut Rig, inbox: &mut Box, items: usize) -> Vec<usize> {
    let stamp = Stamp::of(rig.now);
    let leave = |_| {
        let work = rig.pend_new();
        inbox.left.push_back(Left {
            work,
            pwq: 0,
            home: 0,
            stamp,
        });
        work
    };
    (0..items).map(leave).collect()
}

fn publish(rig: &mut Rig, inbox: &mut Box) -> Published {
    rig.call(0, |pool, cx| pool.publish(cx, inbox))
}

/// The worker ends its item, and tells whether it has begun another one.
fn end(rig: &mut Rig, inbox: &mut Box) -> bool {
    let (_, id, _) = rig.running()[0];
    let (step, _) = rig.call(0, |pool, cx| {
        pool.ended_beside(
            cx,
            (inbox, &Published::default()),
            id,
            ItemReport::default(),
        )
    });
    rig.follow(0, id, &[], step);
    rig.running().iter().any(|&(_, by, _)| by == id)
}

#[test]
fn it_is_open_while_one_worker_serves_and_until_that_is_late() {
    let (mut rig, mut inbox) = serving(2);
    let published = publish(&mut rig, &mut inbox);
    assert_eq!(published.open, Some(rig.now.after(LATE)));
    assert!(published.backlog && inbox.is_open(), "the tick is armed");
    rig.advance(LATE);
    let published = publish(&mut rig, &mut inbox);
    assert!(published.open.is_none() && !inbox.is_open());
    assert!(published.backlog, "an item is listed");
}

#[test]
fn it_is_shut_when_the_last_worker_goes_idle_and_where_somebody_would_be_started() {
    let (mut rig, mut inbox) = serving(1);
    assert!(publish(&mut rig, &mut inbox).open.is_some());
    assert!(!end(&mut rig, &mut inbox));
    let published = publish(&mut rig, &mut inbox);
    assert!(published.open.is_none() && !published.backlog && !inbox.is_open());

    let (mut rig, mut inbox) = serving(2);
    rig.hint_begin(0);
    rig.run();
    let running = rig.executing().len();
    assert_eq!(running, 2, "who blocks does not serve");
    rig.hint_begin(1);
    assert!(publish(&mut rig, &mut inbox).open.is_none());
}

#[test]
fn a_worker_takes_in_some_when_nothing_else_is_listed() {
    let (mut rig, mut inbox) = serving(2);
    publish(&mut rig, &mut inbox);
    let left = leave(&mut rig, &mut inbox, 100);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(inbox.left.len(), 100, "one is listed");
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(inbox.left.len(), 36);
    assert_eq!(rig.executing(), [left[0]]);
    assert_eq!(rig.pools[0].nr_queued(), 63);
    for &work in &left[1..] {
        assert!(end(&mut rig, &mut inbox));
        assert_eq!(rig.executing(), [work], "in the order of leaving");
    }
    assert!(!end(&mut rig, &mut inbox));
}

#[test]
fn what_is_left_while_it_is_shut_is_taken_in_and_somebody_comes() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    assert!(!end(&mut rig, &mut inbox));
    // Its owner has seen it open.
    let left = leave(&mut rig, &mut inbox, 1);
    publish(&mut rig, &mut inbox);
    assert!(inbox.left.is_empty());
    rig.run();
    assert_eq!(rig.executing(), left);
}

#[test]
fn others_take_in_everything_in_turns() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 300);
    rig.call(0, |pool, cx| pool.take_in_left(cx, &mut inbox, 256));
    assert_eq!((rig.pools[0].nr_queued(), inbox.left.len()), (256, 44));
    rig.call(0, |pool, cx| pool.take_in_some(cx, &mut inbox));
    assert_eq!(inbox.left.len(), 44, "something is listed");
}

#[test]
fn a_pool_workqueue_that_was_retired_takes_what_was_left_for_it() {
    let (mut rig, mut inbox) = serving(1);
    let left = leave(&mut rig, &mut inbox, 1);
    rig.call(0, |pool, cx| pool.retire_pwq(cx, 0));
    let late = rig.pend_new();
    let refused = rig.call(0, |pool, cx| pool.queue(cx, late, 0, Queueing::default()));
    assert_eq!(refused, Err(Retired));
    rig.call(0, |pool, cx| pool.take_in_left(cx, &mut inbox, 256));
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), left);
}

#[test]
fn the_time_of_queueing_is_known_about() {
    let now = Time(1000 * MICROSECOND);
    assert!(looks_at_clock(0) && looks_at_clock(8) && !looks_at_clock(7));
    // Who leaves it reads no clock; the inbox may have been opened half of that time before.
    let stamp = left_at(now.after(LATE - REFRESH));
    assert!(stamp.age(now) <= LATE);
    // It was left after everything was taken out.
    let before = Time(990 * MICROSECOND);
    assert!(left_after(stamp, before, now).age(now) <= 11 * MICROSECOND);
    let exact = Stamp::of(Time(995 * MICROSECOND));
    assert_eq!(left_after(exact, before, now), exact);
}
