//! Random programs over all kinds of queues: whatever they do, every item that was queued runs
//! exactly once or was taken back, none runs twice at a time, and ordered queues stay ordered.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::Attrs;
use cmwq_policy::time::{MICROSECOND, SECOND};
use cmwq_policy::{CpuMask, Time};
use cmwq_sim::*;

const ITEMS: usize = 12;
const THREADS: usize = 4;
const STEPS: u32 = 60;
/// The place of the ordered queue among the queues.
const ORDERED: usize = 4;

/// A time of any order of magnitude.
fn time(random: &mut Random) -> u64 {
    let most = random.one_of(&[1, 40, 900, 6000]);
    random.below(most) * MICROSECOND
}

/// What is asked of the machine, and how often it agreed.
#[derive(Default)]
struct Count {
    armed: i64,
    taken_back: i64,
}

/// One run.
struct World {
    machine: Machine,
    queues: Vec<QueueId>,
    items: Rc<RefCell<Vec<ItemId>>>,
    count: Rc<RefCell<Count>>,
}

/// What all share.
#[derive(Clone, Copy)]
struct Shared {
    locks: [LockId; 3],
    sem: SemId,
    device: DeviceId,
    data: DataId,
}

impl Shared {
    fn new(machine: &Machine, random: &mut Random) -> Shared {
        let spec = |random: &mut Random| LockSpec {
            optimistic: random.chance(500),
            handoff: random.chance(500),
            bounce: random.one_of(&[0, 1]) * MICROSECOND,
            ..LockSpec::new("lock").spin(random.one_of(&[0, 20, 700]) * MICROSECOND)
        };
        let device = DeviceSpec {
            jitter: random.one_of(&[0, 900]),
            per_kib: random.below(5000),
            ..DeviceSpec::new("disk", time(random)).depth(1 + random.below(3) as u32)
        };
        Shared {
            locks: [(); 3].map(|()| machine.lock(spec(random))),
            sem: machine.semaphore(1 + random.below(2) as u32),
            device: machine.device(device),
            data: machine.data(),
        }
    }

    /// Something under one or two locks, or the semaphore. Nobody waits there for what needs them.
    fn section(&self, random: &mut Random) -> VecDeque<Act> {
        let first = random.below(3) as usize;
        let (mut acts, mut undo) = match random.below(4) {
            0 => (vec![Act::Take(self.sem)], vec![Act::Post(self.sem)]),
            _ => (
                vec![Act::Lock(self.locks[first])],
                vec![Act::Unlock(self.locks[first])],
            ),
        };
        if undo[0] == Act::Unlock(self.locks[0]) && random.chance(300) {
            acts.push(Act::Lock(self.locks[2]));
            undo.insert(0, Act::Unlock(self.locks[2]));
        }
        acts.push(self.alone(random));
        acts.extend(undo);
        acts.into()
    }

    fn alone(&self, random: &mut Random) -> Act {
        match random.below(5) {
            0 => Act::Sleep(time(random)),
            1 => Act::Io(self.device, random.below(9000)),
            2 => Act::Touch(self.data, random.below(9000)),
            3 => Act::Yield,
            _ => Act::Burn(time(random)),
        }
    }
}

/// A thread of a random program, or an execution of one of its items.
struct Walk {
    random: Random,
    left: u32,
    /// What it does next, before it thinks of something else.
    planned: VecDeque<Act>,
    shared: Shared,
    queues: Vec<QueueId>,
    items: Rc<RefCell<Vec<ItemId>>>,
    count: Rc<RefCell<Count>>,
    /// It may wait for items, change queues, and disable items: it is no item.
    is_thread: bool,
    /// Items that it has disabled.
    disabled: Vec<ItemId>,
    last: Option<Call>,
}

impl Walk {
    fn count(&self, call: &Call, answer: &Answer) {
        let yes = i64::from(*answer == Answer::Bool(true));
        let mut count = self.count.borrow_mut();
        match call {
            Call::QueueDelayedWork(..) => count.armed += yes,
            Call::CancelWork(_)
            | Call::CancelWorkSync(_)
            | Call::DisableWork(_)
            | Call::DisableWorkSync(_) => count.taken_back += yes,
            _ => {}
        }
    }

    fn queue(&mut self, cpus: u64) -> Call {
        let random = &mut self.random;
        let queue = random.one_of(&self.queues);
        let item = random.one_of(&self.items.borrow());
        let cpu = (random.below(3) == 0).then(|| random.below(cpus) as usize);
        match random.below(4) {
            0 => Call::QueueDelayedWork(queue, cpu, item, time(random)),
            _ => Call::QueueWork { queue, cpu, item },
        }
    }

