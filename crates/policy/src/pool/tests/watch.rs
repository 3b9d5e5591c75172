//! What shows over time: items that keep their CPU, worklists that stand still, clocks that were
//! away.

use super::super::watch::{AskSwitches, Hog};
use super::super::{IDLE_WORKER_TIMEOUT, Rule};
use super::*;
use crate::hog::{self, Sample, Switches};
use crate::watchdog;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

fn one(rule: Rule) -> Rig {
    Rig::one(PoolAttrs { rule, ..attrs(1) }, 100)
}

/// A look at the worker of this item, which so far has had so many milliseconds of CPU time.
fn look(rig: &mut Rig, work: usize, cpu: u64) -> Result<Option<Hog<usize>>, AskSwitches> {
    let (pool, id) = rig.who(work).expect("it runs");
    let seq = rig.pools[pool].crew.get(id).item_seq;
    let sample = Sample {
        item: rig.store.items[work].begun,
        cpu: cpu * MILLISECOND,
        asleep: false,
        switches: Switches::Count(1),
    };
    rig.call(pool, |p, cx| p.watched(cx, id, seq, sample, hog::THRESHOLD))
}

#[test]
fn an_item_of_a_per_cpu_pool_that_keeps_its_cpu_lets_the_next_one_start() {
    let mut rig = one(Rule::PerCpu);
    rig.queue_and_run(2, 0);
    rig.advance(5 * MILLISECOND);
    assert_eq!(look(&mut rig, 0, 0), Ok(None));
    rig.advance(10 * MILLISECOND);
    let hog = look(&mut rig, 0, 10).unwrap().expect("10 ms of CPU time");
    assert_eq!((hog.pwq, hog.uncounted), (0, true));
    assert_eq!(hog.cpu, 10 * MILLISECOND);
    rig.run();
    assert_eq!(rig.executing(), [0, 1]);
    assert_eq!(rig.pools[0].nr_running(), 1);
    assert_eq!(look(&mut rig, 0, 30), Ok(None), "said once");
    rig.end_and_run(0, DONE);
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn elsewhere_it_is_only_reported() {
    let mut rig = one(Rule::Managed);
    rig.queue_and_run(2, 0);
    rig.advance(5 * MILLISECOND);
    assert_eq!(look(&mut rig, 0, 0), Ok(None));
    assert_eq!(look(&mut rig, 0, 3), Ok(None), "asked for the first time");
    assert_eq!(look(&mut rig, 0, 12), Ok(None), "9 ms since then");
    let hog = look(&mut rig, 0, 13).unwrap().expect("10 ms of CPU time");
    assert!(!hog.uncounted);
    rig.run();
    assert_eq!(rig.executing(), [0]);
    assert_eq!(rig.pools[0].nr_running(), 1);
}

#[test]
fn young_items_and_those_in_a_hint_are_not_watched() {
    let mut rig = one(Rule::PerCpu);
    rig.queue_and_run(1, 0);
    assert_eq!(look(&mut rig, 0, 0), Ok(None));
    assert_eq!(look(&mut rig, 0, 50), Ok(None), "it has just begun");
    rig.advance(5 * MILLISECOND);
    rig.hint_begin(0);
    assert_eq!(look(&mut rig, 0, 60), Ok(None));
    assert_eq!(look(&mut rig, 0, 90), Ok(None));
}

/// What the watchdog says now of the only pool.
fn stalled(rig: &mut Rig) -> Option<(u64, u64)> {
    let stall = rig.call(0, |p, cx| p.stalled(cx, watchdog::THRESHOLD));
    stall.map(|s| (s.stood / SECOND, s.first.key.addr))
}

fn addr(rig: &Rig, work: usize) -> u64 {
    rig.store.items[work].key.addr
}

#[test]
fn a_worklist_that_stands_still_for_30_s_is_said_once() {
    let mut rig = one(Rule::Managed);
    rig.queue_and_run(3, 0);
    rig.advance(29 * SECOND);
    assert_eq!(stalled(&mut rig), None);
    rig.advance(SECOND);
    let first = addr(&rig, 1);
    assert_eq!(stalled(&mut rig), Some((30, first)));
    rig.advance(100 * SECOND);
    assert_eq!(stalled(&mut rig), None);
    rig.end_and_run(0, DONE);
    rig.advance(30 * SECOND);
    let next = addr(&rig, 2);
    assert_eq!(stalled(&mut rig), Some((30, next)), "it had moved");
}

#[test]
fn without_a_thread_nobody_waits_for_the_threshold_unless_a_worker_is_there() {
    let now = |rig: &mut Rig, threshold| {
        rig.call(0, |p, cx| p.stalled_without_thread(cx, threshold))
            .is_some()
    };
    let mut rig = one(Rule::Managed);
    rig.spawns_fail = true;
    rig.queue_and_run(1, 0);
    rig.advance(MILLISECOND);
    assert!(!now(&mut rig, 0), "it is off");
    assert!(now(&mut rig, watchdog::THRESHOLD));
    assert!(!now(&mut rig, watchdog::THRESHOLD), "said once");
    let mut rig = one(Rule::Managed);
    rig.queue_and_run(2, 0);
    rig.advance(SECOND);
    assert!(!now(&mut rig, watchdog::THRESHOLD), "one runs");
}

#[test]
fn nothing_to_do_is_no_stall() {
    let mut rig = one(Rule::Managed);
    rig.queue_and_run(1, 0);
    rig.advance(100 * SECOND);
    assert_eq!(stalled(&mut rig), None, "what runs may run");
    rig.queue_new(1, 0);
    assert_eq!(stalled(&mut rig), None, "it has just come");
}

#[test]
fn who_waits_for_an_execution_elsewhere_does_not_stand_still() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let (here, there) = (rig.pwq(0, 10), rig.pwq(1, 10));
    let long = rig.queue_and_run(1, there)[0];
    rig.queue(long, here);
    rig.run();
    rig.advance(100 * SECOND);
    assert_eq!(stalled(&mut rig), None);
    // It may begin now, and has not stood there for 100 s.
    let (pool, id) = rig.who(long).unwrap();
    rig.end(pool, id, DONE);
    rig.deliver(0);
    assert_eq!(rig.pools[0].nr_queued(), 1);
    assert_eq!(stalled(&mut rig), None);
}

