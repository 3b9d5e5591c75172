//! Each signal alone, to the nanosecond.

use cmwq_policy::Time;
use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_sim::*;

use crate::none;

const MS: u64 = MILLISECOND;

fn machine(topology: &str, signals: UserSignals) -> Machine {
    Machine::new(Options {
        signals: Signals::User(signals),
        ..Options::on(topology).unwrap()
    })
}

/// Queues items that do these things on one queue, from a thread on CPU 0.
fn queue(machine: &Machine, bodies: &[&[Act]]) -> Vec<ItemId> {
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let mut acts = Vec::new();
    let item = |acts: &&[Act]| {
        let acts = acts.to_vec();
        machine.item("item", move |_| Script::boxed(acts.clone()))
    };
    let items: Vec<ItemId> = bodies.iter().map(item).collect();
    for &item in &items {
        let cpu = None;
        acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
    }
    machine.spawn(ThreadSpec::named("main").on(0), Script::boxed(acts));
    items
}

fn starts(machine: &Machine, item: ItemId) -> Time {
    let is_start = |line: &&Line| matches!(line.what, What::Start(e, _) if e.item == item);
    machine.trace().iter().find(is_start).expect("it runs").at
}

/// When the second of two items starts on one CPU, while the first one sleeps from 1 ms to 6 ms.
fn second_starts(signals: UserSignals, first: &[Act]) -> Time {
    let machine = machine("T1", signals);
    let items = queue(&machine, &[first, &[Act::Burn(MS)]]);
    machine.run();
    starts(&machine, items[1])
}

const SLEEPER: [Act; 3] = [Act::Burn(MS), Act::Sleep(5 * MS), Act::Burn(MS)];

#[test]
fn without_signals_a_worker_that_sleeps_counts_as_running() {
    assert_eq!(second_starts(none(), &SLEEPER), Time(7 * MS));
}

#[test]
fn a_canary_reports_in_the_instant_in_which_its_cpu_has_nothing_to_do() {
    let signals = UserSignals {
        canaries: true,
        ..none()
    };
    assert_eq!(second_starts(signals, &SLEEPER), Time(MS));
}

#[test]
fn a_report_takes_as_long_as_it_takes_to_confirm_it() {
    let costs = SignalCosts {
        yielding: 800,
        ..SignalCosts::NONE
    };
    let canaries = true;
    let signals = UserSignals {
        canaries,
        costs,
        ..none()
    };
    let late = second_starts(signals, &SLEEPER).since(Time(MS));
    // It may have been amid a yield when the CPU was taken, and amid one when it was left.
    assert!((800..=5 * 800).contains(&late), "{late}");
}

#[test]
fn the_tick_finds_out_when_it_looks() {
    let signals = UserSignals {
        tick: 4 * MS,
        ..none()
    };
    assert_eq!(second_starts(signals, &SLEEPER), Time(4 * MS));
    let signals = UserSignals { tick: 0, ..none() };
    // The first tick has started nobody, so the second one comes a 32nd later.
    assert_eq!(second_starts(signals, &SLEEPER), Time(MS + MS / 32));
}

#[test]
fn a_hint_tells_at_once_and_nobody_else_does() {
    let hints = UserSignals {
        hints: true,
        ..none()
    };
    let mut polite = SLEEPER.to_vec();
    polite.insert(1, Act::Hint(true));
    polite.insert(3, Act::Hint(false));
    assert_eq!(second_starts(hints, &polite), Time(MS));
    assert_eq!(second_starts(none(), &polite), Time(7 * MS));
}

#[test]
fn a_wait_in_a_call_is_a_hint() {
    let machine = machine("T1", none());
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let second = machine.item("second", |_| Script::boxed([Act::Burn(MS)]));
    let calls = move |_| {
        let cpu = None;
        let item = second;
        Script::boxed([
            Act::Call(Call::QueueWork { queue, cpu, item }),
            Act::Burn(MS),
            Act::Call(Call::FlushWork(second)),
        ])
    };
    let item = machine.item("first", calls);
    let cpu = None;
    let call = Act::Call(Call::QueueWork { queue, cpu, item });
    machine.spawn(ThreadSpec::named("main"), Script::boxed([call]));
    machine.run();
    assert_eq!(starts(&machine, second), Time(MS));
    assert_eq!(machine.now(), Time(2 * MS));
}

