//! Several pools that deal, and share the limit of a queue: whatever happens, each item runs as
//! often as it was queued and not taken back, never twice at once, and never above the limit.

use super::leaving::count_in;
use super::*;
use crate::pool::brief::{LATE, SHORT};
use crate::pool::dealt::Was;
use crate::time::{MICROSECOND, Nanos};
use alloc::collections::BTreeMap;
use proptest::prelude::*;
use std::cell::Cell;
use std::vec;

/// What happens. Numbers pick among what is there: a pool, one of those that run, an item.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// So many new items are queued to a pool, or to each, or such as were begun last.
    New(usize, usize),
    Each(usize),
    Again(usize, usize),
    /// An item that runs queues a new one, or itself, to its own pool or to another.
    Own(usize, usize),
    Itself(usize, usize),
    /// One of those that run ends after so long, and what the same worker goes on to; so many.
    End(usize, usize, u64),
    /// The same of all that run, in turns.
    All(usize, u64),
    /// One that runs is known to sleep, or is awake again.
    Hint(usize),
    Pass(u64),
    /// An event of a pool, which changes nothing.
    Look(usize),
    Tick,
    Flush(usize),
    /// Somebody waits for an item, or takes it back.
    Wait(usize),
    Cancel(usize),
    /// 0 freezes the queue.
    Limit(u32),
}

/// Of a low limit items of several pools wait for slots, and of a high one none do.
fn limits() -> impl Strategy<Value = u32> {
    prop_oneof![1..9_u32, 30..300_u32]
}

fn happens() -> impl Strategy<Value = Happens> {
    let ran = || prop_oneof![5 => 0..MICROSECOND, 10 => 0..SHORT, 1 => 0..20 * SHORT];
    prop_oneof![
        4 => (0..4_usize, 1..40_usize).prop_map(|(pool, items)| Happens::New(pool, items)),
        4 => (4..40_usize).prop_map(Happens::Each),
        3 => (0..4_usize, 1..8_usize).prop_map(|(pool, items)| Happens::Again(pool, items)),
        2 => (0..8_usize, 0..4_usize).prop_map(|(who, pool)| Happens::Own(who, pool)),
        2 => (0..8_usize, 0..4_usize).prop_map(|(who, pool)| Happens::Itself(who, pool)),
        10 => (0..8_usize, 1..6_usize, ran())
            .prop_map(|(who, count, ran)| Happens::End(who, count, ran)),
        20 => (1..5_usize, ran()).prop_map(|(count, ran)| Happens::All(count, ran)),
        1 => (0..8_usize).prop_map(Happens::Hint),
        1 => (0..2 * LATE).prop_map(Happens::Pass),
        1 => (0..4_usize).prop_map(Happens::Look),
        1 => Just(Happens::Tick),
        1 => (0..4_usize).prop_map(Happens::Flush),
        2 => (0..60_usize).prop_map(Happens::Wait),
        2 => (0..60_usize).prop_map(Happens::Cancel),
        1 => Just(Happens::Limit(0)),
        3 => limits().prop_map(Happens::Limit),
    ]
}

/// How many workers are to run in each pool, the limit that they share, whether items take
/// [`LIGHT_TIMES`] as long, so that they are light, and what happens.
type Case = (Vec<u32>, u32, bool, Vec<Happens>);

const LIGHT_TIMES: u64 = 5;

fn cases() -> impl Strategy<Value = Case> {
    let all = proptest::collection::vec(happens(), 1..80);
    let targets = proptest::collection::vec(1..4_u32, 2..=3);
    (targets, limits(), any::<bool>(), all)
}

struct Several {
    rig: Rig,
    /// How often each item was queued and not taken back.
    queued: BTreeMap<usize, usize>,
    /// Workers in a hint.
    hints: Vec<(usize, WorkerId)>,
    light: bool,
}

impl Several {
    /// One pool workqueue in each pool, of one queue; pools and pool workqueues have the same
    /// numbers.
    fn new(targets: &[u32], limit: u32, light: bool) -> Several {
        let budget = targets.iter().sum();
        let pool = |&target: &u32| PoolAttrs {
            budget,
            thread_limit: 6,
            ..attrs(target)
        };
        let mut rig = Rig::new(targets.iter().map(pool));
        rig.pwq(0, limit);
        (1..targets.len()).for_each(|pool| _ = rig.sibling(0, pool));
        Several {
            rig: rig.that_deals(light),
            queued: BTreeMap::new(),
            hints: Vec::new(),
            light,
        }
    }

