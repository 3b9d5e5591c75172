//! Waiting for items of one's own pool: who is refused, who is let go again, and who is not.

use super::super::Stuck;
use super::*;
use crate::worker::Wait;

fn limited(thread_limit: u32, target: u32, max_active: u32) -> Rig {
    let attrs = PoolAttrs {
        thread_limit,
        ..attrs(target)
    };
    Rig::one(attrs, max_active)
}

#[test]
fn a_waiting_item_makes_room_for_the_awaited_one() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(2, 0);
    assert_eq!(rig.executing(), [0]);
    rig.wait(0, 0).unwrap();
    rig.run();
    assert_eq!(rig.executing(), [0, 1]);
    rig.end_and_run(1, ItemReport::default());
    rig.wait_end(0);
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn the_only_thread_may_not_wait() {
    let mut rig = limited(1, 1, 10);
    rig.queue_and_run(2, 0);
    assert_eq!(rig.wait(0, 0), Err(Stuck));
    assert_eq!(rig.pools[0].nr_running(), 1, "refused is not waiting");
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.executing(), [1]);
}

#[test]
fn the_last_of_two_threads_may_not_wait() {
    let mut rig = limited(2, 1, 10);
    rig.queue_and_run(3, 0);
    rig.wait(0, 0).unwrap();
    rig.run();
    assert_eq!(rig.executing(), [0, 1]);
    assert_eq!(rig.wait(1, 0), Err(Stuck));
    rig.end_and_run(1, ItemReport::default());
    assert_eq!(rig.executing(), [0, 2]);
}

/// A scope that has given up waits for what has begun.
#[test]
fn who_waits_for_what_has_begun_is_waited_out() {
    for the_other_waits_first in [false, true] {
        let mut rig = limited(2, 1, 10);
        rig.queue_and_run(3, 0);
        rig.call(0, |p, cx| p.hint_begin(cx, WorkerId(0)));
        rig.run();
        assert_eq!(rig.executing(), [0, 1]);
        let ((_, giver), (_, begun)) = (rig.who(0).unwrap(), rig.who(1).unwrap());
        if the_other_waits_first {
            rig.wait(1, 0).unwrap();
        }
        let waited = rig.call(0, |p, cx| p.wait_begin(cx, giver, Wait::Begun(0)));
        assert_eq!(waited, Ok(()), "it can do nothing else");
        match the_other_waits_first {
            true => assert_eq!(rig.count(Action::FailWait(begun)), 1),
            false => assert_eq!(rig.wait(1, 0), Err(Stuck)),
        }
        assert_eq!(rig.count(Action::FailWait(giver)), 0);
    }
}

/// Nobody is told where nobody could do anything about it.
#[test]
fn waits_for_what_has_begun_never_fail() {
    let mut rig = limited(2, 2, 2);
    rig.queue_and_run(2, 0);
    for item in [0, 1] {
        let (_, id) = rig.who(item).unwrap();
        let waited = rig.call(0, |p, cx| p.wait_begin(cx, id, Wait::Begun(0)));
        assert_eq!(waited, Ok(()));
        assert_eq!(rig.count(Action::FailWait(id)), 0);
    }
}

#[test]
fn who_only_waits_for_ended_items_does_not_count() {
    let mut rig = limited(2, 1, 10);
    rig.queue_and_run(4, 0);
    rig.wait(0, 0).unwrap();
    rig.run();
    // Item 1 was awaited. Its worker goes on before the waiter has noticed.
    let (_, waiter) = rig.who(0).unwrap();
    rig.call(0, |p, _| p.wait_over(waiter));
    rig.end_and_run(1, ItemReport::default());
    assert_eq!(rig.executing(), [0, 2]);
    assert_eq!(rig.wait(2, 0), Ok(()), "the first will come back");
    rig.wait_end(0);
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.executing(), [3, 2]);
}

#[test]
fn a_flush_that_moved_is_looked_at_again() {
    let mut rig = limited(2, 1, 10);
    let other = rig.pwq(0, 10);
    rig.queue_and_run(1, 0);
    rig.queue_new(2, other);
    _ = rig.flush(other);
    let (_, id) = rig.who(0).unwrap();
    rig.call(0, |p, cx| p.wait_begin(cx, id, Wait::Flush(other)))
        .unwrap();
    rig.run();
    rig.end_and_run(1, ItemReport::default());
    assert_eq!(rig.pools[0].crew.counts().waiting, 1, "one of two is left");
    rig.end_and_run(2, ItemReport::default());
    assert_eq!(rig.count(Action::Flushed(other)), 1);
    assert_eq!(rig.pools[0].crew.counts().waiting, 0);
}

