//! Items that a worker is dealt: which, and that the pool comes to know all that it has done.

use super::leaving::{
    Box, count_in_all, end, end_after, end_by, leave, leave_again, leave_for, leave_own, publish,
    run, serving, take_in,
};
use super::short::two_hands;
use super::*;
use crate::pool::PlainInbox;
use crate::pool::brief::{BRIEF, LATE, SHORT};
use crate::pool::dealt::MOST_DEALT;
use crate::pwq::Drain;
use crate::sampling::pause_after_asking;
use crate::store::Store;
use crate::time::MICROSECOND;
use alloc::format;
use alloc::string::String;
use proptest::prelude::*;

/// A pool whose worker has just been dealt what was left behind its next item.
fn dealt(items: usize) -> (Rig, Box, Vec<usize>) {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    let left = leave(&mut rig, &mut inbox, items);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), left[..1]);
    (rig, inbox, left)
}

#[test]
fn a_worker_goes_on_by_itself_and_the_pool_learns_of_it() {
    let (mut rig, mut inbox, left) = dealt(6);
    assert_eq!((inbox.nr_dealt(), inbox.plain.nr_left()), (5, 0));
    let before = rig.pools[0].stats();
    for &next in &left[1..4] {
        rig.advance(MICROSECOND / 2);
        assert!(end_after(&mut rig, &mut inbox, MICROSECOND / 2));
        assert_eq!(rig.executing(), [next]);
    }
    assert_eq!(rig.pools[0].stats(), before, "nobody has held the pool");
    publish(&mut rig, &mut inbox);
    let after = rig.pools[0].stats();
    assert_eq!(after.started, before.started + 3);
    assert_eq!(after.completed, before.completed + 3);
    assert_eq!((inbox.nr_dealt(), inbox.plain.nr_left()), (0, 2));
    let (_, id, _) = rig.running()[0];
    let key = |work: usize| rig.store.key(work);
    assert_eq!(rig.pools[0].who_executes(&key(left[3])), Some(id));
    assert_eq!(rig.pools[0].who_executes(&key(left[0])), None);
    let pwq = &rig.store.pwqs[0].state;
    assert_eq!((pwq.nr_in_flight(), pwq.nr_active()), (1, 1));
    let stats = pwq.stats();
    assert_eq!((stats.started(), stats.completed()), (5, 4));
    // What is left is taken in, in order.
    for &next in &left[4..] {
        assert!(end(&mut rig, &mut inbox));
        assert_eq!(rig.executing(), [next]);
    }
    assert!(!end(&mut rig, &mut inbox));
}

#[test]
fn it_is_dealt_what_is_left_meanwhile_up_to_so_many_in_all() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    let before = rig.pools[0].stats();
    for _ in 0..MOST_DEALT {
        let next = leave(&mut rig, &mut inbox, 1);
        rig.advance(MICROSECOND / 2);
        assert!(end_after(&mut rig, &mut inbox, MICROSECOND / 2));
        assert_eq!(rig.executing(), next);
    }
    assert_eq!(rig.pools[0].stats(), before, "no event");
    let next = leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    let after = rig.pools[0].stats();
    assert_eq!(
        after.completed as usize,
        before.completed as usize + MOST_DEALT + 1
    );
    assert_eq!(rig.executing(), next);
}

#[test]
fn it_is_dealt_nothing_more_when_it_has_gone_on_for_long() {
    for (ran, asks) in [(LATE / 2 - 1, false), (LATE / 2, true)] {
        let (mut rig, mut inbox) = serving(1);
        publish(&mut rig, &mut inbox);
        leave(&mut rig, &mut inbox, 1);
        assert!(end(&mut rig, &mut inbox));
        let before = rig.pools[0].stats();
        leave(&mut rig, &mut inbox, 1);
        rig.advance(ran);
        assert!(end_after(&mut rig, &mut inbox, 0));
        assert_eq!(rig.pools[0].stats() != before, asks, "{ran} ns");
    }
}

