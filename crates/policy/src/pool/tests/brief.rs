//! One worker serves items that are brief, for as long as it goes from item to item.

use super::leaving::{Box, end_by, run};
use super::*;
use crate::pool::brief::{BRIEF, LATE, LIGHT, SHORT};
use crate::pool::dealt::MOST_DEALT;
use crate::time::MICROSECOND;

/// An item that took so long.
fn took(ran: u64) -> ItemReport {
    ItemReport {
        ran: Some(ran),
        ..ItemReport::default()
    }
}

/// A pool for four CPUs in which one item executes, after many brief ones; and nothing waits.
fn after_brief_ones() -> Rig {
    let mut rig = Rig::one(attrs(4), 1000);
    rig.queue_and_run(1, 0);
    for work in 0..200 {
        rig.queue_new(1, 0);
        rig.run();
        rig.advance(BRIEF / 2);
        if rig.who(work).is_some() {
            rig.end_and_run(work, took(BRIEF / 2));
        }
    }
    while rig.executing().len() > 1 {
        let first = rig.executing()[0];
        rig.end_and_run(first, took(BRIEF / 2));
    }
    assert_eq!((rig.executing().len(), rig.pools[0].nr_queued()), (1, 0));
    rig
}

#[test]
fn who_goes_from_brief_item_to_brief_item_is_alone() {
    let mut rig = after_brief_ones();
    rig.queue_new(100, 0);
    rig.run();
    assert_eq!(rig.executing().len(), 1);
    for _ in 0..100 {
        rig.advance(BRIEF / 2);
        let work = rig.executing()[0];
        rig.end_and_run(work, took(BRIEF / 2));
        assert_eq!(rig.executing().len(), 1);
    }
    assert_eq!(rig.pools[0].nr_queued(), 0);
}

#[test]
fn when_it_is_late_others_start_as_always() {
    let mut rig = after_brief_ones();
    rig.queue_new(10, 0);
    rig.run();
    rig.advance(LATE - 1);
    rig.queue_new(1, 0);
    rig.run();
    assert_eq!(rig.executing().len(), 1);
    assert!(!rig.published(0).wants, "no report is of use yet");
    rig.advance(1);
    rig.queue_new(1, 0);
    rig.run();
    assert!(rig.executing().len() > 1, "whoever queues sees it");
}

#[test]
fn if_nobody_queues_the_tick_sees_that_it_is_late() {
    let mut rig = after_brief_ones();
    rig.queue_new(10, 0);
    rig.run();
    assert!(rig.published(0).backlog, "so the tick is armed");
    rig.advance(MILLISECOND);
    rig.tick(|_| SeenState::Runnable);
    rig.run();
    assert_eq!(rig.executing().len(), 4);
}

#[test]
fn two_who_serve_become_one_and_not_none() {
    let mut rig = after_brief_ones();
    rig.queue_new(20, 0);
    rig.advance(LATE);
    rig.queue_new(20, 0);
    rig.run();
    assert!(rig.executing().len() > 1);
    for _ in 0..40 {
        rig.advance(BRIEF / 4);
        let work = rig.executing()[0];
        rig.end_and_run(work, took(BRIEF / 4));
        assert!(!rig.executing().is_empty() || rig.pools[0].nr_queued() == 0);
    }
    assert!(rig.executing().len() <= 1);
}

/// What two workers hold at most, in a pool for two CPUs, after many items that took so long.
fn dealt_after(ran: u64) -> usize {
    dealt_in(attrs(2), ran)
}

/// The same in such a pool.
fn dealt_in(attrs: PoolAttrs, ran: u64) -> usize {
    let mut rig = Rig::one(attrs, 1000);
    let mut inbox = Box::of(&rig);
    rig.queue_and_run(400, 0);
    // Those of two hands overtake each other.
    rig.may_pass = u64::MAX / 2;
    let mut most = 0;
    for n in 0..200 {
        let running = rig.running();
        assert_eq!(running.len(), 2);
        rig.advance(ran / 2);
        end_by(&mut rig, &mut inbox, running[n % 2].1, ran);
        run(&mut rig, &mut inbox);
        most = most.max(inbox.nr_dealt());
    }
    most
}

#[test]
fn light_items_are_dealt_where_as_many_run_as_should() {
    assert!(dealt_after(SHORT) >= 6, "{}", dealt_after(SHORT));
    let one_each = dealt_after(LIGHT - 1);
    assert!((1..=2).contains(&one_each), "{one_each}");
    assert_eq!(dealt_after(LIGHT), 0);
}

#[test]
fn where_no_reserve_can_be_had_those_that_run_are_dealt_items_nevertheless() {
    let no_more = PoolAttrs {
        thread_limit: 2,
        ..attrs(2)
    };
    assert_eq!(dealt_in(no_more, SHORT), dealt_after(SHORT));
}

/// The worker of a pool for one CPU executes one of 400 items that are listed.
fn one_of_many() -> (Rig, Box) {
    let mut rig = Rig::one(attrs(1), 1000);
    let inbox = Box::of(&rig);
    rig.queue_and_run(400, 0);
    rig.may_pass = u64::MAX / 2;
    (rig, inbox)
}

/// Its items end, each after so long; how many were in hands and in flight then.
fn ends(rig: &mut Rig, inbox: &mut Box, ran: u64) -> Option<(usize, u64)> {
    let (_, id, _) = *rig.running().first()?;
    rig.advance(ran);
    end_by(rig, inbox, id, ran);
    run(rig, inbox);
    Some((inbox.nr_dealt(), rig.store.pwqs[0].state.nr_in_flight()))
}

/// Reports of idle CPUs are asked for only while something is listed. Also where such items are
/// short because workers wait for the lock.
#[test]
fn of_light_items_one_stays_listed_while_others_are_dealt() {
    for (ran, wait) in [(2 * SHORT, 0), (3 * SHORT, MICROSECOND)] {
        let (mut rig, mut inbox) = one_of_many();
        let mut hands = 0;
        while let Some((dealt, _)) = ends(&mut rig, &mut inbox, ran) {
            rig.pools[0].waited(wait);
            hands += usize::from(dealt > 0);
            assert!(dealt == 0 || rig.pools[0].nr_queued() > 0, "{wait}");
        }
        assert!(hands > 100, "{wait}: {hands}");
    }
}

#[test]
fn of_a_retired_pool_workqueue_all_but_the_last_items_are_dealt() {
    let (mut rig, mut inbox) = one_of_many();
    while ends(&mut rig, &mut inbox, SHORT).is_some_and(|(dealt, _)| dealt == 0) {}
    rig.call(0, |pool, cx| pool.retire_pwq(cx, 0));
    let last = 2 * MOST_DEALT as u64;
    let (mut before, mut dealt) = (0, Vec::new());
    while let Some((now, in_flight @ 2..)) = ends(&mut rig, &mut inbox, SHORT) {
        if now > before {
            dealt.push(in_flight);
        }
        before = now;
    }
    let fewest = dealt.pop().expect("some were dealt");
    assert!(dealt.len() > 20 && (last + 1..=last + MOST_DEALT as u64).contains(&fewest));
}
