//! Random threads on random machines: what must hold of any scheduler, in every instant.

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::time::{MICROSECOND, MILLISECOND};
use cmwq_policy::{CpuMask, Nanos, Time};
use cmwq_sim::random::Random;
use cmwq_sim::*;

const END: Time = Time(100 * MILLISECOND);

const SHAPES: [&str; 6] = [
    "pu:1",
    "core:2 pu:2",
    "l3:2 core:2 pu:1",
    "node:2 core:3 pu:2",
    "node:2 l3:2 core:2 pu:2",
    "core:7 pu:1",
];

fn options(random: &mut Random) -> Options {
    let topology = Topology::synthetic(random.one_of(&SHAPES)).unwrap();
    let mut options = Options::of(topology);
    if random.chance(200) {
        options.discipline = Discipline::Fifo;
    }
    if random.chance(500) {
        options.costs = costs(random);
    }
    options.placement = Placement {
        wake_to: random.one_of(&[WakeTo::Nearest, WakeTo::Linux]),
        stacking: random.chance(500),
        recent: random.one_of(&[Recent::Left, Recent::Woke]),
        wakeup_preemption: random.chance(500),
        wakeup_granularity: random.one_of(&[0, MILLISECOND]),
        balance: match random.chance(500) {
            true => Balance::AtOnce,
            false => Balance::Domains(Domains::default()),
        },
        ..Placement::default()
    };
    options
}

fn costs(random: &mut Random) -> Costs {
    Costs {
        switch: random.below(3) * MICROSECOND,
        idle_exit: vec![(MICROSECOND, 300), (MILLISECOND, 5 * MICROSECOND)],
        refill: [0, 10, 20, 100, 200],
        smt: random.between(300, 1000) as u32,
        ..Costs::default()
    }
}

fn some_cpus(random: &mut Random, all: usize) -> CpuMask {
    match random.below(3) {
        0 => CpuMask::first(all),
        1 => CpuMask::from_iter([random.below(all as u64) as usize]),
        _ => (0..all).filter(|_| random.chance(500)).collect(),
    }
}

/// What a thread has burnt so far, its current burn not included.
type Burnt = Rc<RefCell<Nanos>>;

fn program(mut random: Random, burnt: Burnt) -> Box<dyn Program> {
    let mut burning = 0;
    Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        *burnt.borrow_mut() += std::mem::take(&mut burning);
        match random.below(10) {
            0..=4 => {
                burning = 1 + random.exponential(MILLISECOND);
                Act::Burn(burning)
            }
            5..=7 => Act::Sleep(random.exponential(MILLISECOND)),
            8 => {
                let all = cx.machine().topology().len();
                cx.pin(some_cpus(&mut random, all));
                Act::Burn(0)
            }
            _ => Act::Yield,
        }
    })
}

struct Rig {
    machine: Machine,
    threads: Vec<ThreadId>,
    burnt: Vec<Burnt>,
}

fn rig(seed: u64) -> Rig {
    let mut random = Random::new(seed);
    let machine = Machine::new(options(&mut random));
    let all = machine.topology().len();
    let mut burnt = Vec::new();
    let start = |n| {
        let name = format!("t{n}");
        let spec = ThreadSpec {
            allowed: Some(some_cpus(&mut random, all)),
            nice: random.between(0, 39) as i8 - 20,
            idle_class: random.chance(150),
            footprint: random.below(64) as u32,
            ..ThreadSpec::named(name)
        };
        burnt.push(Burnt::default());
        let program = program(random.stream(n), burnt.last().unwrap().clone());
        machine.spawn(spec, program)
    };
    let count = 1 + Random::new(seed ^ 1).below(3 * all as u64);
    let threads = (0..count).map(start).collect();
    Rig {
        machine,
        threads,
        burnt,
    }
}

/// Every thread that runs has one CPU, of those it may use, and nobody else has it.
fn each_cpu_has_one_thread(rig: &Rig) {
    let Rig { machine, .. } = rig;
    let cpus = 0..machine.topology().len();
    let current: Vec<Option<ThreadId>> = cpus.map(|cpu| machine.current(cpu)).collect();
    for &id in &rig.threads {
        let has = current.iter().filter(|&&c| c == Some(id)).count();
        assert!(has <= 1, "{id:?} has {has} CPUs");
        assert!(has == 0 || !machine.is_asleep(id), "{id:?} runs asleep");
    }
    for (cpu, id) in current.iter().enumerate() {
        let Some(id) = *id else { continue };
        let allowed = machine.allowed(id);
        assert!(
            allowed.contains(cpu),
            "{id:?} is on {cpu}, not in {allowed}"
        );
    }
}