#[test]
fn it_is_dealt_nothing_more_after_an_event() {
    let (mut rig, mut inbox, _) = dealt(1);
    publish(&mut rig, &mut inbox);
    let before = rig.pools[0].stats();
    leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    assert_ne!(rig.pools[0].stats(), before, "it has asked");
}

#[test]
fn an_item_that_queues_itself_is_dealt_to_who_executes_it() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    let [work] = leave(&mut rig, &mut inbox, 1)[..] else {
        unreachable!("it is one");
    };
    assert!(end(&mut rig, &mut inbox));
    for n in 0..5 {
        leave_again(&mut rig, &mut inbox, work);
        assert!(end(&mut rig, &mut inbox), "{n}");
        assert_eq!(rig.executing(), [work], "{n}");
    }
    assert_eq!(rig.pools[0].stats().completed, 1, "it has not asked");
}

#[test]
fn after_an_item_that_is_not_brief_it_asks() {
    let (mut rig, mut inbox, left) = dealt(6);
    rig.advance(BRIEF);
    assert!(end_after(&mut rig, &mut inbox, BRIEF));
    assert_eq!(rig.executing(), left[1..2]);
    assert_eq!(
        rig.pools[0].stats().completed,
        2,
        "it has told of the first"
    );
}

#[test]
fn no_more_than_so_many_are_dealt_and_all_run_in_order() {
    let items = 3 * MOST_DEALT;
    let (mut rig, mut inbox, left) = dealt(items);
    assert_eq!(inbox.nr_dealt(), MOST_DEALT);
    while end(&mut rig, &mut inbox) {}
    assert_eq!(rig.started[1..], left);
    assert_eq!(rig.pools[0].stats().completed as usize, items + 1);
}

#[test]
fn fewer_are_dealt_where_they_are_recalled_and_more_where_they_are_begun() {
    let (mut rig, mut inbox, _) = dealt(400);
    for most in [32, 16, 8, 4, 2, 1, 1] {
        assert_eq!(inbox.nr_dealt(), most);
        publish(&mut rig, &mut inbox);
        assert!(end(&mut rig, &mut inbox));
    }
    // One, two, four and eight more; and for the next one it asks.
    for most in [0, 1, 0, 3, 2, 1, 0, 7] {
        assert!(end(&mut rig, &mut inbox));
        assert_eq!(inbox.nr_dealt(), most);
    }
    while inbox.nr_dealt() < MOST_DEALT {
        assert!(end(&mut rig, &mut inbox));
    }
    assert!(rig.started.len() < 2 * MOST_DEALT);
}

#[test]
fn items_of_other_pool_workqueues_are_not_dealt() {
    let (mut rig, mut inbox) = serving(1);
    let other = rig.pwq(0, 10);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 3);
    leave_for(&mut rig, &mut inbox, 2, other);
    leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!((inbox.nr_dealt(), inbox.plain.nr_left()), (2, 3));
}

#[test]
fn nothing_is_dealt_where_the_end_of_an_item_leads_to_more_than_the_next() {
    let drained = |rig: &mut Rig| _ = rig.drain(0, Drain::Awaited);
    let watched = |rig: &mut Rig| rig.call(0, |pool, _| pool.watch_drain(true));
    let retired = |rig: &mut Rig| _ = rig.call(0, |pool, cx| pool.retire_pwq(cx, 0));
    let waited = |rig: &mut Rig| {
        rig.add_pool(attrs(1));
        rig.sibling(0, 1);
        rig.set_max(0, 1);
        rig.queue_new(1, 1);
    };
    let frozen = |rig: &mut Rig| rig.set_max(0, 0);
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Rig));
    let changes: [Change; 5] = [
        ("its queue is frozen", &frozen),
        ("somebody waits for the queue", &drained),
        ("somebody waits for the pool", &watched),
        ("its pool workqueue is retired", &retired),
        ("another pool waits for its slot", &waited),
    ];
    for (why, change) in changes {
        // One is listed, and has its slot: it is next.
        let (mut rig, mut inbox) = serving(2);
        change(&mut rig);
        publish(&mut rig, &mut inbox);
        leave(&mut rig, &mut inbox, 3);
        assert!(end(&mut rig, &mut inbox), "{why}");
        assert_eq!(inbox.nr_dealt(), 0, "{why}");
    }
}

