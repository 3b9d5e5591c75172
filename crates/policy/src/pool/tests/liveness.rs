//! Items that wait for items queued behind them: growth may be slow, it never stops.
//!
//! Nothing but the tick is there: no idle report, no look that was asked for, no sampled sleep.

use super::*;
use crate::pool::Rule;
use crate::time::Nanos;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec;

/// What one item does.
#[derive(Clone, Debug)]
struct Plan {
    /// Sleeps until the item so many places behind it has ended, if there is one.
    awaits: Option<usize>,
    /// The futex address it sleeps at, if that can be read. 0 stands for a hint instead.
    lock: Option<u64>,
    /// Then runs for so many ticks.
    runs: u32,
}

fn plan() -> impl Strategy<Value = Plan> {
    let awaits = proptest::option::weighted(0.7, 1..20usize);
    let lock = proptest::option::weighted(0.8, 0..3u64);
    (awaits, lock, 0..3u32).prop_map(|(awaits, lock, runs)| Plan { awaits, lock, runs })
}

struct World {
    rig: Rig,
    plans: Vec<Plan>,
    ended: BTreeSet<usize>,
    hinted: BTreeSet<usize>,
    /// CPU time that each item has used.
    used: Vec<Nanos>,
    sight: Sight,
}

/// What a look can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    All,
    /// The state of none, but the CPU time of its thread.
    CpuTime,
    /// Nothing.
    None,
    /// By turns.
    Mixed,
}

impl World {
    fn new(attrs: PoolAttrs, plans: Vec<Plan>) -> World {
        let mut rig = Rig::one(attrs, 1024);
        rig.queue_new(plans.len(), 0);
        World {
            used: vec![0; plans.len()],
            sight: Sight::All,
            rig,
            plans,
            ended: BTreeSet::new(),
            hinted: BTreeSet::new(),
        }
    }

    fn sleeps(&self, work: usize) -> bool {
        let awaited = self.plans[work].awaits.map(|behind| work + behind);
        awaited.is_some_and(|w| w < self.plans.len() && !self.ended.contains(&w))
    }

    /// One tick of 4 ms: whoever can go on does, and somebody looks.
    fn tick(&mut self) {
        for work in self.rig.executing() {
            let hints = self.plans[work].lock == Some(0);
            if self.sleeps(work) {
                if hints && self.hinted.insert(work) {
                    self.rig.hint_begin(work);
                }
                continue;
            }
            if self.hinted.remove(&work) {
                self.rig.hint_end(work);
            }
            self.used[work] += 4 * MILLISECOND;
            if self.plans[work].runs > 0 {
                self.plans[work].runs -= 1;
                continue;
            }
            self.ended.insert(work);
            let (pool, id) = self.rig.who(work).expect("it runs");
            self.rig.end(pool, id, ItemReport::default());
        }
        let found: Vec<SeenState> = (0..self.plans.len()).map(|w| self.found(w)).collect();
        self.rig.run();
        self.rig.tick(|work| found[work]);
        self.rig.run();
    }

    fn found(&self, work: usize) -> SeenState {
        let now = self.rig.now.0 / MILLISECOND;
        match (self.sight, (work as u64 + now) % 3) {
            (Sight::All, _) | (Sight::Mixed, 0) => self.seen(work),
            (Sight::CpuTime, _) | (Sight::Mixed, 1) => SeenState::Unknown(Some(self.used[work])),
            _ => SeenState::Unknown(None),
        }
    }

    fn seen(&self, work: usize) -> SeenState {
        match self.sleeps(work) {
            true => SeenState::Asleep(self.plans[work].lock),
            false => SeenState::Runnable,
        }
    }

