//! Who starts, who creates, who retires.

use super::super::Shortage;
use super::rig::{Doing, Todo};
use super::*;

const W0: WorkerId = WorkerId(0);
const W1: WorkerId = WorkerId(1);
const W2: WorkerId = WorkerId(2);

/// So many workers, all idle since now.
fn idle_workers(count: usize) -> Rig {
    let mut rig = Rig::one(attrs(count as u32), 1000);
    let items = rig.queue_and_run(count - 1, 0);
    for work in items {
        rig.end_and_run(work, ItemReport::default());
    }
    assert_eq!(rig.pools[0].nr_idle() as usize, count);
    rig
}

#[test]
fn who_takes_the_last_idle_slot_creates_a_spare_before_it_works() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_new(1, 0);
    assert_eq!(rig.todo, [(0, Todo::Spawn(W0))]);
    rig.deliver(0);
    rig.ask(0, W0);
    assert_eq!(rig.todo, [(0, Todo::Create(W0, W1))], "the reserve first");
    assert!(rig.started.is_empty());
    rig.run();
    assert_eq!(rig.who(0), Some((0, W0)));
    assert!(matches!(rig.state(0, W1), State::Idle(_)));
    assert_eq!(rig.pools[0].nr_workers(), 2);
}

#[test]
fn at_the_thread_limit_the_last_worker_works_without_a_spare() {
    let mut rig = Rig::one(
        PoolAttrs {
            thread_limit: 1,
            ..attrs(1)
        },
        10,
    );
    rig.queue_and_run(3, 0);
    assert_eq!(rig.executing(), [0]);
    for work in 0..3 {
        rig.end_and_run(work, ItemReport::default());
    }
    assert_eq!(rig.started, [0, 1, 2]);
    assert_eq!(rig.pools[0].stats().peak_workers, 1);
}

#[test]
fn the_worker_that_went_idle_last_starts_first() {
    let mut rig = Rig::one(attrs(4), 10);
    let items = rig.queue_and_run(3, 0);
    let last = rig.who(items[1]).unwrap().1;
    for work in [2, 0, 1] {
        rig.end_and_run(items[work], ItemReport::default());
    }
    assert_eq!(rig.pools[0].standby(), Some(last));
    let next = rig.queue_and_run(1, 0)[0];
    assert_eq!(rig.who(next), Some((0, last)));
}

#[test]
fn items_start_up_to_the_target_and_no_further() {
    let mut rig = Rig::one(attrs(3), 100);
    rig.queue_and_run(8, 0);
    assert_eq!(rig.executing().len(), 3);
    assert_eq!(rig.pools[0].nr_running(), 3);
    assert_eq!(rig.pools[0].nr_queued(), 5);
    assert_eq!(rig.pools[0].nr_workers(), 4, "and one spare");
}

#[test]
fn each_worker_that_starts_wakes_the_next() {
    let mut rig = idle_workers(5);
    let pwq = rig.pwq(0, 1);
    rig.queue_and_run(5, pwq);
    assert_eq!(rig.executing().len(), 1);
    rig.set_max(pwq, 4);
    assert_eq!(rig.todo.len(), 1, "one is woken");
    while rig.executing().len() < 4 {
        rig.deliver(0);
        let before = rig.executing().len();
        let (pool, id) = rig.awake()[0];
        rig.ask(pool, id);
        assert_eq!(rig.executing().len(), before + 1);
    }
    assert_eq!(rig.pools[0].nr_workers(), 5, "no thread was made for it");
}

#[test]
fn a_woken_worker_whose_item_is_gone_parks_again() {
    let two = PoolAttrs {
        thread_limit: 2,
        ..attrs(2)
    };
    let mut rig = Rig::one(two, 10);
    let first = rig.queue_and_run(1, 0)[0];
    let second = rig.queue_new(1, 0)[0];
    assert_eq!(rig.todo.len(), 1, "the spare is on its way");
    let (_, busy) = rig.who(first).unwrap();
    rig.end(0, busy, ItemReport::default());
    assert_eq!(rig.who(second), Some((0, busy)));
    rig.run();
    assert_eq!((rig.executing().len(), rig.pools[0].nr_idle()), (1, 1));
}

#[test]
fn nobody_else_is_woken_for_an_item_that_a_worker_is_on_its_way_to() {
    let mut rig = idle_workers(5);
    rig.queue_new(1, 0);
    assert_eq!(rig.todo.len(), 1);
    let shortage = rig.scan(0, |_| SeenState::Runnable);
    assert_eq!(shortage, Shortage::default(), "nobody is missing");
    assert!(!rig.idle_report(0));
    assert_eq!(rig.todo.len(), 1);
    assert!(!rig.published(0).wants);
}

#[test]
fn a_wake_up_without_a_choice_changes_nothing() {
    let mut rig = idle_workers(3);
    rig.wake(0, W1);
    rig.run();
    assert_eq!(rig.thread(0, W1).doing, Doing::Parked);
    assert_eq!((rig.pools[0].nr_idle(), rig.pools[0].nr_running()), (3, 0));
}

