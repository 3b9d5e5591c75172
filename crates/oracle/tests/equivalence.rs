//! The process and the simulated machine are one machine to the policy: random programs build,
//! change and freeze queues on both, CPUs go and come, and after each step both have decided the
//! same. The simulated machine also runs items, and moves the workers that it has decided to move.

#[path = "../../runtime/tests/common/alone.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod alone;
#[path = "../../runtime/tests/common/sysfs.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod sysfs;

use std::collections::BTreeMap;
use std::time::Duration;

use alone::alone;
use cmwq::{AffinityScope, Workqueue};
use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;
use cmwq_policy::contract::Decision;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_sim::{Act, Call, Line, Machine, Options, Place, QueueId, QueueSpec, Random, Script};
use cmwq_sim::{ThreadId, ThreadSpec, Topology, What};
use sysfs::Sysfs;

/// CPUs that both machines can use. They may have more, which are never in use.
const CPUS: usize = 2;
/// Programs on each machine, and steps of each program.
const PROGRAMS: u64 = 60;
const STEPS: usize = 24;

/// What watches a test in a process of its own. This one ends by itself.
struct Unwatched;

fn watchdog() -> Unwatched {
    Unwatched
}

/// A step of a program. A queue is named by its number among those that were built.
#[derive(Clone, Debug)]
enum Step {
    Build(QueueSpec),
    Apply(usize, Attrs),
    MaxActive(usize, u32),
    MinActive(usize, u32),
    Freeze,
    Thaw,
    Unbound(CpuMask),
    Scope(AffinityScope),
    /// The CPUs of the process, which are those that are online in the simulator.
    Online(CpuMask),
}

fn mask(cpus: &[usize]) -> CpuMask {
    cpus.iter().copied().collect()
}

/// One CPU, the other, or both: both as often as the two together.
fn some_cpus(random: &mut Random) -> CpuMask {
    random.one_of(&[mask(&[0]), mask(&[1]), mask(&[0, 1]), mask(&[0, 1])])
}

fn attrs(random: &mut Random) -> Attrs {
    Attrs {
        nice: random.one_of(&[0, 0, 3, 19]),
        cpumask: random.chance(400).then(|| some_cpus(random)),
        scope: random
            .chance(600)
            .then(|| random.one_of(&AffinityScope::ALL)),
        strict: random.chance(300),
        locality: random.one_of(&[0, 0, 100_000]),
    }
}

/// Any queue that the builder can make.
fn queue(random: &mut Random, number: usize) -> QueueSpec {
    let kinds = [
        Kind::Managed,
        Kind::PerCpu,
        Kind::Unmanaged,
        Kind::Ordered,
        Kind::Bh,
    ];
    let kind = random.one_of(&kinds);
    let mut spec = QueueSpec::new(format!("q{number}"), kind);
    if !kind.is_per_cpu() {
        spec.made.attrs = attrs(random);
    }
    if !matches!(kind, Kind::Ordered | Kind::Bh) && random.chance(600) {
        spec.made.max_active = random.between(1, 40) as u32;
        spec.made.exact = !kind.is_per_cpu() && random.chance(300);
    }
    spec.made.freezable = kind != Kind::Bh && random.chance(400);
    spec.made.cpu_intensive = kind == Kind::PerCpu && random.chance(300);
    spec
}

fn step(random: &mut Random, built: usize) -> Step {
    let one = |random: &mut Random| random.below(built as u64) as usize;
    match random.below(if built == 0 { 1 } else { 16 }) {
        0..4 => Step::Build(queue(random, built)),
        4..7 => Step::Apply(one(random), attrs(random)),
        7 => Step::MaxActive(one(random), random.between(1, 40) as u32),
        8 => Step::MinActive(one(random), random.between(1, 40) as u32),
        9 => Step::Freeze,
        10 => Step::Thaw,
        11 => Step::Unbound(some_cpus(random)),
        12 => Step::Scope(random.one_of(&AffinityScope::ALL)),
        _ => Step::Online(some_cpus(random)),
    }
}