    fn pool(&self, number: usize) -> usize {
        number % self.rig.pools.len()
    }

    /// One of those that run items, no barriers.
    fn who(&self, number: usize) -> Option<(usize, WorkerId, usize)> {
        let mut running = self.rig.running();
        running.retain(|run| !self.rig.store.items[run.2].is_barrier());
        running.get(number % running.len().max(1)).copied()
    }

    /// One of the items that were queued last.
    fn item(&self, number: usize) -> Option<usize> {
        self.queued.keys().rev().nth(number).copied()
    }

    fn note(&mut self, work: usize, queued: bool) {
        *self.queued.entry(work).or_default() += usize::from(queued);
    }

    fn happen(&mut self, what: Happens) {
        match what {
            Happens::New(pool, items) => self.queue_new(self.pool(pool), items),
            Happens::Each(items) => {
                (0..self.rig.pools.len()).for_each(|pool| self.queue_new(pool, items));
            }
            Happens::Again(pool, items) => {
                let is_item = |work: &usize| !self.rig.store.items[*work].is_barrier();
                let begun = self.rig.started.iter().rev().copied().filter(is_item);
                for work in begun.take(items).collect::<Vec<_>>() {
                    let queued = self.rig.queue(work, self.pool(pool));
                    self.note(work, queued);
                }
            }
            Happens::Own(who, pool) => {
                let work = self.rig.item();
                self.queue_from(who, pool, |_| work);
            }
            Happens::Itself(who, pool) => self.queue_from(who, pool, |own| own),
            Happens::End(who, count, ran) => self.end(who, count, ran),
            Happens::All(count, ran) => (0..count).for_each(|_| self.end_all(ran)),
            Happens::Hint(who) => self.hint(who),
            Happens::Pass(time) => self.rig.advance(time),
            Happens::Look(pool) => self.rig.call(self.pool(pool), |_, _| ()),
            Happens::Tick => self.rig.tick(|_| SeenState::Runnable),
            Happens::Flush(pwq) => _ = self.rig.flush(self.pool(pwq)),
            Happens::Wait(which) => {
                let item = self.item(which);
                item.into_iter().for_each(|work| _ = self.rig.barrier(work));
            }
            Happens::Cancel(which) => {
                if let Some(work) = self.item(which).filter(|&work| self.rig.cancel(work)) {
                    *self.queued.get_mut(&work).expect("it was queued") -= 1;
                }
            }
            Happens::Limit(max) => self.rig.set_max(0, max),
        }
        self.settle();
    }

    /// Everybody does what can be done without time passing.
    fn settle(&mut self) {
        self.rig.run();
        let mut executing = self.rig.executing();
        executing.sort_unstable();
        let twice = executing.windows(2).any(|two| two[0] == two[1]);
        assert!(!twice, "an item runs twice at once");
    }

    fn queue_new(&mut self, pool: usize, items: usize) {
        for _ in 0..items {
            let work = self.rig.item();
            let queued = self.rig.queue(work, pool);
            self.note(work, queued);
        }
    }

    fn queue_from(&mut self, who: usize, pool: usize, which: impl FnOnce(usize) -> usize) {
        let Some((own, id, work)) = self.who(who) else {
            return;
        };
        // Every other time it is its own pool.
        let pwq = if pool.is_multiple_of(2) {
            own
        } else {
            self.pool(pool)
        };
        let work = which(work);
        let queued = self.rig.queue_from((own, id), work, pwq);
        self.note(work, queued);
    }

    fn end(&mut self, who: usize, count: usize, ran: Nanos) {
        let running = self.rig.running();
        let Some(&(pool, id, _)) = running.get(who % running.len().max(1)) else {
            return;
        };
        for _ in 0..count {
            self.end_by((pool, id), ran);
            if !self
                .rig
                .running()
                .iter()
                .any(|run| (run.0, run.1) == (pool, id))
            {
                return;
            }
        }
    }

