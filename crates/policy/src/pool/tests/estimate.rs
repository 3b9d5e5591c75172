//! The estimate of `nr_running`, and who steps back by it.

use super::super::CROWDED;
use super::rig::Doing;
use super::*;
use crate::time::MICROSECOND;

const ASLEEP: SeenState = SeenState::Asleep(None);

fn delayed(micros: u64) -> ItemReport {
    ItemReport {
        slept: Some(false),
        waited: Some(micros * MICROSECOND),
        ..ItemReport::default()
    }
}

/// Target 1, two items run and are known to, more are queued.
fn over() -> Rig {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(6, 0);
    assert!(rig.idle_report(0));
    rig.run();
    rig.scan(0, |_| SeenState::Runnable);
    assert_eq!((rig.pools[0].nr_running(), rig.executing().len()), (2, 2));
    let pool = &rig.pools[0];
    assert!(pool.nr_running() > pool.attrs.target);
    rig
}

#[test]
fn an_idle_report_starts_exactly_one_and_presumes_one_asleep() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(5, 0);
    assert!(rig.published(0).wants);
    assert!(rig.idle_report(0));
    assert_eq!(rig.pools[0].estimate.presumed(), 1);
    assert_eq!(rig.todo.len(), 1, "exactly one starts");
    assert_eq!(rig.pools[0].nr_running(), 1);
    rig.run();
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(rig.pools[0].stats().idle_reports, 1);
}

#[test]
fn each_report_starts_one_more() {
    let mut rig = Rig::one(attrs(4), 100);
    rig.queue_and_run(20, 0);
    for more in 1..=3 {
        assert!(rig.idle_report(0));
        rig.run();
        assert_eq!(rig.executing().len(), 4 + more);
        assert_eq!(rig.pools[0].nr_running(), 4);
    }
}

#[test]
fn two_cpus_that_idle_at_once_ask_for_two() {
    let mut rig = Rig::one(attrs(4), 100);
    rig.queue_and_run(3, 0);
    rig.end_and_run(0, ItemReport::default());
    assert_eq!((rig.executing().len(), rig.pools[0].nr_idle()), (2, 2));
    rig.pools[0].attrs.target = 2;
    rig.queue_new(5, 0);
    assert!(rig.todo.is_empty(), "two run as far as the pool knows");
    assert!(rig.idle_report(0));
    assert!(
        rig.idle_report(0),
        "who is on the way says nothing of this CPU"
    );
    assert_eq!(rig.todo.len(), 2);
    rig.run();
    // Whoever found too many on the way goes back; the CPU that still idles reports again.
    if rig.executing().len() == 3 {
        assert!(rig.idle_report(0));
        rig.run();
    }
    assert_eq!(rig.executing().len(), 4);
}

#[test]
fn a_report_with_nothing_to_start_changes_nothing() {
    let mut rig = Rig::one(attrs(2), 1);
    rig.queue_and_run(3, 0);
    assert!(!rig.published(0).wants, "the limit is reached");
    assert!(!rig.idle_report(0));
    assert_eq!(rig.pools[0].estimate.presumed(), 0);
    assert_eq!(rig.pools[0].stats().idle_reports_unused, 1);
    assert_eq!(rig.pools[0].stats().idle_reports, 0);
}

#[test]
fn the_worker_that_takes_the_report_starts_itself_without_a_wake() {
    let mut rig = Rig::one(attrs(4), 100);
    let items = rig.queue_and_run(3, 0);
    rig.end_and_run(items[0], ItemReport::default());
    let receiver = rig.pools[0].crew.idle()[0];
    assert_ne!(Some(receiver), rig.pools[0].standby());
    rig.queue_new(1, 0);
    rig.queue_new(9, 0);
    rig.run();
    let receiver = rig.pools[0].standby().unwrap();
    rig.wake(0, receiver);
    assert!(rig.call(0, |p, cx| p.cpu_idle(cx, Some(receiver))));
    assert!(rig.todo.is_empty(), "it is awake");
    rig.ask(0, receiver);
    rig.run();
    assert_eq!(rig.executing().len(), 5);
}