    fn completion(&mut self) -> Completion {
        let queue = self.random.one_of(&self.queues);
        let item = self.random.one_of(&self.items.borrow());
        let queue = Completion::Queue { queue, item };
        self.random.one_of(&[Completion::Nothing, queue])
    }

    fn any(&mut self, cpus: u64) -> Call {
        let item = self.random.one_of(&self.items.borrow());
        let queue = self.random.one_of(&self.queues);
        match self.random.below(18) {
            0 => Call::CancelWork(item),
            1 => Call::WorkBusy(item),
            2 if self.is_thread => Call::CancelWorkSync(item),
            3 if self.is_thread => Call::FlushWork(item),
            4 if self.is_thread => Call::FlushDelayedWork(item),
            5 if self.is_thread => Call::FlushWorkqueue(queue),
            6 if self.is_thread => Call::SetMaxActive(queue, 1 + self.random.below(4) as u32),
            7 if self.is_thread => Call::ApplyAttrs(queue, self.attrs(cpus)),
            8 if self.is_thread => {
                self.disabled.push(item);
                self.random
                    .one_of(&[Call::DisableWork, Call::DisableWorkSync])(item)
            }
            9 if self.is_thread => Call::DrainWorkqueue(queue),
            10 => Call::Congested(queue, None),
            11 | 12 if !self.disabled.is_empty() => Call::EnableWork(self.disabled.remove(0)),
            _ => self.queue(cpus),
        }
    }

    fn attrs(&mut self, cpus: u64) -> Attrs {
        let mask: CpuMask = (0..cpus as usize)
            .filter(|_| self.random.below(2) == 0)
            .collect();
        Attrs {
            nice: self.random.one_of(&[0, 5]),
            cpumask: (!mask.is_empty()).then_some(mask),
            scope: self
                .random
                .one_of(&[None, Some(Scope::System), Some(Scope::Cpu)]),
            strict: self.random.chance(500),
            locality: self.random.one_of(&[0, 1_000_000]),
        }
    }
}

impl Program for Walk {
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        if let (Some(call), Some(answer)) = (self.last.take(), answer) {
            self.count(&call, &answer);
        }
        if self.left == 0 && self.planned.is_empty() {
            // Whatever it has disabled may be queued again in the end.
            return self
                .disabled
                .pop()
                .map_or(Act::End, |item| Act::Call(Call::EnableWork(item)));
        }
        if let Some(act) = self.planned.pop_front() {
            return act;
        }
        self.left -= 1;
        match self.random.below(10) {
            0..3 => self.shared.alone(&mut self.random),
            3 => {
                self.planned = self.shared.section(&mut self.random);
                Act::Yield
            }
            4 => Act::Submit(self.shared.device, 512, self.completion()),
            _ => {
                let call = self.any(cx.machine().topology().len() as u64);
                self.last = Some(call.clone());
                Act::Call(call)
            }
        }
    }
}

fn world(seed: u64) -> World {
    let mut random = Random::new(seed);
    let mut options = Options::on(random.one_of(&["T1", "T2", "T4", "T8"])).unwrap();
    options.spawn_takes = random.one_of(&[0, 0, 30, 3000]) * MICROSECOND;
    options.spawn_jitter = random.one_of(&[0, 1000]);
    options.spawn_fails = random.one_of(&[0, 200]);
    options.costs.refill = random.one_of(&[[0; 5], [0, 10, 50, 100, 200]]);
    options.seed = seed;
    if random.below(4) == 0 {
        options.discipline = Discipline::Fifo;
    }
    let machine = Machine::new(options);
    let shared = Shared::new(&machine, &mut random);
    let specs = [
        QueueSpec::percpu("percpu"),
        QueueSpec::percpu("hogs").cpu_intensive(),
        QueueSpec::managed("managed"),
        QueueSpec::unmanaged("unmanaged").mem_reclaim(),
        QueueSpec::ordered("ordered"),
        QueueSpec::new("bh", cmwq_policy::queue::Kind::Bh),
    ];
    let limited = specs.map(|spec| spec.max_active(1 + random.below(5) as u32));
    let queues: Vec<QueueId> = limited.map(|spec| machine.alloc_workqueue(spec)).into();
    let items = Rc::new(RefCell::new(Vec::new()));
    let count = Rc::new(RefCell::new(Count::default()));
    for _ in 0..ITEMS {
        let walk = walker(&mut random, shared, &queues, &items, &count, false);
        let item = machine.item("item", move |n| Box::new(walk(n)));
        items.borrow_mut().push(item);
    }
    for _ in 0..THREADS {
        let walk = walker(&mut random, shared, &queues, &items, &count, true);
        machine.spawn(ThreadSpec::named("walker"), Box::new(walk(0)));
    }
    World {
        machine,
        queues,
        items,
        count,
    }
}