/// The process.
#[derive(Default)]
struct Process(Vec<Workqueue>);

fn listed(mask: &CpuMask) -> Vec<usize> {
    mask.iter().collect()
}

fn set_process_mask(mask: &CpuMask) {
    sched::set_affinity(thread::getpid(), mask).unwrap();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let tid = task.file_name().to_str().and_then(|name| name.parse().ok());
        // It may have ended since.
        let _ = tid.map(|tid: i32| sched::set_affinity(tid, mask));
    }
}

impl Process {
    fn build(spec: &QueueSpec) -> Workqueue {
        let made = &spec.made;
        let mut builder = Workqueue::builder(&spec.name);
        builder = match made.kind {
            Kind::Managed => builder,
            Kind::Fifo => builder.fifo(),
            Kind::PerCpu => builder.percpu(),
            Kind::Unmanaged => builder.unmanaged(),
            Kind::Ordered => builder.ordered(),
            Kind::Bh => builder.bh(),
        };
        if !made.kind.is_per_cpu() {
            let attrs = &made.attrs;
            builder = builder
                .nice(i32::from(attrs.nice))
                .affinity_strict(attrs.strict)
                .locality(Duration::from_nanos(attrs.locality));
            if let Some(mask) = &attrs.cpumask {
                builder = builder.cpus(listed(mask));
            }
            if let Some(scope) = attrs.scope {
                builder = builder.affinity_scope(scope);
            }
        }
        builder = match (made.max_active as usize, made.exact) {
            (0, _) => builder,
            (limit, true) => builder.max_active_exact(limit),
            (limit, false) => builder.max_active(limit),
        };
        if made.freezable {
            builder = builder.freezable();
        }
        if made.cpu_intensive && made.kind == Kind::PerCpu {
            builder = builder.cpu_intensive();
        }
        builder
            .build()
            .unwrap_or_else(|error| panic!("{spec:?}: {error}"))
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Build(spec) => self.0.push(Process::build(spec)),
            Step::Apply(queue, attrs) => {
                let queue = &self.0[*queue];
                let mut now = queue.attrs();
                now.nice = i32::from(attrs.nice);
                now.cpus = attrs.cpumask.as_ref().map(listed);
                now.affinity_scope = attrs.scope;
                now.affinity_strict = attrs.strict;
                now.locality = Duration::from_nanos(attrs.locality);
                // Refused by those that have none.
                let _ = queue.apply_attrs(&now);
            }
            Step::MaxActive(queue, limit) => {
                self.0[*queue].set_max_active(*limit as usize);
            }
            Step::MinActive(queue, limit) => {
                self.0[*queue].set_min_active(*limit as usize);
            }
            Step::Freeze => cmwq::freezer::freeze(),
            Step::Thaw => cmwq::freezer::thaw(),
            Step::Unbound(mask) => cmwq::set_unbound_cpus(&listed(mask)).unwrap(),
            Step::Scope(scope) => cmwq::set_default_affinity_scope(*scope).unwrap(),
            Step::Online(mask) => set_process_mask(mask),
        }
    }

    fn decisions(&self, nr_cpus: usize) -> Vec<Decision> {
        let cpus = |queue| (0..CPUS).map(move |cpu| Workqueue::decision(queue, cpu, nr_cpus));
        self.0.iter().flat_map(cpus).collect()
    }
}

/// The simulated machine.
struct Simulated {
    machine: Machine,
    queues: Vec<QueueId>,
}

impl Simulated {
    fn new(places: Vec<Place>, quota: u32) -> Simulated {
        let topology = Topology {
            name: "two".to_owned(),
            cpus: places,
        };
        let machine = Machine::new(Options::of(topology));
        machine.set_quota(quota);
        (CPUS..machine.topology().len()).for_each(|cpu| machine.set_online(cpu, false));
        Simulated {
            machine,
            queues: Vec::new(),
        }
    }

