//! A waiter executes the awaited item itself: what may be claimed, and as what it counts.

use super::super::{Claimant, MAX_CLAIMS};
use super::*;
use crate::pool::Rule;
use crate::worker::Wait;

const OUTSIDE: Claimant = Claimant {
    within: None,
    counted: false,
};

/// Whoever has the only worker's item waits for the item behind it.
fn within(rig: &Rig, work: usize) -> Claimant {
    let (_, id) = rig.who(work).expect("it runs");
    Claimant {
        within: Some(id),
        counted: false,
    }
}

fn ends(rig: &mut Rig, work: usize) {
    rig.end_and_run(work, ItemReport::default());
}

#[test]
fn it_runs_once_and_counts_as_one_that_runs() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(1, 0);
    rig.claim(0, OUTSIDE).expect("nobody has begun it");
    assert_eq!(rig.pools[0].nr_executing(), 1);
    rig.run();
    assert_eq!(rig.pools[0].nr_running(), 1);
    assert_eq!(rig.executing(), [0], "the worker finds nothing");
    ends(&mut rig, 0);
    assert_eq!(rig.started, [0]);
    let stats = rig.pools[0].stats();
    assert_eq!((stats.started, stats.completed, stats.claimed), (1, 1, 1));
    assert_eq!(rig.pools[0].nr_in_flight(), 0);
}

#[test]
fn what_has_begun_or_is_not_there_is_not_claimed() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(1, 0);
    assert_eq!(rig.claim(0, OUTSIDE), None, "it has begun");
    // Its next instance waits for the one that runs.
    rig.queue(0, 0);
    assert_eq!(rig.claim(0, OUTSIDE), None, "it runs elsewhere");
    ends(&mut rig, 0);
    ends(&mut rig, 0);
    assert_eq!(rig.claim(0, OUTSIDE), None, "it has ended");
    let never = rig.item();
    assert_eq!(rig.claim(never, OUTSIDE), None);
}

#[test]
fn what_waits_for_a_slot_is_not_claimed() {
    let mut rig = Rig::one(attrs(1), 1);
    rig.queue_new(2, 0);
    assert_eq!(rig.claim(1, OUTSIDE), None);
    rig.claim(0, OUTSIDE).expect("it has the slot");
    assert_eq!(rig.claim(1, OUTSIDE), None, "the claim keeps it");
    ends(&mut rig, 0);
    assert_eq!(rig.executing(), [1], "and gives it back");
}

#[test]
fn a_frozen_or_moved_queue_is_not_claimed_from() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let pwq = rig.pwq(0, 4);
    rig.queue_new(2, pwq);
    rig.set_max(pwq, 0);
    assert_eq!(rig.claim(0, OUTSIDE), None, "frozen");
    rig.set_max(pwq, 4);
    rig.replace(0, 1);
    assert_eq!(rig.claim(0, OUTSIDE), None, "moved");
    let moved = rig.queue_new(1, pwq)[0];
    assert!(rig.claim(moved, OUTSIDE).is_some());
}

#[test]
fn an_item_that_runs_in_another_pool_is_not_claimed() {
    let mut rig = Rig::new([attrs(1), attrs(1)]);
    let (here, there) = (rig.pwq(0, 4), rig.pwq(1, 4));
    rig.queue_and_run(1, there);
    rig.queue(0, here);
    assert_eq!(rig.claim(0, OUTSIDE), None);
    ends(&mut rig, 0);
}

#[test]
fn pools_of_one_cpu_are_not_claimed_from() {
    for rule in [Rule::PerCpu, Rule::Bh] {
        let mut rig = Rig::one(PoolAttrs { rule, ..attrs(1) }, 10);
        rig.queue_new(1, 0);
        assert_eq!(rig.claim(0, OUTSIDE), None, "{rule:?}");
    }
}

#[test]
fn no_more_threads_are_added_than_cpus_serve() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_new(4, 0);
    assert!(rig.claim(0, OUTSIDE).is_some() && rig.claim(1, OUTSIDE).is_some());
    assert_eq!(rig.claim(2, OUTSIDE), None);
    let elsewhere = Claimant {
        counted: true,
        ..OUTSIDE
    };
    assert!(rig.claim(2, elsewhere).is_some(), "it adds none");
    assert_eq!(rig.pools[0].nr_running(), 2);
    let (_, id) = rig.who(0).unwrap();
    rig.end(0, id, ItemReport::default());
    assert!(rig.claim(3, OUTSIDE).is_some());
}

#[test]
fn there_is_a_bound_to_claims() {
    let unmanaged = PoolAttrs {
        rule: Rule::Unmanaged,
        ..attrs(1)
    };
    let most = MAX_CLAIMS as usize;
    let mut rig = Rig::one(unmanaged, 1000);
    rig.queue_new(most + 1, 0);
    assert!((0..most).all(|work| rig.claim(work, OUTSIDE).is_some()));
    assert_eq!(rig.claim(most, OUTSIDE), None);
}

