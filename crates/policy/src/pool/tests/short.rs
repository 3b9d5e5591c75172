//! Items that are short, and no briefer: those that run are enough while little waits, and several
//! workers are dealt items at the same time.

use super::leaving::{
    Box, count_in_all, crowded, end_by, event, leave, leave_again, leave_by, publish, run, take_in,
};
use super::*;
use crate::pool::PlainInbox;
use crate::pool::brief::{LATE, SHORT};
use crate::pool::dealt::{MOST_DEALT, Was};
use crate::store::Store;
use crate::time::MICROSECOND;
use alloc::collections::BTreeMap;
use proptest::prelude::*;
use std::cell::Cell;
use std::vec;

pub(super) const RAN: u64 = 2 * MICROSECOND;

/// A pool for so many CPUs in which one worker executes an item, after many short ones.
pub(super) fn after_short_ones(target: u32) -> (Rig, Box) {
    let mut rig = Rig::one(attrs(target), 1000);
    let mut inbox = Box::of(&rig);
    inbox.plain = PlainInbox::dealing(0);
    rig.queue_and_run(300, 0);
    end_all_but_one(&mut rig, &mut inbox);
    inbox.plain = PlainInbox::default();
    assert_eq!((rig.executing().len(), rig.pools[0].nr_queued()), (1, 0));
    rig.started.clear();
    // Not more than so late, but how many those are is not said.
    rig.may_pass = u64::MAX / 2;
    (rig, inbox)
}

/// As many others as wait for about as long as a wake takes.
fn enough() -> usize {
    (LATE / RAN) as usize
}

#[test]
fn those_that_run_are_enough_for_what_they_will_soon_have_begun() {
    let (mut rig, _) = after_short_ones(4);
    rig.queue_new(enough() - 3, 0);
    rig.run();
    assert_eq!(rig.executing().len(), 1);
    assert!(!rig.published(0).wants, "nor is a report of use");
    rig.queue_new(enough(), 0);
    rig.run();
    assert!(rig.executing().len() > 1, "those are too many for one");
    let before = rig.executing().len();
    rig.advance(LATE);
    rig.queue_new(1, 0);
    rig.run();
    assert!(rig.executing().len() > before, "they are late");
}

#[test]
fn those_that_run_are_not_enough_if_much_waits_for_slots() {
    let (mut rig, _) = after_short_ones(4);
    rig.set_max(0, 3);
    rig.queue_new(2 + 2 * enough(), 0);
    rig.run();
    assert!(rig.executing().len() > 1);
}

