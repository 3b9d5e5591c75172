//! Any sequence of events, true or false reports, any order of what they ask for: the invariants
//! of `check.rs` hold after each, and when the faults stop everything finishes.

use super::super::signals::Plan;
use super::rig::{Doing, Rig, Todo};
use super::*;
use crate::pwq::Drain;
use crate::time::MICROSECOND;
use crate::worker::Wait;
use proptest::prelude::*;
use proptest::sample::Index;
use std::vec;

/// What may happen. An [`Index`] picks among those that can do it just then.
#[derive(Clone, Debug)]
enum Event {
    Queue(Index, bool),
    Cancel(Index),
    Deliver(Index),
    Ask(Index),
    /// A parked worker wakes up although nobody chose it.
    Spurious(Index),
    End(Index, ItemReport),
    CpuIdle(Index, Option<Index>),
    /// A scan that reads now and reports later.
    Plan(Index),
    /// What was planned was found thus, right or wrong; bit by bit asleep.
    Scanned(u16, bool),
    /// A whole look finds all asleep at one lock.
    Convoy(Index),
    HintBegin(Index),
    HintEnd(Index),
    Wait(Index, Index),
    WaitOver(Index),
    Flush(Index),
    Drain(Index),
    MaxActive(Index, u32),
    Target(Index, u32),
    SpawnsFail(bool),
    Cull(Index),
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    use Event::*;
    let at = any::<Index>;
    let report = (any::<Option<bool>>(), any::<Option<bool>>(), any::<bool>());
    let report = report.prop_map(|(slept, delayed, foreign)| ItemReport {
        slept,
        waited: delayed.map(|d| if d { MILLISECOND } else { 0 }),
        foreign,
    });
    let pass = prop_oneof![
        10 => 0..300 * MICROSECOND,
        5 => 0..5 * MILLISECOND,
        2 => Just(SECOND),
        1 => Just(301 * SECOND),
    ];
    let usual = prop_oneof![
        10 => (at(), any::<bool>()).prop_map(|(i, second)| Queue(i, second)),
        10 => at().prop_map(Deliver),
        10 => at().prop_map(Ask),
        6 => (at(), report).prop_map(|(i, r)| End(i, r)),
        3 => (at(), any::<Option<Index>>()).prop_map(|(p, r)| CpuIdle(p, r)),
        2 => at().prop_map(Plan),
        3 => (any::<u16>(), any::<bool>()).prop_map(|(bits, all)| Scanned(bits, all)),
        2 => at().prop_map(Convoy),
        3 => pass.prop_map(Pass),
    ];
    let rare = prop_oneof![
        2 => at().prop_map(Cancel),
        1 => at().prop_map(Spurious),
        3 => at().prop_map(HintBegin),
        3 => at().prop_map(HintEnd),
        3 => (at(), at()).prop_map(|(i, q)| Wait(i, q)),
        1 => at().prop_map(WaitOver),
        1 => at().prop_map(Flush),
        1 => at().prop_map(Drain),
        1 => (at(), 1..6u32).prop_map(|(q, n)| MaxActive(q, n)),
        1 => (at(), 1..5u32).prop_map(|(p, n)| Target(p, n)),
        2 => any::<bool>().prop_map(SpawnsFail),
        1 => at().prop_map(Cull),
    ];
    prop_oneof![3 => usual, 1 => rare]
}

fn pools() -> impl Strategy<Value = Vec<PoolAttrs>> {
    let pool = (1..4u32, prop_oneof![1..4u32, Just(40)]);
    (1..4u32, proptest::collection::vec(pool, 1..=3)).prop_map(|(budget, pools)| {
        let attrs = |(target, thread_limit)| PoolAttrs {
            nice: 0,
            target,
            budget,
            thread_limit,
        };
        pools.into_iter().map(attrs).collect()
    })
}

/// The rig, and what the machine around it has on its way.
struct Machine {
    rig: Rig,
    plan: Option<(usize, Plan)>,
    /// Workers in a hint or a wait, in the order they began.
    open: Vec<(usize, WorkerId, Open)>,
    /// Actions that were looked at for failed waits.
    heard: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Hint,
    Wait,
}

