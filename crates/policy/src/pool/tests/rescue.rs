//! Rescuers: who is called when, what they run, when they leave.

use super::super::{MAX_RESCUERS, MAYDAY_INITIAL_TIMEOUT, MAYDAY_INTERVAL, RESCUER_BATCH, Stuck};
use super::*;
use crate::action::MAX_ACTIONS;
use crate::pwq::PwqFlags;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

const RESCUED: PwqFlags = PwqFlags {
    fifo: false,
    orphaned: false,
    cpu_intensive: false,
    rescued: true,
    plugged: false,
};

/// So many pools in which no thread can be made: in each a queue with a rescuer, one over all.
fn hopeless(pools: usize) -> Rig {
    let mut rig = Rig::new((0..pools).map(|_| attrs(1)));
    rig.pwq_with(0, 1000, RESCUED);
    for pool in 1..pools {
        rig.sibling(0, pool);
    }
    rig.spawns_fail = true;
    rig
}

/// The times, in milliseconds, at which rescuers are called within the next 300.
fn calls(rig: &mut Rig) -> Vec<u64> {
    let mut times = Vec::new();
    let end = rig.now.after(300 * MILLISECOND);
    while rig.now < end {
        let before = rig.said.len();
        rig.call(0, |p, cx| p.call_rescuers(cx));
        let said = &rig.said[before..];
        if said.iter().any(|s| matches!(s.1, Action::Mayday(_))) {
            times.push(rig.now.0 / MILLISECOND);
        }
        rig.advance(MILLISECOND);
    }
    times
}

/// Time passes until the rescuers are called, and have come.
fn rescue(rig: &mut Rig) {
    let due = rig.pools.iter().filter_map(|p| p.mayday_due()).max();
    rig.now = rig.now.max(due.expect("a worker is missing"));
    for pool in 0..rig.pools.len() {
        rig.call(pool, |p, cx| p.call_rescuers(cx));
    }
    rig.run();
}

#[test]
fn rescuers_are_called_after_10_ms_and_then_each_100() {
    assert_eq!(MAYDAY_INITIAL_TIMEOUT, 10 * MILLISECOND);
    assert_eq!(MAYDAY_INTERVAL, 100 * MILLISECOND);
    let mut rig = hopeless(1);
    rig.queue_and_run(1, 0);
    assert_eq!(rig.pools[0].look_at(rig.now), Some(Time(10 * MILLISECOND)));
    let other = rig.pwq_with(0, 10, RESCUED);
    assert_eq!(calls(&mut rig), [10], "called once, until it has come");
    rig.queue_new(1, other);
    let again = calls(&mut rig);
    assert_eq!(again, [310], "the other one is called with the next round");
    let mayday = rig.count(Action::Mayday(0));
    rig.run();
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(mayday, 1);
}

#[test]
fn a_round_comes_each_100_ms() {
    let mut rig = hopeless(1);
    let plain = rig.pwq(0, 10);
    rig.queue_new(1, plain);
    rig.run();
    let mut times = Vec::new();
    for _ in 0..60 {
        let before = rig.pools[0].mayday_due();
        rig.call(0, |p, cx| p.call_rescuers(cx));
        if rig.pools[0].mayday_due() != before {
            times.push(rig.now.0 / MILLISECOND);
        }
        rig.advance(5 * MILLISECOND);
    }
    assert_eq!(times, [10, 110, 210]);
    assert_eq!(
        rig.said
            .iter()
            .filter(|s| matches!(s.1, Action::Mayday(_)))
            .count(),
        0
    );
}

#[test]
fn nobody_is_called_while_a_worker_is_there_or_on_its_way() {
    let mut rig = Rig::new([attrs(1)]);
    rig.pwq_with(0, 10, RESCUED);
    rig.queue_and_run(3, 0);
    assert_eq!(calls(&mut rig), [], "one runs, and is to end");
    rig.hint_begin(0);
    assert_eq!(calls(&mut rig), [], "the spare is woken");
    rig.run();
    assert_eq!(rig.executing().len(), 2);
}

#[test]
fn a_rescuer_runs_only_items_of_its_own_queue_in_their_order() {
    let mut rig = hopeless(1);
    let plain = rig.pwq(0, 10);
    for _ in 0..3 {
        rig.queue_new(1, plain);
        rig.queue_new(1, 0);
    }
    rig.run();
    rescue(&mut rig);
    for work in [1, 3, 5] {
        assert_eq!(rig.executing(), [work]);
        assert_eq!(rig.pools[0].nr_running(), 0, "it does not count");
        rig.end_and_run(work, DONE);
    }
    assert_eq!(rig.executing(), []);
    assert!(rig.threads[0].is_empty(), "it has left");
    rig.spawns_fail = false;
    rig.advance(SECOND);
    rig.tick(|_| SeenState::Runnable);
    rig.run();
    assert_eq!(rig.executing(), [0], "the others waited for a thread");
}

#[test]
fn each_queue_has_its_own_rescuer() {
    let mut rig = hopeless(1);
    let other = rig.pwq_with(0, 10, RESCUED);
    rig.queue_new(2, 0);
    rig.queue_new(2, other);
    rig.run();
    rescue(&mut rig);
    assert_eq!(rig.executing(), [0, 2], "both at once, one item each");
}