/// No thread waits while a CPU idles that it may use. With [`Balance::AtOnce`] at no time; in
/// domains nobody promises that.
fn nobody_waits_for_nothing(rig: &Rig) {
    let Rig { machine, .. } = rig;
    let cpus = 0..machine.topology().len();
    let idle: CpuMask = cpus.filter(|&cpu| machine.current(cpu).is_none()).collect();
    let runs: Vec<Option<ThreadId>> = (0..machine.topology().len())
        .map(|cpu| machine.current(cpu))
        .collect();
    for &id in &rig.threads {
        let waits = !machine.is_asleep(id) && !runs.contains(&Some(id));
        let could = machine.allowed(id).and(&idle);
        assert!(
            !waits || could.is_empty(),
            "{id:?} waits though {could} idle"
        );
    }
}

/// What CPUs and threads are said to have had adds up, and so does the work.
fn nothing_is_lost(rig: &Rig) {
    let Rig { machine, .. } = rig;
    let now = machine.now().0;
    let mut of_cpus = 0;
    for cpu in 0..machine.topology().len() {
        let stats = machine.cpu_stats(cpu);
        assert_eq!(stats.busy_ns + stats.idle_class_ns + stats.idle_ns, now);
        of_cpus += stats.busy_ns + stats.idle_class_ns;
    }
    let stats: Vec<ThreadStats> = rig
        .threads
        .iter()
        .map(|&t| machine.thread_stats(t))
        .collect();
    assert_eq!(of_cpus, stats.iter().map(|s| s.cpu_ns).sum::<Nanos>());
    for (stats, burnt) in stats.iter().zip(&rig.burnt) {
        assert_eq!(stats.cpu_ns + stats.waited_ns + stats.slept_ns, now);
        assert_eq!(stats.migrations, stats.moves.iter().sum::<u64>());
        let burnt = *burnt.borrow();
        assert!(
            burnt <= stats.cpu_ns,
            "{burnt} ns burnt in {} ns",
            stats.cpu_ns
        );
    }
}

#[test]
fn whatever_threads_do() {
    for seed in 0..120 {
        let rig = rig(seed);
        let at_once = rig.machine.options().placement.balance == Balance::AtOnce;
        let mut instants = 0;
        let ended = rig.machine.run_while(END, |_| {
            instants += 1;
            each_cpu_has_one_thread(&rig);
            if at_once {
                nobody_waits_for_nothing(&rig);
            }
            if instants % 64 == 0 {
                nothing_is_lost(&rig);
            }
            true
        });
        assert_eq!(ended, Ended::TimeUp, "seed {seed}");
        nothing_is_lost(&rig);
        assert!(instants > 20, "seed {seed}: {instants} instants");
    }
}

/// Threads that only burn, on cores whose siblings slow each other: each CPU does all of its work
/// at its speed, and loses less than a nanosecond at each end of a burn.
#[test]
fn smt_work_is_conserved() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let smt = random.between(300, 999);
        let costs = Costs {
            smt: smt as u32,
            ..Costs::default()
        };
        let machine = Machine::new(Options {
            costs,
            ..Options::of(Topology::synthetic("core:1 pu:2").unwrap())
        });
        let mut burns = |cpu: usize| {
            let acts: Vec<Act> = (0..20)
                .map(|_| Act::Burn(random.between(1, 5000)))
                .collect();
            let pauses = acts.iter().cloned();
            let acts: Vec<Act> = pauses
                .flat_map(|a| [a, Act::Sleep(random.below(3000))])
                .collect();
            let work: Nanos = acts
                .iter()
                .map(|a| if let Act::Burn(n) = a { *n } else { 0 })
                .sum();
            (
                machine.spawn(ThreadSpec::named("t").on(cpu), Script::boxed(acts)),
                work,
            )
        };
        let threads = [burns(0), burns(1)];
        machine.keep_runs();
        machine.run();
        let runs = machine.runs();
        let (mine, other): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|r| r.cpu == 0);
        let overlap = |a: &Run, b: &Run| b.to.min(a.to).since(b.from.max(a.from));
        let together: Nanos = mine
            .iter()
            .flat_map(|a| other.iter().map(move |b| overlap(a, b)))
            .sum();
        for (thread, work) in threads {
            let had = machine.thread_stats(thread).cpu_ns;
            let done = (had - together) * 1000 + together * smt;
            let too_much = done.checked_sub(work * 1000).expect("all work is done");
            assert!(too_much < 20 * 1000, "seed {seed}: {too_much}");
        }
    }
}

#[test]
fn the_same_seed_runs_the_same() {
    for seed in 0..20 {
        let text = |seed| {
            let rig = rig(seed);
            rig.machine.keep_runs();
            rig.machine.run_until(END);
            format!("{:?}", rig.machine.runs())
        };
        let first = text(seed);
        assert_eq!(first, text(seed));
        assert_ne!(first, text(seed + 1000));
    }
}