/// A pool whose worker was dealt so many items that waited for slots of a limit of one, which holds
/// for another pool as well.
fn dealt_inactive(items: usize) -> (Rig, Box, Vec<usize>) {
    let (mut rig, mut inbox) = serving(1);
    rig.add_pool(attrs(1));
    rig.sibling(0, 1);
    rig.set_max(0, 1);
    let waiting = rig.queue_new(items + 1, 0);
    publish(&mut rig, &mut inbox);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.executing(), waiting[..1]);
    assert_eq!((inbox.nr_dealt(), inactive(&rig)), (items, 0));
    (rig, inbox, waiting)
}

#[test]
fn what_is_dealt_is_owned_until_it_begins_and_as_it_was_if_not() {
    let (mut rig, mut inbox, waiting) = dealt_inactive(3);
    let word = |rig: &Rig, at: usize| rig.store.word(waiting[at]);
    assert!(word(&rig, 1).is_pending() && word(&rig, 1).pwq().is_none());
    publish(&mut rig, &mut inbox);
    assert!(word(&rig, 1).pwq().is_some() && word(&rig, 1).flags().inactive);
    // And what is listed.
    rig.set_max(0, 10);
    rig.run();
    let listed = word(&rig, 2);
    assert!(end(&mut rig, &mut inbox));
    assert!(inbox.nr_dealt() > 0 && word(&rig, 3).pwq().is_none());
    publish(&mut rig, &mut inbox);
    assert_eq!(word(&rig, 3).flags(), listed.flags());
}

#[test]
fn what_its_item_queues_is_next_and_takes_no_lock() {
    let (mut rig, mut inbox) = serving(1);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 1);
    assert!(end(&mut rig, &mut inbox));
    let (_, id, _) = rig.running()[0];
    let before = rig.pools[0].stats();
    for _ in 0..MOST_DEALT {
        let (next, kept) = leave_own(&mut rig, &mut inbox, id);
        assert!(kept && inbox.plain.nr_left() == 0);
        assert!(end(&mut rig, &mut inbox));
        assert_eq!(rig.executing(), [next]);
    }
    assert_eq!(rig.pools[0].stats(), before, "no event");
    let (_, kept) = leave_own(&mut rig, &mut inbox, id);
    assert!(!kept, "it has to ask now and then");
    assert!(end(&mut rig, &mut inbox));
    assert!(rig.pools[0].stats().completed > before.completed + 10);
    // Whoever was left before comes first.
    leave(&mut rig, &mut inbox, 1);
    assert!(!leave_own(&mut rig, &mut inbox, id).1);
}

#[test]
fn nobody_goes_on_alone_for_long() {
    let (mut rig, mut inbox, _) = dealt(10);
    let before = rig.pools[0].stats();
    for asks in [false, true] {
        rig.advance(LATE / 2);
        assert!(end_after(&mut rig, &mut inbox, 0));
        assert_eq!(rig.pools[0].stats() != before, asks);
    }
}

