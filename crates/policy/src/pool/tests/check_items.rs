//! What holds of items after every event: each is in one place, runs once, in order, after what it
//! stands behind; slots, waiters and flushes are exact.

use super::check::Memory;
use super::rig::{Pool, Rig, Todo};
use super::store::{Instance, Item, TestStore};
use crate::list::List;
use crate::pool::crew::Current;
use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

fn executions(pool: &Pool) -> impl Iterator<Item = &Current<usize>> {
    let ids = pool.crew.ids();
    ids.filter_map(|id| pool.crew.get(id).current.as_ref())
}

/// No item is executed twice at once, in whatever pools.
pub(super) fn at_most_once(rig: &Rig) {
    let mut seen = BTreeSet::new();
    for pool in &rig.pools {
        for id in pool.crew.ids() {
            if let Some(current) = &pool.crew.get(id).current {
                let key = (current.key.addr, current.key.func);
                assert!(seen.insert(key), "executed twice at once");
                let found = pool.crew.executing(&current.key);
                assert_eq!(found, Some(id), "who executes it");
            }
        }
    }
}

fn walk(store: &TestStore, list: &List<TestStore>) -> Vec<usize> {
    let items: Vec<usize> = list.iter(store).take(list.len() + 1).collect();
    assert_eq!(items.len(), list.len(), "a list is as long as it says");
    items
}

/// Which entries are followers of a series. A series is an item, or nobody any more, and the
/// barriers behind it.
fn followers(store: &TestStore, entries: &[usize]) -> Vec<bool> {
    let mut follows = vec![false; entries.len()];
    for (at, &entry) in entries.iter().enumerate() {
        let item = &store.items[entry];
        assert!(item.is_queued(), "{entry} is listed but not queued");
        if !item.word.flags().linked {
            continue;
        }
        let behind = *entries.get(at + 1).expect("a linked one has a follower");
        let target = item.target.unwrap_or((entry, item.stamp));
        assert_eq!(store.items[behind].target, Some(target), "a follower");
        follows[at + 1] = true;
    }
    follows
}

struct Places<'a> {
    store: &'a TestStore,
    found: Vec<u32>,
}

impl Places<'_> {
    /// Notes the entries of a list, which are of this pool, and returns who follows whom.
    fn note(&mut self, list: &List<TestStore>, pool: usize) -> (Vec<usize>, Vec<bool>) {
        let entries = walk(self.store, list);
        for &entry in &entries {
            self.found[entry] += 1;
            let at = self.store.items[entry].word.pool();
            assert_eq!(at, Some(pool as u32), "{entry} is in another pool");
        }
        let follows = followers(self.store, &entries);
        (entries, follows)
    }

    fn worklist(&mut self, index: usize, pool: &Pool) {
        let (entries, follows) = self.note(pool.worklist.list(), index);
        let deferred = |&&e: &&usize| self.store.items[e].word.flags().deferred;
        let deferred = entries.iter().filter(deferred).count();
        let followers = follows.iter().filter(|f| **f).count();
        assert_eq!(pool.worklist.held(), followers + deferred, "held entries");
        self.hold_slots(&entries);
    }

    fn lanes(&mut self, index: usize, pool: &Pool) {
        for lane in pool.worklist.lanes() {
            let (entries, follows) = self.note(&lane.list, index);
            let waits = |(entry, follows): &(&usize, &bool)| {
                !**follows && !self.store.items[**entry].word.flags().deferred
            };
            let series = entries.iter().zip(&follows).filter(waits).count();
            assert_eq!(lane.waiting, series, "series of a lane");
            self.hold_slots(&entries);
        }
    }

    fn own_lists(&mut self, index: usize, pool: &Pool) {
        for id in pool.crew.ids() {
            let (entries, _) = self.note(&pool.crew.get(id).scheduled, index);
            self.hold_slots(&entries);
            for entry in entries {
                let item = &self.store.items[entry];
                assert!(!item.word.flags().deferred, "{entry} is to run here");
            }
        }
    }

    /// On worklists and own lists, only barriers hold no slot.
    fn hold_slots(&self, entries: &[usize]) {
        for &entry in entries {
            let item = &self.store.items[entry];
            assert_eq!(item.word.flags().inactive, item.is_barrier(), "{entry}");
        }
    }

    fn inactive(&mut self, pwq: usize) {
        let found = &self.store.pwqs[pwq];
        let (entries, follows) = self.note(&found.state.inactive, found.pool);
        for (&entry, follows) in entries.iter().zip(follows) {
            let item = &self.store.items[entry];
            assert!(item.word.flags().inactive, "{entry} holds a slot");
            assert_eq!(
                item.is_barrier(),
                follows,
                "{entry}: barriers wait for no slot"
            );
            assert_eq!(self.store.pwq_of(entry), Some(pwq));
        }
    }
}

