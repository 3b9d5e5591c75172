//! Limits, order, non-reentrancy, flush and drain.

use super::*;
use crate::colours::Flush;
use crate::pwq::{Drain, clamp_max_active};

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

#[test]
fn items_past_max_active_wait_and_start_in_their_order() {
    let mut rig = Rig::one(attrs(8), 2);
    rig.queue_and_run(6, 0);
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(rig.store.pwqs[0].state.nr_inactive(), 4);
    for work in [1, 0, 2, 3, 4, 5] {
        rig.end_and_run(work, DONE);
        assert!(rig.executing().len() <= 2);
    }
    assert_eq!(rig.started, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_waiting_queue_does_not_hold_up_another() {
    let mut rig = Rig::one(attrs(8), 1);
    let other = rig.pwq(0, 8);
    rig.queue_and_run(3, 0);
    let items = rig.queue_and_run(2, other);
    assert!(items.iter().all(|&work| rig.who(work).is_some()));
}

#[test]
fn raising_max_active_starts_waiting_items() {
    let mut rig = Rig::one(attrs(8), 1);
    rig.queue_and_run(6, 0);
    rig.set_max(0, 4);
    rig.run();
    assert_eq!(rig.started, [0, 1, 2, 3]);
    assert_eq!(rig.store.pwqs[0].state.nr_inactive(), 2);
}

#[test]
fn lowering_max_active_stops_nobody_and_starts_nothing() {
    let mut rig = Rig::one(attrs(8), 4);
    rig.queue_and_run(7, 0);
    rig.set_max(0, 2);
    rig.run();
    assert_eq!(rig.executing().len(), 4);
    for work in [0, 1] {
        rig.end_and_run(work, DONE);
        assert_eq!(rig.started.len(), 4);
    }
    rig.end_and_run(2, DONE);
    assert_eq!(rig.started, [0, 1, 2, 3, 4]);
    assert_eq!(rig.executing().len(), 2);
}

#[test]
fn max_active_is_clamped() {
    assert_eq!(clamp_max_active(0), 1);
    assert_eq!(clamp_max_active(7), 7);
    assert_eq!(clamp_max_active(u32::MAX), 2048);
}

#[test]
fn an_item_queued_while_it_runs_waits_for_its_own_worker() {
    let mut rig = Rig::one(attrs(2), 10);
    let work = rig.queue_and_run(1, 0)[0];
    let (_, busy) = rig.who(work).unwrap();
    assert!(rig.queue(work, 0));
    assert!(!rig.queue(work, 0), "it is pending");
    rig.run();
    // The spare came, saw to another spare, found the item taken and put it behind that execution.
    assert_eq!(rig.pools[0].crew.get(busy).scheduled.len(), 1);
    assert_eq!(rig.store.items[work].starts, 1);
    assert_eq!(rig.executing(), [work]);
    rig.end_and_run(work, DONE);
    assert_eq!(rig.who(work), Some((0, busy)));
    assert_eq!(rig.store.items[work].starts, 2);
}

#[test]
fn who_finds_an_item_taken_goes_on_to_the_next() {
    let mut rig = Rig::one(attrs(2), 10);
    let work = rig.queue_and_run(1, 0)[0];
    rig.queue(work, 0);
    let next = rig.queue_and_run(1, 0)[0];
    assert_eq!(rig.executing(), [work, next]);
    assert_eq!(rig.pools[0].nr_queued(), 0);
    assert_eq!(rig.pools[0].nr_in_flight(), 3);
}

#[test]
fn an_item_that_queues_itself_runs_again_and_again_but_behind_others() {
    let mut rig = Rig::one(attrs(1), 10);
    let again = rig.queue_and_run(1, 0)[0];
    rig.queue_new(2, 0);
    for _ in 0..3 {
        rig.queue(again, 0);
        rig.end_and_run(rig.executing()[0], DONE);
    }
    assert_eq!(rig.started, [again, 1, 2, again]);
    assert_eq!(rig.store.items[again].starts, 2);
}

#[test]
fn own_items_go_on_without_letting_the_pool_go() {
    // A canceller that saw neither instance executed would look for the item on the worklist.
    let two = PoolAttrs {
        thread_limit: 2,
        ..attrs(2)
    };
    let mut rig = Rig::one(two, 10);
    let work = rig.queue_and_run(1, 0)[0];
    let (_, busy) = rig.who(work).unwrap();
    rig.queue(work, 0);
    rig.run();
    rig.queue_and_run(2, 0);
    assert_eq!((rig.executing().len(), rig.pools[0].nr_idle()), (2, 0));
    rig.pools[0].attrs.thread_limit = 3;
    rig.end(0, busy, DONE);
    assert_eq!(rig.who(work), Some((0, busy)), "not Step::Create");
}

#[test]
fn a_cancelled_item_gives_its_slot_to_the_next() {
    let mut rig = Rig::one(attrs(1), 2);
    rig.queue_and_run(4, 0);
    assert!(rig.cancel(1));
    assert!(rig.store.items[2].is_active(), "it has the slot now");
    assert!(rig.cancel(3));
    assert!(!rig.cancel(3), "it is not queued any more");
    rig.end_and_run(0, DONE);
    rig.end_and_run(2, DONE);
    assert_eq!(rig.started, [0, 2]);
    assert_eq!(rig.pools[0].nr_in_flight(), 0);
}

#[test]
fn a_flush_is_told_when_everything_before_it_has_ended() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_and_run(2, 0);
    let Flush::Wait(ticket) = rig.flush(0) else {
        panic!("two items are in flight");
    };
    rig.queue_new(1, 0);
    rig.end_and_run(1, DONE);
    assert_eq!(rig.count(Action::Flushed(0)), 0);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.count(Action::Flushed(0)), 1);
    assert!(rig.store.pwqs[0].state.colours().is_done(ticket));
    assert_eq!(rig.executing(), [2], "the later item does not count");
}