#[test]
fn where_too_many_run_it_asks_in_time_whether_it_stands_in_somebodys_way() {
    let (mut rig, mut inbox) = two_hands();
    let (_, id, _) = rig.running()[0];
    rig.pools[0].attrs.target = 1;
    end_by(&mut rig, &mut inbox, id, SHORT);
    assert_eq!(
        (rig.yields, inbox.dealt_to(id)),
        (1, 0),
        "it has just asked"
    );
    run(&mut rig, &mut inbox);
    assert!(inbox.dealt_to(id) > 0, "and need not ask again for long");
    rig.advance(pause_after_asking(rig.yield_takes) - LATE / 4);
    end_by(&mut rig, &mut inbox, id, 0);
    assert!(inbox.dealt_to(id) > 0);
    for (passes, yields) in [(LATE / 4 - 1, 1), (1, 2)] {
        rig.advance(passes);
        end_by(&mut rig, &mut inbox, id, 0);
        assert_eq!(rig.yields, yields);
    }
}

fn inactive(rig: &Rig) -> usize {
    rig.store.pwqs[0].state.nr_inactive()
}

#[test]
fn what_waits_for_slots_is_dealt_and_gets_that_of_the_one_before() {
    let (mut rig, mut inbox, waiting) = dealt_inactive(5);
    let before = rig.pools[0].stats();
    for &next in &waiting[1..3] {
        rig.advance(MICROSECOND / 2);
        assert!(end_after(&mut rig, &mut inbox, MICROSECOND / 2));
        assert_eq!(rig.executing(), [next]);
    }
    assert_eq!(rig.pools[0].stats(), before, "nobody has held the pool");
    publish(&mut rig, &mut inbox);
    assert_eq!((inbox.nr_dealt(), inactive(&rig)), (0, 3));
    let pwq = &rig.store.pwqs[0].state;
    assert_eq!((pwq.nr_active(), pwq.nr_in_flight()), (1, 4));
    assert_eq!(rig.pools[0].stats().completed, before.completed + 2);
    assert!(rig.cancel(waiting[4]));
    while end(&mut rig, &mut inbox) {}
    let all_but_one = [&waiting[..4], &waiting[5..]].concat();
    assert_eq!(rig.started[1..], all_but_one);
    assert_eq!(rig.store.limits[0].now().nr(), 0);
}

#[test]
fn what_is_put_back_waits_behind_another_pool_or_gets_what_is_free() {
    // The other pool's item comes first, as nothing waited.
    let (mut rig, mut inbox, waiting) = dealt_inactive(4);
    let other = rig.queue_new(1, 1)[0];
    publish(&mut rig, &mut inbox);
    assert_eq!(inactive(&rig), 4);
    assert!(!end(&mut rig, &mut inbox));
    rig.run();
    assert_eq!(rig.executing(), [other]);
    rig.end_and_run(other, ItemReport::default());
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, ItemReport::default());
    }
    assert_eq!(
        rig.started[1..],
        [&waiting[..1], &[other], &waiting[1..]].concat()
    );

    let (mut rig, mut inbox, waiting) = dealt_inactive(4);
    rig.set_max(0, 3);
    publish(&mut rig, &mut inbox);
    let active = |&&work: &&usize| rig.store.items[work].is_active();
    let listed: Vec<usize> = waiting.iter().filter(active).copied().collect();
    assert_eq!(listed, waiting[1..3], "the oldest ones");
    assert_eq!(inactive(&rig), 2);
}

#[test]
fn what_was_dealt_behind_an_item_that_blocks_is_anybodys() {
    let (mut rig, mut inbox, left) = dealt(6);
    assert!(end(&mut rig, &mut inbox));
    take_in(&mut rig, &mut inbox);
    rig.hint_begin(left[1]);
    rig.run();
    let mut executing = rig.executing();
    executing.sort_unstable();
    assert_eq!(executing, left[1..3]);
    assert_eq!(rig.pools[0].nr_queued(), 3);
}

#[test]
fn a_flush_waits_for_what_was_dealt() {
    let (mut rig, mut inbox, _) = dealt(3);
    assert!(end(&mut rig, &mut inbox));
    take_in(&mut rig, &mut inbox);
    _ = rig.flush(0);
    assert_eq!(rig.flushes.len(), 1);
    assert!(end(&mut rig, &mut inbox));
    assert_eq!(rig.flushes.len(), 1);
    assert!(!end(&mut rig, &mut inbox));
    assert!(rig.flushes.is_empty());
}

