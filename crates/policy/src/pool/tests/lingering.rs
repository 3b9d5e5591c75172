//! A worker that lingers before it says that its item has ended, and looks that leave it alone.

use super::leaving::{Box, Plain, beside, end, event, leave, publish, run, serving};
use super::rig::Pool;
use super::*;
use crate::colours::Flush;
use crate::pool::Cx;
use crate::pool::brief::{Brief, LATE, LIGHT};
use crate::time::Nanos;

/// A pool whose worker is at its only item, with an empty hand.
fn with_an_empty_hand() -> (Rig, Box, WorkerId) {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    let (_, id, _) = rig.running()[0];
    (rig, inbox, id)
}

fn report(ran: Nanos) -> ItemReport {
    ItemReport {
        ran: Some(ran),
        ..ItemReport::default()
    }
}

#[test]
fn a_worker_lingers_for_what_is_left_to_it() {
    let (mut rig, mut inbox, id) = with_an_empty_hand();
    assert!(inbox.plain.linger(id, rig.now, &report(0)));
    let before = rig.pools[0].stats();
    let next = leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), next);
    assert_eq!(rig.pools[0].stats(), before, "no event");
}

#[test]
fn one_that_was_woken_lingers_after_its_first_item() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    assert!(!end(&mut rig, &mut inbox));
    assert!(inbox.published.open.is_none());
    rig.queue_new(1, 0);
    run(&mut rig, &mut inbox);
    let (_, id, _) = rig.running()[0];
    assert!(inbox.plain.linger(id, rig.now, &report(0)));
}

#[test]
fn nobody_lingers_where_something_waits_or_the_pool_is_to_know() {
    let lingers = |report: &ItemReport, left| {
        let (mut rig, mut inbox, id) = with_an_empty_hand();
        leave(&mut rig, &mut inbox, left);
        inbox.plain.linger(id, rig.now, report)
    };
    assert!(lingers(&report(LIGHT - 1), 0));
    assert!(!lingers(&report(LIGHT - 1), 1));
    assert!(!lingers(&report(LIGHT), 0));
    let (mut slept, mut foreign) = (report(0), report(0));
    (slept.slept, foreign.foreign) = (Some(true), true);
    assert!(!lingers(&slept, 0) && !lingers(&foreign, 0));
    let (mut rig, mut inbox, id) = with_an_empty_hand();
    rig.advance(LATE);
    assert!(!inbox.plain.linger(id, rig.now, &report(0)), "it is to ask");
    publish(&mut rig, &mut inbox);
    assert!(
        !inbox.plain.linger(id, Time(0), &report(0)),
        "it was recalled"
    );
}

#[test]
fn nobody_lingers_where_an_item_is_listed_or_a_flush_waits() {
    let lingers = |listed, flush| {
        let (mut rig, mut inbox) = serving(1);
        let (own, other) = (rig.pwq(0, 10), rig.pwq(0, 10));
        publish(&mut rig, &mut inbox);
        rig.queue_new(1, own);
        rig.queue_new(listed, other);
        if flush {
            let begin = |pool: &mut Pool, cx: &mut Cx<_>, _: &mut Plain| pool.begin_flush(cx, own);
            let flush = event(&mut rig, &mut inbox, begin);
            assert!(matches!(flush, Flush::Wait(_)));
        }
        assert!(end(&mut rig, &mut inbox));
        let (_, id, _) = rig.running()[0];
        assert_eq!(inbox.nr_dealt(), 0);
        inbox.plain.linger(id, rig.now, &report(0))
    };
    assert!(lingers(0, false));
    assert!(!lingers(1, false) && !lingers(0, true));
}

