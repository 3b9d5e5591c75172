//! A managed queue without a limit does about as well as with the best one, whatever its items wait
//! for.

use std::cell::Cell;
use std::rc::Rc;

use cmwq_policy::Time;
use cmwq_policy::time::{MILLISECOND, Nanos, SECOND};
use cmwq_sim::scenario::{Report, Scenario, Use};
use cmwq_sim::*;

const MS: u64 = MILLISECOND;

/// 96 CPUs in one, two and four nodes.
const NODES: [&str; 3] = [
    "pack:1 l3:2 core:24 pu:2",
    "node:2 l3:1 core:24 pu:2",
    "node:4 l3:1 core:12 pu:2",
];

fn run(text: &str, set: &[String]) -> Report {
    let used = Use {
        set: set.to_vec(),
        ..Use::default()
    };
    let scenario = Scenario::parse("growth.toml", text, &used);
    let scenario = scenario.unwrap_or_else(|mistake| panic!("{mistake}"));
    scenario.cells()[0].run().unwrap()
}

/// How often the counter was counted, by limit; without one last.
fn sweep(text: &str, set: &[&str], queue: &str, counter: &str, limits: &[u32]) -> Vec<u64> {
    let limit = |n: &u32| vec![format!("queue.{queue}.max_active={n}")];
    let cells = limits.iter().map(limit).chain([Vec::new()]);
    let counts = cells.map(|mut cell| {
        cell.extend(set.iter().map(|&set| set.to_owned()));
        run(text, &cell).counters[counter].total
    });
    counts.collect()
}

/// The last one reaches so many of 1000 parts of the best.
fn assert_good(name: &str, counts: &[u64], per_mille: u64) {
    let (none, limits) = counts.split_last().unwrap();
    let best = limits.iter().max().unwrap();
    let reached = none * 1000 / best;
    println!("{name}: {reached} of 1000, {counts:?}");
    assert!(reached >= per_mille, "{name}: {counts:?}");
}