#[test]
fn inside_of_an_item_the_thread_counts_once() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    let by = within(&rig, 0);
    rig.claim(1, by).expect("nobody has begun it");
    rig.run();
    assert_eq!(
        (rig.executing(), rig.pools[0].nr_running()),
        ([0, 1].into(), 1)
    );
    // It blocks as a whole: somebody else runs meanwhile.
    rig.hint_begin(1);
    rig.hint_begin(0);
    rig.run();
    assert_eq!(rig.executing().len(), 3);
    rig.hint_end(1);
    rig.hint_end(0);
    ends(&mut rig, 1);
    ends(&mut rig, 0);
    ends(&mut rig, 2);
}

#[test]
fn a_thread_in_a_hint_counts_while_it_runs_a_claim() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_and_run(1, 0);
    rig.hint_begin(0);
    assert_eq!(rig.pools[0].nr_running(), 0);
    rig.queue_new(1, 0);
    let by = within(&rig, 0);
    rig.claim(1, by).expect("nobody has begun it");
    rig.run();
    assert_eq!(rig.pools[0].nr_running(), 1);
    ends(&mut rig, 1);
    assert_eq!(rig.pools[0].nr_running(), 0);
    rig.hint_end(0);
    ends(&mut rig, 0);
}

/// One thread may be had, and it has claimed; what it claimed waits: so does all of it.
#[test]
fn who_waits_inside_of_a_claim_waits_as_a_whole() {
    let attrs = PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    };
    let mut rig = Rig::one(attrs, 10);
    rig.queue_and_run(3, 0);
    let by = within(&rig, 0);
    rig.claim(1, by).expect("nobody has begun it");
    assert!(rig.wait(1, 0).is_err(), "nobody could start the third one");
    assert_eq!(rig.pools[0].crew.counts().waiting, 0);
    ends(&mut rig, 1);
    ends(&mut rig, 0);
    ends(&mut rig, 2);
}

/// A claim that ends may be what an item waits for: while it runs, no wait fails.
#[test]
fn a_claim_that_runs_may_end_a_wait_and_the_last_one_that_leaves_fails_it() {
    let attrs = PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    };
    let mut rig = Rig::one(attrs, 10);
    rig.queue_and_run(3, 0);
    let claim = rig.claim(1, OUTSIDE).expect("nobody has begun it");
    rig.wait(0, 0).expect("the claim may end it");
    rig.end(0, claim, ItemReport::default());
    let (_, waiter) = rig.who(0).unwrap();
    assert_eq!(rig.count(Action::FailWait(waiter)), 1);
    rig.wait_end(0);
    ends(&mut rig, 0);
    ends(&mut rig, 2);
}

/// Every slot of the queue is held by one thread, by the item that waits and by those beneath it.
#[test]
fn a_wait_at_the_limit_fails_where_the_thread_is() {
    let mut rig = Rig::one(attrs(2), 3);
    rig.queue_and_run(1, 0);
    rig.queue_new(3, 0);
    let by = within(&rig, 0);
    let claim = rig.claim(1, by).expect("it has a slot");
    rig.wait(1, 0).expect("the third one may end");
    rig.run();
    let (_, third) = rig.who(2).expect("it has the last slot");
    rig.call(0, |p, cx| p.wait_begin(cx, third, Wait::Items(0)))
        .expect_err("the fourth one never begins");
    rig.set_max(0, 2);
    ends(&mut rig, 2);
    assert_eq!(
        rig.count(Action::FailWait(claim)),
        1,
        "the thread sleeps there"
    );
    rig.wait_end(1);
    ends(&mut rig, 1);
    ends(&mut rig, 0);
    ends(&mut rig, 3);
}

/// News of a wait that has failed come while the same item waits inside of a claim.
#[test]
fn late_news_do_not_end_the_wait_of_a_claim() {
    let mut rig = Rig::one(attrs(1), 10);
    rig.queue_and_run(3, 0);
    let by = within(&rig, 0);
    rig.claim(1, by).expect("nobody has begun it");
    rig.wait(1, 0).unwrap();
    assert_eq!(rig.pools[0].crew.counts().waiting, 2);
    let (_, id) = rig.who(0).unwrap();
    rig.call(0, |p, _| p.wait_over(id));
    assert_eq!(rig.pools[0].crew.counts().waiting, 2);
    rig.wait_end(1);
    ends(&mut rig, 1);
    ends(&mut rig, 0);
}

#[test]
fn what_stands_behind_a_claimed_item_goes_to_the_workers() {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(1, 0);
    let before = rig.barrier(0).unwrap();
    let claim = rig.claim(0, OUTSIDE).expect("nobody has begun it");
    let behind = rig.barrier(0).unwrap();
    // The next instance, too.
    rig.queue(0, 0);
    rig.run();
    assert_eq!(
        rig.own_list(0, claim).last(),
        Some(&0),
        "a worker has put it there"
    );
    ends(&mut rig, 0);
    assert_eq!(
        rig.executing(),
        [behind],
        "barriers are told by who ran the item"
    );
    ends(&mut rig, behind);
    ends(&mut rig, before);
    assert_eq!(rig.started, [0, behind, before, 0]);
    assert_eq!(rig.pools[0].crew.counts().claims, 0);
    ends(&mut rig, 0);
}