#[test]
fn who_lingers_is_not_late() {
    let running = |goes_on, lingers, late| {
        let (mut rig, mut inbox, id) = with_an_empty_hand();
        if goes_on {
            leave(&mut rig, &mut inbox, 1);
            assert!(end(&mut rig, &mut inbox));
        }
        if lingers {
            assert!(inbox.plain.linger(id, rig.now, &report(0)));
        }
        rig.advance(late);
        publish(&mut rig, &mut inbox);
        rig.queue_new(1, 0);
        run(&mut rig, &mut inbox);
        rig.running().len()
    };
    for goes_on in [false, true] {
        assert_eq!(running(goes_on, true, LATE), 1);
        assert_eq!(running(goes_on, false, LATE), 2);
        assert_eq!(running(goes_on, true, 2 * LATE), 2, "others have its CPU");
    }
}

#[test]
fn a_worker_that_lingers_is_seen_by_a_turn_to_have_a_slot() {
    let (mut rig, mut inbox, id) = with_an_empty_hand();
    let others_act = |pool: &mut Pool, _: &mut Cx<_>, _: &mut Plain| pool.others_act();
    beside(&mut rig, &mut inbox, others_act);
    assert!(inbox.plain.linger(id, rig.now, &report(0)));
    let turn = |pool: &mut Pool, cx: &mut Cx<_>, inbox: &mut Plain| {
        pool.recall_for_turn(cx, inbox, 0);
    };
    beside(&mut rig, &mut inbox, turn);
    assert!(
        !inbox.plain.linger(id, rig.now, &report(0)),
        "its hand is not out"
    );
}

#[test]
fn light_items_that_a_worker_has_lingered_after_are_not_too_long_for_few() {
    let (mut rig, _, id) = with_an_empty_hand();
    let pool = &mut rig.pools[0];
    let mut are_short = |lingered| {
        pool.brief = Brief::presumed_short();
        for _ in 0..8 {
            pool.brief = pool.brief_after(rig.now, id, (LIGHT - 1, lingered), true);
        }
        pool.brief.are_short()
    };
    assert!(are_short(true) && !are_short(false));
}

#[test]
fn a_glance_sees_a_worker_that_was_to_ask_though_others_are_asked_for() {
    let mut rig = Rig::one(attrs(1), 1000);
    let pool = rig.pools.remove(0);
    rig.pools.push(pool.with_brief_items());
    rig.queue_and_run(1, 0);
    let mut inbox = Box::of(&rig);
    publish(&mut rig, &mut inbox);
    rig.queue_new(2, 0);
    for dealt in [1, 0] {
        assert!(end(&mut rig, &mut inbox));
        assert_eq!((rig.pools[0].nr_queued(), inbox.nr_dealt()), (0, dealt));
    }
    rig.advance(LATE);
    assert!(
        rig.pools[0].opening(rig.now).is_some(),
        "as others are asked for"
    );
    let news = |rig: &Rig, inbox: &Box| rig.pools[0].at_a_glance(&inbox.plain, rig.now).news;
    assert!(news(&rig, &inbox));
    let waits = event(&mut rig, &mut inbox, |pool, cx, _| pool.ticked(cx));
    assert!(!waits && !inbox.published.backlog && !news(&rig, &inbox));
}

#[test]
fn a_glance_sees_what_waits_and_who_is_late() {
    let (mut rig, mut inbox, _) = with_an_empty_hand();
    let news = |rig: &Rig, inbox: &Box| rig.pools[0].at_a_glance(&inbox.plain, rig.now).news;
    assert!(inbox.published.backlog && !news(&rig, &inbox));
    leave(&mut rig, &mut inbox, 2);
    assert!(news(&rig, &inbox), "they lie in the inbox");
    assert!(end(&mut rig, &mut inbox));
    assert_eq!((inbox.nr_dealt(), inbox.plain.nr_left()), (1, 0));
    assert!(news(&rig, &inbox), "one is in a hand");
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(inbox.nr_dealt(), 0);
    assert!(!news(&rig, &inbox), "all are begun");
    rig.advance(LATE);
    assert!(news(&rig, &inbox), "the inbox is open");
    publish(&mut rig, &mut inbox);
    assert!(!inbox.published.backlog && !news(&rig, &inbox));
}