/// Makes the walk of a thread, or of the n-th execution of an item.
fn walker(
    random: &mut Random,
    shared: Shared,
    queues: &[QueueId],
    items: &Rc<RefCell<Vec<ItemId>>>,
    count: &Rc<RefCell<Count>>,
    is_thread: bool,
) -> impl Fn(u32) -> Walk + use<> {
    let seed = random.bits();
    let (queues, items, count) = (queues.to_vec(), items.clone(), count.clone());
    move |n| {
        let mut random = Random::new(seed).stream(u64::from(n));
        // Items queue less than one other each, or they would never end.
        let left = if is_thread {
            STEPS
        } else {
            random.below(3) as u32
        };
        Walk {
            random,
            left,
            planned: VecDeque::new(),
            shared,
            queues: queues.clone(),
            items: items.clone(),
            count: count.clone(),
            is_thread,
            disabled: Vec::new(),
            last: None,
        }
    }
}

impl World {
    /// Runs to the end, with thread creation failing and CPUs going away now and then until then.
    fn run(&self, seed: u64) {
        let mut random = Random::new(!seed);
        for _ in 0..20 {
            let until = self.machine.now().after(time(&mut random));
            self.machine.run_until(until);
            self.machine.fail_spawns(random.below(8) == 0);
            let cpu = random.below(self.machine.topology().len() as u64) as usize;
            // CPU 0 stays.
            self.machine
                .set_online(cpu, cpu == 0 || random.below(4) > 0);
        }
        self.machine.fail_spawns(false);
        self.machine.set_spawn_fails(0);
        let ended = self.machine.run_until(Time(1000 * SECOND));
        assert_eq!(ended, Ended::Quiet);
    }

    fn check(&self) {
        self.check_threads();
        assert_eq!(self.machine.referred_to(), (Vec::new(), Vec::new()));
        assert_eq!(self.machine.tokens(), 0);
        let started = self.check_overlap();
        let count = self.count.borrow();
        let dropped = self.machine.timers_dropped() as i64;
        let is_queued = |l: &&Line| matches!(l.what, What::Queued(.., true));
        let queued = self.machine.trace().iter().filter(is_queued).count() as i64;
        let expected = queued + count.armed - count.taken_back - dropped;
        assert_eq!(expected, started, "executions");
    }

    fn check_threads(&self) {
        let trace = self.machine.trace();
        let walkers = trace.iter().filter(|l| l.what == What::Created(None));
        let stuck: Vec<ThreadId> = walkers
            .map(|l| l.thread)
            .filter(|&id| !self.machine.is_done(id) && !self.machine.is_rescuer(id))
            .collect();
        assert!(stuck.is_empty(), "{stuck:?} wait for ever");
    }

    /// No item runs twice at a time, nor do two of the ordered queue. How many executions there
    /// were.
    fn check_overlap(&self) -> i64 {
        let ordered = self.queues[ORDERED];
        let mut running: BTreeMap<ItemId, (u32, QueueId)> = BTreeMap::new();
        let mut started = 0;
        for line in self.machine.trace() {
            match line.what {
                What::Start(e, queue) => {
                    let alone = queue != ordered || running.values().all(|&(_, q)| q != ordered);
                    assert!(alone, "{line}: another one of its queue runs");
                    let before = running.insert(e.item, (e.number, queue));
                    assert_eq!(before, None, "{line}: it runs already");
                    started += 1;
                }
                What::End(e) => {
                    let began = running.remove(&e.item).map(|(number, _)| number);
                    assert_eq!(began, Some(e.number), "{line}");
                }
                _ => {}
            }
        }
        started
    }
}

fn seeds() -> std::ops::Range<u64> {
    let from = std::env::var("CMWQ_SIM_SEED").ok();
    match from.and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..30,
    }
}

#[test]
fn everything_queued_runs_once_or_was_taken_back() {
    let (mut started, mut instants) = (0, 0);
    for seed in seeds() {
        let world = world(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.run(seed);
            world.check();
        }));
        assert!(
            outcome.is_ok(),
            "seed {seed}: CMWQ_SIM_SEED={seed} repeats it"
        );
        started += world.check_overlap();
        instants += world.machine.trace().len();
        let (queues, items) = (world.queues.len(), world.items.borrow().len());
        assert_eq!((queues, items), (6, ITEMS));
    }
    println!("{started} executions, {instants} lines of trace");
}

#[test]
fn a_seed_is_a_trace() {
    let run = |seed| {
        let world = world(seed);
        world.run(seed);
        world.machine.trace()
    };
    for seed in seeds().step_by(20) {
        assert!(run(seed) == run(seed), "seed {seed}: two traces");
    }
}
