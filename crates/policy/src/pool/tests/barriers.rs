//! Barriers, and items that are taken back with and without them.

use super::*;
use crate::colours::Flush;
use crate::pwq::Drain;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// Ends everything, in the order of the workers.
fn end_all(rig: &mut Rig) {
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, DONE);
    }
}

#[test]
fn a_barrier_runs_next_after_the_execution_that_it_stands_behind() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    let barrier = rig.barrier(0).unwrap();
    rig.run();
    assert_eq!(rig.started, [0], "not before");
    rig.end_and_run(0, DONE);
    assert_eq!(rig.started, [0, barrier]);
    end_all(&mut rig);
    assert_eq!(rig.started, [0, barrier, 1, 2]);
}

#[test]
fn barriers_behind_a_queued_item_move_with_it() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    let first = rig.barrier(1).unwrap();
    let second = rig.barrier(1).unwrap();
    assert_eq!(rig.pools[0].nr_queued(), 2, "they need no worker");
    end_all(&mut rig);
    assert_eq!(rig.started, [0, 1, second, first, 2]);
}

#[test]
fn there_is_no_barrier_behind_nothing() {
    let mut rig = Rig::one(attrs(1), 10);
    let never = rig.item();
    assert_eq!(rig.barrier(never), None);
    let once = rig.queue_and_run(1, 0)[0];
    rig.end_and_run(once, DONE);
    assert_eq!(rig.barrier(once), None);
}

#[test]
fn a_barrier_holds_no_slot() {
    let mut rig = Rig::one(attrs(2), 1);
    rig.queue_and_run(3, 0);
    let barrier = rig.barrier(1).unwrap();
    assert_eq!(rig.store.pwqs[0].state.nr_inactive(), 3);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), [1]);
    rig.end_and_run(1, DONE);
    let mut executing = rig.executing();
    executing.sort_unstable();
    assert_eq!(executing, [2, barrier], "at once, under a limit of 1");
    assert_eq!(rig.store.pwqs[0].state.nr_active(), 1);
}

#[test]
fn a_barrier_stands_behind_the_last_queued_instance() {
    let mut rig = Rig::one(attrs(1), 10);
    let work = rig.queue_and_run(1, 0)[0];
    rig.queue(work, 0);
    rig.run();
    let barrier = rig.barrier(work).unwrap();
    rig.end_and_run(work, DONE);
    assert_eq!(rig.executing(), [work], "once more");
    rig.end_and_run(work, DONE);
    assert_eq!(rig.started, [work, work, barrier]);
}

#[test]
fn a_flush_waits_for_barriers_behind_older_items_only() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_and_run(1, 0);
    assert!(matches!(rig.flush(0), Flush::Wait(_)));
    rig.queue_and_run(1, 0);
    let behind_old = rig.barrier(0).unwrap();
    let behind_new = rig.barrier(1).unwrap();
    rig.end_and_run(1, DONE);
    rig.end_and_run(0, DONE);
    assert!(rig.executing().contains(&behind_new));
    assert_eq!(rig.count(Action::Flushed(0)), 0);
    rig.end_and_run(behind_old, DONE);
    assert_eq!(rig.count(Action::Flushed(0)), 1);
}

#[test]
fn what_was_taken_back_is_the_thiefs_until_it_lets_go() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(2, 0);
    assert!(rig.steal(1));
    assert!(!rig.queue(1, 0), "the thief owns it");
    assert!(!rig.steal(1), "it is queued nowhere");
    assert!(!rig.steal(0), "it runs, and is not queued");
    rig.disown(1);
    assert!(rig.queue(1, 0));
    rig.end_and_run(0, DONE);
    assert_eq!(rig.started, [0, 1]);
}

