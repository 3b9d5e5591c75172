//! Whatever signals are wrong, late or lost: everything that was queued runs once, and ends.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cmwq_policy::Time;
use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_sim::random::Random;
use cmwq_sim::*;

use crate::{modes, none};

const ITEMS: u64 = 40;
const THREADS: usize = 4;
const STEPS: u32 = 80;
const SEEDS: u64 = 60;

/// What was asked for, and agreed to.
#[derive(Default)]
struct Count {
    queued: Cell<u64>,
    taken_back: Cell<u64>,
}

/// A thread of a random program, or an execution of one of its items.
#[derive(Clone)]
struct Walk {
    random: Random,
    left: u32,
    is_thread: bool,
    queues: Vec<QueueId>,
    items: Rc<Cell<Option<ItemId>>>,
    count: Rc<Count>,
    last: Option<Call>,
    in_hint: bool,
}

impl Walk {
    fn item(&mut self) -> ItemId {
        let first = self.items.get().expect("there are items");
        ItemId(first.0 + self.random.below(ITEMS) as u32)
    }

    fn calls(&mut self) -> Act {
        let call = self.call();
        self.last = Some(call.clone());
        Act::Call(call)
    }

    fn call(&mut self) -> Call {
        let (queue, item) = (self.random.one_of(&self.queues), self.item());
        let cpu = None;
        match self.random.below(9) {
            0 => Call::CancelWork(item),
            1 => Call::QueueDelayedWork(queue, cpu, item, self.time()),
            2 if self.is_thread => self.waits(queue, item),
            _ => Call::QueueWork { queue, cpu, item },
        }
    }

    fn waits(&mut self, queue: QueueId, item: ItemId) -> Call {
        match self.random.below(6) {
            0 => Call::CancelWorkSync(item),
            1 => Call::FlushWork(item),
            2 => Call::FlushWorkqueue(queue),
            _ => Call::WorkBusy(item),
        }
    }

    fn time(&mut self) -> u64 {
        let most = self.random.one_of(&[1, 40, 900, 6000]);
        self.random.below(most) * MICROSECOND
    }

    fn note(&self, call: &Call, answer: &Answer) {
        let yes = u64::from(*answer == Answer::Bool(true));
        let counted = match call {
            Call::QueueWork { .. } | Call::QueueDelayedWork(..) => &self.count.queued,
            Call::CancelWork(_) | Call::CancelWorkSync(_) => &self.count.taken_back,
            _ => return,
        };
        counted.set(counted.get() + yes);
    }
}

impl Program for Walk {
    fn next(&mut self, _: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        if let (Some(call), Some(answer)) = (self.last.take(), answer) {
            self.note(&call, &answer);
        }
        let Some(left) = self.left.checked_sub(1) else {
            return Act::End;
        };
        self.left = left;
        // Items queue less than one other each, or they would never end.
        let quiet = if self.is_thread { 2 } else { 18 };
        match self.random.below(quiet + 3) {
            n if n >= quiet => self.calls(),
            0 => {
                self.in_hint = !self.in_hint;
                Act::Hint(self.in_hint)
            }
            n if n % 3 == 1 => Act::Burn(self.time()),
            _ => Act::Sleep(self.time()),
        }
    }
}

/// Foreign load on every CPU.
fn add_hogs(machine: &Machine) {
    for cpu in 0..machine.topology().len() {
        let spec = ThreadSpec::named("hog").on(cpu);
        machine.spawn(spec, Script::boxed([Act::Burn(3600 * SECOND)]));
    }
}

struct World {
    machine: Machine,
    walkers: Vec<ThreadId>,
    count: Rc<Count>,
}

fn world(seed: u64, signals: Signals, hogs: bool) -> World {
    let mut random = Random::new(seed);
    let mut options = Options::on(random.one_of(&["T1", "T2", "T4"])).unwrap();
    (options.seed, options.signals) = (seed, signals);
    options.spawn_takes = random.one_of(&[0, 30, 3000]) * MICROSECOND;
    options.placement = random.one_of(&[Placement::default(), Placement::linux()]);
    let machine = Machine::new(options);
    let specs = [
        QueueSpec::percpu("percpu"),
        QueueSpec::managed("managed"),
        QueueSpec::managed("nice").at_nice(5),
        QueueSpec::unmanaged("unmanaged").mem_reclaim(),
        QueueSpec::ordered("ordered"),
    ];
    let limited = specs.map(|spec| spec.max_active(1 + random.below(5) as u32));
    let items = Rc::new(Cell::new(None));
    let count = Rc::new(Count::default());
    let walk = Walk {
        random,
        left: STEPS,
        is_thread: true,
        queues: limited.map(|spec| machine.alloc_workqueue(spec)).into(),
        items: items.clone(),
        count: count.clone(),
        last: None,
        in_hint: false,
    };
    for at in 0..ITEMS {
        let walk = walk.clone();
        let body = move |number: u32| -> Box<dyn Program> {
            let mut random = walk.random.stream(at << 32 | u64::from(number));
            let left = random.below(7) as u32;
            Box::new(Walk {
                random,
                left,
                is_thread: false,
                ..walk.clone()
            })
        };
        let item = machine.item("item", body);
        items.set(items.get().or(Some(item)));
    }
    if hogs {
        add_hogs(&machine);
    }
    let walker = |n: usize| Walk {
        random: walk.random.stream(n as u64),
        ..walk.clone()
    };
    let walkers = (0..THREADS)
        .map(|n| machine.spawn(ThreadSpec::named("walker"), Box::new(walker(n))))
        .collect();
    World {
        machine,
        walkers,
        count,
    }
}

