//! Why an item waits, and how many do.

use super::contract::OnRig;
use super::*;
use crate::contract;
use crate::pool::{PwqCounts, Waits};
use crate::pwq::PwqFlags;

fn waits(rig: &mut Rig, work: usize) -> Option<Waits> {
    let pool = rig.store.items[work].word.pool()? as usize;
    rig.call(pool, |p, cx| p.waits(cx, work))
}

fn counts(rig: &mut Rig, pwq: usize) -> PwqCounts {
    let pool = rig.store.pwqs[pwq].pool;
    rig.call(pool, |p, cx| p.counts_of(cx, pwq))
}

#[test]
fn a_running_pool_a_full_limit_and_nothing_at_all() {
    let mut rig = Rig::one(attrs(2), 3);
    let items = rig.queue_and_run(4, 0);
    let found: Vec<_> = items.iter().map(|&work| waits(&mut rig, work)).collect();
    let expected = [None, None, Some(Waits::Cpu), Some(Waits::Limit)];
    assert_eq!(found, expected);
    let counted = PwqCounts {
        nr_active: 3,
        nr_executing: 2,
        nr_pending: 1,
        pending: Some(Waits::Cpu),
        nr_inactive: 1,
        ..PwqCounts::default()
    };
    assert_eq!(counts(&mut rig, 0), counted);
}

#[test]
fn without_a_worker_it_waits_for_one() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.spawns_fail = true;
    let work = rig.queue_and_run(1, 0)[0];
    assert_eq!(waits(&mut rig, work), Some(Waits::Worker));
    assert_eq!(counts(&mut rig, 0).pending, Some(Waits::Worker));
}

#[test]
fn an_unmanaged_pool_waits_for_workers_only() {
    let threads = PoolAttrs {
        rule: crate::Rule::Unmanaged,
        thread_limit: 1,
        ..attrs(1)
    };
    let mut rig = Rig::one(threads, 10);
    let items = rig.queue_and_run(2, 0);
    assert_eq!(waits(&mut rig, items[1]), Some(Waits::Worker));
}

#[test]
fn behind_itself_here_and_elsewhere() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let (here, there) = (rig.pwq(0, 10), rig.pwq(1, 10));
    let work = rig.queue_and_run(1, here)[0];
    rig.queue(work, here);
    assert_eq!(waits(&mut rig, work), Some(Waits::Behind));
    rig.hint_begin(work);
    rig.run();
    assert_eq!(
        waits(&mut rig, work),
        Some(Waits::Behind),
        "its worker's own"
    );
    let behind = counts(&mut rig, here);
    assert_eq!((behind.nr_executing, behind.nr_behind), (1, 1));
    assert!(rig.cancel(work));
    rig.queue(work, there);
    rig.run();
    assert_eq!(waits(&mut rig, work), Some(Waits::Behind), "elsewhere");
    let deferred = counts(&mut rig, there);
    assert_eq!((deferred.nr_active, deferred.nr_behind), (1, 1));
    assert_eq!((deferred.nr_pending, deferred.pending), (0, None));
}

#[test]
fn behind_older_items_of_its_ordered_queue() {
    let mut rig = Rig::new([attrs(1)]);
    let flags = PwqFlags {
        plugged: true,
        ..PwqFlags::default()
    };
    let pwq = rig.pwq_with(0, 1, flags);
    let work = rig.queue_and_run(1, pwq)[0];
    assert_eq!(waits(&mut rig, work), Some(Waits::Plugged));
    assert!(counts(&mut rig, pwq).plugged);
}

#[test]
fn held_back_at_a_lock() {
    let mut rig = Rig::one(attrs(1), 100);
    let items = rig.queue_and_run(20, 0);
    let last = items[19];
    // All sleep at one lock, and one after the other ends.
    for &work in &items {
        rig.advance(MILLISECOND);
        rig.tick(|_| SeenState::Asleep(Some(64)));
        rig.run();
        if waits(&mut rig, last) == Some(Waits::Growth) {
            return;
        }
        rig.end_and_run(work, ItemReport::default());
    }
    panic!("{:?}", waits(&mut rig, last));
}