const ITEMS: usize = 24;

impl Machine {
    /// Two queues per pool; item n belongs to pool n modulo the pools.
    fn new(attrs: Vec<PoolAttrs>) -> Machine {
        let count = attrs.len();
        let mut rig = Rig::new(attrs);
        for queue in 0..2 * count {
            rig.pwq(queue / 2, 1 + 8 * (queue as u32 % 2));
        }
        (0..ITEMS).for_each(|_| _ = rig.item());
        Machine {
            rig,
            plan: None,
            open: Vec::new(),
            heard: 0,
        }
    }

    fn pool(&self, at: Index) -> usize {
        at.index(self.rig.pools.len())
    }

    fn pick<T: Copy>(from: &[T], at: Index) -> Option<T> {
        (!from.is_empty()).then(|| from[at.index(from.len())])
    }

    /// Something happens, if it can.
    fn event(&mut self, event: Event) -> Option<()> {
        let rig = &mut self.rig;
        match event {
            Event::Queue(at, second) => {
                let work = at.index(ITEMS);
                let pool = work % rig.pools.len();
                rig.queue(work, 2 * pool + usize::from(second));
            }
            Event::Deliver(at) if !rig.todo.is_empty() => rig.deliver(at.index(rig.todo.len())),
            Event::Ask(at) => {
                let (pool, id) = Self::pick(&rig.awake(), at)?;
                rig.ask(pool, id);
            }
            Event::Spurious(at) => {
                let pool = at.index(rig.pools.len());
                let ids: Vec<WorkerId> = rig.threads[pool].keys().copied().collect();
                rig.wake(pool, Self::pick(&ids, at)?);
            }
            Event::End(at, report) => self.end(at, report)?,
            Event::Pass(nanos) => rig.advance(nanos),
            Event::SpawnsFail(fail) => rig.spawns_fail = fail,
            Event::Cancel(at) => self.cancel(at.index(ITEMS))?,
            Event::HintBegin(at) => self.open(at, None)?,
            Event::Wait(at, queue) => self.open(at, Some(queue))?,
            Event::HintEnd(at) => {
                let found = Self::pick(&self.open, at)?;
                self.close(found);
            }
            Event::WaitOver(at) => {
                let (pool, id, _) = Self::pick(&self.waits(), at)?;
                self.rig.call(pool, |p, _| p.wait_over(id));
            }
            other => self.report(other)?,
        }
        Some(())
    }

    /// The events that one call of the core makes.
    fn report(&mut self, event: Event) -> Option<()> {
        let pwq_of = |rig: &Rig, at: Index| {
            let pwq = at.index(rig.store.pwqs.len());
            (rig.store.pwqs[pwq].0, pwq)
        };
        let rig = &mut self.rig;
        match event {
            Event::CpuIdle(pool, receiver) => {
                let pool = pool.index(rig.pools.len());
                let ids: Vec<WorkerId> = rig.threads[pool].keys().copied().collect();
                let receiver = receiver.and_then(|at| Self::pick(&ids, at));
                let receiver = receiver.filter(|id| rig.threads[pool][id].doing == Doing::Parked);
                receiver.inspect(|&id| rig.wake(pool, id));
                rig.call(pool, |p, cx| p.cpu_idle(cx, receiver));
            }
            Event::Plan(pool) => {
                let pool = self.pool(pool);
                self.plan = Some((pool, self.rig.pools[pool].plan_scan()));
            }
            Event::Convoy(pool) => {
                let pool = pool.index(rig.pools.len());
                rig.scan(pool, |_| SeenState::Asleep(Some(4)));
            }
            Event::Scanned(bits, complete) => self.scanned(bits, complete)?,
            Event::Flush(at) => {
                let (pool, pwq) = pwq_of(rig, at);
                _ = rig.call(pool, |p, cx| p.begin_flush(cx, pwq));
            }
            Event::Drain(at) => {
                let (pool, pwq) = pwq_of(rig, at);
                rig.call(pool, |p, cx| p.begin_drain(cx, pwq, Drain::Awaited));
                rig.call(pool, |p, _| p.watch_drain(pwq % 2 == 0));
            }
            Event::MaxActive(at, n) => {
                let (pool, pwq) = pwq_of(rig, at);
                rig.call(pool, |p, cx| p.set_max_active(cx, pwq, n));
            }
            Event::Target(pool, n) => {
                let pool = pool.index(rig.pools.len());
                rig.call(pool, |p, cx| p.set_target(cx, n, n));
            }
            Event::Cull(pool) => {
                let pool = pool.index(rig.pools.len());
                rig.call(pool, |p, cx| p.cull(cx));
            }
            _ => return None,
        }
        Some(())
    }