#[test]
fn a_receiver_that_was_chosen_meanwhile_hands_the_report_on() {
    let mut rig = Rig::one(attrs(4), 100);
    let items = rig.queue_and_run(3, 0);
    rig.end_and_run(items[0], ItemReport::default());
    let receiver = rig.pools[0].standby().unwrap();
    rig.wake(0, receiver);
    rig.queue_new(2, 0);
    assert_eq!(rig.state(0, receiver), State::Waking);
    rig.queue_new(9, 0);
    rig.call(0, |p, cx| p.cpu_idle(cx, Some(receiver)));
    rig.run();
    assert!(rig.executing().len() >= 4);
    assert_eq!(rig.pools[0].nr_running(), 4);
}

#[test]
fn a_worker_that_slept_takes_one_presumption_away() {
    for (slept, left) in [(Some(true), 0), (Some(false), 1), (None, 1)] {
        let mut rig = Rig::one(attrs(2), 100);
        rig.queue_and_run(9, 0);
        assert!(rig.idle_report(0));
        rig.run();
        let report = ItemReport {
            slept,
            ..ItemReport::default()
        };
        rig.end_and_run(0, report);
        assert_eq!(rig.pools[0].estimate.presumed(), left, "slept: {slept:?}");
    }
}

#[test]
fn nobody_is_presumed_asleep_in_an_item_that_has_just_begun() {
    let mut rig = Rig::one(
        PoolAttrs {
            thread_limit: 2,
            ..attrs(1)
        },
        100,
    );
    rig.queue_and_run(4, 0);
    assert!(rig.idle_report(0));
    rig.run();
    // The second one ends; the first alone can be the sleeper.
    rig.pools[0].attrs.target = 2;
    rig.end_and_run(1, ItemReport::default());
    rig.hint_begin(0);
    assert_eq!(rig.pools[0].estimate.presumed(), 1, "the other one then");
    rig.end_and_run(2, ItemReport::default());
    assert_eq!(rig.pools[0].estimate.presumed(), 0, "which has moved on");
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn a_complete_scan_replaces_the_estimate() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(9, 0);
    for _ in 0..2 {
        rig.idle_report(0);
        rig.run();
    }
    assert_eq!(rig.pools[0].estimate.presumed(), 2);
    let shortage = rig.scan(0, |work| {
        if work == 0 {
            ASLEEP
        } else {
            SeenState::Runnable
        }
    });
    assert!(!shortage.missing);
    assert_eq!(rig.pools[0].estimate.presumed(), 0);
    assert_eq!(rig.pools[0].crew.counts().asleep, 1);
    assert_eq!(
        rig.pools[0].nr_running() as usize,
        rig.executing().len() - 1
    );
}

#[test]
fn a_scan_that_finds_workers_asleep_starts_others() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(9, 0);
    assert!(rig.scan(0, |_| ASLEEP).missing, "a signal is late");
    assert!(rig.pools[0].stats().tick_starts >= 1);
    rig.run();
    assert_eq!(rig.executing().len(), 4);
    assert_eq!(rig.pools[0].nr_running(), 2);
    rig.scan(0, |_| SeenState::Runnable);
    assert_eq!(rig.pools[0].nr_running(), 4, "they are back");
}

#[test]
fn a_scan_that_stopped_early_corrects_only_what_it_saw() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(9, 0);
    for _ in 0..2 {
        rig.idle_report(0);
        rig.run();
    }
    let plan = rig.pools[0].plan_scan();
    assert_eq!((plan.enough, plan.iter().count()), (u32::MAX, 4));
    let mut seen = rig.seen(0, &plan, |_| SeenState::Runnable);
    seen.truncate(3);
    rig.call(0, |p, cx| p.scanned(cx, &seen, false));
    assert_eq!(rig.pools[0].estimate.presumed(), 1, "one was not looked at");
}

/// Reports were wrong: four run, and two are enough to see that the target is reached, but not that
/// too many do.
#[test]
fn who_is_presumed_asleep_is_looked_for() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(9, 0);
    assert_eq!(rig.pools[0].plan_scan().enough, 2);
    for _ in 0..2 {
        rig.idle_report(0);
        rig.run();
    }
    assert_eq!((rig.executing().len(), rig.pools[0].nr_running()), (4, 2));
    rig.scan(0, |_| SeenState::Runnable);
    assert_eq!(rig.pools[0].nr_running(), 4);
    assert_eq!(rig.pools[0].plan_scan().enough, 2);
}

