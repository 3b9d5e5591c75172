//! Pools that share the CPUs.

use super::super::CROWDED;
use super::*;

/// So many pools with target and budget 2, each with a queue and items for a while.
fn pools(count: usize) -> Rig {
    let mut rig = Rig::new((0..count).map(|_| attrs(2)));
    for pool in 0..count {
        let pwq = rig.pwq(pool, 100);
        rig.queue_and_run(20, pwq);
    }
    rig
}

fn running(rig: &Rig) -> u32 {
    rig.pools.iter().map(|p| p.nr_running()).sum()
}

#[test]
fn pools_with_backlog_keep_the_budget_and_one_each_running() {
    for count in 1..6 {
        let mut rig = pools(count);
        assert!(rig.pools.iter().all(|p| p.nr_running() >= 1), "each moves");
        let expected = (2 * count).min(2 + count);
        assert_eq!(running(&rig) as usize, expected);
        for _ in 0..60 {
            let Some(&(pool, id, _)) = rig.running().last() else {
                break;
            };
            rig.end(pool, id, ItemReport::default());
            rig.run();
            assert!(running(&rig) as usize <= expected);
        }
    }
}

#[test]
fn a_new_thread_takes_no_token_that_is_not_there() {
    // The reserve that a pool's first worker makes arrives while the others hold all tokens.
    let mut rig = pools(2);
    assert_eq!(rig.store.budget.used, 2);
    rig.add_pool(attrs(2));
    let pwq = rig.pwq(2, 100);
    rig.queue_and_run(5, pwq);
    assert_eq!(rig.pools[2].nr_running(), 1);
    assert_eq!(rig.pools[2].nr_workers(), 2, "it arrived and stepped back");
    assert_eq!(rig.store.budget.used, 2);
}

#[test]
fn tokens_return_with_a_hint_and_when_the_work_is_done() {
    let mut rig = pools(3);
    assert_eq!(rig.store.budget.used, 2);
    let sleepers = rig.executing();
    for &work in &sleepers {
        rig.hint_begin(work);
        rig.run();
        assert!(rig.store.budget.used <= 2);
    }
    for work in sleepers {
        rig.hint_end(work);
    }
    assert!(rig.store.budget.used > 2, "they come back unasked");
    while let Some(&(pool, id, _)) = rig.running().first() {
        rig.end(pool, id, ItemReport::default());
        rig.run();
    }
    assert_eq!(rig.store.budget.used, 0);
}

#[test]
fn a_pool_that_is_not_over_steps_back_when_the_cpus_are_overdrawn() {
    let mut rig = pools(3);
    let sleeper = rig.executing()[0];
    rig.hint_begin(sleeper);
    rig.run();
    rig.hint_end(sleeper);
    assert_eq!(rig.store.budget.used, 3);
    let rich = rig.pools.iter().position(|p| p.nr_running() == 2);
    let rich = rich.expect("a pool holds a token");
    let (pool, id, _) = *rig.running().iter().find(|r| r.0 == rich).unwrap();
    let report = ItemReport {
        slept: Some(false),
        waited: Some(MILLISECOND),
        ..ItemReport::default()
    };
    for _ in 0..2 * CROWDED {
        if matches!(rig.state(pool, id), State::Executing) {
            rig.advance(20 * rig.yield_takes);
            rig.end(pool, id, report);
            rig.run();
        }
    }
    assert_eq!(rig.store.budget.used, 2);
}

#[test]
fn the_last_runnable_worker_of_a_pool_never_steps_back() {
    let mut rig = pools(5);
    let foreign = ItemReport {
        foreign: true,
        ..ItemReport::default()
    };
    for _ in 0..50 {
        let (pool, id, _) = rig.running()[0];
        rig.end(pool, id, foreign);
        rig.run();
        let with_backlog = rig.pools.iter().filter(|p| p.nr_queued() > 0);
        assert!(with_backlog.into_iter().all(|p| p.nr_running() >= 1));
    }
}

#[test]
fn a_look_that_finds_no_token_ends_no_shortage() {
    let mut rig = pools(3);
    let poor = rig.pools.iter().position(|p| p.nr_running() == 1);
    let poor = poor.expect("two tokens are no three");
    let busy = rig.scan(poor, |_| SeenState::Runnable);
    assert!(busy.missing && !busy.ended, "{busy:?}");
    let slept = rig.scan(poor, |_| SeenState::Asleep(None));
    assert!(slept.missing && slept.ended, "{slept:?}");
}

#[test]
fn an_idle_report_starts_a_worker_though_others_hold_all_tokens() {
    // Two pools without backlog sleep on the tokens, and nobody looks at them.
    let mut rig = Rig::new((0..3).map(|_| attrs(2)));
    for pool in 0..3 {
        let pwq = rig.pwq(pool, 100);
        rig.queue_and_run(if pool < 2 { 2 } else { 9 }, pwq);
    }
    assert_eq!((rig.store.budget.used, rig.pools[2].nr_running()), (2, 1));
    for executing in 2..4 {
        assert!(rig.idle_report(2), "a CPU idles");
        rig.run();
        let of_third = rig.running().into_iter().filter(|r| r.0 == 2);
        assert_eq!(of_third.count(), executing);
        assert!(rig.store.budget.used <= 2);
    }
}
