//! Items that are left without the pool's lock: when that may be, and when they are taken in.

use super::leaving::{Box, end, end_after, leave, leave_for, publish, serving};
use super::short::{after_short_ones, two_hands};
use super::*;
use crate::pool::brief::LATE;
use crate::pool::dealt::MOST_DEALT;
use crate::pool::inbox::{Inbox, Open, REFRESH, is_too_late, left_after, left_at, looks_at_clock};
use crate::pool::tests::store::TestStore;
use crate::pool::{Published, Queueing, Retired};
use crate::stats::Stamp;
use crate::time::MICROSECOND;

#[test]
fn it_is_open_while_one_worker_serves_and_until_that_is_late() {
    let (mut rig, mut inbox) = serving(2);
    let published = publish(&mut rig, &mut inbox);
    let open = published.open.unwrap();
    assert_eq!(open.until, rig.now.after(LATE));
    assert!(
        published.backlog && inbox.plain.opening().is_some(),
        "the tick is armed"
    );
    rig.advance(LATE);
    let published = publish(&mut rig, &mut inbox);
    assert!(published.open.is_none() && inbox.plain.opening().is_none());
    assert!(published.backlog, "an item is listed");
}

#[test]
fn who_leaves_items_knows_that_it_is_open_while_a_worker_asks_now_and_then() {
    let (mut rig, mut inbox) = serving(2);
    publish(&mut rig, &mut inbox);
    // It goes on by itself in between.
    for ran in (100..LATE / 2 / MOST_DEALT as u64).step_by(50) {
        for _ in 0..200 {
            leave(&mut rig, &mut inbox, 1);
            rig.advance(ran);
            let known = inbox.plain.opening().unwrap();
            assert!(rig.now < known.until, "{ran} ns");
            assert!(end_after(&mut rig, &mut inbox, ran));
        }
    }
}

#[test]
fn it_is_shut_when_the_last_worker_goes_idle_and_where_somebody_would_be_started() {
    let (mut rig, mut inbox) = serving(1);
    assert!(publish(&mut rig, &mut inbox).open.is_some());
    assert!(!end(&mut rig, &mut inbox));
    let published = publish(&mut rig, &mut inbox);
    assert!(published.open.is_none() && !published.backlog && inbox.plain.opening().is_none());

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
    // It has not been open since the worker last asked: nothing is dealt.
    inbox.published = Published::default();
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(inbox.plain.nr_left(), 100, "one is listed");
    inbox.published = Published::default();
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(inbox.plain.nr_left(), 36);
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
    // It is open until that is published, and somebody sees it so.
    let open = Open {
        grace: 0,
        until: rig.now,
        most: 100,
    };
    Inbox::<TestStore>::open(&mut inbox.plain, open);
    let left = leave(&mut rig, &mut inbox, 1);
    publish(&mut rig, &mut inbox);
    assert!(inbox.plain.nr_left() == 0);
    rig.run();
    assert_eq!(rig.executing(), left);
}

#[test]
fn others_take_in_everything_in_turns() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 300);
    rig.call(0, |pool, cx| pool.take_in_left(cx, &mut inbox.plain, 256));
    assert_eq!((rig.pools[0].nr_queued(), inbox.plain.nr_left()), (256, 44));
    rig.call(0, |pool, cx| pool.take_in_some(cx, &mut inbox.plain));
    assert_eq!(inbox.plain.nr_left(), 44, "something is listed");
}

#[test]
fn items_of_another_queue_do_not_wait_for_all_that_wait_for_slots() {
    let mut rig = Rig::one(attrs(1), 4);
    let other = rig.pwq(0, 10);
    rig.queue_and_run(50, 0);
    let mut inbox = Box::of(&rig);
    assert!(publish(&mut rig, &mut inbox).open.is_some(), "all run");
    let left = leave_for(&mut rig, &mut inbox, 1, other);
    for _ in 0..5 {
        rig.advance(MILLISECOND);
        assert!(end_after(&mut rig, &mut inbox, MILLISECOND));
    }
    assert!(rig.started.contains(&left[0]), "{:?}", rig.started);
    assert!(rig.pools[0].nr_in_flight() > 40);
}

#[test]
fn where_workers_wait_for_the_lock_items_are_left_for_longer() {
    let mut rig = Rig::one(attrs(1), 4);
    rig.queue_and_run(50, 0);
    let mut inbox = Box::of(&rig);
    let before = publish(&mut rig, &mut inbox);
    assert_eq!(before.open.unwrap().grace, 0);
    (0..100).for_each(|_| rig.pools[0].waited(8 * MICROSECOND));
    let after = publish(&mut rig, &mut inbox);
    let open = after.open.unwrap();
    assert!(open.grace > LATE);
    assert!(
        after.tells_no_other(&before),
        "it is told when that costs nothing"
    );
    let left = |at: u64| !is_too_late(Time(at), open.until, open.grace);
    assert!(left(open.until.0) && left(open.until.0 + LATE));
    assert!(!left(open.until.0 + open.grace));
}

#[test]
fn items_are_left_for_longer_also_where_nothing_is_listed() {
    let (mut rig, mut inbox) = two_hands();
    (0..100).for_each(|_| rig.pools[0].waited(8 * MICROSECOND));
    let open = publish(&mut rig, &mut inbox).open.unwrap();
    assert_eq!(rig.pools[0].nr_queued(), 0);
    assert!(open.grace > LATE);
}

#[test]
fn items_that_wait_for_slots_do_not_shut_it_where_all_slots_are_in_use() {
    let (mut rig, mut inbox) = after_short_ones(8);
    rig.set_max(0, 1);
    rig.queue_new(1_000, 0);
    rig.run();
    assert_eq!((rig.executing().len(), rig.pools[0].nr_queued()), (1, 0));
    let (_, id, _) = rig.running()[0];
    let now = rig.now;
    rig.pools[0].brief.moved(id, now);
    assert!(publish(&mut rig, &mut inbox).open.is_some());
}

#[test]
fn a_pool_workqueue_that_was_retired_takes_what_was_left_for_it() {
    let (mut rig, mut inbox) = serving(1);
    let left = leave(&mut rig, &mut inbox, 1);
    rig.call(0, |pool, cx| pool.retire_pwq(cx, 0));
    let late = rig.pend_new();
    let refused = rig.call(0, |pool, cx| pool.queue(cx, late, 0, Queueing::default()));
    assert_eq!(refused, Err(Retired));
    rig.call(0, |pool, cx| pool.take_in_left(cx, &mut inbox.plain, 256));
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), left);
    // It had been found empty, and its attributes are asked for again.
    rig.call(0, |pool, cx| pool.reuse_pwq(cx, 0, false));
    let again = rig.call(0, |pool, cx| pool.queue(cx, late, 0, Queueing::default()));
    assert!(again.is_ok());
    rig.run();
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), [late]);
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
