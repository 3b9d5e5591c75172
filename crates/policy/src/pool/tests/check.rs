//! What holds after every event, whatever was reported, delayed or refused.

use super::rig::{Pool, TestStore};
use crate::worker::State;
use std::collections::BTreeSet;
use std::vec::Vec;

/// What the checks must remember from one event to the next.
#[derive(Default)]
pub(super) struct Memory {
    nr_active: Vec<u32>,
    last_begun: Vec<u64>,
}

impl Memory {
    /// An item of this pwq has begun. FIFO per queue, except for an item that had to wait behind
    /// its own earlier execution.
    pub(super) fn begun(&mut self, pwq: usize, stamp: u64, deferred: bool) {
        self.last_begun
            .resize(self.last_begun.len().max(pwq + 1), 0);
        if !deferred {
            let last = core::mem::replace(&mut self.last_begun[pwq], stamp);
            assert!(last < stamp, "queue {pwq} started items out of order");
        }
    }
}

/// All invariants.
pub(super) fn check(pools: &[Pool], store: &mut TestStore, memory: &mut Memory) {
    for pool in pools {
        counts_are_exact(pool);
        estimate_is_in_bounds(pool);
        idle_list_is_the_idle_workers(pool);
        one_manager_and_one_thread_in_the_making(pool);
        nothing_executes_twice(pool);
        assert_eq!(pool.tokens, pool.nr_running().saturating_sub(1), "tokens");
    }
    let tokens: u32 = pools.iter().map(|p| p.tokens).sum();
    assert_eq!(store.budget.used, tokens, "the budget is the sum of tokens");
    every_queued_item_is_in_one_place(pools, store);
    slots_are_counted_and_not_lost(pools, store, memory);
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
    assert_eq!(c.creating, count(pool, |s| *s == State::Creating));
    let exists = |s: &State| !matches!(s, State::Free | State::Creating);
    assert_eq!(c.workers, count(pool, exists));
    assert!(c.workers + c.creating <= pool.attrs.thread_limit);
    for id in pool.workers.ids() {
        let worker = pool.workers.get(id);
        if worker.state != State::Executing {
            assert!(worker.current.is_none() && worker.waiting.is_none());
            assert!(worker.hints == 0 && !worker.asleep && worker.futex.is_none());
            assert!(worker.scheduled.is_empty(), "items nobody would find");
        }
    }
    let waiting = pool.workers.ids();
    let waiting = waiting.filter(|&id| pool.workers.get(id).waiting.is_some());
    assert_eq!(c.waiting as usize, waiting.count());
}

fn estimate_is_in_bounds(pool: &Pool) {
    let c = &pool.counts;
    let workers = || pool.workers.ids().map(|id| pool.workers.get(id));
    assert_eq!(c.hinted as usize, workers().filter(|w| w.hints > 0).count());
    assert_eq!(c.asleep as usize, workers().filter(|w| w.asleep).count());
    assert!(!workers().any(|w| w.asleep && w.hints > 0), "counted twice");
    assert!(c.hinted + c.asleep + c.presumed <= c.executing, "{c:?}");
    assert!(pool.nr_running() <= pool.nr_busy());
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

fn nothing_executes_twice(pool: &Pool) {
    let mut seen = BTreeSet::new();
    for id in pool.workers.ids() {
        if let Some(current) = &pool.workers.get(id).current {
            assert!(seen.insert(current.key.addr), "executed twice at once");
            assert_eq!(pool.workers.executing(&current.key), Some(id));
        }
    }
}

fn walk(store: &TestStore, list: &crate::list::List<TestStore>) -> Vec<usize> {
    use crate::list::Links;
    let mut items = Vec::new();
    let mut at = list.first();
    while let Some(work) = at {
        items.push(work);
        assert!(items.len() <= list.len(), "the list is longer than it says");
        at = store.next(work);
    }
    assert_eq!(items.len(), list.len());
    items
}

fn every_queued_item_is_in_one_place(pools: &[Pool], store: &TestStore) {
    let mut places = std::vec![0; store.items.len()];
    for pool in pools {
        let own = pool.workers.ids().map(|id| &pool.workers.get(id).scheduled);
        for work in own.chain([&pool.worklist]).flat_map(|l| walk(store, l)) {
            places[work] += 1;
            assert!(!store.items[work].inactive, "item {work} holds no slot");
        }
    }
    for (_, pwq) in &store.pwqs {
        for work in walk(store, &pwq.inactive) {
            places[work] += 1;
            assert!(store.items[work].inactive, "item {work} holds a slot");
        }
    }
    for (work, item) in store.items.iter().enumerate() {
        assert_eq!(places[work], u32::from(item.pending), "places of {work}");
    }
}

fn slots_are_counted_and_not_lost(pools: &[Pool], store: &TestStore, memory: &mut Memory) {
    memory.nr_active.resize(store.pwqs.len(), 0);
    let mut in_flight = std::vec![0; pools.len()];
    for (index, (pool, pwq)) in store.pwqs.iter().enumerate() {
        let current = |id| pools[*pool].workers.get(id).current.as_ref();
        let executing = pools[*pool].workers.ids().filter_map(current);
        let executing = executing.filter(|c| c.pwq == index).count() as u32;
        let queued = |i: &&super::rig::Item| i.pending && i.pwq == index && !i.inactive;
        let queued = store.items.iter().filter(queued).count() as u32;
        assert_eq!(pwq.nr_active, executing + queued, "slots of {index}");
        let waiting = pwq.nr_inactive();
        assert_eq!(
            pwq.nr_in_flight(),
            u64::from(pwq.nr_active) + waiting as u64
        );
        assert!(waiting == 0 || !pwq.has_free_slot(), "a slot is lost");
        let before = core::mem::replace(&mut memory.nr_active[index], pwq.nr_active);
        assert!(
            pwq.nr_active <= before.max(pwq.max_active),
            "over the limit"
        );
        in_flight[*pool] += pwq.nr_in_flight();
    }
    for (pool, expected) in pools.iter().zip(in_flight) {
        assert_eq!(pool.nr_in_flight(), expected);
    }
}