pub(super) fn every_entry_is_in_one_place(rig: &Rig) {
    let store = &rig.store;
    let mut places = Places {
        store,
        found: vec![0; store.items.len()],
    };
    for (index, pool) in rig.pools.iter().enumerate() {
        places.worklist(index, pool);
        places.lanes(index, pool);
        places.own_lists(index, pool);
    }
    (0..store.pwqs.len()).for_each(|pwq| places.inactive(pwq));
    for (work, item) in store.items.iter().enumerate() {
        let is_dealt = rig.dealt.borrow().contains(&work) || rig.is_dealt(work);
        let expected = u32::from(item.is_queued() && !is_dealt);
        assert_eq!(places.found[work], expected, "places of {work}");
    }
}

/// Who was queued behind an execution is known to wait as long as that goes on.
pub(super) fn deferred_ones_wait(rig: &Rig) {
    let mut known = vec![0; rig.pools.len()];
    for (work, item) in rig.store.items.iter().enumerate() {
        let Some(token) = item.behind.filter(|_| item.is_queued()) else {
            assert!(!item.is_queued() || !item.word.flags().deferred);
            continue;
        };
        let pool = item.word.pool().expect("it is queued") as usize;
        let waits_for = rig.pools[pool].deferred_for(work);
        let deferred = item.word.flags().deferred;
        assert_eq!(waits_for, deferred.then_some(token), "item {work}");
        let goes_on = rig.pools[token.pool as usize].goes_on(token);
        assert!(deferred || !goes_on, "item {work} may begin too early");
        known[pool] += usize::from(deferred);
    }
    let deferred: Vec<usize> = rig
        .pools
        .iter()
        .map(|p| p.worklist.deferred().len())
        .collect();
    assert_eq!(deferred, known, "entries for nobody");
}

/// Executions know in which queue the next instance of their item is.
pub(super) fn next_instances_are_known(rig: &Rig) {
    for (at, pool) in rig.pools.iter().enumerate() {
        for current in executions(pool) {
            let items = rig.store.items.iter().enumerate();
            let mut same = items.filter(|(_, item)| item.key == current.key);
            let pending = same.clone().any(|(_, item)| item.word.is_pending());
            assert!(current.requeued_to.is_none() || pending, "in pool {at}");
            let queued = same.find_map(|(work, _)| rig.store.pwq_of(work));
            let queue = queued.map(|pwq| rig.store.pwqs[pwq].queue as u64);
            assert!(
                queue.is_none() || queue == current.requeued_to,
                "in pool {at}"
            );
        }
    }
}

/// What is in flight, by pwq.
pub(super) struct InFlight {
    /// The numbers of all instances, barriers included, that are queued or executed.
    pub(super) instances: Vec<BTreeSet<u64>>,
    /// How many of them hold a slot.
    active: Vec<u32>,
}

