//! What things cost when the options say so, and what a CPU and a thread are said to have had.

use cmwq_policy::Time;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};
use cmwq_sim::*;

const US: u64 = MICROSECOND;
const MS: u64 = MILLISECOND;

fn machine(topology: &str, costs: Costs) -> Machine {
    let topology = Topology::synthetic(topology).unwrap();
    Machine::new(Options {
        costs,
        ..Options::of(topology)
    })
}

fn start(machine: &Machine, spec: ThreadSpec, acts: &[Act]) -> ThreadId {
    machine.spawn(spec, Script::boxed(acts))
}

fn on(cpu: usize) -> ThreadSpec {
    ThreadSpec::named("t").on(cpu)
}

fn end(machine: &Machine, thread: ThreadId) -> u64 {
    let trace = machine.trace();
    let mut lines = trace.iter();
    let line = lines.find(|l| l.thread == thread && l.what == What::Exit);
    line.expect("it has ended").at.0
}

#[test]
fn who_gets_the_cpu_from_another_thread_pays_the_switch() {
    let costs = Costs {
        switch: 2 * US,
        ..Costs::default()
    };
    let machine = machine("pu:1", costs);
    let threads = [0, 0].map(|_| start(&machine, on(0), &[Act::Burn(5 * MS)]));
    machine.run();
    // Slices of 3 ms: the first one pays nothing, the second, the first and the second 2 us each.
    assert_eq!(
        threads.map(|t| end(&machine, t)),
        [8 * MS + 2 * US, 10 * MS + 6 * US]
    );
    let paid = threads.map(|t| machine.thread_stats(t).overhead_ns);
    assert_eq!(paid, [2 * US, 4 * US]);
    let stats = machine.cpu_stats(0);
    assert_eq!((stats.switches, stats.busy_ns), (3, 10 * MS + 6 * US));
}

#[test]
fn a_thread_alone_pays_for_the_cpus_sleep_by_its_length() {
    let costs = Costs {
        switch: 2 * US,
        idle_exit: vec![(10 * US, US), (MS, 50 * US)],
        ..Costs::default()
    };
    let machine = machine("pu:1", costs);
    let nap = |idle| [Act::Burn(US), Act::Sleep(idle)];
    let acts: Vec<Act> = [9 * US, 10 * US, MS].into_iter().flat_map(nap).collect();
    let thread = start(&machine, on(0), &acts);
    machine.run();
    // Nothing after 9 us, 1 us after 10 us, 50 us after 1 ms; nor a switch: nobody else came.
    let expected = (US + 9 * US) + (US + 10 * US) + (US + US + MS) + 50 * US;
    assert_eq!(end(&machine, thread), expected);
    let stats = machine.cpu_stats(0);
    assert_eq!((stats.wakeups, stats.switches), (3, 0));
    assert_eq!(stats.idle_ns, 19 * US + MS);
}

#[test]
fn a_footprint_follows_a_thread_and_takes_time_by_the_distance() {
    let costs = Costs {
        refill: [7, 10, 20, 300, 4000],
        ..Costs::default()
    };
    let machine = machine("node:2 l3:2 core:2 pu:2", costs);
    let mut to = [0, 0, 1, 2, 4, 8].into_iter();
    let program = move |cx: &mut ProgramCx<'_>, _| match to.next() {
        Some(cpu) => {
            cx.pin([cpu].into_iter().collect());
            Act::Burn(MS)
        }
        None => Act::End,
    };
    let spec = on(0).with_footprint(5);
    let thread = machine.spawn(spec, Box::new(program));
    machine.run();
    // To the sibling, within the cache, to another one of the node, to the other node.
    let refills = 5 * (10 + 20 + 300 + 4000);
    assert_eq!(machine.now(), Time(6 * MS + refills));
    let stats = machine.thread_stats(thread);
    assert_eq!((stats.migrations, stats.moves), (4, [0, 1, 1, 1, 1]));
    assert_eq!(stats.overhead_ns, refills);
}

#[test]
fn a_call_takes_effect_at_once_and_time_after_it() {
    let costs = Costs {
        call: 3 * US,
        ..Costs::default()
    };
    let machine = machine("core:2 pu:1", costs);
    let queue = machine.alloc_workqueue(QueueSpec::percpu("q"));
    let item = machine.item("i", |_| Script::boxed([Act::Burn(US)]));
    let queue_it = Act::Call(Call::QueueWork {
        queue,
        cpu: Some(1),
        item,
    });
    let thread = start(
        &machine,
        on(0),
        &[queue_it.clone(), queue_it, Act::Burn(US)],
    );
    machine.run();
    assert_eq!(end(&machine, thread), 7 * US);
    // It began at 0, and again at 3 us.
    let starts = |l: &&Line| matches!(l.what, What::Start(..));
    let at: Vec<u64> = machine
        .trace()
        .iter()
        .filter(starts)
        .map(|l| l.at.0)
        .collect();
    assert_eq!(at, [0, 3 * US]);
}