/// What happens to two pools, of which one deals.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Leave(usize),
    /// Items end after so long.
    End(usize, u64),
    Pass(u64),
    Look,
    Flush,
    Queue,
    Limit(u32),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (1..40_usize).prop_map(Happens::Leave),
        6 => (1..30_usize, prop_oneof![0..BRIEF, 0..60 * BRIEF])
            .prop_map(|(count, ran)| Happens::End(count, ran)),
        1 => (0..100 * MICROSECOND).prop_map(Happens::Pass),
        1 => Just(Happens::Look),
        1 => Just(Happens::Flush),
        1 => Just(Happens::Queue),
        1 => (1..4_u32).prop_map(Happens::Limit),
    ]
}

fn happen(rig: &mut Rig, inbox: &mut Box, what: Happens) {
    match what {
        Happens::Leave(items) if inbox.plain.opening().is_some() => _ = leave(rig, inbox, items),
        Happens::Leave(items) => {
            take_in(rig, inbox);
            rig.queue_new(items, 0);
        }
        Happens::End(count, ran) => (0..count).for_each(|_| {
            if !rig.running().is_empty() {
                rig.advance(ran);
                end_after(rig, inbox, ran);
            }
        }),
        Happens::Pass(time) => rig.advance(time),
        Happens::Look => _ = publish(rig, inbox),
        Happens::Flush => {
            take_in(rig, inbox);
            _ = rig.flush(0);
        }
        Happens::Queue => {
            take_in(rig, inbox);
            rig.queue_new(1, 0);
        }
        Happens::Limit(max) => {
            take_in(rig, inbox);
            rig.set_max(0, 500 * max);
        }
    }
    rig.run();
}

/// What both know, but for what is listed and what lies in the inbox.
fn known(rig: &Rig) -> String {
    let pool = &rig.pools[0];
    let stats = pool.stats();
    let worker = |&(_, id, work): &(usize, WorkerId, usize)| {
        let worker = pool.crew.get(id);
        (
            work,
            worker.state(),
            worker.began,
            worker.item_seq,
            worker.crowded,
        )
    };
    let workers: Vec<_> = rig.running().iter().map(worker).collect();
    let counts = (
        stats.started,
        stats.completed,
        stats.far,
        stats.peak_workers,
    );
    let pwq = &rig.store.pwqs[0].state;
    format!(
        "{workers:#?} {counts:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        pwq.stats(),
        pwq.moved,
        pool.brief,
        pool.moved,
        pool.estimate.presumed(),
        rig.flushes.len(),
    )
}

/// The same things happen to both. How often something was dealt and not begun.
fn happen_to_both(all: &[Happens]) -> usize {
    let ((mut dealing, mut hand), (mut asking, mut box_)) = (serving(1), serving(1));
    box_.plain = PlainInbox::dealing(0);
    publish(&mut dealing, &mut hand);
    publish(&mut asking, &mut box_);
    let mut nr_dealt = 0;
    for what in all {
        happen(&mut dealing, &mut hand, *what);
        happen(&mut asking, &mut box_, *what);
        assert_eq!(dealing.started, asking.started, "{what:?}");
        assert_eq!(box_.nr_dealt(), 0);
        nr_dealt += usize::from(hand.nr_dealt() > 0);
        publish(&mut dealing, &mut hand);
        publish(&mut asking, &mut box_);
        assert_eq!(known(&dealing), known(&asking), "{what:?}");
    }
    nr_dealt
}

#[test]
fn a_worker_that_was_dealt_items_does_what_it_does_otherwise() {
    let nr_dealt = count_in_all(happens(), file!(), happen_to_both);
    assert!(nr_dealt > 0, "one of the two has dealt");
}