impl InFlight {
    pub(super) fn of(rig: &Rig) -> InFlight {
        let count = rig.store.pwqs.len();
        let mut all = InFlight {
            instances: vec![BTreeSet::new(); count],
            active: vec![0; count],
        };
        for (work, item) in rig.store.items.iter().enumerate() {
            if let Some(pwq) = rig.store.pwq_of(work) {
                all.note(pwq, item.stamp, item.is_active());
            }
        }
        for current in rig.pools.iter().flat_map(executions) {
            let work = rig.store.item_of(&current.key);
            all.note(current.pwq, rig.store.items[work].begun, !current.barrier);
        }
        all
    }

    fn note(&mut self, pwq: usize, instance: u64, active: bool) {
        assert!(self.instances[pwq].insert(instance), "in flight twice");
        self.active[pwq] += u32::from(active);
    }
}

/// Barriers that are queued behind this instance, or were when it was taken back.
pub(super) fn barriers_of(rig: &Rig, target: Instance) -> Vec<usize> {
    let items = rig.store.items.iter().enumerate();
    items
        .filter(|(_, item)| item.is_queued() && item.target == Some(target))
        .map(|(work, _)| work)
        .collect()
}

/// A flush is over when all that was queued before it has ended or was taken back, not before.
pub(super) fn flushes_are_exact(rig: &Rig, in_flight: &InFlight) {
    for flush in &rig.flushes {
        let state = &rig.store.pwqs[flush.pwq].state;
        let over = flush.instances.is_disjoint(&in_flight.instances[flush.pwq]);
        assert_eq!(state.colours.is_done(flush.ticket), over, "a flush");
    }
}

pub(super) fn slots_are_counted(rig: &Rig, in_flight: &InFlight, memory: &mut Memory) {
    let store = &rig.store;
    let mut nr = vec![0; store.limits.len()];
    let mut in_pools = vec![0; rig.pools.len()];
    for (pwq, found) in store.pwqs.iter().enumerate() {
        let active = in_flight.active[pwq];
        assert_eq!(found.state.nr_active, active, "slots of {pwq}");
        assert!(
            active == 0 || !found.state.flags.plugged,
            "{pwq} is plugged"
        );
        let entries = in_flight.instances[pwq].len() as u64;
        assert_eq!(found.state.nr_in_flight(), entries, "in flight of {pwq}");
        nr[found.limit] += active;
        in_pools[found.pool] += entries;
    }
    for (pool, expected) in rig.pools.iter().zip(in_pools) {
        assert_eq!(pool.nr_in_flight(), expected);
    }
    for (limit, nr) in nr.into_iter().enumerate() {
        assert_eq!(store.limits[limit].now().nr(), nr, "slots of limit {limit}");
        limit_holds(rig, limit);
    }
    limits_are_kept(rig, memory);
}

fn limit_holds(rig: &Rig, limit: usize) {
    let of_it = |&pwq: &usize| rig.store.pwqs[pwq].limit == limit;
    let waits = |&pwq: &usize| {
        let state = &rig.store.pwqs[pwq].state;
        state.nr_inactive() > 0 && !state.is_plugged()
    };
    let waiting: BTreeSet<usize> = (0..rig.store.pwqs.len())
        .filter(of_it)
        .filter(waits)
        .collect();
    let listed = rig.store.limits[limit].waiters();
    assert_eq!(listed.len(), waiting.len(), "{listed:?} wait for {limit}");
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), waiting);
    let now = rig.store.limits[limit].now();
    assert_eq!(now.waiting(), !listed.is_empty(), "limit {limit}");
    let said = |todo: &Todo| matches!(todo, Todo::Activate(pwq) if of_it(pwq));
    let served = rig.todo.iter().any(|t| said(&t.1));
    assert!(
        !now.waiting() || now.nr() >= now.max() || served,
        "a slot is lost"
    );
}