#[test]
fn a_late_sample_of_an_earlier_item_counts_for_nothing() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(3, 0);
    let plan = rig.pools[0].plan_scan();
    let seen = rig.seen(0, &plan, |_| ASLEEP);
    assert_eq!(seen.len(), 1);
    rig.end_and_run(0, ItemReport::default());
    rig.call(0, |p, cx| p.scanned(cx, &seen, true));
    assert_eq!(rig.pools[0].crew.counts().asleep, 0);
    assert_eq!(rig.executing(), [1]);
}

#[test]
fn every_busy_worker_has_its_turn_in_the_scans() {
    let mut rig = Rig::one(attrs(40), 100);
    rig.queue_and_run(40, 0);
    let mut looked_at = std::collections::BTreeSet::new();
    for _ in 0..3 {
        looked_at.extend(rig.pools[0].plan_scan().iter().map(|(id, _)| id));
    }
    assert_eq!(looked_at.len(), 40);
}

/// A scan stops at the first that runs, which is not always the same one.
#[test]
fn workers_beside_one_that_runs_have_their_turn_as_well() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(9, 0);
    rig.idle_report(0);
    rig.run();
    assert_eq!(rig.executing().len(), 2);
    let mut found = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let plan = rig.pools[0].plan_scan();
        let mut seen = rig.seen(0, &plan, |_| SeenState::Runnable);
        seen.truncate(1);
        found.insert(seen[0].worker);
        rig.call(0, |p, cx| p.scanned(cx, &seen, false));
    }
    assert_eq!(found.len(), 2);
}

#[test]
fn sleepers_are_looked_at_again_in_turn() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(30, 0);
    for _ in 0..4 {
        rig.tick(|_| ASLEEP);
        rig.run();
    }
    let asleep = rig.pools[0].crew.counts().asleep;
    assert!(asleep >= 6, "{asleep}");
    for _ in 0..asleep {
        rig.tick(|_| SeenState::Runnable);
    }
    assert_eq!(rig.pools[0].crew.counts().asleep, 0);
}

#[test]
fn a_hint_leaves_the_estimate_at_once_and_nests() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(3, 0);
    rig.hint_begin(0);
    assert_eq!(rig.todo.len(), 1, "the next one starts at once");
    rig.hint_begin(0);
    rig.run();
    assert_eq!((rig.executing().len(), rig.pools[0].nr_running()), (2, 1));
    rig.hint_end(0);
    assert_eq!(rig.pools[0].nr_running(), 1, "still in the outer one");
    rig.hint_end(0);
    assert_eq!(rig.pools[0].nr_running(), 2);
}

#[test]
fn a_hint_of_a_worker_that_was_seen_asleep_counts_once() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(1, 0);
    rig.scan(0, |_| ASLEEP);
    assert_eq!(rig.pools[0].nr_running(), 0);
    rig.hint_begin(0);
    assert_eq!(rig.pools[0].nr_running(), 0);
    rig.scan(0, |_| ASLEEP);
    rig.hint_end(0);
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn what_an_item_leaves_open_ends_with_it() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(2, 0);
    rig.hint_begin(0);
    rig.wait(0, 0).unwrap();
    rig.run();
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.pools[0].crew.counts().waiting, 0);
    assert_eq!(
        (rig.executing().as_slice(), rig.pools[0].nr_running()),
        (&[1][..], 1)
    );
}

/// The first worker goes on ending items with this report, until it stops or has ended so many.
fn ends(rig: &mut Rig, report: ItemReport) -> usize {
    let (pool, id, _) = rig.running()[0];
    for ended in 1..=10 {
        // Longer than who has asked waits before asking again.
        rig.advance(20 * rig.yield_takes);
        rig.end(pool, id, report);
        while rig.thread(pool, id).doing == Doing::Awake {
            rig.ask(pool, id);
        }
        if rig.thread(pool, id).doing == Doing::Parked {
            return ended;
        }
    }
    10
}

#[test]
fn only_a_delayed_worker_steps_back_and_only_if_too_many_run() {
    let mut rig = over();
    rig.queue_new(40, 0);
    assert_eq!(ends(&mut rig, delayed(100)), 10, "100 us are tolerated");
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(
        ends(&mut rig, delayed(101)),
        CROWDED as usize,
        "these are not"
    );
    assert_eq!(rig.executing().len(), 1);
    assert_eq!(rig.pools[0].stats().step_backs, 1);
    assert_eq!(ends(&mut rig, delayed(50_000)), 10, "nobody else is left");
}

