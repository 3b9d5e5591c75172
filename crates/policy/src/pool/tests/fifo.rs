//! A queue whose items begin in the order of queueing: no worker takes what another one would
//! overtake.

use super::leaving::{
    Box, Plain, beside, count_in_all, crowded, end_by, leave, publish, run, take_in,
};
use super::rig::Doing;
use super::short::{Happens, Known, RAN, after_short_ones, end_all_but_one, happen};
use super::store::TestStore;
use super::*;
use crate::pool::brief::{LATE, SHORT};
use crate::pool::{Dealer, Inbox};
use crate::time::{MILLISECOND, Time};
use proptest::prelude::*;

/// A pool for so many CPUs in which one worker executes a short item of such a queue.
pub(super) fn in_order(target: u32) -> (Rig, Box) {
    let (mut rig, mut inbox) = after_short_ones(target);
    rig.store.pwqs[0].state.flags.fifo = true;
    publish(&mut rig, &mut inbox);
    (rig, inbox)
}

/// Two workers that execute the first items of many.
fn two_in_order() -> (Rig, Box, Vec<usize>) {
    let (mut rig, mut inbox) = in_order(2);
    let left = leave(&mut rig, &mut inbox, 200);
    let (_, one, _) = rig.running()[0];
    end_by(&mut rig, &mut inbox, one, SHORT);
    assert!(inbox.dealt_to(one) > 0, "it is alone");
    assert!(end_by(&mut rig, &mut inbox, one, 0));
    crowded(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(rig.started, left[..3], "the other one has the next");
    (rig, inbox, left)
}

#[test]
fn one_worker_is_dealt_items_and_of_several_each_takes_the_first_in_the_row() {
    let (mut rig, mut inbox, left) = two_in_order();
    let mut nr_asked = 0;
    for (n, &next) in left[3..].iter().enumerate() {
        let (_, id, _) = rig.running()[n % 3 % 2];
        assert_eq!(inbox.dealt_to(id), 0);
        let before = rig.pools[0].stats();
        assert!(end_by(&mut rig, &mut inbox, id, RAN));
        assert_eq!(rig.started.last(), Some(&next));
        nr_asked += usize::from(rig.pools[0].stats() != before);
    }
    assert!(nr_asked < left.len() / 4, "{nr_asked}");
}

#[test]
fn an_empty_row_goes_with_the_last_hand_that_is_in_it() {
    let (mut rig, mut inbox, left) = two_in_order();
    let row = |inbox: &Box| Inbox::<TestStore>::row(&inbox.plain).map(|(_, waiting)| waiting);
    let mut waited = false;
    while let Some(&(_, id, _)) = rig.running().last() {
        end_by(&mut rig, &mut inbox, id, RAN);
        waited |= row(&inbox) > Some(0);
    }
    assert!(waited, "items were in it");
    assert_eq!(rig.started, left, "in order");
    assert_eq!(row(&inbox), None);
    assert_eq!(inbox.plain.nr_out(), 0);
}

#[test]
fn there_is_no_row_for_a_while_where_somebody_could_not_go_on_in_it() {
    let (mut rig, mut inbox, _) = two_in_order();
    let waits = |inbox: &Box| {
        let row = Inbox::<TestStore>::row(&inbox.plain);
        row.is_some_and(|(_, waiting)| waiting > 0)
    };
    let ends = |rig: &mut Rig, inbox: &mut Box| {
        let (_, id, _) = rig.running()[0];
        end_by(rig, inbox, id, RAN);
    };
    ends(&mut rig, &mut inbox);
    assert!(waits(&inbox));
    // It has slept: more is to be done than to go on.
    let (_, id, _) = rig.running()[0];
    let report = ItemReport {
        ran: Some(RAN),
        slept: Some(true),
        ..ItemReport::default()
    };
    rig.thread(0, id).doing = Doing::Awake;
    let before = inbox.published;
    let step = beside(&mut rig, &mut inbox, |pool, cx, inbox| {
        pool.ended_beside(cx, (inbox, &before), id, report).0
    });
    rig.follow(0, id, &[], step);
    run(&mut rig, &mut inbox);
    ends(&mut rig, &mut inbox);
    assert!(!waits(&inbox));
    rig.advance(2 * MILLISECOND);
    leave(&mut rig, &mut inbox, 200);
    for _ in 0..20 {
        ends(&mut rig, &mut inbox);
    }
    assert!(waits(&inbox), "it is over");
}

#[test]
fn only_who_is_in_the_row_tells() {
    let mut inbox = Plain::default();
    let to = |worker, in_row| Dealer {
        worker: WorkerId(worker),
        pwq: usize::from(in_row),
        told_from: SHORT,
        until: Time(100),
        more_until: Time(50),
        alone: false,
        in_row,
    };
    for (worker, in_row) in [(1, true), (2, false)] {
        Inbox::<TestStore>::deal(&mut inbox, to(worker, in_row), |_| None);
    }
    Inbox::<TestStore>::line_up(&mut inbox, 1, 8, |_| None);
    let tells = [1, 2].map(|worker| inbox.tells(WorkerId(worker), Time(0)));
    assert_eq!(tells, [true, false], "the row is empty");
    let late = [1, 2].map(|worker| inbox.tells(WorkerId(worker), Time(100)));
    assert_eq!(late, [true, false]);
}

/// What happens with items that are queued once.
fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (1..60_usize).prop_map(Happens::Leave),
        2 => (0..4_usize).prop_map(Happens::Own),
        12 => (0..4_usize, 1..20_usize, prop_oneof![4 => 0..SHORT, 1 => 0..20 * SHORT])
            .prop_map(|(who, count, ran)| Happens::End(who, count, ran)),
        1 => (0..2 * LATE).prop_map(Happens::Pass),
        1 => Just(Happens::Look),
        1 => Just(Happens::Flush),
        1 => (0..100_usize).prop_map(Happens::Cancel),
        1 => prop_oneof![1..6_u32, 1..100_u32].prop_map(Happens::Limit),
    ]
}

/// All things happen, and then all items end. More than 0 if items were dealt, and several ran.
fn happen_in_order(all: &[Happens]) -> usize {
    let (mut rig, mut inbox) = in_order(4);
    let (mut known, mut dealt, mut several) = (Known::default(), 0, 0);
    for &what in all {
        happen(&mut rig, &mut inbox, &mut known, what);
        dealt += inbox.nr_dealt();
        several += rig.executing().len().saturating_sub(1);
    }
    take_in(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    end_all_but_one(&mut rig, &mut inbox);
    let is_item = |work: &usize| rig.store.items[*work].target.is_none();
    let begun: Vec<usize> = rig.started.iter().copied().filter(is_item).collect();
    assert!(
        begun.is_sorted(),
        "in the order in which they were made and queued: {begun:?}"
    );
    dealt * several
}

#[test]
fn whatever_happens_items_begin_in_the_order_of_queueing() {
    let both = count_in_all(happens(), file!(), happen_in_order);
    assert!(both > 0, "items were dealt, and several workers ran");
}