#[test]
fn of_many_rescuers_some_are_called_again_later() {
    let mut rig = Rig::new([attrs(1)]);
    rig.spawns_fail = true;
    for _ in 0..MAX_RESCUERS + 1 {
        let pwq = rig.pwq_with(0, 10, RESCUED);
        rig.queue_new(1, pwq);
    }
    rig.run();
    for round in 0..2 {
        // One call names no more than there is room for.
        assert_eq!(rig.started.len(), round * MAX_ACTIONS);
        rescue(&mut rig);
    }
    assert_eq!(rig.executing().len(), MAX_RESCUERS as usize);
    rig.end_and_run(rig.executing()[0], DONE);
    rescue(&mut rig);
    assert_eq!(rig.started.len(), MAX_RESCUERS as usize + 1);
}

#[test]
fn a_rescuer_leaves_after_its_batch_if_others_wait_and_comes_back() {
    assert_eq!(RESCUER_BATCH, 16);
    let mut rig = hopeless(2);
    let first = rig.queue_new(40, 0);
    let second = rig.queue_new(3, 1);
    rig.run();
    rescue(&mut rig);
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, DONE);
    }
    let expected = first[..16].iter().chain(&second).chain(&first[16..]);
    assert_eq!(rig.started, expected.copied().collect::<Vec<_>>());
}

#[test]
fn a_rescuer_whose_turn_is_over_does_not_come_back_to_a_pool_that_has_threads() {
    let mut rig = hopeless(2);
    rig.queue_new(20, 0);
    rig.queue_new(3, 1);
    rig.run();
    rescue(&mut rig);
    for work in 0..15 {
        rig.end_and_run(work, DONE);
    }
    rig.spawns_fail = false;
    rig.advance(SECOND);
    rig.scan(0, |_| SeenState::Runnable);
    rig.run();
    assert!(rig.executing().contains(&16), "a thread could be made");
    let (pool, id) = rig.who(15).expect("the last of the batch");
    rig.end(pool, id, DONE);
    rig.ask(pool, id);
    assert!(!rig.store.pwqs[0].state.mayday);
    assert!(rig.store.pwqs[0].state.nr_active() > 0);
}

#[test]
fn a_patient_rescuer_stays() {
    let mut rig = hopeless(1);
    let items = rig.queue_new(40, 0);
    rig.run();
    rescue(&mut rig);
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, DONE);
    }
    assert_eq!(rig.started, items);
    assert_eq!(rig.queues[0].rescuer.done, 40, "it came once");
}

#[test]
fn a_rescuer_leaves_when_a_thread_can_be_made_again() {
    let mut rig = hopeless(1);
    rig.queue_new(5, 0);
    rig.run();
    rescue(&mut rig);
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), [1]);
    rig.spawns_fail = false;
    rig.advance(SECOND);
    rig.tick(|_| SeenState::Runnable);
    rig.run();
    assert_eq!(rig.executing(), [1, 2], "beside it");
    rig.end_and_run(1, DONE);
    assert_eq!(rig.executing(), [2], "no thread is missing");
    let rescuer = &rig.queues[0].rescuer;
    assert!(rescuer.at.is_none());
}

#[test]
fn what_a_rescuer_ended_wakes_those_who_may_go_on() {
    // Its item gave a slot back, and it has a barrier of its own to run first.
    let mut rig = Rig::new([attrs(1)]);
    let limited = rig.pwq_with(0, 1, RESCUED);
    rig.spawns_fail = true;
    rig.queue_and_run(1, limited);
    rescue(&mut rig);
    let barrier = rig.barrier(0).unwrap();
    rig.spawns_fail = false;
    rig.advance(SECOND);
    let next = rig.queue_and_run(1, limited)[0];
    rig.end_and_run(0, DONE);
    assert_eq!(rig.executing(), [barrier, next], "not after the barrier");
}

#[test]
fn barriers_and_next_instances_of_its_items_are_the_rescuers() {
    let mut rig = hopeless(1);
    let plain = rig.pwq(0, 10);
    let work = rig.queue_new(1, 0)[0];
    rig.run();
    rescue(&mut rig);
    let (pool, rescuer) = rig.who(work).unwrap();
    let barrier = rig.barrier(work).unwrap();
    rig.queue(work, plain);
    rig.end_and_run(work, DONE);
    assert_eq!(rig.who(barrier), Some((pool, rescuer)));
    rig.end_and_run(barrier, DONE);
    assert_eq!(rig.executing(), [], "of another queue, and nobody runs it");
    rig.spawns_fail = false;
    rig.advance(SECOND);
    rig.tick(|_| SeenState::Runnable);
    rig.run();
    assert_eq!(rig.executing(), [work]);
}

