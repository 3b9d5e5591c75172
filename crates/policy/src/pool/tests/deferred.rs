//! Items that are queued to one pool while they run in another: they wait for the end of that
//! execution where they are.

use super::rig::Todo;
use super::*;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// So many pools with target 2, each with a queue of its number; item 0 runs in the first.
fn pools(count: usize, max_active: u32) -> Rig {
    let mut rig = Rig::new((0..count).map(|_| attrs(2)));
    for pool in 0..count {
        rig.pwq(pool, max_active);
    }
    rig.queue_and_run(1, 0);
    assert_eq!(rig.executing(), [0]);
    rig
}

fn is_deferred(rig: &Rig, work: usize) -> bool {
    let item = &rig.store.items[work];
    item.is_queued() && item.word.flags().deferred
}

#[test]
fn an_item_never_runs_in_two_pools_at_once() {
    let mut rig = pools(2, 10);
    assert!(rig.queue(0, 1));
    rig.run();
    assert_eq!(rig.started, [0]);
    assert!(is_deferred(&rig, 0));
    assert!(!rig.published(1).backlog, "nobody can take it");
    rig.end_and_run(0, DONE);
    assert_eq!(rig.started, [0, 0]);
    assert_eq!(rig.who(0).unwrap().0, 1, "in the pool of its queue");
}

#[test]
fn others_pass_it_and_it_keeps_its_place_and_slot() {
    let mut rig = pools(2, 2);
    rig.queue(0, 1);
    let others = rig.queue_and_run(3, 1);
    assert_eq!(rig.started, [0, others[0]], "it holds the other slot");
    rig.end_and_run(others[0], DONE);
    assert_eq!(rig.executing().len(), 2);
    rig.end(0, rig.who(0).unwrap().1, DONE);
    rig.end(1, rig.who(others[1]).unwrap().1, DONE);
    rig.run();
    assert_eq!(rig.started, [0, others[0], others[1], others[2], 0]);
}

#[test]
fn once_it_may_begin_it_comes_before_those_queued_later() {
    let mut rig = Rig::new([attrs(2), attrs(1)]);
    rig.pwq(0, 10);
    rig.pwq(1, 10);
    rig.queue_and_run(1, 0);
    let first = rig.queue_and_run(1, 1)[0];
    rig.queue(0, 1);
    let later = rig.queue_and_run(1, 1)[0];
    rig.end_and_run(0, DONE);
    rig.end_and_run(first, DONE);
    assert_eq!(rig.started, [0, first, 0]);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), [later]);
}

#[test]
fn one_that_waits_for_a_slot_may_wait_for_both() {
    for slot_first in [true, false] {
        let mut rig = pools(2, 1);
        let holder = rig.queue_and_run(1, 1)[0];
        rig.queue(0, 1);
        let next = rig.queue_and_run(1, 1)[0];
        assert!(!rig.store.items[0].is_active() && is_deferred(&rig, 0));
        if slot_first {
            rig.end_and_run(holder, DONE);
            assert!(rig.store.items[0].is_active() && is_deferred(&rig, 0));
            assert_eq!(rig.executing(), [0], "nobody passes it for the slot");
            rig.end_and_run(0, DONE);
        } else {
            rig.end_and_run(0, DONE);
            assert!(!rig.store.items[0].is_active() && !is_deferred(&rig, 0));
            rig.end_and_run(holder, DONE);
        }
        assert_eq!(rig.who(0).unwrap().0, 1);
        rig.end_and_run(0, DONE);
        assert_eq!(rig.executing(), [next]);
    }
}

#[test]
fn an_execution_that_ends_before_the_item_is_queued_holds_nothing_up() {
    let mut rig = pools(2, 10);
    assert!(rig.queue_slowly(0, 1));
    let (pool, id) = rig.who(0).unwrap();
    rig.end(pool, id, DONE);
    let said = rig.todo.iter();
    let undefer = said
        .into_iter()
        .position(|t| matches!(t.1, Todo::Undefer(_)));
    rig.deliver(undefer.expect("it says that it has ended"));
    rig.run();
    assert_eq!(rig.started, [0, 0]);
}

#[test]
fn taken_back_it_remembers_where_it_runs() {
    let mut rig = pools(3, 10);
    rig.queue(0, 1);
    assert!(rig.cancel(0));
    assert_eq!(rig.store.items[0].word.pool(), Some(0));
    assert!(rig.barrier(0).is_some(), "behind the execution in pool 0");
    rig.queue(0, 2);
    rig.run();
    assert!(is_deferred(&rig, 0));
    rig.end_and_run(0, DONE);
    assert_eq!(rig.who(0).unwrap().0, 2);
}

