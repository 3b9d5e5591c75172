//! A limit that several pools share, and queues whose attributes change.

use super::rig::Todo;
use super::*;
use crate::pwq::Drain;
use crate::time::MICROSECOND;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// A queue over so many pools, one pwq in each, numbered like the pools.
fn shared(pools: usize, max_active: u32) -> Rig {
    let mut rig = Rig::new((0..pools).map(|_| PoolAttrs {
        budget: 100,
        ..attrs(8)
    }));
    rig.pwq(0, max_active);
    for pool in 1..pools {
        rig.sibling(0, pool);
    }
    rig
}

fn nr(rig: &Rig) -> u32 {
    rig.store.limits[0].now().nr()
}

#[test]
fn turns_go_round_the_pools_one_item_each() {
    // As the kernel answered: a1 a2 b1 c1 a3 b2 a4 b3 a5, with one slot.
    let mut rig = shared(3, 1);
    let mut name = std::collections::BTreeMap::new();
    for (pwq, count) in [(0, 5), (1, 3), (2, 1)] {
        for n in 1..=count {
            let work = rig.queue_new(1, pwq)[0];
            name.insert(work, (pwq, n));
        }
    }
    rig.run();
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, DONE);
    }
    let order: Vec<_> = rig.started.iter().map(|work| name[work]).collect();
    let (a, b, c) = (0, 1, 2);
    let expected = [
        (a, 1),
        (a, 2),
        (b, 1),
        (c, 1),
        (a, 3),
        (b, 2),
        (a, 4),
        (b, 3),
        (a, 5),
    ];
    assert_eq!(order, expected);
}

#[test]
fn a_managed_pool_keeps_its_part_of_the_slots_and_gives_the_rest_away() {
    let mut rig = shared(2, 6);
    rig.queue_and_run(16, 0);
    rig.queue_new(9, 1);
    rig.run();
    let of = |rig: &Rig| [0, 1].map(|pool| rig.pools[pool].census().executing);
    assert_eq!(of(&rig), [6, 0]);
    // Every other slot is the other's turn.
    for others in [0, 1, 1, 2, 2, 3] {
        let one = rig.executing()[0];
        assert_eq!(rig.who(one).unwrap().0, 0);
        rig.end_and_run(one, DONE);
        assert_eq!(of(&rig), [6 - others, others]);
    }
    // From now on each passes its own slots on, whoever ends more of its items.
    let turns = |rig: &Rig| rig.count(Action::Activate(0)) + rig.count(Action::Activate(1));
    let before = turns(&rig);
    for _ in 0..3 {
        let one = rig.executing()[0];
        rig.end_and_run(one, DONE);
        assert_eq!((of(&rig), nr(&rig), turns(&rig)), ([3, 3], 6, before));
    }
}

#[test]
fn who_waits_for_a_slot_gets_one_though_all_keep_their_part() {
    // The second pool holds its part for ever, and what waits there waits for a third slot.
    let mut rig = shared(2, 4);
    let busy = rig.queue_and_run(2, 1);
    rig.queue_and_run(2, 0);
    rig.queue_new(400, 0);
    let waits = rig.queue_new(1, 1)[0];
    rig.run();
    let mut ends = 0;
    while !rig.started.contains(&waits) {
        let executing = rig.executing();
        let of_first = executing.iter().find(|work| !busy.contains(work));
        rig.advance(10 * MICROSECOND);
        rig.end_and_run(*of_first.expect("the first pool goes on"), DONE);
        ends += 1;
        assert!(ends < 200, "it is starved");
    }
    assert!(ends > 10, "each keeps its part for a while: {ends}");
}

#[test]
fn a_managed_pool_takes_up_to_its_part_in_one_turn() {
    let mut rig = shared(2, 2);
    rig.queue_and_run(20, 0);
    rig.queue_new(20, 1);
    rig.run();
    let turns = rig.count(Action::Activate(1));
    rig.set_max(0, 16);
    rig.run();
    let of = [0, 1].map(|pool| rig.pools[pool].census().executing);
    assert_eq!((of, nr(&rig)), ([8, 8], 16));
    assert_eq!(rig.count(Action::Activate(1)), turns + 1);
}

