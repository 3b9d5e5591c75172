//! Limits that go up and down while items are queued and taken back, on machines of one, two and
//! four nodes: nothing is stranded, and an exact limit is never passed.

use std::cell::Cell;
use std::rc::Rc;

use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::Kind;
use cmwq_policy::time::MICROSECOND;
use cmwq_sim::random::Random;
use cmwq_sim::*;

const SEEDS: u64 = 300;
const ITEMS: usize = 24;
const ACTS: usize = 150;

const SHAPES: [&str; 4] = [
    "core:2 pu:1",
    "node:2 core:2 pu:1",
    "node:4 core:1 pu:2",
    "node:2 l3:2 core:2 pu:1",
];

/// What threads and items of a run count.
#[derive(Default)]
struct Counts {
    /// Instances that were accepted, that were taken back, and that have ended.
    queued: Cell<u32>,
    taken: Cell<u32>,
    ended: Cell<u32>,
    inside: Cell<u32>,
    /// The highest limit that was set since nobody was inside.
    allowed: Cell<u32>,
    passed: Cell<bool>,
}

fn add(cell: &Cell<u32>, n: u32) {
    cell.set(cell.get() + n);
}

fn spec(random: &mut Random, limit: u32) -> QueueSpec {
    let kind = random.one_of(&[Kind::Unmanaged, Kind::Managed]);
    let scope = random.one_of(&[Scope::Cpu, Scope::Cache, Scope::Numa, Scope::System]);
    let spec = QueueSpec::new("q", kind).scope(scope).freezable();
    match random.chance(500) {
        true => spec.max_active_exact(limit),
        false => spec.max_active(limit),
    }
}

fn item(machine: &Machine, counts: &Rc<Counts>) -> ItemId {
    let counts = counts.clone();
    machine.item("item", move |_| {
        let counts = counts.clone();
        let mut begun = false;
        Box::new(move |cx: &mut ProgramCx<'_>, _| {
            if !std::mem::replace(&mut begun, true) {
                add(&counts.inside, 1);
                let over = counts.inside.get() > counts.allowed.get();
                counts.passed.set(counts.passed.get() || over);
                let takes = cx.random().exponential(20 * MICROSECOND);
                return match cx.random().chance(500) {
                    true => Act::Sleep(takes),
                    false => Act::Burn(takes),
                };
            }
            counts.inside.set(counts.inside.get() - 1);
            add(&counts.ended, 1);
            Act::End
        })
    })
}

/// One thread's acts; each answer is counted.
struct Actor {
    random: Random,
    queue: QueueId,
    items: Vec<ItemId>,
    counts: Rc<Counts>,
    cpus: u64,
    left: usize,
    last: Option<Call>,
}

impl Actor {
    fn hear(&self, answer: Option<Answer>) {
        let yes = answer == Some(Answer::Bool(true));
        match &self.last {
            Some(Call::QueueWork { .. }) => add(&self.counts.queued, yes.into()),
            Some(Call::CancelWork(_)) => add(&self.counts.taken, yes.into()),
            _ => {}
        }
    }

    fn draw(&mut self) -> Call {
        let random = &mut self.random;
        let item = random.one_of(&self.items);
        let queue = self.queue;
        match random.below(20) {
            0..=11 => Call::QueueWork {
                queue,
                cpu: Some(random.below(self.cpus) as usize),
                item,
            },
            12..=14 => Call::CancelWork(item),
            15 => {
                let limit = random.between(1, 12) as u32;
                let allowed = &self.counts.allowed;
                // Whoever was let in before it was lowered stays.
                allowed.set(allowed.get().max(limit));
                Call::SetMaxActive(queue, limit)
            }
            16 => Call::SetMinActive(queue, random.below(6) as u32),
            17 => Call::FreezeBegin,
            _ => Call::Thaw,
        }
    }
}

impl Program for Actor {
    fn next(&mut self, _: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        self.hear(answer);
        self.last = None;
        match self.left {
            0 => return Act::End,
            1 => self.last = Some(Call::Thaw),
            _ if self.random.chance(300) => {
                return Act::Sleep(self.random.exponential(30 * MICROSECOND));
            }
            _ => self.last = Some(self.draw()),
        }
        self.left -= 1;
        Act::Call(self.last.clone().expect("just drawn"))
    }
}

#[test]
fn nothing_is_stranded_when_limits_change() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let topology = Topology::synthetic(random.one_of(&SHAPES)).unwrap();
        let machine = Machine::new(Options {
            seed,
            ..Options::of(topology)
        });
        let limit = random.between(1, 8) as u32;
        let spec = spec(&mut random, limit);
        let queue = machine.alloc_workqueue(spec.clone());
        let counts = Rc::new(Counts::default());
        counts.allowed.set(limit);
        let items: Vec<ItemId> = (0..ITEMS).map(|_| item(&machine, &counts)).collect();
        for thread in 0..3 {
            let actor = Actor {
                random: Random::new(seed * 4 + thread + 1_000_000),
                queue,
                items: items.clone(),
                counts: counts.clone(),
                cpus: machine.topology().len() as u64,
                left: ACTS,
                last: None,
            };
            machine.spawn(ThreadSpec::named("actor"), Box::new(actor));
        }
        machine.run();
        // Another thread may have frozen them after the last thaw.
        let thaw = Script::boxed(vec![Act::Call(Call::Thaw)]);
        machine.spawn(ThreadSpec::named("thaw"), thaw);
        machine.run();
        let (queued, taken) = (counts.queued.get(), counts.taken.get());
        assert_eq!(counts.ended.get(), queued - taken, "seed {seed}: {spec:?}");
        assert!(queued - taken > 20, "seed {seed}: {queued}, {taken}");
        let exact = spec.made.exact;
        assert!(!(exact && counts.passed.get()), "seed {seed}: {spec:?}");
    }
}
