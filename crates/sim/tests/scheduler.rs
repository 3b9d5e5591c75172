//! Who runs where, and for how long.

use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{CpuMask, Time};
use cmwq_sim::*;

const SLICE: u64 = 3 * MILLISECOND;

fn machine(topology: &str, discipline: Discipline) -> Machine {
    Machine::new(Options {
        discipline,
        ..Options::on(topology).unwrap()
    })
}

fn fair(topology: &str) -> Machine {
    machine(topology, Discipline::Fair(SLICE))
}

fn burns(ms: u64) -> Box<dyn Program> {
    Script::boxed([Act::Burn(ms * MILLISECOND)])
}

/// When each of these threads ended.
fn ends(machine: &Machine, threads: &[ThreadId]) -> Vec<u64> {
    let trace = machine.trace();
    let end = |&thread: &ThreadId| {
        let mut lines = trace.iter();
        let line = lines.find(|l| l.thread == thread && l.what == What::Exit);
        line.expect("it has ended").at.0 / MILLISECOND
    };
    threads.iter().map(end).collect()
}

/// What threads of these nice levels get of one CPU in ten seconds, in nanoseconds.
fn shares(nice: &[i8]) -> Vec<u64> {
    let machine = fair("T1");
    let start = |&nice: &i8| machine.spawn(ThreadSpec::named("hog").at_nice(nice), burns(60_000));
    let threads: Vec<ThreadId> = nice.iter().map(start).collect();
    assert_eq!(machine.run_until(Time(10 * SECOND)), Ended::TimeUp);
    let got = |&id: &ThreadId| machine.thread_stats(id).cpu_ns;
    let shares: Vec<u64> = threads.iter().map(got).collect();
    assert_eq!(
        shares.iter().sum::<u64>(),
        10 * SECOND,
        "no CPU time is lost"
    );
    shares
}

#[test]
fn a_cpu_is_shared_by_weight() {
    for nice in [[0, 0], [0, 5], [-5, 0], [0, 1], [10, 19]] {
        let share = shares(&nice);
        let expected = nice.map(|n| u64::from(weight(n)));
        // Equal within two slices.
        let due = 10 * SECOND / (expected[0] + expected[1]) * expected[0];
        let off = share[0].abs_diff(due);
        assert!(off <= 2 * SLICE, "{nice:?}: {share:?}, off by {off}");
    }
}

#[test]
fn the_highest_priority_gets_nearly_everything_and_the_lowest_still_runs() {
    let share = shares(&[-20, 0, 19]);
    assert!(share[0] > 98 * SECOND / 10, "{share:?}");
    assert!(share[1] > share[2] && share[2] > 0, "{share:?}");
}

#[test]
fn equals_take_turns() {
    let machine = fair("T1");
    let threads = [1, 2, 3].map(|_| machine.spawn(ThreadSpec::named("t"), burns(5)));
    machine.run();
    // Three slices of 3 ms, then 2 ms each.
    assert_eq!(ends(&machine, &threads), [11, 13, 15]);
    for id in threads {
        let stats = machine.thread_stats(id);
        assert_eq!(stats.cpu_ns, 5 * MILLISECOND);
        assert_eq!(
            (stats.voluntary_switches, stats.involuntary_switches),
            (0, 1)
        );
    }
}

#[test]
fn first_in_first_out_lets_nobody_in_between() {
    let machine = machine("T1", Discipline::Fifo);
    let nice = [0, -20, 19];
    let threads = nice.map(|n| machine.spawn(ThreadSpec::named("t").at_nice(n), burns(6)));
    machine.run();
    assert_eq!(ends(&machine, &threads), [6, 12, 18]);
    assert_eq!(machine.thread_stats(threads[2]).waited_ns, 12 * MILLISECOND);
}

#[test]
fn who_wakes_waits_for_the_end_of_a_slice() {
    let machine = fair("T1");
    let sleeper = [Act::Sleep(MILLISECOND), Act::Burn(MILLISECOND)];
    let hog = machine.spawn(ThreadSpec::named("hog"), burns(30));
    let sleeper = machine.spawn(ThreadSpec::named("sleeper"), Script::boxed(sleeper));
    machine.run();
    // It first acts at 3, sleeps until 4, and gets the CPU at 6, when the next slice ends.
    assert_eq!(ends(&machine, &[sleeper, hog]), [7, 31]);
    assert_eq!(machine.thread_stats(sleeper).waited_ns, 5 * MILLISECOND);
    assert_eq!(machine.thread_stats(sleeper).slept_ns, MILLISECOND);
}

#[test]
fn a_sleeper_earns_no_credit() {
    let machine = fair("T1");
    let late = [Act::Sleep(SECOND), Act::Burn(SECOND)];
    let late = machine.spawn(ThreadSpec::named("late"), Script::boxed(late));
    let hog = machine.spawn(ThreadSpec::named("hog"), burns(2000));
    machine.run_until(Time(2 * SECOND));
    let share = machine.thread_stats(late).cpu_ns;
    assert!(share.abs_diff(SECOND / 2) <= 2 * SLICE, "{share}");
    assert!(!machine.is_done(hog));
}