#[test]
fn nobody_waits_while_no_thread_can_be_made() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_new(2, 0);
    rig.deliver(0);
    rig.spawns_fail = true;
    rig.run();
    assert_eq!(rig.executing(), [0]);
    assert_eq!(rig.wait(0, 0), Err(Stuck), "during the cooldown");
    rig.advance(SECOND);
    assert_eq!(rig.wait(0, 0), Ok(()), "perhaps one can be made now");
    let (_, waiter) = rig.who(0).unwrap();
    rig.deliver_all();
    assert_eq!(rig.count(Action::FailWait(waiter)), 1, "it could not");
    rig.wait_end(0);
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.executing(), [1]);
}

/// Two workers that both wait, because a third seemed possible.
fn two_wait() -> Rig {
    let mut rig = limited(2, 1, 10);
    rig.queue_and_run(3, 0);
    rig.wait(0, 0).unwrap();
    rig.run();
    rig.pools[0].attrs.thread_limit = 3;
    rig.wait(1, 0).unwrap();
    rig
}

fn failed_waits(rig: &Rig) -> usize {
    let said = rig.said.iter();
    said.filter(|s| matches!(s.1, Action::FailWait(_))).count()
}

#[test]
fn a_scan_lets_one_go_if_all_have_come_to_wait() {
    let mut rig = two_wait();
    rig.pools[0].attrs.thread_limit = 2;
    rig.tick(|_| SeenState::Asleep(None));
    assert_eq!(failed_waits(&rig), 1);
    rig.tick(|_| SeenState::Asleep(None));
    assert_eq!(failed_waits(&rig), 1, "one is enough");
}

#[test]
fn a_thread_that_could_not_be_made_lets_one_go() {
    let mut rig = two_wait();
    rig.spawns_fail = true;
    rig.tick(|_| SeenState::Asleep(None));
    rig.deliver_all();
    assert_eq!(rig.pools[0].stats().spawn_failures, 1);
    assert_eq!(failed_waits(&rig), 1);
}

#[test]
fn all_slots_of_a_queue_may_not_wait_for_items_without_one() {
    let mut rig = Rig::one(attrs(2), 2);
    rig.queue_and_run(4, 0);
    assert_eq!(rig.executing(), [0, 1]);
    rig.wait(0, 0).unwrap();
    assert_eq!(rig.wait(1, 0), Err(Stuck));
    rig.end_and_run(1, ItemReport::default());
    assert_eq!(rig.executing(), [0, 2]);
}

#[test]
fn a_slot_that_its_own_next_instance_holds_is_none() {
    for target in [1, 2] {
        let mut rig = Rig::one(attrs(target), 2);
        let work = rig.queue_and_run(1, 0)[0];
        rig.queue(work, 0);
        let without = rig.queue_and_run(1, 0)[0];
        assert_eq!(rig.wait(work, 0), Err(Stuck));
        rig.end_and_run(work, ItemReport::default());
        assert!(rig.executing().contains(&work));
        rig.end_and_run(work, ItemReport::default());
        rig.run();
        assert_eq!(rig.executing(), [without]);
    }
}

#[test]
fn a_slot_that_its_own_next_instance_gets_later_is_none() {
    let mut rig = Rig::one(attrs(2), 2);
    let [work, other] = rig.queue_and_run(2, 0)[..] else {
        panic!("two were queued")
    };
    rig.queue(work, 0);
    rig.queue_and_run(1, 0);
    assert_eq!(rig.wait(work, 0), Ok(()), "the other one may end");
    let (_, waiter) = rig.who(work).unwrap();
    assert_eq!(rig.count(Action::FailWait(waiter)), 0);
    rig.end_and_run(other, ItemReport::default());
    assert_eq!(rig.count(Action::FailWait(waiter)), 1);
}