#[test]
fn the_stall_names_an_item_that_could_begin() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let (here, there) = (rig.pwq(0, 10), rig.pwq(1, 10));
    let long = rig.queue_and_run(1, there)[0];
    rig.queue_and_run(1, here);
    rig.queue(long, here);
    let waits = rig.queue_and_run(1, here)[0];
    rig.advance(30 * SECOND);
    let expected = addr(&rig, waits);
    assert_eq!(stalled(&mut rig), Some((30, expected)));
}

#[test]
fn time_that_nobody_has_seen_does_not_count() {
    let threads = PoolAttrs {
        thread_limit: 2,
        ..attrs(2)
    };
    let mut rig = Rig::one(threads, 100);
    rig.queue_and_run(5, 0);
    assert_eq!(rig.executing().len(), 2);
    rig.advance(1000 * SECOND);
    rig.call(0, |p, cx| p.clock_was_away(cx, 1000 * SECOND));
    assert_eq!(stalled(&mut rig), None);
    rig.advance(30 * SECOND);
    assert!(stalled(&mut rig).is_some());
}

#[test]
fn idle_workers_do_not_retire_for_a_suspended_machine() {
    let mut rig = Rig::one(attrs(5), 100);
    let items = rig.queue_and_run(5, 0);
    for work in items {
        rig.end_and_run(work, DONE);
    }
    rig.advance(IDLE_WORKER_TIMEOUT);
    rig.call(0, |p, cx| p.clock_was_away(cx, IDLE_WORKER_TIMEOUT));
    assert_eq!(
        rig.pools[0].cull_at(),
        Some(rig.now.after(IDLE_WORKER_TIMEOUT))
    );
}