    fn end_all(&mut self, ran: Nanos) {
        for (pool, id, _) in self.rig.running() {
            self.end_by((pool, id), ran);
        }
    }

    fn end_by(&mut self, (pool, id): (usize, WorkerId), ran: Nanos) {
        let ran = if self.light { LIGHT_TIMES * ran } else { ran };
        self.awake(pool, id);
        // Others end theirs in the same time.
        self.rig.advance(ran / 2);
        let report = ItemReport {
            ran: Some(ran),
            ..ItemReport::default()
        };
        self.rig.end(pool, id, report);
    }

    fn awake(&mut self, pool: usize, id: WorkerId) {
        let hints = self.hints.len();
        self.hints.retain(|hint| *hint != (pool, id));
        if self.hints.len() < hints {
            self.rig.call(pool, |p, cx| p.hint_end(cx, id));
        }
    }

    fn hint(&mut self, who: usize) {
        let Some((pool, id, _)) = self.who(who) else {
            return;
        };
        if self.hints.contains(&(pool, id)) {
            return self.awake(pool, id);
        }
        self.hints.push((pool, id));
        self.rig.call(pool, |p, cx| p.hint_begin(cx, id));
    }

    /// Pools that have items in hands.
    fn dealing(&self) -> usize {
        let deals = |pool: &usize| self.rig.inboxes[*pool].borrow().plain.not_begun().count() > 0;
        (0..self.rig.pools.len()).filter(deals).count()
    }

    /// Whether an item that waited for a slot is in a hand.
    fn inactive_is_dealt(&self) -> bool {
        self.rig.inboxes.iter().any(|inbox| {
            let plain = &inbox.borrow().plain;
            plain
                .not_begun()
                .any(|item| matches!(item.was, Was::Inactive(_)))
        })
    }

    /// The queue is thawed, and all items end.
    fn finish(mut self) {
        self.rig.set_max(0, 3);
        for _ in 0..10_000 {
            self.settle();
            match self.rig.running().first() {
                Some(_) => self.end(0, 1, MICROSECOND),
                None if self
                    .rig
                    .inboxes
                    .iter()
                    .any(|inbox| inbox.borrow().plain.has_left()) =>
                {
                    self.rig.take_in();
                }
                None => break,
            }
        }
        let rig = &self.rig;
        for pool in &rig.pools {
            assert_eq!(pool.nr_in_flight(), 0, "nobody starts what is left");
        }
        assert!(rig.flushes.is_empty(), "flushes have ended");
        assert_eq!(rig.store.limits[0].now().nr(), 0);
        let mut started: BTreeMap<usize, usize> = BTreeMap::new();
        for &work in &rig.started {
            *started.entry(work).or_default() += usize::from(!rig.store.items[work].is_barrier());
        }
        started.retain(|_, times| *times > 0);
        self.queued.retain(|_, times| *times > 0);
        assert_eq!(started, self.queued, "each ran as often as it was queued");
    }
}

/// How often hands of several pools were out, and items dealt that had waited for a slot: short
/// ones, and light ones.
type Reached = [(usize, usize); 2];

fn happen_to_several((targets, limit, light, all): Case) -> Reached {
    let mut several = Several::new(&targets, limit, light);
    let mut reached = Reached::default();
    let (out, inactive) = &mut reached[usize::from(light)];
    for what in all {
        several.happen(what);
        *out += usize::from(several.dealing() > 1);
        *inactive += usize::from(several.inactive_is_dealt());
    }
    several.finish();
    reached
}

#[test]
fn whatever_workers_of_several_pools_were_dealt_runs_once_and_within_the_limit() {
    let all = Cell::new(Reached::default());
    count_in(cases(), file!(), |case| {
        let mut sum = all.get();
        for (sum, one) in sum.iter_mut().zip(happen_to_several(case)) {
            *sum = (sum.0 + one.0, sum.1 + one.1);
        }
        all.set(sum);
        0
    });
    let is_reached = |&(out, inactive): &(usize, usize)| out > 0 && inactive > 0;
    assert!(all.get().iter().all(is_reached), "{:?}", all.get());
}

