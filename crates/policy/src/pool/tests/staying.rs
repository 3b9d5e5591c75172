//! A worker that stays before it says that its item has ended, and looks that leave it alone.

use super::leaving::{Box, end, leave, publish, run, serving};
use super::*;
use crate::pool::brief::{LATE, LIGHT};
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
fn a_worker_stays_for_what_is_left_to_it() {
    let (mut rig, mut inbox, id) = with_an_empty_hand();
    assert!(inbox.plain.stay(id, &report(0)));
    let before = rig.pools[0].stats();
    let next = leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), next);
    assert_eq!(rig.pools[0].stats(), before, "no event");
}

#[test]
fn one_that_was_woken_stays_after_its_first_item() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    assert!(!end(&mut rig, &mut inbox));
    assert!(inbox.published.open.is_none());
    rig.queue_new(1, 0);
    run(&mut rig, &mut inbox);
    let (_, id, _) = rig.running()[0];
    assert!(inbox.plain.stay(id, &report(0)));
}

#[test]
fn nobody_stays_where_something_waits_or_the_pool_is_to_know() {
    let stays = |report: &ItemReport, left| {
        let (mut rig, mut inbox, id) = with_an_empty_hand();
        leave(&mut rig, &mut inbox, left);
        inbox.plain.stay(id, report)
    };
    assert!(stays(&report(LIGHT - 1), 0));
    assert!(!stays(&report(LIGHT - 1), 1));
    assert!(!stays(&report(LIGHT), 0));
    let (mut slept, mut foreign) = (report(0), report(0));
    (slept.slept, foreign.foreign) = (Some(true), true);
    assert!(!stays(&slept, 0) && !stays(&foreign, 0));
    let (mut rig, mut inbox) = serving(3);
    publish(&mut rig, &mut inbox);
    assert!(end(&mut rig, &mut inbox));
    let (_, id, _) = rig.running()[0];
    assert!(!inbox.plain.stay(id, &report(0)), "another one is listed");
    publish(&mut rig, &mut inbox);
    assert!(!inbox.plain.stay(id, &report(0)), "its hand was recalled");
}

#[test]
fn who_stays_is_not_late() {
    let running = |stays| {
        let (mut rig, mut inbox, id) = with_an_empty_hand();
        if stays {
            assert!(inbox.plain.stay(id, &report(0)));
        }
        rig.advance(LATE);
        publish(&mut rig, &mut inbox);
        rig.queue_new(1, 0);
        run(&mut rig, &mut inbox);
        rig.running().len()
    };
    assert_eq!((running(true), running(false)), (1, 2));
}

#[test]
fn a_glance_sees_what_waits_and_recalls_nothing() {
    let (mut rig, mut inbox, _) = with_an_empty_hand();
    let waits = |rig: &Rig, inbox: &Box| rig.pools[0].at_a_glance(&inbox.plain, rig.now).0;
    assert!(inbox.published.backlog && !waits(&rig, &inbox));
    leave(&mut rig, &mut inbox, 3);
    assert!(waits(&rig, &inbox), "they lie in the inbox");
    assert!(end(&mut rig, &mut inbox));
    assert_eq!((inbox.nr_dealt(), inbox.plain.nr_left()), (2, 0));
    assert!(waits(&rig, &inbox), "they are in a hand");
    assert_eq!(inbox.nr_dealt(), 2);
}
