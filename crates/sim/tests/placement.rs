//! Where threads go that wake up, whom they take the CPU from, and who takes over whose threads:
//! rules of Linux, each alone.

use cmwq_policy::Time;
use cmwq_policy::time::MILLISECOND;
use cmwq_sim::*;

const MS: u64 = MILLISECOND;

/// Today's defaults, but for where threads that wake up go.
fn linux_wakeups() -> Placement {
    Placement {
        wake_to: WakeTo::Linux,
        ..Placement::default()
    }
}

fn machine(topology: &str, placement: Placement) -> Machine {
    let topology = Topology::synthetic(topology).unwrap();
    Machine::new(Options {
        placement,
        ..Options::of(topology)
    })
}

fn start(machine: &Machine, spec: ThreadSpec, acts: &[Act]) -> ThreadId {
    machine.spawn(spec, Script::boxed(acts))
}

fn named(name: &str) -> ThreadSpec {
    ThreadSpec::named(name)
}

fn mask(cpus: &[usize]) -> Option<cmwq_policy::CpuMask> {
    Some(cpus.iter().copied().collect())
}

fn burn(ms: u64) -> Act {
    Act::Burn(ms * MS)
}

fn sleep(ms: u64) -> Act {
    Act::Sleep(ms * MS)
}

/// Opens a latch after so many milliseconds of sleep, then burns on for a while.
fn opens(latch: Latch, after: u64, then: u64) -> Box<dyn Program> {
    let mut steps = 0;
    Box::new(move |cx: &mut ProgramCx<'_>, _| {
        steps += 1;
        match steps {
            1 => sleep(after),
            2 => {
                cx.open(latch);
                burn(then)
            }
            _ => Act::End,
        }
    })
}

/// The CPUs on which a thread was when it woke up.
fn woke_on(machine: &Machine, thread: ThreadId) -> Vec<usize> {
    let trace = machine.trace();
    let lines = trace.iter();
    let wakes = lines.filter(|l| l.thread == thread && l.what == What::Wake);
    wakes.map(|l| l.cpu).collect()
}

fn end(machine: &Machine, thread: ThreadId) -> u64 {
    let trace = machine.trace();
    let mut lines = trace.iter();
    let line = lines.find(|l| l.thread == thread && l.what == What::Exit);
    line.expect("it has ended").at.0
}

/// A thread waits at a latch on CPU `prev`, until one on CPU `waker` opens it after 5 ms and burns
/// on; others burn on `busy` from 1 ms on. Where does it wake up?
fn wakes_on(topology: &str, prev: usize, waker: usize, busy: &[usize], allowed: &[usize]) -> usize {
    let machine = machine(topology, linux_wakeups());
    let latch = machine.latch();
    let mut steps = 0;
    let allowed: cmwq_policy::CpuMask = allowed.iter().copied().collect();
    let waits = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        steps += 1;
        match steps {
            1 => {
                cx.pin(allowed);
                Act::Wait(latch)
            }
            _ => Act::End,
        }
    };
    let waits = machine.spawn(named("waits").on(prev), Box::new(waits));
    machine.spawn(named("opens").on(waker), opens(latch, 5, 5));
    for &cpu in busy {
        start(&machine, named("hog").on(cpu), &[sleep(1), burn(20)]);
    }
    machine.run();
    woke_on(&machine, waits)[0]
}

const EIGHT: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn the_previous_cpu_if_that_idles() {
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[], EIGHT), 3);
    // Also in another cache, or on another node, than the waker's.
    assert_eq!(wakes_on("node:2 core:4 pu:1", 1, 5, &[], EIGHT), 1);
}

#[test]
fn else_the_next_idle_one_of_its_cache_and_around() {
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[3], EIGHT), 4);
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[3, 4], EIGHT), 6);
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[3, 4, 6, 7], EIGHT), 0);
}

#[test]
fn never_beyond_the_cache_and_never_outside_the_mask() {
    // CPUs 0-3 are busy: it waits for its own, though the other cache idles.
    let busy = [0, 1, 2, 3];
    assert_eq!(wakes_on("l3:2 core:4 pu:1", 2, 1, &busy, EIGHT), 2);
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[3], &[2, 3, 6]), 6);
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[3], &[3]), 3);
    // It may not be where it was any more: the nearest.
    assert_eq!(wakes_on("core:8 pu:1", 3, 5, &[], &[6, 7]), 6);
}