#[test]
fn who_is_dealt_items_uses_up_nobodys_turn() {
    // The second pool holds its part and goes on with none; what waits there waits for a slot.
    let mut several = Several::new(&[1, 3], 4, false);
    several.queue_new(1, 2);
    several.settle();
    several.queue_new(0, 3_000);
    several.settle();
    several.queue_new(1, 1);
    // It lies in a hand or in the inbox until somebody looks.
    several.happen(Happens::Pass(2 * LATE));
    several.happen(Happens::Tick);
    assert_eq!(several.rig.store.pwqs[1].state.nr_inactive(), 1);
    let waits = several.item(0).expect("it was queued last");
    for _ in 0..2_500 {
        if several.rig.started.contains(&waits) {
            return;
        }
        let running = several.rig.running();
        let first = running.iter().find(|run| run.0 == 0);
        let &(pool, id, _) = first.expect("the first pool goes on");
        several.end_by((pool, id), MICROSECOND);
        several.settle();
    }
    panic!("it is starved");
}

/// Two workers of the first pool have hands of what was left there, and items of the second wait
/// for slots.
fn hands_beside_others_that_wait() -> Several {
    let mut several = Several::new(&[2, 1], 3, false);
    for (pool, items) in [(0, 2), (1, 1)] {
        several.queue_new(pool, items);
        several.settle();
    }
    several.queue_new(0, 300);
    several.queue_new(1, 30);
    several.rig.call(1, |_, _| ());
    for one in [0, 1] {
        several.end_one(one, SHORT);
    }
    assert_eq!(several.active(), [(2, 0), (1, 30)]);
    several
}

impl Several {
    /// Items of each pool that have a slot, and that wait for one.
    fn active(&self) -> Vec<(u32, usize)> {
        let pwqs = self.rig.store.pwqs.iter().map(|pwq| &pwq.state);
        pwqs.map(|pwq| (pwq.nr_active, pwq.nr_inactive())).collect()
    }

    /// What lies in hands of the pool.
    fn dealt(&self, pool: usize) -> usize {
        self.rig.inboxes[pool].borrow().plain.not_begun().count()
    }

    /// One of those that run ends, and what follows.
    fn end_one(&mut self, one: usize, ran: Nanos) {
        let (pool, id, _) = self.rig.running()[one];
        self.end_by((pool, id), ran);
        self.settle();
    }
}

#[test]
fn who_goes_on_to_what_was_left_keeps_its_slot_and_leaves_others_their_hands() {
    let mut several = hands_beside_others_that_wait();
    let (turns, dealt) = (several.rig.count(Action::Activate(1)), several.dealt(0));
    several.end_one(0, 2 * SHORT);
    assert_eq!(several.active(), [(2, 0), (1, 30)]);
    assert!(several.dealt(0) > dealt / 2 + 1, "two hands are out");
    assert_eq!(several.rig.count(Action::Activate(1)), turns);
}

#[test]
fn a_turn_leaves_several_hands_as_they_are() {
    let mut several = Several::new(&[2], 2, false);
    several.queue_new(0, 2);
    several.settle();
    several.queue_new(0, 300);
    several.rig.call(0, |_, _| ());
    for one in [0, 1] {
        several.end_one(one, SHORT);
    }
    let (started, dealt) = (several.rig.started.len(), several.dealt(0));
    let raised = several.rig.store.limits[0].now().with_max(5);
    several.rig.store.limits[0].set(raised);
    assert!(dealt > 10);
    several.rig.activate(0, 0);
    several.settle();
    assert_eq!(
        (several.dealt(0), several.rig.pools[0].nr_queued()),
        (dealt, 3)
    );
    assert!(several.rig.pools[0].brief.are_short(), "nobody is late");
    assert_eq!(several.rig.started.len(), started, "as many run as should");
    several.rig.call(0, |_, _| ());
    assert_eq!(several.dealt(0), 0, "anything else recalls them");
    // Nor are they left alone if nobody has been heard of for long.
    several.end_one(0, MICROSECOND);
    several.end_one(1, MICROSECOND);
    assert!(several.dealt(0) > 0);
    several.rig.advance(LATE);
    several.rig.activate(0, 0);
    assert_eq!(several.dealt(0), 0);
}