    fn call(&self, call: Call) {
        let script = Script::boxed([Act::Call(call)]);
        self.machine.spawn(ThreadSpec::named("main"), script);
        self.machine.run();
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Build(spec) => {
                let queue = self.machine.alloc_workqueue(spec.clone());
                self.queues.push(queue);
            }
            Step::Apply(queue, attrs) => self.call(Call::ApplyAttrs(self.queues[*queue], *attrs)),
            Step::MaxActive(queue, n) => self.call(Call::SetMaxActive(self.queues[*queue], *n)),
            Step::MinActive(queue, n) => self.call(Call::SetMinActive(self.queues[*queue], *n)),
            Step::Freeze => self.call(Call::FreezeBegin),
            Step::Thaw => self.call(Call::Thaw),
            Step::Unbound(mask) => {
                self.machine.set_unbound_cpus(*mask);
            }
            Step::Scope(scope) => self.machine.set_default_scope(*scope),
            Step::Online(mask) => {
                // The new ones first: there is always one.
                (0..CPUS)
                    .filter(|&cpu| mask.contains(cpu))
                    .for_each(|cpu| self.machine.set_online(cpu, true));
                (0..CPUS)
                    .filter(|&cpu| !mask.contains(cpu))
                    .for_each(|cpu| self.machine.set_online(cpu, false));
            }
        }
    }

    fn decisions(&self) -> Vec<Decision> {
        let cpus = |queue| (0..CPUS).map(move |cpu| (queue, cpu));
        let all = self.queues.iter().flat_map(cpus);
        all.map(|(queue, cpu)| self.machine.decision(*queue, cpu))
            .collect()
    }
}

/// Whether the simulated machine moves the workers that it has decided to move. The process is not
/// asked: the kernel chooses where its workers are.
impl Simulated {
    /// Queues an item on each CPU of each queue that is not frozen. Returns how many workers were
    /// moved when they were woken.
    fn wake_workers(&self) -> u64 {
        let cpus = |queue| (0..CPUS).map(move |cpu| (queue, cpu));
        let all = self.queues.iter().copied().flat_map(cpus);
        all.map(|(queue, cpu)| self.wake_worker(queue, cpu)).sum()
    }

    fn wake_worker(&self, queue: QueueId, cpu: usize) -> u64 {
        let machine = &self.machine;
        let decision = machine.decision(queue, cpu);
        if decision.slots == 0 {
            return 0;
        }
        let (pool, before) = (machine.pool_of(queue, cpu), machine.trace().len());
        let moved = machine.repatriated(pool);
        let was_on = self.workers();
        let item = machine.item("item", |_| Script::boxed([]));
        let cpu = Some(cpu);
        self.call(Call::QueueWork { queue, cpu, item });

        let after = machine.trace().split_off(before);
        let starts = |line: &&Line| matches!(line.what, What::Start(..));
        let start = after.iter().find(starts).expect("nobody else has items");
        // One that is new was not woken.
        let last = was_on.get(&start.thread);
        let wakes = last.and_then(|&last| decision.wakes[last]);
        let moved = machine.repatriated(pool) - moved;
        let decided = u64::from(wakes.is_some());
        let context = format!("{decision:?}, last on {last:?}, then {start}");
        assert!(moved <= decided, "moved: {context}");
        // Items of a managed queue may come from several pods. Then the pool decides as well
        // whether a worker is moved.
        let is_managed = machine.queue_kind(queue) == Kind::Managed;
        assert!(is_managed || moved == decided, "not moved: {context}");
        moved
    }

    /// All workers there ever were, and the CPU that each was on last.
    fn workers(&self) -> BTreeMap<ThreadId, usize> {
        let lines = self.machine.trace().into_iter();
        let made = lines.filter(|line| matches!(line.what, What::Created(Some(_))));
        made.map(|line| (line.thread, self.machine.whereabouts(line.thread).1))
            .collect()
    }
}