impl World {
    /// With thread creation failing now and then. It ends when nothing is queued any more.
    fn run(&self, seed: u64) {
        let mut random = Random::new(!seed);
        for _ in 0..10 {
            let until = self.machine.now().after(random.below(4 * MILLISECOND));
            self.machine.run_until(until);
            self.machine.fail_spawns(random.below(8) == 0);
        }
        self.machine.fail_spawns(false);
        self.machine
            .run_while(Time(600 * SECOND), |m| self.goes_on(m));
        assert!(!self.goes_on(&self.machine), "at {:?}", self.machine.now());
    }

    fn goes_on(&self, machine: &Machine) -> bool {
        let walks = self.walkers.iter().any(|&id| !machine.is_done(id));
        walks || machine.referred_to() != (Vec::new(), Vec::new()) || self.busy(machine)
    }

    fn busy(&self, machine: &Machine) -> bool {
        (0..machine.nr_pools() as u32).any(|pool| {
            let stats = machine.pool_stats(PoolId(pool));
            stats.started > stats.completed
        })
    }

    fn check(&self) {
        let mut running: BTreeMap<ItemId, u32> = BTreeMap::new();
        let mut started = 0;
        for line in self.machine.trace() {
            match line.what {
                What::Start(e, _) => {
                    let before = running.insert(e.item, e.number);
                    assert_eq!(before, None, "{line}: it runs already");
                    started += 1;
                }
                What::End(e) => assert_eq!(running.remove(&e.item), Some(e.number), "{line}"),
                _ => {}
            }
        }
        let expected = self.count.queued.get() - self.count.taken_back.get();
        assert_eq!(expected, started, "executions");
        assert_eq!(self.machine.tokens(), 0);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let from = std::env::var("CMWQ_SIM_SEED").ok();
    match from.and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..SEEDS,
    }
}

fn survive(hogs: bool) {
    for (name, signals) in modes() {
        let (mut executions, mut reports) = (0, 0);
        for seed in seeds() {
            let world = world(seed, signals, hogs);
            let run = std::panic::AssertUnwindSafe(|| {
                world.run(seed);
                world.check();
            });
            let outcome = std::panic::catch_unwind(run);
            assert!(outcome.is_ok(), "{name}: CMWQ_SIM_SEED={seed} repeats it");
            executions += world.count.queued.get();
            reports += world.machine.signal_stats().reports;
        }
        println!("{name}, hogs {hogs}: {executions} queued, {reports} reports");
        assert!(executions > 0);
    }
}

#[test]
fn whatever_is_told_everything_queued_runs_once() {
    survive(false);
}

#[test]
fn also_beside_hogs_on_every_cpu() {
    survive(true);
}

/// Each item waits, where nobody hears of it, for the next one: all of them have to run at once.
/// How long that takes, if it ends.
fn chain(topology: &str, signals: Signals, hogs: bool, length: usize) -> Option<Time> {
    let mut options = Options::on(topology).unwrap();
    options.signals = signals;
    let machine = Machine::new(options);
    if hogs {
        add_hogs(&machine);
    }
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let latches: Vec<Latch> = (0..length).map(|_| machine.latch()).collect();
    let cpu = None;
    let mut acts = Vec::new();
    for at in 0..length {
        let (own, next) = (latches[at], latches.get(at + 1).copied());
        let body = move |_| -> Box<dyn Program> {
            let mut waits = next;
            Box::new(move |cx: &mut ProgramCx<'_>, _| match waits.take() {
                Some(latch) => Act::Wait(latch),
                None => {
                    cx.open(own);
                    Act::End
                }
            })
        };
        let item = machine.item("link", body);
        acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
    }
    acts.push(Act::Wait(latches[0]));
    let main = machine.spawn(ThreadSpec::named("main"), Script::boxed(acts));
    machine.run_while(Time(600 * SECOND), |m| !m.is_done(main));
    machine.is_done(main).then(|| machine.now())
}

#[test]
fn a_chain_of_items_that_wait_for_each_other_ends() {
    for (name, signals) in modes() {
        for topology in ["T1", "T2", "T8"] {
            for hogs in [false, true] {
                let took = chain(topology, signals, hogs, 60).map(|at| at.0 / MICROSECOND);
                println!("{name}, {topology}, hogs {hogs}: {took:?} us");
                assert!(took.is_some());
            }
        }
    }
}

#[test]
fn without_any_signal_it_does_not_end() {
    let signals = Signals::User(none());
    assert_eq!(chain("T2", signals, false, 60), None);
    // Unless it is short: the free CPU starts the second one.
    assert!(chain("T2", signals, false, 2).is_some());
}