#[test]
fn a_worker_is_started_for_what_was_left_if_it_is_too_much() {
    let (mut rig, mut inbox) = after_short_ones(2);
    let open = publish(&mut rig, &mut inbox).open.unwrap();
    assert!(open.most >= 8 && open.most as usize <= enough(), "{open:?}");
    leave(&mut rig, &mut inbox, 4);
    crowded(&mut rig, &mut inbox);
    rig.run();
    assert_eq!(rig.executing().len(), 1, "one is enough for four");
    leave(&mut rig, &mut inbox, 2 * enough());
    crowded(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    assert_eq!(rig.executing().len(), 2);
    let open = inbox.published.open.unwrap();
    assert!(open.most as usize > 2 * enough(), "all run: {open:?}");
}

/// Two workers that were dealt items each.
pub(super) fn two_hands() -> (Rig, Box) {
    let (mut rig, mut inbox) = after_short_ones(2);
    publish(&mut rig, &mut inbox);
    leave(&mut rig, &mut inbox, 8 * enough());
    crowded(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    for (_, id, _) in rig.running() {
        end_by(&mut rig, &mut inbox, id, SHORT);
    }
    assert_eq!(rig.running().len(), 2);
    (rig, inbox)
}

#[test]
fn two_workers_go_on_by_themselves_and_the_pool_learns_of_both() {
    let (mut rig, mut inbox) = two_hands();
    let each = inbox.nr_dealt() / 2;
    assert!(each > 2 && each <= MOST_DEALT, "{each}");
    let before = rig.pools[0].stats();
    for (_, id, _) in rig.running() {
        rig.advance(RAN);
        assert!(end_by(&mut rig, &mut inbox, id, RAN));
    }
    assert_eq!(rig.pools[0].stats(), before, "nobody has held the pool");
    publish(&mut rig, &mut inbox);
    assert_eq!(rig.pools[0].stats().completed, before.completed + 2);
    assert_eq!(inbox.nr_dealt(), 0);
    for (_, id, work) in rig.running() {
        let key = rig.store.key(work);
        assert_eq!(rig.pools[0].who_executes(&key), Some(id));
    }
}

#[test]
fn who_asks_leaves_others_what_they_were_dealt() {
    let (mut rig, mut inbox) = two_hands();
    let [(_, id, _), (_, other, _)] = rig.running()[..] else {
        unreachable!("two run");
    };
    let of_other = inbox.dealt_to(other);
    assert!(of_other > 0);
    let before = rig.pools[0].stats().completed;
    end_by(&mut rig, &mut inbox, id, SHORT);
    assert!(rig.pools[0].stats().completed > before, "it has asked");
    assert_eq!(inbox.dealt_to(other), of_other);
    // And so does who finds nothing else.
    while end_by(&mut rig, &mut inbox, id, RAN) {}
    assert_eq!(inbox.dealt_to(other), of_other);
    assert_eq!(rig.pools[0].nr_idle(), 2, "it has parked");
}

#[test]
fn a_hint_starts_a_worker_for_what_was_left() {
    let (mut rig, mut inbox) = two_hands();
    leave(&mut rig, &mut inbox, 8 * enough());
    let [(_, one, _), _] = rig.running()[..] else {
        unreachable!("two run");
    };
    event(&mut rig, &mut inbox, |pool, cx, inbox| {
        pool.take_in_some(cx, inbox);
        pool.hint_begin(cx, one);
        pool.start_for_left(cx, inbox);
    });
    assert!(inbox.plain.nr_left() > 4 * enough(), "they stay there");
    run(&mut rig, &mut inbox);
    assert_eq!(rig.executing().len(), 3, "another one in its place");
}

#[test]
fn who_finds_nothing_leaves_no_slot_free_for_which_a_dealt_item_waits() {
    let (mut rig, mut inbox) = two_hands();
    let [(_, one, _), (_, two, _)] = rig.running()[..] else {
        unreachable!("two run");
    };
    // All that is left waits for one of two slots then.
    rig.set_max(0, 2);
    take_in(&mut rig, &mut inbox);
    while inbox.plain.not_begun().all(|item| item.was == Was::Left) {
        assert!(end_by(&mut rig, &mut inbox, one, RAN));
    }
    while rig.store.pwqs[0].state.nr_inactive() > 0 {
        assert!(end_by(&mut rig, &mut inbox, two, RAN));
    }
    while inbox.dealt_to(two) > 0 {
        assert!(end_by(&mut rig, &mut inbox, two, RAN));
    }
    let waiting = inbox.dealt_to(one);
    assert!(waiting > 0);
    assert!(
        end_by(&mut rig, &mut inbox, two, RAN),
        "it takes some of them"
    );
    assert!(inbox.dealt_to(one) < waiting);
}

#[test]
fn an_item_that_another_worker_has_begun_is_not_begun_twice() {
    let (mut rig, mut inbox) = two_hands();
    let [(_, one, _), (_, two, _)] = rig.running()[..] else {
        unreachable!("two run");
    };
    assert!(end_by(&mut rig, &mut inbox, one, RAN));
    let at = |rig: &Rig, id| rig.running().into_iter().find(|run| run.1 == id);
    let (_, _, again) = at(&rig, one).unwrap();
    leave_again(&mut rig, &mut inbox, again);
    leave(&mut rig, &mut inbox, 3);
    let starts = |rig: &Rig| rig.started.iter().filter(|&&work| work == again).count();
    // The other one goes through everything else that waits.
    while end_by(&mut rig, &mut inbox, two, RAN) {
        assert_eq!(starts(&rig), 1, "it is still executed");
    }
    assert_eq!((at(&rig, two), inbox.plain.nr_left()), (None, 0));
    while end_by(&mut rig, &mut inbox, one, RAN) {}
    assert_eq!(starts(&rig), 2, "when that has ended");
    assert!(rig.running().is_empty() && rig.pools[0].nr_queued() == 0);
}

/// What happens to a pool that deals to several workers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happens {
    Leave(usize),
    /// The item that a worker executes queues another one, or itself, or the one that another
    /// worker executes.
    Own(usize),
    Itself(usize),
    Other(usize, usize),
    /// Somebody else does something with the next instance of such an item.
    Next(usize, Does),
    /// So many items are left again that are not pending.
    Again(usize),
    /// The worker with this number among those that run ends an item after so long, so often.
    End(usize, usize, u64),
    /// Items end until one is left, which queues itself so often and has not ended the last time.
    Alone(usize),
    Pass(u64),
    Look,
    Flush,
    /// Somebody waits for one of the items that run or wait, or takes it back.
    Wait(usize),
    Cancel(usize),
    Limit(u32),
}

/// What is done with an item that runs, and may be pending again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    Again,
    Wait,
    Cancel,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (1..60_usize).prop_map(Happens::Leave),
        2 => (0..4_usize).prop_map(Happens::Own),
        2 => (0..4_usize).prop_map(Happens::Itself),
        2 => (1..20_usize).prop_map(Happens::Alone),
        1 => (0..4_usize, 0..4_usize).prop_map(|(who, other)| Happens::Other(who, other)),
        2 => (0..4_usize, next()).prop_map(|(who, does)| Happens::Next(who, does)),
        2 => (1..10_usize).prop_map(Happens::Again),
        12 => (0..4_usize, 1..20_usize, prop_oneof![4 => 0..SHORT, 1 => 0..20 * SHORT])
            .prop_map(|(who, count, ran)| Happens::End(who, count, ran)),
        1 => (0..2 * LATE).prop_map(Happens::Pass),
        1 => Just(Happens::Look),
        1 => Just(Happens::Flush),
        2 => (0..100_usize).prop_map(Happens::Wait),
        1 => (0..100_usize).prop_map(Happens::Cancel),
        1 => prop_oneof![1..6_u32, 1..100_u32].prop_map(Happens::Limit),
    ]
}