#[test]
fn a_rescuer_that_finds_nothing_to_do_leaves_until_it_is_called_again() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let (elsewhere, plain) = (rig.pwq(1, 10), rig.pwq(0, 10));
    let rescued = rig.pwq_with(0, 10, RESCUED);
    let work = rig.queue_and_run(1, elsewhere)[0];
    rig.spawns_fail = true;
    rig.queue(work, rescued);
    rig.queue_and_run(1, plain);
    rescue(&mut rig);
    assert_eq!(rig.executing(), [work], "in the other pool, for long");
    assert!(rig.threads[0].is_empty());
    rescue(&mut rig);
    assert_eq!(rig.count(Action::Mayday(rescued)), 2);
    rig.end_and_run(work, DONE);
    rescue(&mut rig);
    assert_eq!(rig.who(work).unwrap().0, 0);
}

#[test]
fn who_waits_in_a_rescuer_is_no_worker_of_the_pool() {
    // One worker executes and will come back: nobody is stuck.
    let mut rig = Rig::new([attrs(1)]);
    let (plain, rescued) = (rig.pwq(0, 10), rig.pwq_with(0, 10, RESCUED));
    let busy = rig.queue_new(1, plain)[0];
    rig.deliver(0);
    rig.spawns_fail = true;
    rig.run();
    rig.hint_begin(busy);
    let first = rig.queue_and_run(2, rescued)[0];
    rescue(&mut rig);
    assert_eq!(rig.executing(), [busy, first]);
    assert_eq!(rig.wait(first, rescued), Ok(()), "a worker will come back");
    rig.hint_end(busy);
    rig.end_and_run(busy, DONE);
    assert_eq!(rig.executing(), [first + 1, first]);
}

#[test]
fn all_threads_wait_and_so_does_the_rescuer() {
    let mut rig = Rig::new([PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    }]);
    let (plain, rescued) = (rig.pwq(0, 10), rig.pwq_with(0, 10, RESCUED));
    let first = rig.queue_and_run(1, plain)[0];
    let second = rig.queue_and_run(2, rescued)[0];
    assert_eq!(rig.wait(first, rescued), Ok(()), "its rescuer will come");
    rescue(&mut rig);
    assert_eq!(rig.executing(), [first, second]);
    assert_eq!(rig.wait(second, rescued), Err(Stuck), "nobody else will");
    rig.end_and_run(second, DONE);
    assert_eq!(rig.executing(), [first, second + 1]);
}

#[test]
fn a_wait_for_items_that_no_rescuer_runs_is_refused() {
    let mut rig = Rig::new([PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    }]);
    let (plain, rescued) = (rig.pwq(0, 10), rig.pwq_with(0, 10, RESCUED));
    let first = rig.queue_and_run(1, rescued)[0];
    rig.queue_and_run(1, plain);
    assert_eq!(rig.wait(first, plain), Err(Stuck));
}

#[test]
fn a_wait_fails_once_the_rescuer_has_left_nothing_to_hope_for() {
    let mut rig = Rig::new([PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    }]);
    let (plain, rescued) = (rig.pwq(0, 10), rig.pwq_with(0, 10, RESCUED));
    let first = rig.queue_and_run(1, plain)[0];
    let second = rig.queue_new(1, rescued)[0];
    rig.queue_and_run(1, plain);
    rig.hint_begin(first);
    rescue(&mut rig);
    assert_eq!(rig.executing(), [first, second]);
    assert_eq!(rig.wait(first, plain), Ok(()), "the rescuer is there");
    rig.hint_end(first);
    let (_, waiter) = rig.who(first).unwrap();
    assert_eq!(rig.count(Action::FailWait(waiter)), 0);
    rig.end_and_run(second, DONE);
    assert_eq!(rig.count(Action::FailWait(waiter)), 1);
    rig.wait_end(first);
    rig.end_and_run(first, DONE);
}

/// It may be in another pool, in an item that waits for this one.
#[test]
fn a_rescuer_is_not_hoped_for_by_those_to_whom_it_brings_nothing() {
    let mut rig = Rig::new([PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    }]);
    let (plain, rescued) = (rig.pwq(0, 10), rig.pwq_with(0, 10, RESCUED));
    let first = rig.queue_and_run(1, plain)[0];
    rig.queue_and_run(1, rescued);
    rig.queue_and_run(1, plain);
    assert_eq!(rig.wait(first, plain), Err(Stuck));
}

#[test]
fn an_item_of_a_rescuer_may_not_wait_for_what_gets_no_slot() {
    let mut rig = Rig::one(attrs(1), 100);
    let rescued = rig.pwq_with(0, 1, RESCUED);
    rig.spawns_fail = true;
    let work = rig.queue_and_run(2, rescued)[0];
    rescue(&mut rig);
    assert_eq!(rig.executing(), [work]);
    assert_eq!(rig.wait(work, rescued), Err(Stuck));
    // What could be begun if a worker could be made is waited for, however long that takes.
    rig.queue_and_run(1, 0);
    assert_eq!(rig.wait(work, 0), Ok(()));
    rig.tick(|_| SeenState::Asleep(None));
    let (_, rescuer) = rig.who(work).unwrap();
    assert_eq!(rig.count(Action::FailWait(rescuer)), 0);
    rig.wait_end(work);
    rig.end_and_run(work, ItemReport::default());
}