#[test]
fn an_unmanaged_pool_takes_turns_as_in_the_kernel() {
    let rule = Rule::Unmanaged;
    let mut rig = Rig::new((0..2).map(|_| PoolAttrs { rule, ..attrs(8) }));
    rig.pwq(0, 2);
    rig.sibling(0, 1);
    let own = rig.queue_and_run(5, 0);
    rig.queue_new(3, 1);
    rig.run();
    // The first pool stands first, then the second, then each in turn.
    let mut of_first = Vec::new();
    for _ in 0..4 {
        let one = rig.executing()[0];
        rig.end_and_run(one, DONE);
        of_first.push(own.contains(rig.started.last().unwrap()));
    }
    assert_eq!(of_first, [true, false, true, false]);
}

#[test]
fn all_pools_together_keep_the_limit_and_waste_no_slot() {
    let mut rig = shared(3, 4);
    for _ in 0..5 {
        for pwq in 0..3 {
            rig.queue_new(1, pwq);
        }
    }
    rig.run();
    for left in (0..15).rev() {
        assert_eq!(rig.executing().len(), 4.min(left + 1));
        let last = *rig.executing().last().unwrap();
        rig.end_and_run(last, DONE);
    }
    assert_eq!((nr(&rig), rig.started.len()), (0, 15));
}

#[test]
fn nobody_passes_those_who_wait_while_a_slot_is_on_its_way_to_them() {
    let mut rig = shared(2, 1);
    let holder = rig.queue_and_run(1, 0)[0];
    let waits = rig.queue_and_run(1, 1)[0];
    let (pool, id) = rig.who(holder).unwrap();
    rig.end(pool, id, DONE);
    assert_eq!(rig.count(Action::Activate(1)), 1);
    assert_eq!(nr(&rig), 0, "free, but not for everybody");
    let passes = rig.queue_new(1, 0)[0];
    assert!(!rig.store.items[passes].is_active());
    rig.run();
    rig.end_and_run(waits, DONE);
    assert_eq!(rig.started, [holder, waits, passes]);
}

#[test]
fn whose_turn_it_was_may_have_gone() {
    let mut rig = shared(3, 1);
    let holder = rig.queue_and_run(1, 0)[0];
    let gone = rig.queue_new(1, 1)[0];
    let next = rig.queue_new(1, 2)[0];
    rig.run();
    let (pool, id) = rig.who(holder).unwrap();
    rig.end(pool, id, DONE);
    assert!(rig.cancel(gone));
    assert_eq!(rig.count(Action::Activate(2)), 0);
    rig.run();
    assert_eq!(rig.executing(), [next]);
}

#[test]
fn a_cancelled_item_gives_its_slot_to_another_pool() {
    let mut rig = shared(2, 1);
    let cancelled = rig.queue_new(1, 0)[0];
    let next = rig.queue_new(1, 1)[0];
    assert!(rig.store.items[cancelled].is_active(), "but has not begun");
    assert!(rig.cancel(cancelled));
    rig.run();
    assert_eq!(rig.executing(), [next]);
}

#[test]
fn a_raised_limit_is_used_by_all_pools_in_turn() {
    let mut rig = shared(2, 1);
    rig.queue_new(4, 0);
    rig.queue_new(4, 1);
    rig.run();
    rig.set_max(0, 5);
    rig.run();
    let in_pool = |rig: &Rig, pool| rig.running().iter().filter(|r| r.0 == pool).count();
    assert_eq!((in_pool(&rig, 0), in_pool(&rig, 1)), (3, 2));
    rig.set_max(1, 2);
    rig.run();
    assert_eq!(rig.executing().len(), 5, "nobody is stopped");
    for left in [4, 3, 2, 2] {
        rig.end_and_run(rig.executing()[0], DONE);
        assert_eq!(rig.executing().len(), left);
    }
}

#[test]
fn a_frozen_queue_ends_what_is_active_and_starts_nothing() {
    let mut rig = shared(2, 3);
    rig.queue_new(2, 0);
    rig.run();
    rig.set_max(0, 0);
    let later = rig.queue_new(3, 1);
    let cancelled = rig.queue_new(1, 0)[0];
    rig.run();
    assert_eq!(rig.executing(), [0, 1]);
    rig.end_and_run(0, DONE);
    rig.end_and_run(1, DONE);
    assert_eq!((rig.executing().len(), nr(&rig)), (0, 0));
    assert!(rig.cancel(cancelled), "cancelling works");
    rig.set_max(0, 3);
    rig.run();
    assert_eq!(rig.executing(), later);
}