#[test]
fn an_over_limit_item_leaves_its_barriers_when_it_is_taken_back_and_they_run() {
    // In the kernel nobody is woken for them, and the flusher sleeps on.
    let mut rig = Rig::one(attrs(2), 1);
    rig.queue_and_run(2, 0);
    let barriers = [rig.barrier(1).unwrap(), rig.barrier(1).unwrap()];
    assert!(rig.cancel(1));
    rig.run();
    assert_eq!(rig.started, [0, barriers[1]]);
    rig.end_and_run(barriers[1], DONE);
    assert_eq!(rig.started, [0, barriers[1], barriers[0]]);
    assert_eq!(
        rig.store.limits[0].waiters(),
        [],
        "nothing waits for a slot"
    );
}

#[test]
fn such_a_barrier_also_runs_while_the_only_item_sleeps() {
    let mut rig = Rig::one(attrs(1), 1);
    rig.queue_and_run(2, 0);
    let barrier = rig.barrier(1).unwrap();
    rig.hint_begin(0);
    rig.run();
    assert!(rig.cancel(1));
    rig.run();
    assert_eq!(rig.executing(), [0, barrier]);
}

#[test]
fn the_barrier_takes_the_place_of_an_item_that_is_taken_off_the_worklist() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    let barrier = rig.barrier(1).unwrap();
    assert!(rig.cancel(1));
    assert_eq!(rig.pools[0].nr_queued(), 2, "now it needs a worker");
    end_all(&mut rig);
    assert_eq!(rig.started, [0, barrier, 2]);
}

#[test]
fn an_instance_behind_its_own_execution_can_be_taken_back() {
    let mut rig = Rig::one(attrs(2), 2);
    let work = rig.queue_and_run(1, 0)[0];
    rig.queue(work, 0);
    rig.run();
    let (pool, id) = rig.who(work).unwrap();
    assert_eq!(rig.own_list(pool, id), [work]);
    let barrier = rig.barrier(work).unwrap();
    let next = rig.queue_and_run(1, 0)[0];
    assert!(!rig.store.items[next].is_active(), "both slots are taken");
    assert!(rig.cancel(work));
    assert!(rig.store.items[next].is_active(), "one is given on");
    assert_eq!(rig.own_list(pool, id), [barrier]);
    rig.end_and_run(work, DONE);
    assert_eq!(rig.who(barrier), Some((pool, id)));
    assert_eq!(rig.store.items[work].starts, 1);
}

#[test]
fn barriers_of_two_instances_run_behind_their_own() {
    let mut rig = Rig::one(attrs(1), 10);
    let work = rig.queue_and_run(1, 0)[0];
    let of_first = rig.barrier(work).unwrap();
    rig.queue(work, 0);
    rig.run();
    let of_second = rig.barrier(work).unwrap();
    end_all(&mut rig);
    assert_eq!(rig.started, [work, of_first, work, of_second]);
}

#[test]
fn taking_the_last_item_back_ends_flush_and_drain() {
    let mut rig = Rig::one(attrs(1), 1);
    rig.queue_new(2, 0);
    rig.drain(0, Drain::Awaited);
    assert!(matches!(rig.flush(0), Flush::Wait(_)));
    assert!(rig.cancel(0));
    assert_eq!(rig.count(Action::Drained(0)), 0);
    assert!(rig.cancel(1));
    assert_eq!(rig.count(Action::Drained(0)), 1);
    assert_eq!(rig.count(Action::Flushed(0)), 1);
}

#[test]
fn memory_used_again_for_another_function_waits_for_nobody() {
    let mut rig = Rig::one(attrs(2), 10);
    let old = rig.queue_and_run(1, 0)[0];
    let (same, other) = (rig.item(), rig.item());
    rig.store.items[same].key = rig.store.items[old].key;
    rig.store.items[other].key = rig.store.items[old].key;
    rig.store.items[other].key.func += 1;
    rig.queue(same, 0);
    rig.queue(other, 0);
    rig.run();
    assert_eq!(rig.started, [old, other], "the same function waits");
    rig.end_and_run(old, DONE);
    assert_eq!(rig.started, [old, other, same]);
}