fn next() -> impl Strategy<Value = Does> {
    prop_oneof![Just(Does::Again), Just(Does::Wait), Just(Does::Cancel)]
}

/// How often each item was left, and how often one was kept that had queued itself.
#[derive(Default)]
pub(super) struct Known {
    left: BTreeMap<usize, usize>,
    kept: usize,
}

/// One of the workers that run an item, no barrier.
fn runs(rig: &Rig, who: usize) -> Option<(WorkerId, usize)> {
    let mut running = rig.running();
    running.retain(|run| rig.store.items[run.2].target.is_none());
    let found = running.get(who % running.len().max(1));
    found.map(|&(_, id, work)| (id, work))
}

/// The item that a worker executes queues this one.
fn queue_by(
    rig: &mut Rig,
    inbox: &mut Box,
    known: &mut Known,
    (id, own, work): (WorkerId, usize, usize),
) {
    let kept = leave_by(rig, inbox, id, work);
    *known.left.entry(work).or_default() += usize::from(kept.is_some());
    known.kept += usize::from(own == work && kept == Some(true));
}

fn cancel(rig: &mut Rig, known: &mut Known, work: usize) {
    if rig.cancel(work) {
        *known.left.get_mut(&work).expect("it was left") -= 1;
    }
}

fn do_with(rig: &mut Rig, inbox: &mut Box, known: &mut Known, (work, does): (usize, Does)) {
    let is_pending = rig.store.word(work).is_pending();
    match does {
        Does::Again if is_pending => {}
        Does::Again => {
            leave_again(rig, inbox, work);
            *known.left.entry(work).or_default() += 1;
        }
        Does::Wait => {
            take_in(rig, inbox);
            _ = rig.barrier(work);
        }
        Does::Cancel => {
            take_in(rig, inbox);
            cancel(rig, known, work);
        }
    }
}

pub(super) fn end_all_but_one(rig: &mut Rig, inbox: &mut Box) {
    let waits = |rig: &Rig, inbox: &Box| rig.pools[0].nr_queued() > 0 || inbox.plain.has_left();
    for n in 0..400 {
        let running = rig.running();
        if running.is_empty() || (running.len() == 1 && !waits(rig, inbox)) {
            return;
        }
        rig.advance(RAN);
        let (_, id, _) = running[n % running.len()];
        end_by(rig, inbox, id, RAN);
        run(rig, inbox);
    }
}

/// What items that run do, and others with those.
fn by_items(rig: &mut Rig, inbox: &mut Box, known: &mut Known, what: Happens) {
    match what {
        Happens::Own(who) => {
            if let Some((id, own)) = runs(rig, who) {
                let new = rig.item();
                queue_by(rig, inbox, known, (id, own, new));
            }
        }
        Happens::Alone(times) => {
            end_all_but_one(rig, inbox);
            for time in 0..times {
                let Some((id, own)) = runs(rig, 0) else {
                    return;
                };
                queue_by(rig, inbox, known, (id, own, own));
                if time + 1 < times {
                    rig.advance(RAN / 2);
                    end_by(rig, inbox, id, RAN / 2);
                }
            }
        }
        Happens::Itself(who) => {
            if let Some((id, own)) = runs(rig, who) {
                queue_by(rig, inbox, known, (id, own, own));
            }
        }
        Happens::Other(who, other) => {
            if let (Some((id, own)), Some((_, other))) = (runs(rig, who), runs(rig, other)) {
                queue_by(rig, inbox, known, (id, own, other));
            }
        }
        Happens::Next(who, does) => {
            if let Some((_, work)) = runs(rig, who) {
                do_with(rig, inbox, known, (work, does));
            }
        }
        _ => unreachable!("nothing else is left"),
    }
}