    fn scanned(&mut self, bits: u16, complete: bool) -> Option<()> {
        let (pool, plan) = self.plan.take()?;
        let seen = plan.iter().enumerate().map(|(at, (worker, item))| Seen {
            worker,
            item,
            state: match (bits >> at) & 1 == 1 {
                true => SeenState::Asleep((at % 3 > 0).then_some(4)),
                false => SeenState::Runnable,
            },
        });
        let seen: Vec<Seen> = seen.collect();
        self.rig.call(pool, |p, cx| p.scanned(cx, &seen, complete));
        Some(())
    }

    fn end(&mut self, at: Index, report: ItemReport) -> Option<()> {
        let (pool, id, _) = Self::pick(&self.rig.running(), at)?;
        self.open.retain(|&(p, i, _)| (p, i) != (pool, id));
        self.rig.yield_takes = if report.foreign {
            MILLISECOND
        } else {
            MICROSECOND
        };
        self.rig.end(pool, id, report);
        Some(())
    }

    /// Only what the caller's contract allows: queued, and no earlier instance executed.
    fn cancel(&mut self, work: usize) -> Option<()> {
        let item = &mut self.rig.store.items[work];
        let (pwq, inactive) = (item.pwq, item.inactive);
        if !item.pending || self.rig.who(work).is_some() {
            return None;
        }
        self.rig.store.items[work].pending = false;
        let pool = self.rig.store.pwqs[pwq].0;
        self.rig.call(pool, |p, cx| p.cancel(cx, work, inactive));
        Some(())
    }

    fn waits(&self) -> Vec<(usize, WorkerId, Open)> {
        let waits = self.open.iter().filter(|o| o.2 == Open::Wait);
        waits.copied().collect()
    }

    fn open(&mut self, at: Index, queue: Option<Index>) -> Option<()> {
        let (pool, id, _) = Self::pick(&self.rig.running(), at)?;
        let waits = self.waits().iter().any(|&(p, i, _)| (p, i) == (pool, id));
        let Some(queue) = queue else {
            self.rig.call(pool, |p, cx| p.hint_begin(cx, id));
            self.open.push((pool, id, Open::Hint));
            return Some(());
        };
        let pwq = 2 * pool + queue.index(2);
        let wait = if queue.index(4) < 2 {
            Wait::Items(pwq)
        } else {
            Wait::Flush(pwq)
        };
        if !waits
            && self
                .rig
                .call(pool, |p, cx| p.wait_begin(cx, id, wait))
                .is_ok()
        {
            self.open.push((pool, id, Open::Wait));
        }
        Some(())
    }

    /// The last hint or wait that this worker began ends.
    fn close(&mut self, (pool, id, _): (usize, WorkerId, Open)) {
        let of_it = |o: &(usize, WorkerId, Open)| (o.0, o.1) == (pool, id);
        let last = self.open.iter().rposition(of_it).expect("one is open");
        let (.., open) = self.open.remove(last);
        self.rig.call(pool, |p, cx| match open {
            Open::Hint => p.hint_end(cx, id),
            Open::Wait => p.wait_end(cx, id),
        });
    }

    /// A wait that the pool failed was one.
    fn hear(&mut self) {
        for &(pool, action) in &self.rig.said[self.heard..] {
            if let Action::FailWait(id) = action {
                assert!(self.open.contains(&(pool, id, Open::Wait)), "{id}");
            }
        }
        self.heard = self.rig.said.len();
    }