fn smt(per_mille: u32) -> Machine {
    let costs = Costs {
        smt: per_mille,
        ..Costs::default()
    };
    machine("core:2 pu:2", costs)
}

#[test]
fn siblings_share_what_their_core_does() {
    let machine = smt(600);
    let [long, short] =
        [(0, 10), (1, 3)].map(|(cpu, ms)| start(&machine, on(cpu), &[Act::Burn(ms * MS)]));
    let other = start(&machine, on(2), &[Act::Burn(10 * MS)]);
    machine.run();
    // 3 ms at 0.6 take 5; in these the other one does 3 of its 10.
    assert_eq!(end(&machine, short), 5 * MS);
    assert_eq!(end(&machine, long), 12 * MS);
    assert_eq!(end(&machine, other), 10 * MS);
    // The time counts, not what was done in it.
    assert_eq!(machine.thread_stats(long).cpu_ns, 12 * MS);
}

#[test]
fn work_ends_in_the_nanosecond_in_which_it_is_done() {
    let machine = smt(700);
    let [a, b] = [0, 1].map(|cpu| start(&machine, on(cpu), &[Act::Burn(1000)]));
    machine.run();
    // 1000 / 0.7 = 1428.57
    assert_eq!([a, b].map(|t| end(&machine, t)), [1429, 1429]);
}

#[test]
fn a_sibling_that_comes_and_goes_costs_exactly_what_it_takes() {
    let machine = smt(500);
    let burst = [Act::Burn(1), Act::Sleep(8)];
    let bursts: Vec<Act> = burst.iter().cycle().take(200).cloned().collect();
    let long = start(&machine, on(0), &[Act::Burn(10_000)]);
    let short = start(&machine, on(1), &bursts);
    machine.run();
    // Each burst of 1 ns takes 2 while the other one goes on, and takes 1 from it.
    assert_eq!(machine.thread_stats(short).cpu_ns, 200);
    assert_eq!(end(&machine, long), 10_100);
}

#[test]
fn classes_apart_a_cpu_is_busy_idle_or_idles() {
    let machine = machine("pu:1", Costs::default());
    let spec = on(0).of_idle_class();
    start(&machine, spec, &[Act::Burn(2 * MS), Act::Sleep(3 * MS)]);
    start(
        &machine,
        on(0),
        &[Act::Burn(MS), Act::Sleep(9 * MS), Act::Burn(MS)],
    );
    machine.run();
    let stats = machine.cpu_stats(0);
    assert_eq!(stats.busy_ns, 2 * MS);
    assert_eq!(stats.idle_class_ns, 2 * MS);
    assert_eq!(stats.idle_ns, 7 * MS);
    assert_eq!(machine.now(), Time(11 * MS));
}

#[test]
fn runs_are_kept_and_joined() {
    let machine = machine("core:2 pu:1", Costs::default());
    machine.keep_runs();
    // The second one first acts at 1 ms.
    let a = start(&machine, on(0), &[Act::Burn(MS), Act::Yield, Act::Burn(MS)]);
    let b = start(&machine, on(0), &[Act::Sleep(4 * MS), Act::Burn(MS)]);
    let c = start(&machine, on(1), &[Act::Burn(9 * MS)]);
    machine.run_until(Time(6 * MS));
    let run = |cpu, thread, from, to| Run {
        cpu,
        thread,
        from: Time(from * MS),
        to: Time(to * MS),
    };
    let expected = [run(0, a, 0, 2), run(1, c, 0, 6), run(0, b, 5, 6)];
    assert_eq!(machine.runs(), expected);
    machine.run();
    assert_eq!(machine.runs()[1], run(1, c, 0, 9));
}

#[test]
#[should_panic(expected = "smt = 1001: not in 1..=1000")]
fn a_cpu_is_not_faster_beside_a_busy_sibling() {
    smt(1001);
}

#[test]
#[should_panic(expected = "idle_exit: 20 ns does not come before 10 ns")]
fn idle_exits_ascend() {
    let costs = Costs {
        idle_exit: vec![(20, 1), (10, 2)],
        ..Costs::default()
    };
    machine("pu:1", costs);
}
