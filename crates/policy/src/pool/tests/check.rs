//! What holds after every event, whatever was reported, delayed or refused: workers and counts. What
//! holds of items is in `check_items.rs`.

pub(super) use super::check_items::{InFlight, barriers_of, begins};
use super::check_items::{
    at_most_once, deferred_ones_wait, every_entry_is_in_one_place, flushes_are_exact,
    next_instances_are_known, slots_are_counted,
};
use super::rig::{Pool, Rig, Todo};
use super::store::Item;
use crate::worker::{State, Worker};
use std::collections::BTreeSet;
use std::vec::Vec;

/// What the checks must remember from one event to the next.
#[derive(Default)]
pub(super) struct Memory {
    /// Slots taken of each limit.
    pub(super) nr: Vec<u32>,
}

/// All invariants of the core.
pub(super) fn after_a_call(rig: &Rig, memory: &mut Memory) {
    for pool in &rig.pools {
        counts_are_exact(pool);
        estimate_is_in_bounds(pool);
        idle_list_is_the_idle_workers(pool);
        one_manager_and_one_thread_in_the_making(pool);
        rescuers_do_not_count(pool);
        claims_count_once(pool);
        need_is_known(pool);
        who_waits_for_slots_is_known(rig, pool);
        assert_eq!(pool.tokens, due_tokens(pool), "tokens");
    }
    let tokens: u32 = rig.pools.iter().map(|p| p.tokens).sum();
    let used = rig.store.budget.used;
    assert_eq!(used, tokens, "the budget is the sum of tokens");
    at_most_once(rig);
    every_entry_is_in_one_place(rig);
    deferred_ones_wait(rig);
    next_instances_are_known(rig);
    let in_flight = InFlight::of(rig);
    slots_are_counted(rig, &in_flight, memory);
    flushes_are_exact(rig, &in_flight);
}

/// The watchdog finds all pwqs of which items wait for a slot.
fn who_waits_for_slots_is_known(rig: &Rig, pool: &Pool) {
    for (pwq, of) in rig.store.pwqs.iter().enumerate() {
        let here = of.pool == pool.attrs().id as usize;
        let waits = here && of.state.nr_inactive() > 0;
        let known = pool.slot_waits.iter().position(|&known| known == pwq);
        assert_eq!(known, waits.then_some(of.state.waits_at), "{pwq} waits");
    }
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
    let current = &elsewhere.workers.get(token.worker).current;
    let told = || {
        current
            .as_ref()
            .is_some_and(|c| c.deferred_to == Some(here))
    };
    said || (elsewhere.goes_on(token) && told())
}

fn due_tokens(pool: &Pool) -> u32 {
    match pool.manages() {
        true => pool.nr_running().saturating_sub(1),
        false => 0,
    }
}

fn count(pool: &Pool, is: impl Fn(&State) -> bool) -> u32 {
    let states = pool.workers.ids().map(|id| pool.workers.get(id).state);
    states.filter(|state| is(state)).count() as u32
}

fn counts_are_exact(pool: &Pool) {
    let c = &pool.counts;
    assert_eq!(c.executing, count(pool, |s| *s == State::Executing));
    assert_eq!(c.waking, count(pool, |s| *s == State::Waking));
    assert_eq!(c.between, count(pool, |s| *s == State::Between));
    let creating = count(pool, |s| *s == State::Creating);
    assert_eq!(c.creating, creating, "in the making");
    let exists = |s: &State| !matches!(s, State::Free | State::Creating);
    let guests = rescuers(pool) + c.claims;
    assert_eq!(c.workers + guests, count(pool, exists));
    assert!(c.workers + c.creating <= pool.attrs.thread_limit);
    for id in pool.workers.ids() {
        let worker = pool.workers.get(id);
        if worker.state != State::Executing {
            assert!(worker.current.is_none() && worker.waiting.is_none());
            assert!(worker.hints == 0 && !worker.asleep && worker.futex.is_none());
            assert_eq!(worker.extra, 0);
            assert!(worker.scheduled.is_empty(), "items nobody would find");
        }
    }
    let waiting = pool.workers.ids();
    let waiting = waiting.filter(|&id| pool.workers.get(id).waiting.is_some());
    let (rescuers, workers): (Vec<_>, Vec<_>) =
        waiting.partition(|&id| pool.workers.get(id).rescues.is_some());
    assert_eq!(c.waiting as usize, workers.len());
    assert_eq!(c.rescuers_waiting as usize, rescuers.len());
}