#[test]
fn the_pool_that_is_told_is_the_one_where_the_item_is() {
    // Who queued it first looks late whether the execution goes on: it may look, but not name its
    // own pool again, for the item has been taken from there.
    let mut rig = pools(3, 10);
    rig.queue(0, 1);
    let late = rig.todo.len() - 1;
    assert!(matches!(rig.todo[late], (1, Todo::Confirm(_))));
    let (pool, confirm) = rig.todo.remove(late);
    assert!(rig.cancel(0));
    rig.queue(0, 2);
    rig.run();
    rig.todo.push((pool, confirm));
    rig.run();
    rig.end_and_run(0, DONE);
    assert_eq!(rig.started, [0, 0]);
    assert_eq!(rig.who(0).unwrap().0, 2);
}

#[test]
fn a_late_word_for_an_item_that_was_taken_back_is_not_heard() {
    let mut rig = pools(2, 10);
    rig.queue(0, 1);
    let (pool, id) = rig.who(0).unwrap();
    rig.end(pool, id, DONE);
    assert!(rig.cancel(0));
    assert!(rig.queue(0, 1), "it is not deferred this time");
    assert!(!is_deferred(&rig, 0));
    rig.run();
    assert_eq!(rig.started, [0, 0]);
}

#[test]
fn a_barrier_behind_a_deferred_item_waits_with_it() {
    let mut rig = pools(2, 10);
    rig.queue(0, 1);
    let barrier = rig.barrier(0).unwrap();
    let other = rig.queue_and_run(1, 1)[0];
    assert_eq!(rig.started, [0, other]);
    rig.end_and_run(0, DONE);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.started, [0, other, 0, barrier]);
}

#[test]
fn a_deferred_item_leaves_its_barrier_when_it_is_taken_back() {
    let mut rig = pools(2, 10);
    rig.queue(0, 1);
    let barrier = rig.barrier(0).unwrap();
    assert!(rig.cancel(0));
    rig.run();
    assert_eq!(rig.started, [0, barrier], "nothing is left to wait for");
}

#[test]
fn an_item_of_the_same_queue_goes_where_it_runs() {
    let mut rig = pools(2, 10);
    let queue = rig.store.pwqs[0].queue;
    rig.replace(queue, 1);
    rig.queue(0, 0);
    rig.run();
    let (pool, id) = rig.who(0).unwrap();
    assert_eq!((pool, rig.own_list(pool, id)), (0, std::vec![0]));
    let fresh = rig.queue_and_run(1, 0)[0];
    assert_eq!(
        rig.who(fresh).unwrap().0,
        1,
        "new ones go by the attributes"
    );
    rig.end_and_run(0, DONE);
    assert_eq!(rig.who(0), Some((0, id)));
    rig.end_and_run(0, DONE);
    assert_eq!(
        rig.queues[queue].spare,
        [0],
        "which then is not used any more"
    );
}

#[test]
fn what_was_retired_and_has_emptied_takes_no_item_back() {
    // Its queue flushes only those that it still uses, and uses this one again as an empty one.
    let mut rig = pools(2, 10);
    let queue = rig.store.pwqs[0].queue;
    rig.replace(queue, 1);
    assert!(rig.queue_slowly(0, 0));
    let insert = rig.todo.pop().expect("it is to be queued where it runs");
    assert!(matches!(insert, (0, Todo::Insert(0, 0, _))));
    rig.end_and_run(0, DONE);
    assert_eq!(rig.queues[queue].spare, [0]);
    rig.todo.push(insert);
    rig.run();
    assert_eq!(rig.who(0).unwrap().0, 1);
    rig.replace(queue, 0);
    let fresh = rig.queue_and_run(1, 0)[0];
    assert_eq!(rig.who(fresh).unwrap().0, 0);
}

#[test]
fn no_thread_is_made_for_an_item_that_cannot_begin() {
    let one = PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    };
    let mut rig = Rig::new([attrs(2), one]);
    let (there, here) = (rig.pwq(0, 10), rig.pwq(1, 10));
    let long = rig.queue_and_run(1, there)[0];
    let short = rig.queue_and_run(1, here)[0];
    rig.queue(long, here);
    rig.pools[1].attrs.thread_limit = 10;
    rig.end_and_run(short, DONE);
    assert_eq!((rig.pools[1].nr_workers(), rig.pools[1].nr_idle()), (1, 1));
}