#[test]
fn counts_are_of_all_pools_by_reason() {
    let machine = OnRig::new(2);
    contract::set_max_active(&machine, 0, 5);
    let sibling = machine.rig(|rig| rig.sibling(0, 1));
    machine.queues[0].borrow_mut().add(sibling);
    machine.rig(|rig| {
        rig.queue_and_run(4, 0);
        rig.queue_and_run(4, sibling);
    });
    let counts = contract::counts(&machine, 0);
    assert_eq!((counts.nr_active, counts.nr_executing), (5, 3));
    assert_eq!(counts.nr_inactive, 3);
    let waits = Waits::ALL.map(|why| counts.waiting(why));
    assert_eq!(waits, [0, 3, 0, 0, 2, 0, 0]);
    for (at, why) in Waits::ALL.into_iter().enumerate() {
        assert_eq!(why as usize, at);
    }
}

#[test]
fn frozen_armed_and_idle() {
    let machine = OnRig::new(1);
    let work = machine.rig(|rig| rig.item());
    assert_eq!(contract::waits(&machine, work), None);
    contract::queue_delayed(&machine, 0, None, work, SECOND).unwrap();
    let armed = contract::counts(&machine, 0);
    assert_eq!((armed.waiting(Waits::Timer), armed.max_active), (1, 10));
    assert_eq!(contract::waits(&machine, work), Some(Waits::Timer));
    contract::freeze(&machine, 0);
    contract::mod_delayed(&machine, 0, None, work, 0);
    assert_eq!(contract::waits(&machine, work), Some(Waits::Limit));
    let frozen = contract::counts(&machine, 0);
    assert_eq!((frozen.nr_inactive, frozen.waiting(Waits::Limit)), (1, 1));
    assert_eq!((frozen.waiting(Waits::Timer), frozen.max_active), (0, 10));
    contract::thaw(&machine, 0);
    machine.rig(|rig| rig.run());
    assert_eq!(contract::waits(&machine, work), None);
    assert_eq!(contract::counts(&machine, 0).nr_executing, 1);
}

#[test]
fn what_has_become_of_items_is_counted_by_queue() {
    let mut rig = Rig::one(attrs(1), 1);
    let items = rig.queue_and_run(2, 0);
    rig.advance(MILLISECOND);
    let stats = |rig: &Rig| rig.store.pwqs[0].state.stats();
    assert_eq!((stats(&rig).started(), stats(&rig).completed()), (1, 0));
    rig.end_and_run(items[0], ItemReport::default());
    let after = stats(&rig);
    assert_eq!((after.started(), after.completed()), (2, 1));
    // The second one has waited as long as the first one ran, but for what its stamp loses.
    assert_eq!(after.ran.percentile(100), Some(1 << 20), "1 ms");
    assert_eq!((after.waited.0[0], after.waited.0[20]), (1, 1));
    rig.hint_begin(items[1]);
    assert_eq!(stats(&rig).cm_wakeup, 0, "nothing waits");
}

#[test]
fn decisions_are_kept_with_what_asked_for_them() {
    let mut rig = Rig::one(attrs(1), 10);
    let items = rig.queue_and_run(3, 0);
    let decided = |rig: &Rig| -> Vec<_> {
        let all = rig.pools[0].decisions();
        all.map(|(cause, outcome, _)| (cause, outcome)).collect()
    };
    let full = (
        "an item was queued, began or ended",
        "no start, as many run as the CPUs serve",
    );
    assert!(decided(&rig).contains(&full), "{:?}", decided(&rig));
    let hint = |rig: &Rig| {
        let found = decided(rig)
            .into_iter()
            .find(|(cause, _)| cause.contains("blocks"));
        found.map(|(_, outcome)| outcome)
    };
    assert_eq!(hint(&rig), None);
    rig.hint_begin(items[0]);
    let outcome = hint(&rig).expect("something waits");
    assert!(
        ["a worker was woken", "a thread was asked for"].contains(&outcome),
        "{outcome}"
    );
}