#[test]
fn the_wakers_cache_if_its_cpu_has_less_to_do() {
    // CPUs 0-3 share a cache, and 4-7. One hog on the previous CPU, and the waker on its own, which
    // would be two with the thread: it stays in its cache.
    assert_eq!(wakes_on("l3:2 core:4 pu:1", 2, 6, &[2], EIGHT), 3);
    // Two hogs there, no more than here: but for 8 percent it would stay.
    assert_eq!(wakes_on("l3:2 core:4 pu:1", 2, 6, &[2, 2], EIGHT), 7);
    assert_eq!(wakes_on("l3:2 core:4 pu:1", 2, 6, &[2, 2, 6], EIGHT), 3);
}

#[test]
fn an_idle_core_before_an_idle_sibling() {
    // CPU 0 and its neighbours: core 0 has 0 and 1, core 1 has 2 and 3.
    assert_eq!(wakes_on("core:4 pu:2", 0, 6, &[0, 2], EIGHT), 4);
    // No core is idle: the sibling of the previous CPU.
    assert_eq!(wakes_on("core:4 pu:2", 2, 6, &[0, 2, 4], EIGHT), 3);
    // That one is busy as well.
    assert_eq!(wakes_on("core:4 pu:2", 2, 6, &[0, 2, 3, 4], EIGHT), 5);
}

#[test]
fn a_cpu_with_sched_idle_threads_only_counts_as_idle() {
    let machine = machine("core:2 pu:1", linux_wakeups());
    for cpu in 0..2 {
        let canary = named("canary").on(cpu).of_idle_class();
        start(&machine, canary, &[burn(100)]);
    }
    let napper = start(&machine, named("naps").on(1), &[burn(1), sleep(5), burn(1)]);
    machine.run();
    assert_eq!(woke_on(&machine, napper), [1]);
    assert_eq!(end(&machine, napper), 7 * MS);
    assert_eq!(machine.thread_stats(napper).waited_ns, 0);
}

#[test]
fn a_recently_used_cpu_before_others() {
    let machine = machine("core:8 pu:1", linux_wakeups());
    // Its CPU is taken during each nap: it goes on to 1, then back to where it was before.
    start(
        &machine,
        named("hog").on(0),
        &[sleep(1), Act::Burn(MS + MS / 2)],
    );
    start(&machine, named("hog").on(1), &[sleep(3), burn(9)]);
    let naps = [burn(1), sleep(1), burn(1), sleep(1), burn(1)];
    let napper = start(&machine, named("naps").on(0), &naps);
    machine.run_until(Time(0));
    machine.pin(napper, mask(EIGHT).unwrap());
    machine.run();
    assert_eq!(woke_on(&machine, napper), [1, 0]);
}

/// Rounds in which a thread queues an item on the pool of the CPU it is on, and sleeps until the
/// item wakes it; and the CPUs on which it was.
fn issues_and_completes(stacking: bool, rounds: u32) -> (u64, Vec<usize>) {
    let placement = Placement {
        stacking,
        ..Placement::linux()
    };
    let machine = machine("core:8 pu:1", placement);
    let queue = machine.alloc_workqueue(QueueSpec::percpu("io"));
    let latches: Vec<Latch> = (0..rounds).map(|_| machine.latch()).collect();
    let items: Vec<ItemId> = latches
        .iter()
        .map(|&latch| {
            machine.item("complete", move |_| {
                let mut steps = 0;
                Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
                    steps += 1;
                    match steps {
                        1 => Act::Burn(1000),
                        2 => {
                            cx.open(latch);
                            Act::Burn(100)
                        }
                        _ => Act::End,
                    }
                })
            })
        })
        .collect();
    let acts = latches.iter().zip(&items).flat_map(|(&latch, &item)| {
        let call = Call::QueueWork {
            queue,
            cpu: None,
            item,
        };
        [Act::Burn(5000), Act::Call(call), Act::Wait(latch)]
    });
    let acts: Vec<Act> = acts.collect();
    let client = start(&machine, named("client"), &acts);
    machine.run();
    let woke = woke_on(&machine, client);
    (machine.thread_stats(client).migrations, woke)
}

#[test]
fn a_client_stacks_on_the_worker_that_wakes_it_or_walks() {
    let (migrations, woke) = issues_and_completes(true, 6);
    // At first the spare worker that a new pool makes waits for the CPU as well: that forbids it.
    assert_eq!((migrations, woke), (2, vec![1, 0, 0, 0, 0, 0]));
    let (migrations, woke) = issues_and_completes(false, 6);
    assert_eq!(migrations, 6);
    // To and fro between two CPUs: the one before the last has just become idle.
    assert_eq!(woke, [1, 0, 1, 0, 1, 0]);
}