/// Pools are numbered as they are met: only who shares one counts.
fn renumbered(mut decisions: Vec<Decision>) -> Vec<Decision> {
    let mut numbers = BTreeMap::new();
    for decision in &mut decisions {
        let next = numbers.len() as u32;
        decision.pool = *numbers.entry(decision.pool).or_insert(next);
    }
    decisions
}

/// Plays programs on both, on a machine that is described and simulated alike.
fn compare(sysfs: &Sysfs, places: &[Place]) {
    set_process_mask(&mask(&[0, 1]));
    sysfs.install();
    let quota = cmwq::cpus() as u32;
    let mut moved = 0;
    for seed in 0..PROGRAMS {
        let mut random = Random::new(seed);
        let mut process = Process::default();
        let mut simulated = Simulated::new(places.to_vec(), quota);
        let mut done = Vec::new();
        for _ in 0..STEPS {
            let step = step(&mut random, process.0.len());
            process.take(&step);
            simulated.take(&step);
            done.push(step);
            let (real, made_up) = (process.decisions(places.len()), simulated.decisions());
            for (at, (real, made_up)) in renumbered(real)
                .iter()
                .zip(&renumbered(made_up))
                .enumerate()
            {
                let (queue, cpu) = (at / CPUS, at % CPUS);
                assert_eq!(
                    real, made_up,
                    "queue {queue}, CPU {cpu}, seed {seed}, after {done:#?}"
                );
            }
            moved += simulated.wake_workers();
        }
        // As it was before the next program.
        for step in [
            Step::Thaw,
            Step::Online(mask(&[0, 1])),
            Step::Unbound((0..places.len()).collect()),
            Step::Scope(AffinityScope::CacheShard),
        ] {
            process.take(&step);
        }
    }
    assert!(moved > 0, "no worker was moved, so nothing was tested");
}

/// Whether this process has the CPUs, and the nice value, that programs take for granted.
fn can_compare() -> bool {
    let has_cpus = sched::affinity(thread::getpid())
        .is_ok_and(|cpus| mask(&[0, 1]).and(&cpus) == mask(&[0, 1]));
    let is_plain = sched::nice_self() == 0;
    if !has_cpus || !is_plain {
        eprintln!("left out: needs CPUs 0 and 1, and nice 0");
    }
    has_cpus && is_plain
}

#[test]
fn both_machines_decide_the_same_where_nothing_is_known_of_the_cpus() {
    if can_compare() {
        let test = "both_machines_decide_the_same_where_nothing_is_known_of_the_cpus";
        alone(test, || {
            let place = |core| Place::new(core, 0, 0);
            compare(&Sysfs::of_cpus(CPUS), &[place(0), place(1)]);
        });
    }
}

#[test]
fn both_machines_decide_the_same_on_two_nodes() {
    if can_compare() {
        alone("both_machines_decide_the_same_on_two_nodes", || {
            let place = |cpu| Place::new(cpu, cpu, cpu);
            compare(&Sysfs::of_nodes(&[0, 1]), &[place(0), place(1)]);
        });
    }
}

/// A worker may have been on a CPU of its pod that has gone since, and another CPU of the pod is
/// left. This needs more than two CPUs: of two, the one that is left is all that workers may use.
#[test]
fn both_machines_decide_the_same_where_half_of_each_node_is_not_in_use() {
    if can_compare() {
        let test = "both_machines_decide_the_same_where_half_of_each_node_is_not_in_use";
        alone(test, || {
            let place = |cpu| Place::new(cpu, cpu % 2, cpu % 2);
            let places = [place(0), place(1), place(2), place(3)];
            compare(&Sysfs::of_shared_nodes(&[&[0, 2], &[1, 3]]), &places);
        });
    }
}