/// No item has got a slot above a limit, and none runs without one.
pub(super) fn limits_are_kept(rig: &Rig, memory: &mut Memory) {
    memory.nr.resize(rig.store.limits.len(), 0);
    for (limit, before) in memory.nr.iter_mut().enumerate() {
        let now = rig.store.limits[limit].now();
        let before = core::mem::replace(before, now.nr());
        assert!(now.nr() <= before.max(now.max()), "over the limit {limit}");
        let of_it = |pwq: Option<usize>| pwq.is_some_and(|p| rig.store.pwqs[p].limit == limit);
        let has_slot = |work: &usize| {
            let item = &rig.store.items[*work];
            !item.is_barrier() && of_it(item.begun_in)
        };
        let running = rig.executing().iter().filter(|work| has_slot(work)).count();
        assert!(running <= now.nr() as usize, "they run without a slot");
    }
}

/// This item, or barrier, has just begun, of a worker's own list or not.
pub(super) fn begins(rig: &Rig, work: usize, own: bool) {
    let item = &rig.store.items[work];
    if let Some((target, stamp)) = item.target {
        let ahead = &rig.store.items[target];
        let waits = ahead.is_queued() && ahead.stamp == stamp;
        let executed = rig.pools.iter().any(|p| p.executes(&ahead.key));
        let runs = executed && ahead.begun == stamp;
        assert!(!waits && !runs, "barrier {work} passes {target}");
        return;
    }
    // One that was given back when the execution had ended is before those that have not waited for
    // theirs.
    let own = own || item.went_behind == item.begun;
    for (other, waiting) in rig.store.items.iter().enumerate() {
        let older =
            waiting.stamp + rig.may_pass < item.begun && !is_nearer(rig, work, waiting.home.cpu());
        if older && passes(rig, item_pwq(rig, work), other, waiting, own) {
            panic!("{work} passes {other}");
        }
    }
    one_at_a_time(rig, item_pwq(rig, work));
}

/// Whether it was queued nearer to where it begins than this CPU is, and that counts.
fn is_nearer(rig: &Rig, work: usize, other: u32) -> bool {
    let pool = rig.store.pwqs[item_pwq(rig, work)].pool;
    let far = |home| rig.pools[pool].worklist.distance(home, rig.cpu);
    far(rig.store.items[work].home.cpu()) < far(other)
}

/// The pwq through which the item is executed.
fn item_pwq(rig: &Rig, work: usize) -> usize {
    let key = &rig.store.items[work].key;
    let current = |c: &&Current<usize>| c.key == *key;
    let mut running = rig.pools.iter().flat_map(executions).filter(current);
    running.next().expect("it has begun").pwq
}

/// An older item of the same pwq, or of the same ordered queue, still waits and could begin. Items
/// wait by themselves for an earlier execution of their own.
fn passes(rig: &Rig, pwq: usize, other: usize, waiting: &Item, own: bool) -> bool {
    let Some(at) = rig.store.pwq_of(other).filter(|_| !waiting.is_barrier()) else {
        return false;
    };
    let queue = rig.store.pwqs[pwq].queue;
    if rig.queues[queue].ordered {
        return rig.store.pwqs[at].queue == queue;
    }
    let waits_for_itself = || waiting.word.flags().deferred || is_scheduled(rig, other);
    at == pwq && !own && !waits_for_itself()
}

fn is_scheduled(rig: &Rig, work: usize) -> bool {
    let lists = rig.pools.iter().flat_map(|pool| {
        let ids = pool.crew.ids();
        ids.map(|id| &pool.crew.get(id).scheduled)
    });
    lists
        .into_iter()
        .any(|list| list.iter(&rig.store).any(|w| w == work))
}

fn one_at_a_time(rig: &Rig, pwq: usize) {
    let queue = rig.store.pwqs[pwq].queue;
    if rig.queues[queue].ordered {
        let all = rig.pools.iter().flat_map(executions);
        let of_it = |c: &&Current<usize>| !c.barrier && rig.store.pwqs[c.pwq].queue == queue;
        assert_eq!(all.filter(of_it).count(), 1, "an ordered queue");
    }
}