#[test]
fn new_threads_go_where_most_idles_and_siblings_last() {
    let machine = machine("l3:2 core:2 pu:2", linux_wakeups());
    let threads: Vec<ThreadId> = (0..9)
        .map(|_| start(&machine, named("t"), &[burn(1)]))
        .collect();
    let cpus: Vec<usize> = {
        let trace = machine.trace();
        let created = trace.iter().filter(|l| l.what == What::Created(None));
        created.map(|l| l.cpu).collect()
    };
    // In turn to each cache, there to each core; the ninth to the first of the least loaded.
    assert_eq!(cpus, [0, 4, 2, 6, 1, 5, 3, 7, 0]);
    machine.run();
    assert!(threads.iter().all(|&t| machine.is_done(t)));
}

fn preempting() -> Placement {
    Placement {
        wakeup_preemption: true,
        ..Placement::default()
    }
}

#[test]
fn who_wakes_takes_the_cpu_from_one_that_has_had_more() {
    let wait = |placement, nice: i8| {
        let machine = machine("pu:1", placement);
        let hog = start(&machine, named("hog"), &[burn(30)]);
        let acts = [sleep(10), burn(1)];
        let sleeper = start(&machine, named("sleeper").at_nice(nice), &acts);
        machine.run();
        let involuntary = machine.thread_stats(hog).involuntary_switches;
        (end(&machine, sleeper), involuntary)
    };
    // It gets the CPU at 3 ms for the first time, and wakes up at 13.
    assert_eq!(wait(Placement::default(), 0).0, 16 * MS);
    assert_eq!(wait(preempting(), 0), (14 * MS, 2));
    // At nice 19 a granularity of 1 ms is 68 ms: more than its credit of a slice.
    assert_eq!(wait(preempting(), 19).0, 16 * MS);
    let eager = Placement {
        wakeup_granularity: 40_000,
        ..preempting()
    };
    // 2.7 ms.
    assert_eq!(wait(eager, 19).0, 14 * MS);
}

#[test]
fn a_waker_that_is_preempted_ends_its_act_first_and_goes_on_later() {
    let machine = machine("pu:1", preempting());
    let latch = machine.latch();
    let woken = start(&machine, named("woken"), &[Act::Wait(latch), burn(1)]);
    let mut steps = 0;
    let waker = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        steps += 1;
        match steps {
            1 => burn(2),
            2 => {
                cx.open(latch);
                burn(1)
            }
            _ => Act::End,
        }
    };
    let waker = machine.spawn(named("waker"), Box::new(waker));
    machine.run();
    assert_eq!([woken, waker].map(|t| end(&machine, t)), [3 * MS, 4 * MS]);
}

fn super_eager() -> Machine {
    let placement = Placement {
        wakeup_granularity: 0,
        ..preempting()
    };
    machine("pu:1", placement)
}

#[test]
fn sched_idle_threads_give_way_at_once_and_take_nothing() {
    let machine = machine("pu:1", Placement::default());
    let canary = start(&machine, named("canary").of_idle_class(), &[burn(10)]);
    let naps = start(&machine, named("naps"), &[sleep(1), burn(2)]);
    machine.run();
    assert_eq!([naps, canary].map(|t| end(&machine, t)), [3 * MS, 12 * MS]);
    assert_eq!(machine.thread_stats(canary).involuntary_switches, 1);
    // Neither does it take the CPU when it wakes up, as the others do.
    let machine = super_eager();
    let hog = start(&machine, named("hog"), &[burn(2)]);
    start(
        &machine,
        named("canary").of_idle_class(),
        &[sleep(1), burn(1)],
    );
    start(
        &machine,
        named("canary").of_idle_class(),
        &[sleep(1), burn(1)],
    );
    machine.run();
    assert_eq!(end(&machine, hog), 2 * MS);
}

#[test]
fn beside_a_hog_a_sched_idle_thread_gets_its_weight() {
    let machine = machine("pu:1", Placement::default());
    let canary = start(&machine, named("canary").of_idle_class(), &[burn(60_000)]);
    start(&machine, named("hog"), &[burn(60_000)]);
    machine.run_until(Time(20_000 * MS));
    // 3 of 1027.
    let share = machine.thread_stats(canary).cpu_ns;
    assert!(share.abs_diff(20_000 * MS * 3 / 1027) <= 3 * MS, "{share}");
}

#[test]
fn a_thread_that_waits_is_taken_from_a_cpu_and_not_a_sched_idle_one_in_its_place() {
    let machine = machine("core:2 pu:1", Placement::default());
    let canary = start(&machine, named("canary").on(1).of_idle_class(), &[burn(9)]);
    let hogs = [0, 0, 0].map(|_| start(&machine, named("hog"), &[burn(6)]));
    machine.run();
    // 18 ms on two CPUs: the canary's one counts as free, but for its turn at 3 ms.
    let ends = hogs.map(|t| end(&machine, t));
    assert_eq!(ends.into_iter().max(), Some(9 * MS + 750_000));
    assert_eq!(end(&machine, canary), 18 * MS);
}

