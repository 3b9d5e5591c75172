//! Pools whose pods are parts of one CPU set: what others leave is borrowed, and given back.

use super::*;
use crate::pool::brief::Brief;
use crate::time::MICROSECOND;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// Two pods of two CPUs each, a queue in each.
fn pods() -> Rig {
    let pod = PoolAttrs {
        beyond: 2,
        budget: 4,
        ..attrs(2)
    };
    let mut rig = Rig::new([pod, pod]);
    rig.pwq(0, 100);
    rig.pwq(1, 100);
    rig
}

fn running(rig: &Rig) -> [u32; 2] {
    [0, 1].map(|pool| rig.pools[pool].nr_running())
}

/// The first that runs in the pool ends, and what follows.
fn end_one(rig: &mut Rig, pool: usize) {
    let of_pool = rig.running().into_iter().find(|r| r.0 == pool);
    let (_, _, work) = of_pool.expect("one runs");
    rig.end_and_run(work, DONE);
}

#[test]
fn a_pool_has_the_cpus_that_others_leave() {
    let mut rig = pods();
    rig.queue_and_run(9, 0);
    assert_eq!((running(&rig), rig.store.budget.used), ([4, 0], 4));
}

#[test]
fn who_comes_later_has_one_at_once_and_its_pod_as_items_end() {
    let mut rig = pods();
    rig.queue_and_run(20, 0);
    rig.queue_and_run(9, 1);
    assert_eq!(running(&rig), [4, 1]);
    let budget = rig.store.budget;
    assert_eq!((budget.used, budget.wanted), (5, 1));
    // The first that steps back does so for the one that has begun, the next for the one to come.
    end_one(&mut rig, 0);
    assert_eq!(running(&rig), [3, 1]);
    end_one(&mut rig, 0);
    assert_eq!(running(&rig), [2, 1]);
    end_one(&mut rig, 1);
    assert_eq!((running(&rig), rig.store.budget.wanted), ([2, 2], 0));
    for pool in [0, 1, 1, 0] {
        end_one(&mut rig, pool);
        assert_eq!((running(&rig), rig.store.budget.used), ([2, 2], 4));
    }
}

#[test]
fn what_comes_free_goes_to_who_has_less_than_its_pod() {
    let mut rig = pods();
    rig.queue_and_run(20, 0);
    rig.queue_and_run(9, 1);
    (0..2).for_each(|_| end_one(&mut rig, 0));
    assert_eq!(running(&rig), [2, 1]);
    // A CPU idles, and a report comes to the pool that may not have it.
    let executing = |rig: &Rig, pool: usize| rig.pools[pool].census().executing;
    for _ in 0..2 {
        assert!(!rig.idle_report(0), "what is left is for another");
        rig.run();
        assert_eq!(
            (executing(&rig, 0), rig.pools[0].estimate.presumed()),
            (2, 0)
        );
    }
    assert!(rig.idle_report(1));
    rig.run();
    assert_eq!((executing(&rig, 1), running(&rig)), (2, [2, 2]));
}

/// One pod of two CPUs, and a pool for all four.
fn pod_and_all() -> Rig {
    let pod = PoolAttrs {
        beyond: 2,
        budget: 4,
        ..attrs(2)
    };
    let mut rig = Rig::new([pod, attrs(4)]);
    rig.pwq(0, 100);
    rig.pwq(1, 100);
    rig
}

#[test]
fn a_pool_for_all_cpus_gets_what_was_borrowed_and_leaves_pods_half() {
    for (first, second) in [(0, 1), (1, 0)] {
        let mut rig = pod_and_all();
        rig.queue_and_run(60, first);
        assert_eq!(running(&rig)[first], 4);
        rig.queue_and_run(60, second);
        assert_eq!(running(&rig)[second], 1);
        for _ in 0..12 {
            for pool in [first, second] {
                end_one(&mut rig, pool);
            }
        }
        let [pod, all] = running(&rig);
        assert!((1..=2).contains(&pod) && all >= 2, "{pod} and {all}");
        assert!(rig.store.budget.used <= 4);
    }
}

#[test]
fn what_is_not_needed_any_more_is_not_wanted() {
    let mut rig = pods();
    rig.queue_and_run(20, 0);
    let others = rig.queue_and_run(2, 1);
    assert_eq!(rig.store.budget.wanted, 1);
    assert!(rig.cancel(others[1]));
    assert_eq!(rig.store.budget.wanted, 0);
    end_one(&mut rig, 1);
    assert_eq!((running(&rig), rig.store.budget.used), ([4, 0], 4));
    end_one(&mut rig, 0);
    assert_eq!(running(&rig), [4, 0], "nobody wants them back");
}

#[test]
fn nobody_borrows_where_the_lock_is_full_and_who_has_steps_back() {
    let mut rig = pods();
    rig.queue_and_run(30, 0);
    assert_eq!(running(&rig), [4, 0]);
    (0..100).for_each(|_| rig.pools[0].waited(20 * MICROSECOND));
    assert!(rig.pools[0].brief.is_lock_full());
    for running_then in [3, 2, 2] {
        end_one(&mut rig, 0);
        assert_eq!(running(&rig), [running_then, 0]);
        assert!(!rig.idle_report(0), "a CPU that idles is of no use");
    }
    (0..100).for_each(|_| rig.pools[0].waited(0));
    end_one(&mut rig, 0);
    assert_eq!(running(&rig), [4, 0]);
}

#[test]
fn light_items_stay_in_their_pod_until_a_cpu_is_seen_to_idle() {
    let mut rig = pods();
    rig.pools[0].brief = Brief::presumed_light();
    rig.queue_and_run(9, 0);
    assert_eq!(running(&rig), [2, 0]);
    for running_then in [3, 4] {
        assert!(rig.idle_report(0));
        rig.run();
        assert_eq!(running(&rig), [running_then, 0]);
    }
    assert_eq!(rig.pools[0].estimate.presumed(), 0, "nobody sleeps");
    // Where there are no canaries, the tick looks.
    let mut rig = pods();
    rig.pools[0].brief = Brief::presumed_light();
    rig.queue_and_run(9, 0);
    for running_then in [3, 4] {
        rig.scan(0, |_| SeenState::Runnable);
        rig.run();
        assert_eq!(running(&rig), [running_then, 0]);
    }
}