    /// Ticks until all have ended.
    fn finish(&mut self) -> usize {
        let most = 50 + 40 * self.plans.len();
        for tick in 0..most {
            if self.ended.len() == self.plans.len() {
                return tick;
            }
            self.tick();
        }
        let left = self.plans.len() - self.ended.len();
        panic!("{left} of {} never end", self.plans.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn items_that_wait_for_later_ones_all_finish(
        target in 1..4u32,
        beyond in 0..3u32,
        budget in 1..4u32,
        plans in proptest::collection::vec(plan(), 1..60),
    ) {
        let attrs = PoolAttrs { beyond, budget, ..attrs(target) };
        World::new(attrs, plans).finish();
    }

    #[test]
    fn they_finish_also_where_nobody_can_see_them(
        target in 1..4u32,
        beyond in 0..3u32,
        budget in 1..4u32,
        plans in proptest::collection::vec(plan(), 1..60),
        sight in proptest::sample::select(vec![Sight::CpuTime, Sight::None, Sight::Mixed]),
    ) {
        let attrs = PoolAttrs { beyond, budget, ..attrs(target) };
        let world = World::new(attrs, plans);
        World { sight, ..world }.finish();
    }
}

/// Ticks until a chain as long as the queue has ended of which nothing is seen.
fn blind_chain(sight: Sight, attrs: PoolAttrs, links: usize) -> usize {
    let link = Plan {
        awaits: Some(1),
        lock: Some(7),
        runs: 0,
    };
    let world = World::new(attrs, vec![link; links]);
    World { sight, ..world }.finish()
}

#[test]
fn an_unseen_chain_finishes_in_time_that_grows_with_its_logarithm() {
    for sight in [Sight::CpuTime, Sight::None] {
        let (short, long) = (
            blind_chain(sight, attrs(2), 30),
            blind_chain(sight, attrs(2), 240),
        );
        // Three doublings of 10 ms each, one tick more for every four workers, and for every end.
        assert!(
            long <= short + 3 * 4 + 210 / 4 + 210,
            "{sight:?}: {short}, {long}"
        );
    }
    let per_cpu = PoolAttrs {
        rule: Rule::PerCpu,
        ..attrs(1)
    };
    assert!(blind_chain(Sight::None, per_cpu, 12) < 60);
}

#[test]
fn unseen_items_that_compute_are_taken_for_running() {
    let computes = Plan {
        awaits: None,
        lock: None,
        runs: 50,
    };
    let world = World::new(attrs(2), vec![computes; 12]);
    let sight = Sight::CpuTime;
    let mut world = World { sight, ..world };
    world.finish();
    let stats = world.rig.pools[0].stats();
    assert_eq!((stats.unseen_presumed, stats.peak_workers), (0, 3));
}

#[test]
fn unseen_workers_of_a_pool_without_backlog_give_their_tokens_back() {
    let mut rig = Rig::new((0..3).map(|_| attrs(2)));
    for pool in 0..2 {
        let blocked = rig.pwq(pool, 100);
        rig.queue_and_run(2, blocked);
    }
    let pwq = rig.pwq(2, 100);
    let others = rig.queue_and_run(3, pwq);
    assert_eq!(rig.executing().len(), 5, "the budget is used up");
    for _ in 0..6 {
        rig.advance(4 * MILLISECOND);
        rig.scan(0, |_| SeenState::Unknown(None));
        rig.scan(2, |_| SeenState::Runnable);
        rig.run();
    }
    assert!(rig.executing().contains(&others[1]));
}

#[test]
fn a_chain_as_long_as_the_queue_finishes() {
    let link = Plan {
        awaits: Some(1),
        lock: Some(7),
        runs: 0,
    };
    let mut world = World::new(attrs(2), vec![link; 100]);
    let ticks = world.finish();
    assert_eq!(world.rig.pools[0].stats().peak_workers, 101, "and a spare");
    assert!(ticks < 300, "{ticks}");
}

#[test]
fn a_chain_behind_a_convoy_finishes() {
    // A convoy moves on while one item waits for the last one in the queue.
    let mut plans = vec![
        Plan {
            awaits: None,
            lock: Some(7),
            runs: 1,
        };
        60
    ];
    for head in &mut plans[..8] {
        head.awaits = Some(51);
    }
    World::new(attrs(1), plans).finish();
}