#[test]
fn one_worker_manages_and_others_work_meanwhile() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(3, 0);
    rig.deliver(0);
    rig.ask(0, W0);
    assert!(!rig.idle_report(0), "a thread is being made already");
    rig.deliver(0);
    rig.ask(0, W0);
    assert_eq!(rig.executing(), [0]);
    rig.ask(0, W1);
    assert_eq!(rig.todo, [(0, Todo::Create(W1, W2))]);
    rig.end(0, W0, ItemReport::default());
    assert_eq!(rig.executing(), [1], "no reserve, but somebody sees to it");
    rig.run();
    assert_eq!(rig.executing().len(), 2);
}

#[test]
fn nobody_manages_before_the_manager_is_back() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(3, 0);
    rig.deliver(0);
    rig.ask(0, W0);
    rig.deliver(0);
    rig.ask(0, W1);
    assert_eq!(rig.who(0), Some((0, W1)), "the new one works at once");
    assert_eq!(rig.pools[0].crew.manager(), Some(W0));
    rig.ask(0, W0);
    assert_eq!(rig.todo, [(0, Todo::Create(W0, W2))], "there is no reserve");
}

#[test]
fn after_a_failed_creation_none_is_tried_for_a_second() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.spawns_fail = true;
    rig.queue_and_run(1, 0);
    rig.spawns_fail = false;
    assert_eq!(rig.pools[0].stats().spawn_failures, 1);
    let runs = |_| SeenState::Runnable;
    while rig.now < Time(SECOND - 4 * MILLISECOND) {
        rig.tick(runs);
        assert!(rig.todo.is_empty());
        assert!(!rig.published(0).wants, "nothing to start");
    }
    rig.tick(runs);
    rig.run();
    assert_eq!(rig.executing(), [0], "recovered");
}

#[test]
fn a_manager_that_cannot_create_works_without_a_reserve() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_new(2, 0);
    rig.deliver(0);
    rig.spawns_fail = true;
    rig.run();
    assert_eq!(rig.executing(), [0]);
    assert_eq!(rig.pools[0].stats().spawn_failures, 1);
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.executing(), [1]);
    assert_eq!(rig.pools[0].stats().spawn_failures, 1, "not asked again");
}

#[test]
fn idle_workers_retire_after_300_s_down_to_two() {
    let mut rig = idle_workers(7);
    assert_eq!(rig.pools[0].cull_at(), Some(Time(300 * SECOND)));
    rig.advance(300 * SECOND - 1);
    assert!(!rig.call(0, |p, cx| p.cull(cx)));
    assert!(rig.todo.is_empty(), "not yet");
    rig.advance(1);
    assert!(!rig.call(0, |p, cx| p.cull(cx)));
    assert_eq!(rig.pools[0].cull_at(), None);
    rig.run();
    assert_eq!(rig.threads[0].len(), 2);
    assert_eq!(rig.pools[0].nr_workers(), 2);
}

#[test]
fn a_quarter_of_the_busy_ones_beyond_two_may_stay_idle() {
    // (idle - 2) * 4 >= busy is too many: 8 workers, at first 7 of them busy.
    let mut rig = Rig::one(attrs(8), 100);
    let items = rig.queue_and_run(7, 0);
    let mut too_many = Vec::new();
    for work in items {
        rig.end_and_run(work, ItemReport::default());
        too_many.push(rig.pools[0].cull_at().is_some());
    }
    assert_eq!(too_many, [false, false, true, true, true, true, true]);
}

#[test]
fn the_oldest_idle_worker_retires_first_and_young_ones_stay() {
    let mut rig = Rig::one(attrs(5), 100);
    let items = rig.queue_and_run(5, 0);
    for work in items {
        rig.advance(SECOND);
        rig.end_and_run(work, ItemReport::default());
    }
    let oldest = rig.pools[0].crew.idle()[0];
    rig.advance(297 * SECOND);
    rig.call(0, |p, cx| p.cull(cx));
    let (expired, more) = (rig.todo.clone(), rig.pools[0].cull_at().unwrap());
    assert_eq!(expired[0], (0, Todo::Wake(oldest)));
    assert_eq!((expired.len(), more), (3, Time(303 * SECOND)));
    rig.run();
    assert!(!rig.threads[0].contains_key(&oldest));
}

#[test]
fn one_call_names_no_more_than_it_has_room_for() {
    let mut rig = idle_workers(crate::action::MAX_ACTIONS + 6);
    rig.advance(300 * SECOND);
    assert!(rig.call(0, |p, cx| p.cull(cx)), "more are due");
    assert_eq!(rig.todo.len(), crate::action::MAX_ACTIONS);
    assert!(!rig.call(0, |p, cx| p.cull(cx)));
    rig.run();
    assert_eq!(rig.threads[0].len(), 2);
}

#[test]
fn a_retiring_worker_is_never_chosen_and_its_number_is_used_again() {
    let mut rig = idle_workers(4);
    rig.advance(300 * SECOND);
    rig.call(0, |p, cx| p.cull(cx));
    let retiring = rig.pools[0].crew.ids();
    let retiring = retiring.filter(|&id| rig.state(0, id) == State::Retiring);
    let retiring: Vec<WorkerId> = retiring.collect();
    assert_eq!(retiring.len(), 2);
    rig.queue_and_run(4, 0);
    assert_eq!(rig.executing().len(), 4);
    let ids = rig.threads[0].keys().map(|id| id.0);
    assert_eq!(ids.max(), Some(4), "five workers, numbered from 0");
}