    /// The faults stop: threads can be made, everybody goes on, the ticks see the truth.
    fn finish(&mut self) {
        self.rig.spawns_fail = false;
        self.rig.yield_takes = MILLISECOND;
        // A creation that failed a moment ago costs 250 ticks; growth may be damped for 25 each.
        for _ in 0..400 + 60 * ITEMS {
            self.rig.run();
            while let Some(&found) = self.open.first() {
                self.close(found);
            }
            if let Some(&(pool, id, _)) = self.rig.running().first() {
                self.rig.end(pool, id, ItemReport::default());
            }
            self.rig.run();
            if self.rig.pools.iter().all(|p| p.nr_in_flight() == 0) {
                return;
            }
            self.rig.tick(|_| SeenState::Runnable);
        }
        panic!("items are left that nobody starts");
    }
}

/// All is done: nothing queued, nobody awake, all tokens returned.
fn at_rest(rig: &mut Rig) {
    assert!(rig.todo.is_empty() && rig.awake().is_empty() && rig.running().is_empty());
    assert!(rig.store.items.iter().all(|item| !item.pending));
    assert_eq!(rig.store.budget.used, 0);
    for pool in &rig.pools {
        assert_eq!((pool.nr_running(), pool.nr_queued()), (0, 0));
        assert_eq!(pool.nr_idle(), pool.nr_workers());
        assert!(pool.manager.is_none());
        let stats = pool.stats();
        assert_eq!(stats.started, stats.completed);
    }
    for pool in 0..rig.pools.len() {
        let published = rig.published(pool);
        assert!(!published.backlog && !published.wants);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_and_everything_finishes(
        attrs in pools(),
        events in proptest::collection::vec(event(), 0..250),
    ) {
        let mut machine = Machine::new(attrs);
        for event in events {
            // An event that nobody is there for does not happen.
            _ = machine.event(event);
            machine.hear();
        }
        machine.finish();
        machine.rig.run();
        at_rest(&mut machine.rig);
    }
}

#[test]
fn the_events_do_reach_what_they_are_meant_to_reach() {
    // A generator that reaches nothing would prove nothing: over some runs every kind of action,
    // and every kind of step back, is seen.
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let events = proptest::collection::vec(event(), 250);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..150 {
        let attrs = pools().new_tree(&mut runner).unwrap().current();
        let mut machine = Machine::new(attrs);
        for event in events.new_tree(&mut runner).unwrap().current() {
            _ = machine.event(event);
            let creates = |t: &(usize, Todo)| matches!(t.1, Todo::Create(..));
            seen.extend(machine.rig.todo.iter().any(creates).then_some("create"));
        }
        for (_, action) in &machine.rig.said {
            seen.insert(match action {
                Action::Wake(_) => "wake",
                Action::Spawn(_) => "spawn",
                Action::Inspect => "inspect",
                Action::Flushed(_) => "flushed",
                Action::Drained(_) => "drained",
                Action::Released(_) => "released",
                Action::FailWait(_) => "fail wait",
            });
        }
        for pool in &machine.rig.pools {
            let stats = pool.stats();
            seen.extend((stats.step_backs > 0).then_some("step back"));
            seen.extend((stats.convoy_step_backs > 0).then_some("convoy step back"));
            seen.extend((stats.tick_starts > 0).then_some("tick start"));
            seen.extend((stats.idle_reports > 0).then_some("idle report"));
            let own = pool
                .workers
                .ids()
                .any(|id| !pool.workers.get(id).scheduled.is_empty());
            seen.extend(own.then_some("own list"));
        }
    }
    let expected = [
        "convoy step back",
        "create",
        "drained",
        "fail wait",
        "flushed",
        "idle report",
        "inspect",
        "own list",
        "spawn",
        "step back",
        "tick start",
        "wake",
    ];
    let missing: Vec<_> = expected
        .iter()
        .filter(|kind| !seen.contains(*kind))
        .collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