#[test]
#[should_panic(expected = "ends a hint that it has not begun")]
fn a_hint_that_ends_before_it_begins_is_named() {
    let machine = machine("T1", none());
    queue(&machine, &[&[Act::Hint(false)]]);
    machine.run();
}

#[test]
fn a_hint_that_an_item_leaves_open_ends_with_it() {
    let all = UserSignals::default();
    let machine = machine("T1", all);
    let open: &[Act] = &[Act::Hint(true), Act::Burn(MS)];
    queue(&machine, &[open, open, open]);
    machine.run();
    assert_eq!(machine.nr_running(PoolId(0)), 0);
    assert_eq!(machine.signal_stats().hints, 3);
}

fn hog(machine: &Machine, cpu: usize) {
    let spec = ThreadSpec::named("hog").on(cpu);
    machine.spawn(spec, Script::boxed([Act::Burn(3600 * SECOND)]));
}

#[test]
fn beside_a_hog_a_canary_confirms_nothing() {
    let with = |spurious| {
        let signals = UserSignals {
            spurious,
            ..UserSignals::default()
        };
        let machine = machine("T1", signals);
        hog(&machine, 0);
        let items: Vec<&[Act]> = vec![&SLEEPER; 200];
        queue(&machine, &items);
        machine.run_until(Time(SECOND));
        assert_eq!(machine.pool_stats(PoolId(0)).completed, 200);
        machine.signal_stats()
    };
    assert_eq!(with(0).reports, 0);
    let wrong = with(1000);
    assert!(
        wrong.reports > 0 && wrong.spurious >= wrong.reports,
        "{wrong:?}"
    );
}

#[test]
fn a_lost_report_is_made_up_for_by_the_tick_which_arms_the_canary_again() {
    let signals = UserSignals {
        canaries: true,
        tick: 3 * MS,
        lost: 1000,
        ..none()
    };
    assert_eq!(second_starts(signals, &SLEEPER), Time(3 * MS));
    let machine = machine("T1", signals);
    let items: Vec<&[Act]> = vec![&SLEEPER; 40];
    queue(&machine, &items);
    machine.run();
    let stats = machine.signal_stats();
    assert!(
        stats.reports > 1 && stats.lost == stats.reports,
        "{stats:?}"
    );
    assert_eq!(machine.pool_stats(PoolId(0)).idle_reports, 0);
}

#[test]
fn a_late_report_starts_a_worker_late() {
    let starts: Vec<u64> = (0..20)
        .map(|seed| {
            let signals = UserSignals {
                canaries: true,
                late: 2 * MS,
                ..none()
            };
            let machine = Machine::new(Options {
                signals: Signals::User(signals),
                seed,
                ..Options::on("T1").unwrap()
            });
            let items = queue(&machine, &[&SLEEPER, &[Act::Burn(MS)]]);
            machine.run();
            assert_eq!(machine.signal_stats().late, 1);
            starts(&machine, items[1]).0
        })
        .collect();
    let (least, most) = (starts.iter().min(), starts.iter().max());
    assert!(
        *least.unwrap() >= MS && *most.unwrap() <= 3 * MS,
        "{starts:?}"
    );
    assert!(most.unwrap() - least.unwrap() > MS, "{starts:?}");
}

#[test]
fn nothing_happens_on_a_machine_without_work() {
    let machine = machine("T4", UserSignals::default());
    let items: Vec<&[Act]> = vec![&SLEEPER; 40];
    queue(&machine, &items);
    machine.run();
    let (stats, lines) = (machine.signal_stats(), machine.trace().len());
    assert!(stats.reports > 0);
    // A thread that has nothing to do with it goes on for long.
    let naps = vec![Act::Sleep(MS); 1000];
    let sleeper = machine.spawn(ThreadSpec::named("sleeper"), Script::boxed(naps));
    machine.run();
    assert_eq!(machine.signal_stats(), stats);
    let others = machine.trace()[lines..]
        .iter()
        .filter(|l| l.thread != sleeper)
        .count();
    assert_eq!(others, 0, "somebody woke up");
}

