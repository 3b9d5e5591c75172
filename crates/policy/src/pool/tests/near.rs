//! Items that come from several pods.

use super::super::{MOST_OVERTAKEN, NEAR_WINDOW, WorkerPool};
use super::*;
use crate::affinity::{Layout, Nearness, Place, Scope};

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// Twelve CPUs in three caches of four; the first two are in one node.
fn rig(target: u32, homes: bool) -> Rig {
    let place = |cpu: u32| Place::new(cpu, cpu / 4, cpu / 8);
    let mut layout = Layout::new((0..12).map(place).collect());
    let scope = Scope::Cache;
    let near = layout.near(Nearness { scope, homes });
    let mut rig = Rig::new([]);
    rig.add_pool(attrs(target));
    rig.pools[0] = WorkerPool::new(attrs(target)).with_near(near);
    rig.pwq(0, 500);
    rig
}

/// Queues an item on each of these CPUs.
fn queue_on(rig: &mut Rig, cpus: impl IntoIterator<Item = u32>) {
    for cpu in cpus {
        rig.cpu = cpu;
        rig.queue_new(1, 0);
    }
}

/// Everything runs on this CPU until this item has ended, and the next one has begun.
fn end_on(rig: &mut Rig, cpu: u32, work: usize) {
    rig.cpu = cpu;
    rig.end_and_run(work, DONE);
}

#[test]
fn a_cpu_takes_what_is_near_and_of_that_the_oldest() {
    let mut rig = rig(1, false);
    queue_on(&mut rig, [8, 0, 4, 1, 5]);
    rig.cpu = 6;
    rig.run();
    for work in [2, 4, 1, 3] {
        end_on(&mut rig, 6, work);
    }
    assert_eq!(rig.started, [2, 4, 1, 3, 0], "own pod, own node, the rest");
    assert_eq!(rig.pools[0].stats().far, 3);
}

/// Of a kind that is held back, as its items queue up at a lock.
#[test]
fn what_is_held_back_is_taken_near_as_well() {
    let mut rig = rig(2, false);
    queue_on(&mut rig, (0..200).map(|n| if n % 2 == 0 { 0 } else { 4 }));
    rig.run();
    rig.cpu = 4;
    let ends = |rig: &mut Rig| {
        rig.advance(MILLISECOND);
        let (pool, id, _) = rig.running()[0];
        rig.end(pool, id, DONE);
        rig.run();
    };
    while rig.pools[0].worklist.nr_aside() == 0 {
        (0..4).for_each(|_| ends(&mut rig));
        rig.scan(0, |_| SeenState::Asleep(Some(0x1000)));
        rig.run();
    }
    let before = rig.started.len();
    (0..10).for_each(|_| ends(&mut rig));
    let since = &rig.started[before..];
    assert!(!since.is_empty());
    assert!(since.iter().all(|work| work % 2 == 1), "{since:?}");
}

#[test]
fn nobody_looks_beyond_the_window() {
    let mut rig = rig(1, false);
    queue_on(&mut rig, (0..NEAR_WINDOW as u32).map(|_| 0));
    queue_on(&mut rig, [4, 4]);
    rig.cpu = 4;
    rig.run();
    assert_eq!(rig.started, [0]);
    // Now the first of the two is the last in the window.
    end_on(&mut rig, 4, 0);
    assert_eq!(rig.started, [0, NEAR_WINDOW]);
}

#[test]
fn the_oldest_is_overtaken_so_often_and_no_more() {
    let mut rig = rig(1, false);
    queue_on(&mut rig, [0]);
    rig.run();
    // Item 1 is far from CPU 4, on which everybody else is at home.
    queue_on(&mut rig, [0]);
    queue_on(&mut rig, (0..100).map(|_| 4));
    let mut runs = 0;
    while !rig.started.contains(&1) {
        end_on(&mut rig, 4, runs);
        runs = *rig.started.last().unwrap();
    }
    assert_eq!(rig.started.len() as u32, 1 + MOST_OVERTAKEN + 1);
}

#[test]
fn deferred_items_and_barriers_do_not_count_as_near() {
    let mut rig = rig(1, false);
    queue_on(&mut rig, [0, 0, 4]);
    rig.run();
    assert_eq!(rig.started, [2], "queued on the CPU that it runs on");
    let barrier = rig.barrier(0).unwrap();
    end_on(&mut rig, 4, 2);
    assert_eq!(rig.started, [2, 0]);
    end_on(&mut rig, 4, 0);
    assert_eq!(rig.started, [2, 0, barrier], "with its item");
}

/// Two workers: the one that went idle last was on CPU 4, the other one on CPU 0.
fn idle_in_both(homes: bool) -> Rig {
    let mut rig = rig(2, homes);
    queue_on(&mut rig, [0, 0]);
    rig.run();
    assert_eq!(rig.executing().len(), 2);
    end_on(&mut rig, 0, 0);
    end_on(&mut rig, 4, 1);
    rig
}

#[test]
fn a_worker_of_the_items_pod_is_woken_where_that_is_worth_it() {
    let woken_for = |homes: bool, cpu: u32| {
        let mut rig = idle_in_both(homes);
        rig.said.clear();
        queue_on(&mut rig, [cpu]);
        rig.said[0].1
    };
    let last = woken_for(false, 0);
    assert_eq!(woken_for(false, 4), last, "the last that went idle");
    assert_eq!(woken_for(true, 4), last, "which was there");
    let Action::Wake(other) = woken_for(true, 0) else {
        panic!("the other one was there");
    };
    assert_ne!(Action::Wake(other), last);
}

#[test]
fn a_worker_from_elsewhere_is_brought_home() {
    let mut rig = idle_in_both(true);
    rig.said.clear();
    queue_on(&mut rig, [9]);
    assert!(matches!(rig.said[0].1, Action::WakeNear(_, 9)));
}