pub(super) fn happen(rig: &mut Rig, inbox: &mut Box, known: &mut Known, what: Happens) {
    match what {
        Happens::Leave(items) => {
            for work in leave(rig, inbox, items) {
                *known.left.entry(work).or_default() += 1;
            }
            crowded(rig, inbox);
        }
        Happens::Again(items) => {
            let is_item = |work: usize| rig.store.items[work].target.is_none();
            let idle = |&work: &usize| is_item(work) && !rig.store.word(work).is_pending();
            let again: Vec<usize> = rig.started.iter().copied().filter(idle).collect();
            let mut again: Vec<usize> = again.into_iter().rev().take(items).collect();
            again.sort_unstable();
            again.dedup();
            for work in again {
                leave_again(rig, inbox, work);
                *known.left.entry(work).or_default() += 1;
            }
            crowded(rig, inbox);
        }
        Happens::End(who, count, ran) => {
            for _ in 0..count {
                let running = rig.running();
                if let Some(&(_, id, _)) = running.get(who % running.len().max(1)) {
                    rig.advance(ran / 2);
                    end_by(rig, inbox, id, ran);
                }
            }
        }
        Happens::Pass(time) => rig.advance(time),
        Happens::Look => _ = publish(rig, inbox),
        Happens::Flush => {
            take_in(rig, inbox);
            _ = rig.flush(0);
        }
        Happens::Wait(which) => {
            take_in(rig, inbox);
            if let Some(work) = pick(rig, known, which) {
                _ = rig.barrier(work);
            }
        }
        Happens::Cancel(which) => {
            take_in(rig, inbox);
            if let Some(work) = pick(rig, known, which) {
                cancel(rig, known, work);
            }
        }
        Happens::Limit(max) => {
            take_in(rig, inbox);
            rig.set_max(0, max);
        }
        other => by_items(rig, inbox, known, other),
    }
    run(rig, inbox);
    let mut executing = rig.executing();
    executing.sort_unstable();
    let count = executing.len();
    executing.dedup();
    assert_eq!(executing.len(), count, "one item is executed twice at once");
}

/// One of the last items that were left.
fn pick(rig: &Rig, known: &Known, which: usize) -> Option<usize> {
    let there = |&&work: &&usize| rig.store.items[work].word.pool().is_some();
    known.left.keys().rev().filter(there).nth(which).copied()
}

/// Whether an item that waited for a slot is in somebody's hand.
fn inactive_is_dealt(inbox: &Box) -> bool {
    let mut dealt = inbox.plain.not_begun();
    dealt.any(|item| matches!(item.was, Was::Inactive(_)))
}

/// All things happen, and then all items end. More than 0 if several hands were out, and items
/// dealt that had waited for a slot; and how many were kept that had queued themselves.
fn happen_to_several(all: &[Happens]) -> (usize, usize) {
    let (mut rig, mut inbox) = after_short_ones(4);
    let (mut known, mut several, mut inactive) = (Known::default(), 0, 0);
    publish(&mut rig, &mut inbox);
    for &what in all {
        happen(&mut rig, &mut inbox, &mut known, what);
        several += usize::from(inbox.plain.nr_out() > 1);
        inactive += usize::from(inactive_is_dealt(&inbox));
    }
    take_in(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    while let Some(&(_, id, _)) = rig.running().first() {
        rig.advance(RAN);
        end_by(&mut rig, &mut inbox, id, RAN);
        run(&mut rig, &mut inbox);
        if rig.running().is_empty() {
            take_in(&mut rig, &mut inbox);
            run(&mut rig, &mut inbox);
        }
    }
    let mut started = BTreeMap::new();
    known.left.retain(|_, times| *times > 0);
    let items = rig.started.iter();
    for &work in items.filter(|&&work| rig.store.items[work].target.is_none()) {
        *started.entry(work).or_default() += 1;
    }
    assert_eq!(started, known.left, "each ran as often as it was left");
    assert!(rig.flushes.is_empty(), "flushes have ended");
    assert_eq!(rig.pools[0].nr_in_flight(), 0);
    (several * inactive, known.kept)
}

#[test]
fn whatever_several_workers_were_dealt_runs_once_and_never_twice_at_once() {
    let kept = Cell::new(0);
    let several = count_in_all(happens(), file!(), |all| {
        let (several, own) = happen_to_several(all);
        kept.set(kept.get() + own);
        several
    });
    assert!(
        several > 0,
        "several hands were out, and inactive items dealt"
    );
    assert!(kept.get() > 0, "items that queued themselves were kept");
}
