//! What holds after every event over all pools, and of those in the middle of something. What holds
//! of one pool it knows itself (`../check.rs`); what holds of items is in `check_items.rs`.

pub(super) use super::check_items::{InFlight, barriers_of, begins, limits_are_kept};
use super::check_items::{
    at_most_once, deferred_ones_wait, every_entry_is_in_one_place, flushes_are_exact,
    next_instances_are_known, slots_are_counted,
};
use super::rig::{Pool, Rig, Todo};
use super::store::{Item, TestPwq};
use crate::worker::State;
use std::vec::Vec;

/// What the checks must remember from one event to the next.
#[derive(Default)]
pub(super) struct Memory {
    /// Slots taken of each limit.
    pub(super) nr: Vec<u32>,
}

/// All invariants of the core, but those that each pool has checked itself.
pub(super) fn after_a_call(rig: &Rig, memory: &mut Memory) {
    for pool in &rig.pools {
        all_that_wait_for_slots_are_known(rig, pool);
        the_oldest_idle_one_comes_first(pool);
    }
    let tokens: u32 = rig.pools.iter().map(|p| p.estimate.tokens()).sum();
    let used = rig.store.budget.used;
    assert_eq!(used, tokens, "the budget is the sum of tokens");
    let wanted = |for_pod| {
        let pools = rig.pools.iter().filter(move |p| p.has_pod() == for_pod);
        pools.map(|p| p.estimate.wanted()).sum::<u32>()
    };
    let budget = rig.store.budget;
    assert_eq!(budget.wanted, wanted(true), "and of what is wanted");
    assert_eq!(budget.wanted_for_all, wanted(false));
    at_most_once(rig);
    every_entry_is_in_one_place(rig);
    deferred_ones_wait(rig);
    next_instances_are_known(rig);
    let in_flight = InFlight::of(rig);
    slots_are_counted(rig, &in_flight, memory);
    flushes_are_exact(rig, &in_flight);
}

/// The watchdog finds all pwqs of which items wait for a slot.
fn all_that_wait_for_slots_are_known(rig: &Rig, pool: &Pool) {
    let here = |of: &&TestPwq| of.pool == pool.attrs().id as usize && of.state.nr_inactive() > 0;
    let waiting = rig.store.pwqs.iter().filter(here).count();
    assert_eq!(pool.slots.waits().len(), waiting);
}

/// Here, where events come in the order of their times. On real threads each has its time from
/// before the lock.
fn the_oldest_idle_one_comes_first(pool: &Pool) {
    let since = |&id: &_| match pool.crew.get(id).state() {
        State::Idle(since) => since,
        state => panic!("{state:?} on the idle list"),
    };
    let all = pool.crew.idle().iter().map(since);
    assert!(all.is_sorted(), "the oldest comes first");
}

/// What holds once everybody who was in the middle of something is out of it.
pub(super) fn at_leisure(rig: &Rig) {
    for pwq in 0..rig.store.pwqs.len() {
        what_is_kept_will_be_let_go(rig, pwq);
        an_emptied_one_is_said(rig, pwq);
    }
    for item in &rig.store.items {
        let deferred = item.is_queued() && item.word.flags().deferred;
        assert!(!deferred || is_awaited(rig, item), "an item waits for ever");
    }
}

/// The pool of this deferred item is told, or asks by itself, when the execution has ended.
fn is_awaited(rig: &Rig, item: &Item) -> bool {
    let token = item.behind.expect("a deferred item is behind something");
    let here = item.word.pool().expect("it is queued");
    let says = |t: &Todo| matches!(*t, Todo::Undefer(t) | Todo::Confirm(t) if t == token);
    let said = rig.todo.iter().any(|t| t.0 == here as usize && says(&t.1));
    let elsewhere = &rig.pools[token.pool as usize];
    let current = &elsewhere.crew.get(token.worker).current;
    let told = || {
        current
            .as_ref()
            .is_some_and(|c| c.deferred_to == Some(here))
    };
    said || (elsewhere.goes_on(token) && told())
}

/// As often as the core has asked to keep a queue, somebody is there to let it go.
fn what_is_kept_will_be_let_go(rig: &Rig, pwq: usize) {
    let found = &rig.store.pwqs[pwq];
    let state = &found.state;
    let rescuer = &rig.queues[found.queue].rescuer;
    let actions = rig.todo.iter().filter(|t| t.1.keeps() == Some(pwq)).count();
    let called = rescuer.calls.iter().filter(|&&p| p == pwq).count();
    let helped = usize::from(rescuer.at == Some(pwq));
    let orphan = state.drain == crate::pwq::Drain::Orphaned && state.nr_in_flight() > 0;
    let expected = actions + called + helped + usize::from(orphan);
    assert_eq!(found.holds as usize, expected, "holds of {pwq}");
    let in_todo = rig.todo.iter().any(|t| t.1 == Todo::Mayday(pwq));
    assert_eq!(state.mayday, in_todo || called > 0, "mayday of {pwq}");
    assert!(called <= 1, "called twice");
}

fn an_emptied_one_is_said(rig: &Rig, pwq: usize) {
    let found = &rig.store.pwqs[pwq];
    let in_use = rig.queues[found.queue].pwqs.contains(&pwq);
    if in_use && found.state.retired && found.state.nr_in_flight() == 0 {
        let said = rig.todo.iter().any(|t| t.1 == Todo::Emptied(pwq));
        assert!(said, "nobody says that {pwq} is empty");
    }
}