#[test]
fn a_report_presumes_all_asleep_that_would_keep_it_from_starting_one() {
    let mut rig = over();
    assert!(rig.idle_report(0), "a CPU idles, so none of the two runs");
    assert_eq!(rig.pools[0].estimate.presumed(), 2);
    assert_eq!((rig.todo.len(), rig.pools[0].nr_running()), (1, 1));
}

#[test]
fn a_report_presumes_nobody_asleep_while_fewer_run_than_should() {
    let mut rig = Rig::one(attrs(3), 100);
    rig.queue_and_run(2, 0);
    rig.queue_new(2, 0);
    rig.pools[0].attrs.target = 4;
    rig.idle_report(0);
    assert_eq!(rig.pools[0].estimate.presumed(), 0);
}

#[test]
fn a_delayed_worker_stays_if_nobody_waits_for_its_cpu() {
    let mut rig = over();
    rig.queue_new(20, 0);
    rig.yield_takes = 10 * MICROSECOND;
    assert_eq!(
        ends(&mut rig, delayed(5_000)),
        10,
        "yields come back at once"
    );
}

#[test]
fn who_had_a_cpu_all_the_time_stays() {
    let mut rig = over();
    rig.queue_new(20, 0);
    assert_eq!(ends(&mut rig, delayed(0)), 10);
}

#[test]
fn who_has_just_asked_does_not_ask_again() {
    let mut rig = over();
    rig.queue_new(20, 0);
    let (pool, id, _) = rig.running()[0];
    for _ in 0..10 {
        rig.end(pool, id, delayed(5_000));
        while rig.thread(pool, id).doing == Doing::Awake {
            rig.ask(pool, id);
        }
    }
    assert_eq!(rig.executing().len(), 2, "no time has passed since");
}

#[test]
fn foreign_items_step_back_on_the_estimate_alone() {
    let mut rig = over();
    let foreign = ItemReport {
        foreign: true,
        ..ItemReport::default()
    };
    rig.end_and_run(0, foreign);
    assert_eq!(rig.executing().len(), 1);
    rig.end_and_run(rig.executing()[0], foreign);
    assert_eq!(rig.executing().len(), 1);
}

#[test]
fn who_arrives_when_enough_run_goes_back() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(3, 0);
    rig.hint_begin(0);
    rig.hint_end(0);
    assert_eq!(rig.pools[0].nr_running(), 2, "one is on its way");
    rig.run();
    assert_eq!(rig.executing(), [0]);
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn the_runnable_time_is_that_of_the_past() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.advance(10 * SECOND);
    rig.queue_and_run(2, 0);
    assert_eq!(rig.pools[0].stats().runnable_ns, 0, "nothing ran so far");
    rig.advance(SECOND);
    assert_eq!(rig.runnable_ns(0), u128::from(2 * SECOND), "so far");
    rig.end_and_run(0, ItemReport::default());
    assert_eq!(rig.pools[0].stats().runnable_ns, u128::from(2 * SECOND));
    rig.advance(SECOND);
    rig.end_and_run(1, ItemReport::default());
    rig.advance(SECOND);
    rig.queue_and_run(1, 0);
    assert_eq!(rig.pools[0].stats().runnable_ns, u128::from(3 * SECOND));
}

#[test]
fn a_process_tree_counts_as_the_threads_that_run() {
    let mut rig = Rig::one(attrs(2), 100);
    let items = rig.queue_and_run(6, 0);
    assert_eq!(rig.pools[0].nr_running(), 2);
    let make = |work| match work == items[0] {
        true => SeenState::Threads(8),
        false => SeenState::Asleep(None),
    };
    rig.scan(0, make);
    rig.run();
    // Its own two threads fill both CPUs, though the other job sleeps.
    assert_eq!((rig.pools[0].nr_running(), rig.executing().len()), (2, 2));
    assert!(rig.idle_report(0), "a CPU that idles has the last word");
    rig.run();
    assert_eq!(rig.executing().len(), 3);
    rig.end_and_run(items[0], ItemReport::default());
    assert_eq!(rig.pools[0].crew.counts().extra, 0);
}

#[test]
fn a_stopped_process_tree_keeps_nobody_from_starting_and_waits_for_nothing() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(6, 0);
    rig.scan(0, |_| SeenState::Stopped);
    rig.run();
    assert_eq!(rig.executing().len(), 4);
    assert!(rig.pools[0].worklist.lanes().is_empty());
}