#[test]
fn the_only_slot_of_another_queue_that_its_next_instance_holds_is_none() {
    let mut rig = Rig::one(attrs(2), 2);
    let other = rig.pwq(0, 1);
    let work = rig.queue_and_run(1, 0)[0];
    rig.queue(work, other);
    rig.queue_and_run(1, other);
    assert_eq!(rig.wait(work, other), Err(Stuck));
    rig.cancel(work);
    assert_eq!(rig.wait(work, other), Ok(()));
}

#[test]
fn a_slot_whose_item_has_not_started_yet_is_hope() {
    let mut rig = Rig::one(attrs(2), 3);
    rig.queue_and_run(5, 0);
    rig.wait(0, 0).unwrap();
    assert_eq!(rig.wait(1, 0), Ok(()), "item 2 has the third slot");
    rig.run();
    assert_eq!(rig.wait(2, 0), Err(Stuck));
}

#[test]
fn slots_of_another_queue_do_not_count() {
    let mut rig = Rig::one(attrs(2), 1);
    let other = rig.pwq(0, 1);
    rig.queue_and_run(1, 0);
    rig.queue_and_run(2, other);
    assert_eq!(rig.wait(0, other), Ok(()), "that queue has its own slot");
    let inner = rig.executing()[1];
    assert_eq!(
        rig.wait(inner, 0),
        Err(Stuck),
        "the only item there waits for this one"
    );
}

#[test]
fn a_slot_whose_item_waits_for_another_queue_is_hope() {
    let mut rig = Rig::one(attrs(2), 2);
    let other = rig.pwq(0, 10);
    rig.queue_and_run(3, 0);
    rig.queue_new(1, other);
    rig.wait(0, other).unwrap();
    assert_eq!(
        rig.wait(1, 0),
        Ok(()),
        "item 0 will come back with its slot"
    );
}

#[test]
fn a_ring_of_queues_whose_slots_wait_for_each_other() {
    let mut rig = Rig::one(attrs(3), 1);
    let (second, third) = (rig.pwq(0, 1), rig.pwq(0, 1));
    for pwq in [0, second, third] {
        rig.queue_and_run(2, pwq);
    }
    assert_eq!(rig.executing(), [0, 2, 4]);
    rig.wait(0, second).unwrap();
    rig.wait(2, third).unwrap();
    assert_eq!(rig.wait(4, 0), Err(Stuck), "it closes the ring");
    rig.end_and_run(4, ItemReport::default());
    assert!(rig.executing().contains(&5));
}

#[test]
fn a_ring_with_a_way_out_is_none() {
    let mut rig = Rig::one(attrs(4), 1);
    let second = rig.pwq(0, 2);
    rig.queue_and_run(2, 0);
    rig.queue_and_run(3, second);
    assert_eq!(rig.executing(), [0, 2, 3]);
    rig.wait(0, second).unwrap();
    assert_eq!(
        rig.wait(2, 0),
        Ok(()),
        "item 3 will give its slot to item 4"
    );
    assert_eq!(rig.wait(3, 0), Err(Stuck), "now nobody would");
}

#[test]
fn two_pwqs_of_one_queue_share_the_slots_that_all_wait() {
    // One was retired and is not empty, and the queue has come back to its pool.
    let mut rig = Rig::new([attrs(4), attrs(1)]);
    let pwq = rig.pwq(0, 2);
    let queue = rig.store.pwqs[pwq].queue;
    rig.queue_and_run(1, pwq);
    rig.replace(queue, 1);
    rig.replace(queue, 0);
    rig.queue_and_run(2, pwq);
    let newest = *rig.queues[queue].pwqs.last().unwrap();
    assert_eq!(rig.executing(), [0, 1]);
    assert_eq!(rig.store.pwqs[newest].state.nr_inactive(), 1);
    rig.wait(0, newest).unwrap();
    assert_eq!(rig.wait(1, newest), Err(Stuck));
    rig.end_and_run(1, ItemReport::default());
    assert_eq!(rig.executing(), [0, 2]);
}

#[test]
fn slots_of_another_pool_have_a_limit_of_their_own() {
    // A per-CPU queue: an item waits for one on another CPU.
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let here = rig.pwq(0, 1);
    let there = rig.pwq(1, 1);
    rig.store.pwqs[there].queue = rig.store.pwqs[here].queue;
    rig.queue_and_run(1, here);
    rig.queue_and_run(1, there);
    assert_eq!(rig.wait(0, there), Ok(()), "that one will end");
}