#[test]
fn flushes_end_in_their_order() {
    let mut rig = Rig::one(attrs(3), 10);
    let tickets: Vec<u64> = (0..3)
        .map(|_| {
            rig.queue_and_run(1, 0);
            match rig.flush(0) {
                Flush::Wait(ticket) => ticket,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let done = |rig: &mut Rig| {
        let colours = rig.store.pwqs[0].state.colours();
        tickets.iter().filter(|&&t| colours.is_done(t)).count()
    };
    let mut ended = Vec::new();
    for work in [2, 0, 1] {
        rig.end_and_run(work, DONE);
        ended.push(done(&mut rig));
    }
    assert_eq!(ended, [0, 1, 3]);
}

#[test]
fn a_drained_queue_is_said_once_nothing_is_in_flight() {
    let mut rig = Rig::one(attrs(1), 1);
    assert!(rig.drain(0, Drain::Awaited));
    rig.queue_and_run(2, 0);
    assert!(!rig.drain(0, Drain::Awaited));
    rig.end_and_run(0, DONE);
    assert_eq!(rig.count(Action::Drained(0)), 0);
    rig.end_and_run(1, DONE);
    assert_eq!(rig.count(Action::Drained(0)), 1);
}

#[test]
fn an_orphaned_queue_is_released_by_its_last_item() {
    let mut rig = Rig::one(attrs(1), 1);
    rig.queue_and_run(2, 0);
    rig.drain(0, Drain::Orphaned);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.count(Action::Released(0)), 0);
    rig.end_and_run(1, DONE);
    assert_eq!(rig.count(Action::Released(0)), 1);
}

#[test]
fn a_watched_pool_speaks_after_each_item() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    rig.end_and_run(0, DONE);
    rig.call(0, |p, _| p.watch_drain(true));
    rig.end_and_run(1, DONE);
    rig.end_and_run(2, DONE);
    assert_eq!(rig.count(Action::Drained(0)), 2);
}

/// Whether others wait for the slot or the worker of this item.
fn others_waiting(rig: &mut Rig, work: usize) -> bool {
    let (pool, id) = rig.who(work).expect("it runs");
    rig.call(pool, |p, cx| p.others_waiting(cx, id))
}

#[test]
fn an_item_learns_that_others_wait_for_its_slot_or_its_worker() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let limited = rig.pwq(0, 1);
    let sibling = rig.sibling(limited, 1);
    let first = rig.queue_and_run(1, limited)[0];
    assert!(!others_waiting(&mut rig, first));
    let waits = rig.queue_and_run(1, sibling)[0];
    assert!(others_waiting(&mut rig, first), "for the slot, elsewhere");
    assert!(rig.cancel(waits));
    assert!(!others_waiting(&mut rig, first));
    let other = rig.pwq(0, 10);
    let waits = rig.queue_and_run(1, other)[0];
    assert!(others_waiting(&mut rig, first), "for the worker");
    rig.cancel(waits);
    assert!(rig.barrier(first).is_some());
    assert!(!others_waiting(&mut rig, first), "it comes next anyway");
}