fn rescuers(pool: &Pool) -> u32 {
    let all = pool.workers.ids();
    let rescues = all.filter(|&id| pool.workers.get(id).rescues.is_some());
    rescues.count() as u32
}

fn rescuers_do_not_count(pool: &Pool) {
    for id in pool.workers.ids() {
        let worker = pool.workers.get(id);
        let rescues = worker.rescues.is_some();
        assert_ne!(worker.claim.is_some() || rescues, !worker.is_guest());
        assert!(
            rescues || worker.state != State::Visiting,
            "a claim has an item"
        );
        if rescues && worker.state == State::Executing {
            assert!(worker.hints > 0, "rescuer {id} counts as running");
        }
    }
}

/// A thread that has claimed an item counts for one of those on its stack, and waits for all of them.
fn claims_count_once(pool: &Pool) {
    let ids = || pool.workers.ids().map(|id| (id, pool.workers.get(id)));
    let claims = || ids().filter_map(|(id, worker)| worker.claim.map(|claim| (id, worker, claim)));
    let added = claims().filter(|(.., claim)| claim.adds).count();
    assert_eq!(pool.counts.claims as usize, claims().count());
    assert_eq!(pool.counts.claims_added as usize, added);
    for (id, worker, claim) in claims() {
        assert_eq!(worker.state, State::Executing);
        assert!(claim.adds || worker.hints > 0, "{id} counts twice");
        if let Some(within) = claim.within {
            let beneath = pool.workers.get(within);
            assert_eq!((beneath.above, beneath.state), (Some(id), State::Executing));
            assert_eq!(beneath.waiting, worker.waiting, "they wait together");
        }
    }
    let above = ids().filter(|(_, worker)| worker.above.is_some()).count();
    let within = claims()
        .filter(|(.., claim)| claim.within.is_some())
        .count();
    assert_eq!(above, within, "each is in the middle of one");
}

fn need_is_known(pool: &Pool) {
    let needs = pool.need_more_worker() && !pool.may_start_working();
    assert_eq!(pool.needs_since.is_some(), needs, "when to call rescuers");
}

fn estimate_is_in_bounds(pool: &Pool) {
    let c = &pool.counts;
    let workers = || pool.workers.ids().map(|id| pool.workers.get(id));
    assert_eq!(c.hinted as usize, workers().filter(|w| w.hints > 0).count());
    assert_eq!(c.asleep as usize, workers().filter(|w| w.asleep).count());
    assert!(!workers().any(|w| w.asleep && w.hints > 0), "counted twice");
    let extra: u32 = workers().map(|w| w.extra).sum();
    assert_eq!(c.extra, extra, "threads beyond one each");
    let asleep = |w: &Worker<_, _>| w.asleep || w.hints > 0;
    assert!(!workers().any(|w| w.extra > 0 && asleep(w)), "runs asleep");
    assert!(
        c.hinted + c.asleep + c.presumed <= c.executing + extra,
        "{c:?}"
    );
    assert!(pool.nr_running() <= pool.nr_busy() + extra);
}

fn idle_list_is_the_idle_workers(pool: &Pool) {
    let listed: BTreeSet<_> = pool.idle.iter().copied().collect();
    assert_eq!(listed.len(), pool.idle.len(), "listed twice");
    let idle = |&id: &_| matches!(pool.workers.get(id).state, State::Idle(_));
    assert_eq!(listed, pool.workers.ids().filter(idle).collect());
    let since = pool
        .idle
        .iter()
        .map(|&id| match pool.workers.get(id).state {
            State::Idle(since) => since,
            state => panic!("{state:?} on the idle list"),
        });
    assert!(since.is_sorted(), "the oldest comes first");
}

fn one_manager_and_one_thread_in_the_making(pool: &Pool) {
    assert!(pool.counts.creating <= 1);
    if let Some(id) = pool.manager {
        assert_eq!(pool.workers.get(id).state, State::Between);
    }
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
