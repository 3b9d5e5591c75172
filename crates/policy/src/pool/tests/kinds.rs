//! Kinds of pools beside the managed one: per CPU, unmanaged, BH.

use super::super::{BH_WORKER_RESTARTS, BH_WORKER_TURN, Rule};
use super::*;
use crate::pwq::PwqFlags;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

fn of_rule(rule: Rule) -> PoolAttrs {
    let thread_limit = if rule == Rule::Bh { 1 } else { 512 };
    PoolAttrs {
        rule,
        thread_limit,
        ..attrs(1)
    }
}

const INTENSIVE: PwqFlags = PwqFlags {
    fifo: false,
    orphaned: false,
    cpu_intensive: true,
    rescued: false,
    plugged: false,
};

fn set_rule(rig: &mut Rig, rule: Rule) {
    rig.call(0, |p, cx| p.set_rule(cx, rule));
    rig.run();
}

/// Also lets somebody look at what the others wait for, when more are busy than start unasked.
fn run_and_look(rig: &mut Rig) {
    rig.run();
    while rig.pools[0].growth.is_asking() {
        rig.scan(0, |_| SeenState::Runnable);
        rig.run();
    }
}

#[test]
fn an_unmanaged_pool_starts_every_active_item_at_once() {
    let mut rig = Rig::one(of_rule(Rule::Unmanaged), 20);
    let items = rig.queue_and_run(25, 0);
    assert_eq!(rig.started, items[..20]);
    assert_eq!(rig.store.budget.used, 0, "nor does it count who runs");
    rig.end_and_run(3, DONE);
    assert_eq!(rig.executing().len(), 20);
    assert_eq!(rig.pools[0].nr_workers(), 21, "and a spare");
}

#[test]
fn an_unmanaged_pool_takes_nothing_from_a_managed_one() {
    let mut rig = Rig::new([of_rule(Rule::Unmanaged), attrs(2)]);
    let (all, managed) = (rig.pwq(0, 100), rig.pwq(1, 100));
    rig.queue_and_run(10, all);
    rig.queue_and_run(10, managed);
    let in_pool = |pool| rig.running().iter().filter(|r| r.0 == pool).count();
    assert_eq!((in_pool(0), in_pool(1)), (10, 2));
    assert_eq!(rig.store.budget.used, 1);
}

#[test]
fn an_unmanaged_pool_starts_though_others_hold_all_tokens() {
    let mut rig = Rig::new([of_rule(Rule::Unmanaged), attrs(2), attrs(2)]);
    let all = rig.pwq(0, 100);
    let items = rig.queue_and_run(5, all);
    for work in items {
        rig.end_and_run(work, DONE);
    }
    for pool in [1, 2] {
        let managed = rig.pwq(pool, 100);
        rig.queue_and_run(5, managed);
    }
    assert_eq!(rig.store.budget.used, 2, "of one for the unmanaged pool");
    rig.queue_and_run(5, all);
    let in_first = rig.running().iter().filter(|r| r.0 == 0).count();
    assert_eq!(in_first, 5);
}

#[test]
fn an_unmanaged_pool_asks_for_no_reports_and_is_not_scanned() {
    let threads = PoolAttrs {
        thread_limit: 2,
        ..of_rule(Rule::Unmanaged)
    };
    let mut rig = Rig::one(threads, 100);
    rig.queue_and_run(5, 0);
    assert!(rig.published(0).backlog && !rig.published(0).wants);
    assert_eq!(rig.pools[0].plan_scan().iter().count(), 0);
    assert!(!rig.idle_report(0));
}

#[test]
fn a_convoy_is_nothing_to_an_unmanaged_pool() {
    // What was seen while it was managed is not believed of it afterwards.
    const LOCK: SeenState = SeenState::Asleep(Some(0x1000));
    let mut rig = Rig::one(of_rule(Rule::PerCpu), 100);
    rig.queue_and_run(30, 0);
    for _ in 0..40 {
        rig.advance(MILLISECOND);
        rig.end_and_run(rig.executing()[0], DONE);
        rig.queue_and_run(1, 0);
        rig.scan(0, |_| LOCK);
        rig.run();
    }
    assert!(rig.pools[0].worklist.lanes()[0].crowd.is_convoy(rig.now));
    rig.pools[0].attrs.thread_limit = 12;
    set_rule(&mut rig, Rule::Unmanaged);
    assert_eq!(rig.executing().len(), 12, "as many as there can be");
    let stepped_back = rig.pools[0].stats().convoy_step_backs;
    for _ in 0..5 {
        rig.end_and_run(rig.executing()[0], DONE);
        assert_eq!(rig.executing().len(), 12);
    }
    assert_eq!(rig.pools[0].stats().convoy_step_backs, stepped_back);
}

#[test]
fn a_per_cpu_pool_runs_one_item_at_a_time() {
    let mut rig = Rig::one(of_rule(Rule::PerCpu), 100);
    rig.queue_and_run(3, 0);
    assert_eq!(rig.executing(), [0]);
    rig.hint_begin(0);
    rig.run();
    assert_eq!(rig.executing(), [0, 1], "and the next when it sleeps");
}