#[test]
fn a_frozen_ordered_queue_stays_in_order() {
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let pwq = rig.ordered(0);
    rig.queue_and_run(2, pwq);
    rig.set_max(pwq, 0);
    rig.replace(0, 1);
    rig.queue_and_run(2, pwq);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), []);
    rig.set_max(pwq, 1);
    rig.run();
    for work in 1..4 {
        assert_eq!(rig.executing(), [work]);
        rig.end_and_run(work, DONE);
    }
}

#[test]
fn an_ordered_queue_keeps_its_order_across_new_attributes() {
    let mut rig = Rig::new((0..3).map(|_| attrs(4)));
    let pwq = rig.ordered(0);
    for pool in [1, 2, 0, 1] {
        rig.queue_new(2, pwq);
        rig.replace(0, pool);
    }
    rig.queue_new(2, pwq);
    rig.run();
    for work in 0..10 {
        assert_eq!(rig.executing(), [work]);
        rig.end_and_run(work, DONE);
    }
    assert_eq!(rig.queues[0].pwqs.len(), 1);
    assert_eq!(rig.who(9), None);
}

#[test]
fn the_next_pwq_starts_when_it_is_said_that_the_older_one_is_empty() {
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let pwq = rig.ordered(0);
    rig.queue_and_run(1, pwq);
    rig.replace(0, 1);
    let new = rig.queue_and_run(2, pwq);
    let barrier = rig.barrier(0).unwrap();
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), [barrier], "it is in flight as well");
    let (pool, id) = rig.who(barrier).unwrap();
    rig.end(pool, id, DONE);
    assert!(rig.todo.contains(&(0, Todo::Emptied(pwq))));
    assert!(rig.store.pwqs[1].state.is_plugged());
    rig.run();
    assert_eq!(rig.executing(), [new[0]]);
}

#[test]
fn the_last_old_item_may_also_be_cancelled() {
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let pwq = rig.ordered(0);
    let last = rig.queue_new(1, pwq)[0];
    rig.replace(0, 1);
    let new = rig.queue_new(1, pwq)[0];
    assert!(rig.cancel(last));
    rig.run();
    assert_eq!(rig.executing(), [new]);
}

#[test]
fn an_unordered_queue_goes_on_at_once_elsewhere() {
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let pwq = rig.pwq(0, 2);
    rig.queue_and_run(3, pwq);
    rig.replace(0, 1);
    rig.queue_and_run(2, pwq);
    assert_eq!(rig.executing(), [0, 1], "under the same limit");
    rig.end_and_run(0, DONE);
    rig.end_and_run(1, DONE);
    assert_eq!(rig.executing(), [2, 3], "each pool in its turn");
    assert_eq!(rig.who(3).unwrap().0, 1);
}

#[test]
fn nobody_is_told_of_slots_that_are_not_there() {
    let mut rig = shared(2, 4);
    rig.queue_and_run(4, 0);
    rig.queue_and_run(2, 1);
    rig.set_max(0, 2);
    for left in [3, 2] {
        rig.end_and_run(rig.executing()[0], DONE);
        assert_eq!(rig.executing().len(), left);
        assert_eq!(rig.count(Action::Activate(1)), 0);
    }
    rig.end_and_run(rig.executing()[0], DONE);
    assert_eq!(rig.count(Action::Activate(1)), 1);
}

#[test]
fn what_an_orphaned_queue_gets_later_is_an_orphan_too() {
    // Its last handle was dropped; one of its own items queues on, elsewhere.
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let pwq = rig.pwq(0, 10);
    rig.queue_and_run(1, pwq);
    rig.drain(pwq, Drain::Orphaned);
    rig.replace(0, 1);
    let next = rig.queue_and_run(1, pwq)[0];
    rig.end_and_run(0, DONE);
    assert_eq!(rig.count(Action::Released(pwq)), 1);
    rig.end_and_run(next, DONE);
    let newest = *rig.queues[0].pwqs.last().unwrap();
    assert_ne!(newest, pwq);
    assert_eq!(rig.count(Action::Released(newest)), 1);
}