/// `btrfs.toml` with a managed queue.
fn btrfs() -> String {
    let path = format!("{}/scenarios/btrfs.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (base, _) = text
        .split_once("[variants.kernel]")
        .expect("it has variants");
    base.replace("kind = \"unbound\"", "kind = \"managed\"")
}

fn at_one_hot_lock(topology: &str, signals: &str) {
    let topology = format!("machine.topology={topology}");
    let signals = format!("machine.signals={signals}");
    let set = [
        &topology,
        &signals,
        "machine.duration=1000ms",
        "machine.warmup=400ms",
    ];
    let counts = sweep(&btrfs(), &set, "endio", "written", &[4, 8, 16]);
    assert_good(&format!("{topology} {signals}"), &counts, 950);
}

#[test]
fn at_one_hot_lock_no_limit_is_as_good_as_the_best() {
    for topology in NODES {
        at_one_hot_lock(topology, "user");
    }
}

#[test]
fn so_it_is_where_pools_are_told_who_sleeps() {
    at_one_hot_lock(NODES[0], "exact");
}

/// 96 CPUs, 32 threads that keep 32 items each in flight.
fn closed(locks: &str, does: &str) -> String {
    let head = r#"
        [machine]
        topology = "pack:1 l3:2 core:24 pu:2"
        placement = "linux"
        signals = "user"
        spawn = "30us"
        duration = "800ms"
        warmup = "300ms"
        [machine.costs]
        switch = "1500ns"
        smt = 0.61
        idle_exit = [["2us", "2us"], ["20us", "10us"], ["600us", "30us"]]
        [[queue]]
        name = "q"
        [[semaphore]]
        name = "slots"
        per = "thread"
        initial = 32
        requests = true
        [[thread]]
        name = "producer"
        count = 32
        does = [{ repeat = "forever", does = ["take slots", "burn 3us", "queue q item"] }]
    "#;
    let item = format!("does = [{does}, \"count done\", \"post slots\"]");
    format!("{head}\n{locks}\n[[item]]\nname = \"item\"\n{item}\n")
}

const LOCK: &str = "[[lock]]\nname = \"l\"";
const SPINNING: &str =
    "[[lock]]\nname = \"l\"\nhandoff = true\noptimistic = true\nspin = \"250us\"";
const DISK: &str = "[[device]]\nname = \"d\"\ndepth = 400\ntakes = \"2ms\"\njitter = 0.3";

/// With a limit of 32, which does best, and with none. One run alone depends on who was seen at the
/// lock when.
fn over_seeds(text: &str) -> Vec<u64> {
    let counts = ["1", "2", "3"].map(|seed| {
        let seed = format!("machine.seed={seed}");
        let set = [&seed, "machine.duration=1500ms", "machine.warmup=500ms"];
        sweep(text, &set, "q", "done", &[32])
    });
    (0..2)
        .map(|at| counts.iter().map(|of| of[at]).sum())
        .collect()
}

#[test]
fn a_minority_at_a_lock_does_not_keep_the_others_from_the_cpus() {
    let half = |rest: &str, section: &str| {
        let waits = format!(r#""burn {rest}", "lock l", "burn ~{section}", "unlock l""#);
        format!(r#"{{ choose = 0.5, does = [{waits}], else = ["burn ~1ms"] }}"#)
    };
    // Those that spin are seen at work, so that growth learns of them late: .82 to 1.00 by seed,
    // .90 in the mean of eight.
    for (name, lock, least) in [("plain", LOCK, 950), ("spinning", SPINNING, 850)] {
        let text = closed(lock, &half("20us", "20us"));
        assert_good(name, &over_seeds(&text), least);
    }
}

#[test]
fn where_nobody_queues_up_nothing_is_held_back() {
    let short = ["machine.duration=300ms", "machine.warmup=100ms"];
    let io = closed(DISK, r#""burn ~500us", "io d 4KiB", "burn ~500us""#);
    assert_good("io", &sweep(&io, &short, "q", "done", &[96, 768]), 980);
    let cpu = closed("", r#""burn ~1ms""#);
    let report = run(&cpu, &short.map(str::to_owned));
    assert!(report.cpu.utilisation > 0.99, "{:?}", report.cpu);
}

/// A machine of 96 CPUs with the signals of user space, and a managed queue.
fn machine() -> (Machine, QueueId) {
    machine_of(96)
}

fn machine_of(cpus: u32) -> (Machine, QueueId) {
    let topology = match cpus {
        96 => Topology::regular("96 CPUs", 96, 2, 48, 96),
        _ => Topology::regular("few CPUs", cpus, 1, cpus, cpus),
    };
    let machine = Machine::new(Options {
        signals: Signals::User(UserSignals::default()),
        spawn_takes: 30_000,
        ..Options::of(topology)
    });
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    (machine, queue)
}

fn queue_all(machine: &Machine, queue: QueueId, items: Vec<ItemId>) -> ThreadId {
    let cpu = None;
    let call = |item| Act::Call(Call::QueueWork { queue, cpu, item });
    let mut acts: Vec<Act> = items.into_iter().map(call).collect();
    acts.push(Act::Call(Call::FlushWorkqueue(queue)));
    machine.spawn(ThreadSpec::named("main"), Script::boxed(acts))
}

/// Runs until the thread is done; when that is.
fn run_to_end(machine: &Machine, main: ThreadId) -> Time {
    let ended = machine.run_while(Time(600 * SECOND), |m| !m.is_done(main));
    assert_eq!(ended, Ended::Stopped);
    machine.now()
}

/// Items that all wait until so many of them have begun.
fn barrier(machine: &Machine, count: u32) -> Vec<ItemId> {
    meeting(machine, count, 0)
}

/// The same, with so much to compute before they meet, and after it.
fn meeting(machine: &Machine, count: u32, burn: Nanos) -> Vec<ItemId> {
    let (latch, here) = (machine.latch(), Rc::new(Cell::new(0)));
    let item = |_| {
        let here = here.clone();
        machine.item("barrier", move |_| {
            let (here, mut step) = (here.clone(), 0);
            Box::new(move |cx: &mut ProgramCx<'_>, _| {
                step += 1;
                match step {
                    1 | 3 => return Act::Burn(burn),
                    2 => {}
                    _ => return Act::End,
                }
                here.set(here.get() + 1);
                match here.get() < count {
                    true => Act::Wait(latch),
                    false => {
                        cx.open(latch);
                        Act::Burn(0)
                    }
                }
            })
        })
    };
    (0..count).map(item).collect()
}

/// Items that hold the lock for 50 us each.
fn convoy(machine: &Machine, count: u32) -> Vec<ItemId> {
    let lock = machine.lock(LockSpec::new("hot").handoff());
    let acts = [Act::Lock(lock), Act::Burn(50_000), Act::Unlock(lock)];
    let item = |_| {
        let acts = acts.clone();
        machine.item("convoy", move |_| Script::boxed(acts.clone()))
    };
    (0..count).map(item).collect()
}

#[test]
fn a_barrier_opens_promptly() {
    let (machine, queue) = machine();
    let main = queue_all(&machine, queue, barrier(&machine, 400));
    let took = run_to_end(&machine, main);
    assert!(took <= Time(100 * MS), "{took:?}");
}

/// Those of one group end while those of the next meet: that looks like a convoy.
#[test]
fn barriers_one_after_the_other_are_met_without_delay() {
    for (cpus, size) in [(1, 64), (2, 16), (2, 64), (4, 64), (8, 64)] {
        let (machine, queue) = machine_of(cpus);
        let groups = (0..10).flat_map(|_| meeting(&machine, size, MS / 2));
        let main = queue_all(&machine, queue, groups.collect());
        let took = run_to_end(&machine, main);
        let computing = 10 * u64::from(size) * MS / u64::from(cpus);
        assert!(
            took.0 <= computing * 105 / 100,
            "{cpus} CPUs, {size}: {took:?}"
        );
    }
}

#[test]
fn a_barrier_behind_a_convoy_opens_promptly() {
    let (machine, queue) = machine();
    let mut items = convoy(&machine, 4000);
    items.extend(barrier(&machine, 400));
    let main = queue_all(&machine, queue, items);
    let took = run_to_end(&machine, main);
    // 200 ms of convoy.
    assert!(took <= Time(600 * MS), "{took:?}");
}

#[test]
fn a_barrier_among_items_that_come_and_go_opens() {
    let (machine, queue) = machine();
    let mut items = Vec::new();
    for (one, other) in barrier(&machine, 200)
        .into_iter()
        .zip(convoy(&machine, 200))
    {
        items.extend([one, other]);
    }
    let main = queue_all(&machine, queue, items);
    let took = run_to_end(&machine, main);
    assert!(took <= Time(3 * SECOND), "{took:?}");
}

/// Each item queues the next one and waits for it, behind so many that queue up at a lock.
#[test]
fn a_chain_of_items_that_wait_for_each_other_ends() {
    let (machine, queue) = machine();
    let mut items = convoy(&machine, 4000);
    let ends: Vec<Latch> = (0..65).map(|_| machine.latch()).collect();
    let mut next = None;
    for at in (0..64).rev() {
        let (wait, done, calls) = (ends[at + 1], ends[at], next);
        next = Some(machine.item("chain", move |_| {
            let mut step = 0;
            Box::new(move |cx: &mut ProgramCx<'_>, _| {
                step += 1;
                match (step, calls) {
                    (1, Some(item)) => Act::Call(Call::QueueWork {
                        queue,
                        cpu: None,
                        item,
                    }),
                    (2, Some(_)) => Act::Wait(wait),
                    _ => {
                        cx.open(done);
                        Act::End
                    }
                }
            })
        }));
    }
    items.extend(next);
    queue_all(&machine, queue, items);
    let ended = machine.run_while(Time(60 * SECOND), |m| !m.is_open(ends[0]));
    assert_eq!(ended, Ended::Stopped);
    assert!(machine.now() <= Time(SECOND), "{:?}", machine.now());
}