#[test]
fn an_idle_cpu_is_taken_at_once_and_the_own_one_rather_than_others() {
    let machine = fair("T4");
    let nap = [Act::Burn(MILLISECOND), Act::Sleep(MILLISECOND)];
    let nap: Vec<Act> = nap.iter().cycle().take(10).cloned().collect();
    let threads =
        [0, 1, 2, 3].map(|_| machine.spawn(ThreadSpec::named("t"), Script::boxed(nap.clone())));
    machine.run();
    for id in threads {
        let stats = machine.thread_stats(id);
        assert_eq!((stats.waited_ns, stats.voluntary_switches), (0, 5));
        assert!(stats.migrations <= 1, "{stats:?}");
    }
}

#[test]
fn a_cpu_that_idles_takes_who_waits_elsewhere_unless_that_one_is_pinned() {
    let ends_of = |pinned: bool| {
        let machine = fair("T2");
        let spec = |name: &str| match pinned {
            true => ThreadSpec::named(name).on(0),
            false => ThreadSpec::named(name),
        };
        let threads = [30, 30, 30].map(|ms| machine.spawn(spec("t"), burns(ms)));
        machine.spawn(ThreadSpec::named("short").on(1), burns(3));
        machine.run();
        ends(&machine, &threads).into_iter().max().unwrap()
    };
    assert_eq!(ends_of(true), 90);
    // 93 ms of work on two CPUs.
    assert!(ends_of(false) <= 60, "{}", ends_of(false));
}

#[test]
fn pinning_moves_a_thread_at_once() {
    let machine = fair("T4");
    let mut steps = 0;
    let program = move |cx: &mut ProgramCx<'_>, _| {
        steps += 1;
        match steps {
            1 => {
                assert_eq!(cx.cpu(), 0);
                cx.pin([3].into_iter().collect());
                Act::Burn(MILLISECOND)
            }
            2 => {
                assert_eq!((cx.cpu(), cx.allowed().to_string()), (3, "3".to_owned()));
                Act::Burn(MILLISECOND)
            }
            _ => Act::End,
        }
    };
    let id = machine.spawn(ThreadSpec::named("t").on(0), Box::new(program));
    machine.run();
    assert_eq!(machine.thread_stats(id).migrations, 1);
    assert_eq!(machine.thread_stats(id).cpu_ns, 2 * MILLISECOND);
}

#[test]
fn threads_leave_a_cpu_that_goes_and_come_back_to_it() {
    let machine = fair("T2");
    let id = machine.spawn(ThreadSpec::named("t").on(1), burns(10));
    machine.run_until(Time(2 * MILLISECOND));
    machine.set_online(1, false);
    machine.run_until(Time(4 * MILLISECOND));
    let seen = || machine.trace().last().unwrap().cpu;
    machine.set_online(1, true);
    machine.run();
    assert_eq!((seen(), machine.now()), (1, Time(10 * MILLISECOND)));
    assert_eq!(machine.thread_stats(id).migrations, 2);
}

#[test]
fn spinning_burns_and_waiting_does_not() {
    let machine = fair("T2");
    let latch = machine.latch();
    let spins = machine.spawn(
        ThreadSpec::named("spins"),
        Script::boxed([Act::SpinUntil(latch)]),
    );
    let waits = machine.spawn(
        ThreadSpec::named("waits"),
        Script::boxed([Act::Wait(latch)]),
    );
    let mut slept = false;
    let opener = move |cx: &mut ProgramCx<'_>, _| match std::mem::replace(&mut slept, true) {
        false => Act::Sleep(5 * MILLISECOND),
        true => {
            cx.open(latch);
            Act::End
        }
    };
    machine.spawn(ThreadSpec::named("opens"), Box::new(opener));
    machine.run();
    assert_eq!(machine.thread_stats(spins).cpu_ns, 5 * MILLISECOND);
    assert_eq!(machine.thread_stats(waits).cpu_ns, 0);
    assert_eq!(machine.thread_stats(waits).slept_ns, 5 * MILLISECOND);
}

#[test]
fn who_awaits_is_asked_after_everything_and_at_its_time() {
    let machine = fair("T2");
    let latch = machine.latch();
    let awaits = |nanos| {
        let program = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            let over = cx.machine().is_open(latch) || cx.now().0 >= nanos;
            if over { Act::End } else { Act::Await(nanos) }
        };
        machine.spawn(ThreadSpec::named("awaits"), Box::new(program))
    };
    let threads = [awaits(2 * MILLISECOND), awaits(u64::MAX), awaits(SECOND)];
    let mut slept = false;
    let opener = move |cx: &mut ProgramCx<'_>, _| match std::mem::replace(&mut slept, true) {
        false => Act::Sleep(5 * MILLISECOND),
        true => {
            cx.open(latch);
            Act::End
        }
    };
    machine.spawn(ThreadSpec::named("opens"), Box::new(opener));
    machine.run();
    assert_eq!(ends(&machine, &threads), [2, 5, 5]);
    assert_eq!(machine.now(), Time(5 * MILLISECOND));
}

#[test]
#[should_panic(expected = "act without letting time pass")]
fn a_program_that_lets_no_time_pass_is_named() {
    let machine = fair("T1");
    machine.spawn(
        ThreadSpec::named("endless"),
        Box::new(|_: &mut ProgramCx<'_>, _| Act::Burn(0)),
    );
    machine.run();
}

#[test]
fn a_thread_that_may_run_nowhere_runs_anywhere() {
    let machine = fair("T2");
    let spec = ThreadSpec {
        allowed: Some(CpuMask::EMPTY),
        ..ThreadSpec::named("t")
    };
    let id = machine.spawn(spec, burns(1));
    machine.run();
    assert!(machine.is_done(id));
}