#[test]
fn cpu_intensive_items_of_a_per_cpu_pool_do_not_hold_up_the_next() {
    let mut rig = Rig::new([of_rule(Rule::PerCpu)]);
    let intensive = rig.pwq_with(0, 3, INTENSIVE);
    let usual = rig.pwq(0, 100);
    rig.queue_new(4, intensive);
    rig.queue_new(2, usual);
    run_and_look(&mut rig);
    assert_eq!(rig.started, [0, 1, 2, 4], "each starts the one behind it");
    assert_eq!(rig.pools[0].nr_running(), 1);
    rig.end_and_run(4, DONE);
    assert_eq!(rig.started, [0, 1, 2, 4, 5]);
    rig.end_and_run(0, DONE);
    assert_eq!(
        rig.executing().len(),
        3,
        "its worker counts again, is one too many, and steps back"
    );
    rig.end_and_run(5, DONE);
    assert_eq!(rig.started, [0, 1, 2, 4, 5, 3]);
}

#[test]
fn cpu_intensive_means_nothing_in_other_pools() {
    for (rule, started) in [(Rule::Managed, 1), (Rule::Unmanaged, 4), (Rule::Bh, 1)] {
        let mut rig = Rig::new([of_rule(rule)]);
        let pwq = rig.pwq_with(0, 100, INTENSIVE);
        rig.queue_and_run(4, pwq);
        assert_eq!(rig.executing().len(), started, "{rule:?}");
        assert_eq!(rig.pools[0].nr_running() as usize, started, "{rule:?}");
    }
}

#[test]
fn a_cpu_intensive_item_may_sleep_and_come_back() {
    let mut rig = Rig::new([of_rule(Rule::PerCpu)]);
    let pwq = rig.pwq_with(0, 1, INTENSIVE);
    rig.queue_and_run(2, pwq);
    rig.hint_begin(0);
    rig.hint_end(0);
    assert_eq!(rig.pools[0].nr_running(), 0, "it still does not count");
    rig.end_and_run(0, DONE);
    rig.end_and_run(1, DONE);
    assert_eq!(rig.pools[0].nr_running(), 0);
}

#[test]
fn a_pool_whose_cpu_has_gone_starts_everything_and_keeps_its_order() {
    let mut rig = Rig::one(of_rule(Rule::PerCpu), 100);
    rig.queue_and_run(5, 0);
    assert_eq!(rig.executing(), [0]);
    set_rule(&mut rig, Rule::Unmanaged);
    assert_eq!(rig.started, [0, 1, 2, 3, 4]);
    assert_eq!(rig.store.budget.used, 0);
    set_rule(&mut rig, Rule::PerCpu);
    assert_eq!(rig.executing().len(), 5, "nobody is stopped");
    let next = rig.queue_and_run(1, 0)[0];
    // Their items are known to keep the CPU busy: who ends one does not even ask.
    let foreign = ItemReport {
        foreign: true,
        ..DONE
    };
    for work in 0..4 {
        assert_eq!(rig.who(next), None);
        rig.end_and_run(work, foreign);
    }
    rig.end_and_run(4, foreign);
    assert_eq!(rig.executing(), [next]);
}

/// Ends what runs, again and again, each item after so long; yields are carried out at once.
fn bh_ends(rig: &mut Rig, count: u32, each: u64) -> Vec<u32> {
    let mut yields = Vec::new();
    for _ in 0..count {
        assert_eq!(rig.executing().len(), 1, "one at a time");
        rig.advance(each);
        let before = rig.yields;
        rig.end_and_run(rig.executing()[0], DONE);
        yields.push(rig.yields - before);
    }
    yields
}

#[test]
fn a_bh_worker_yields_after_ten_items() {
    let mut rig = Rig::one(of_rule(Rule::Bh), 1000);
    let items = rig.queue_and_run(30, 0);
    let yields = bh_ends(&mut rig, 29, 0);
    let ended = yields.iter().enumerate().filter(|(_, yields)| **yields > 0);
    let ended: Vec<usize> = ended.map(|(at, _)| at + 1).collect();
    assert_eq!(BH_WORKER_RESTARTS, 10);
    assert_eq!(ended, [10, 20]);
    assert_eq!(rig.started, items, "in their order");
    assert_eq!(rig.pools[0].nr_workers(), 1);
}

#[test]
fn a_bh_worker_yields_after_two_milliseconds() {
    let mut rig = Rig::one(of_rule(Rule::Bh), 1000);
    rig.queue_and_run(20, 0);
    assert_eq!(BH_WORKER_TURN, 2 * MILLISECOND);
    let yields = bh_ends(&mut rig, 12, MILLISECOND / 2);
    assert_eq!(yields, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn a_bh_worker_does_not_yield_to_nothing() {
    let mut rig = Rig::one(of_rule(Rule::Bh), 1000);
    rig.queue_and_run(10, 0);
    bh_ends(&mut rig, 10, MILLISECOND);
    assert_eq!(rig.yields, 4, "after all but the last turn");
}

#[test]
fn a_bh_turn_begins_when_the_worker_is_back() {
    let mut rig = Rig::one(of_rule(Rule::Bh), 1000);
    rig.queue_and_run(20, 0);
    bh_ends(&mut rig, 3, MILLISECOND / 2);
    let (pool, id) = rig.who(3).unwrap();
    rig.advance(MILLISECOND / 2);
    let step = rig.call(pool, |p, cx| {
        p.item_ended(cx, id, DONE);
        p.next(cx, id)
    });
    assert_eq!(step, super::super::Step::Yield);
    // Others had the CPU for long.
    rig.advance(50 * MILLISECOND);
    rig.call(pool, |p, cx| p.yielded(cx, id, 50 * MILLISECOND));
    rig.thread(pool, id).doing = super::rig::Doing::Awake;
    rig.run();
    let yields = bh_ends(&mut rig, 4, MILLISECOND / 2);
    assert_eq!(yields, [0, 0, 0, 1], "not after its first item");
}