#[test]
fn who_takes_a_report_looks_at_the_others_when_growth_wants_to_know() {
    let signals = UserSignals {
        canaries: true,
        ..none()
    };
    let machine = machine("T1", signals);
    let naps: &[Act] = &[Act::Sleep(50 * MS)];
    queue(&machine, &vec![naps; 30]);
    machine.run();
    let stats = machine.signal_stats();
    assert_eq!(stats.ticks, 1, "the first one only");
    assert!(stats.looked_at > 0);
    assert_eq!(machine.now(), Time(50 * MS), "all of them slept at once");
}

#[test]
fn who_was_brought_to_a_cpu_by_a_report_may_leave_it_in_its_item() {
    let signals = UserSignals {
        canaries: true,
        ..none()
    };
    let machine = machine("T2", signals);
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let body = |_| -> Box<dyn Program> {
        let mut acts = SLEEPER.to_vec().into_iter();
        Box::new(move |cx: &mut ProgramCx<'_>, _| {
            assert_eq!(cx.allowed(), cx.machine().topology().all());
            acts.next().unwrap_or(Act::End)
        })
    };
    let cpu = None;
    let calls = (0..60).map(|_| {
        let item = machine.item("item", body);
        Act::Call(Call::QueueWork { queue, cpu, item })
    });
    let calls: Vec<Act> = calls.collect();
    machine.spawn(ThreadSpec::named("main"), Script::boxed(calls));
    machine.run();
    let stats = machine.pool_stats(PoolId(0));
    assert!(stats.idle_reports > 5 && stats.completed == 60, "{stats:?}");
}

fn canary_of(machine: &Machine, cpu: usize) -> Option<ThreadId> {
    let name = format!("canary/{cpu}");
    let threads = machine.trace().into_iter().map(|line| line.thread);
    threads
        .into_iter()
        .find(|&id| machine.thread_name(id) == name)
}

#[test]
fn a_cpu_has_its_canary_while_it_is_in_use() {
    let machine = machine("T4", UserSignals::default());
    let items: Vec<&[Act]> = vec![&SLEEPER; 40];
    machine.set_online(3, false);
    queue(&machine, &items);
    machine.run_until(Time(2 * MS));
    assert_eq!(canary_of(&machine, 3), None);
    let canary = canary_of(&machine, 2).expect("it is in use");
    assert!(machine.is_signaller(canary));
    machine.set_online(3, true);
    machine.set_online(2, false);
    machine.run();
    assert!(canary_of(&machine, 3).is_some());
    assert!(machine.is_asleep(canary));
    // The next time it is needed, it is where its CPU is.
    machine.set_online(2, true);
    let from = machine.trace().len();
    queue(&machine, &items);
    machine.run();
    let lines = machine.trace().split_off(from);
    let cpus: Vec<usize> = lines
        .iter()
        .filter(|l| l.thread == canary)
        .map(|l| l.cpu)
        .collect();
    assert!(
        !cpus.is_empty() && cpus.iter().all(|&cpu| cpu == 2),
        "{cpus:?}"
    );
}

#[test]
fn timers_expire_on_the_ticks_thread() {
    let costs = SignalCosts {
        round: 15 * MICROSECOND,
        ..SignalCosts::NONE
    };
    let machine = machine("T1", UserSignals { costs, ..none() });
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let item = machine.item("item", |_| Script::boxed([]));
    let call = Act::Call(Call::QueueDelayedWork(queue, None, item, 5 * MS));
    machine.spawn(ThreadSpec::named("main"), Script::boxed([call]));
    machine.run();
    // The worker gets the CPU when the round that queued its item is over.
    assert_eq!(starts(&machine, item), Time(5 * MS + 2 * 15 * MICROSECOND));
}

#[test]
fn same_seed_same_trace() {
    let run = |seed| {
        let signals = UserSignals {
            late: MS,
            lost: 200,
            spurious: 200,
            ..UserSignals::default()
        };
        let machine = Machine::new(Options {
            signals: Signals::User(signals),
            seed,
            ..Options::on("T4").unwrap()
        });
        let items: Vec<&[Act]> = vec![&SLEEPER; 100];
        queue(&machine, &items);
        machine.run();
        let lines: Vec<String> = machine.trace().iter().map(Line::to_string).collect();
        lines
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