fn domains(delay: u64, node_imbalance: u32) -> Placement {
    Placement {
        balance: Balance::Domains(Domains {
            idle_period: 4 * MS,
            busy_period: 64 * MS,
            delay,
            node_imbalance,
            ..Domains::default()
        }),
        ..Placement::default()
    }
}

/// When four threads end, in ms, that begin on CPU 0 and may use these CPUs from their first turn
/// on.
fn spread(placement: Placement, topology: &str, may_use: &[usize]) -> Vec<u64> {
    let machine = machine(topology, placement);
    let all = mask(may_use).unwrap();
    let spread = |_| {
        let mut steps = 0;
        let program = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            steps += 1;
            match steps {
                1 => {
                    cx.pin(all);
                    burn(10)
                }
                _ => Act::End,
            }
        };
        machine.spawn(named("t").on(0), Box::new(program))
    };
    let threads: Vec<ThreadId> = (0..4).map(spread).collect();
    machine.run();
    let mut ends: Vec<u64> = threads.iter().map(|&t| end(&machine, t) / MS).collect();
    ends.sort_unstable();
    ends
}

#[test]
fn at_once_or_from_time_to_time() {
    // By default a CPU that idles comes as soon as a thread may.
    let at_once = spread(Placement::default(), "core:4 pu:1", &[0, 1, 2, 3]);
    // Each has to be on CPU 0 once to be allowed elsewhere: at 0, 3, 6 and 9 ms.
    assert_eq!(at_once, [10, 13, 16, 19]);
    // In domains CPUs that idle look at 4 and 8 ms, and one that has become idle at 11.
    let later = spread(domains(0, 0), "core:4 pu:1", &[0, 1, 2, 3]);
    assert_eq!(later, [11, 15, 18, 19]);
}

#[test]
fn other_nodes_are_left_alone_for_a_small_imbalance() {
    let near = spread(domains(0, 0), "node:2 core:1 pu:1", &[0, 1]);
    assert!(near[3] < 40, "{near:?}");
    let far = spread(domains(0, 4), "node:2 core:1 pu:1", &[0, 1]);
    assert_eq!(far[3], 40);
}

#[test]
fn a_cpu_that_has_just_become_idle_leaves_other_caches_alone() {
    let one_cache = spread(domains(1000 * MS, 0), "core:2 pu:1", &[0, 1]);
    assert!(one_cache[3] < 40, "{one_cache:?}");
    let two = spread(domains(1000 * MS, 0), "l3:2 core:1 pu:1", &[0, 1]);
    assert_eq!(two[3], 40);
}

#[test]
fn a_new_idle_cpu_takes_from_its_cache_at_once() {
    let machine = machine("core:2 pu:1", domains(0, 0));
    let [a, b] = [0, 0].map(|_| start(&machine, named("t"), &[burn(9)]));
    let third = start(&machine, named("t"), &[burn(9)]);
    let gone = MS / 2;
    start(&machine, named("short").on(1), &[Act::Burn(gone)]);
    machine.run();
    let mut ends = [a, b, third].map(|t| end(&machine, t));
    ends.sort_unstable();
    // 27.5 ms on two CPUs, whichever way: nobody idles before the last thread runs alone.
    let idle: u64 = (0..2).map(|cpu| machine.cpu_stats(cpu).idle_ns).sum();
    assert_eq!(idle, 2 * ends[2] - 27 * MS - gone);
    assert!(idle <= 3 * MS + gone, "{idle}");
}

#[test]
fn busy_cpus_level_out_by_weight() {
    let machine = machine("core:2 pu:1", domains(0, 0));
    // Created in turn: both heavy ones are on CPU 0, both light ones on CPU 1.
    let threads = [0, 19, 0, 19].map(|nice| {
        let spec = named("t").at_nice(nice);
        start(&machine, spec, &[burn(500)])
    });
    machine.run_until(Time(400 * MS));
    let got = threads.map(|t| machine.thread_stats(t).cpu_ns / MS);
    // From 64 ms on the heavy ones have a CPU each.
    assert!(got[0] > 350 && got[2] > 350, "{got:?}");
}

#[test]
#[should_panic(expected = "balance: a period of 0 ns")]
fn periods_last() {
    let placement = Placement {
        balance: Balance::Domains(Domains {
            idle_period: 0,
            ..Domains::default()
        }),
        ..Placement::default()
    };
    machine("pu:1", placement);
}
