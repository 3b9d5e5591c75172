//! Semaphores, devices, data with a home, yielding, foreign load, threads that fail to come, and
//! random numbers.

use cmwq_policy::Time;
use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_sim::*;

const MS: u64 = MILLISECOND;
const US: u64 = MICROSECOND;

fn machine(topology: &str) -> Machine {
    Machine::new(Options::on(topology).unwrap())
}

fn spawn(machine: &Machine, cpu: usize, acts: impl Into<Vec<Act>>) -> ThreadId {
    let name = format!("t{cpu}");
    machine.spawn(ThreadSpec::named(name).on(cpu), Script::boxed(acts))
}

/// When something happened to threads, in order.
fn times(machine: &Machine, is_it: impl Fn(&What) -> bool) -> Vec<(u64, u32)> {
    let trace = machine.trace().into_iter();
    let such = trace.filter(|l| is_it(&l.what));
    such.map(|l| (l.at.0, l.thread.0)).collect()
}

fn exits(machine: &Machine) -> Vec<(u64, u32)> {
    times(machine, |what| *what == What::Exit)
}

fn text(machine: &Machine) -> Vec<String> {
    machine.trace().iter().map(Line::to_string).collect()
}

#[test]
fn a_semaphore_serves_those_first_who_came_first() {
    let machine = machine("T4");
    let sem = machine.semaphore(1);
    for cpu in 0..3 {
        spawn(
            &machine,
            cpu,
            [Act::Burn(10 * US * (3 - cpu as u64)), Act::Take(sem)],
        );
    }
    let late = [Act::Burn(MS), Act::Post(sem), Act::Burn(MS), Act::Post(sem)];
    spawn(&machine, 3, late);
    machine.run();
    // The one it holds is for 2, which comes first.
    let expected = [(10 * US, 2), (MS, 1), (2 * MS, 3), (2 * MS, 0)];
    let mut got = exits(&machine);
    got.sort_by_key(|&(at, id)| (at, std::cmp::Reverse(id)));
    assert_eq!(got, expected);
    let stats = machine.semaphore_stats(sem);
    let expected = SemStats {
        taken: 3,
        waited: 2,
        max_waiters: 2,
    };
    assert_eq!((stats, machine.semaphore_value(sem)), (expected, 0));
}

#[test]
fn posts_are_kept_for_those_who_come_later() {
    let machine = machine("T1");
    let sem = machine.semaphore(0);
    machine.post(sem);
    spawn(
        &machine,
        0,
        [Act::Post(sem), Act::Take(sem), Act::Take(sem)],
    );
    machine.run();
    assert_eq!(exits(&machine), [(0, 0)]);
    assert_eq!(machine.semaphore_stats(sem).waited, 0);
}

fn disk(depth: u32) -> DeviceSpec {
    DeviceSpec {
        per_kib: US,
        ..DeviceSpec::new("disk", MS).depth(depth)
    }
}

#[test]
fn a_device_serves_so_many_requests_at_a_time() {
    for (depth, done, service, queued) in [
        (1, [1004, 2008, 3012, 4016], 4016, 3),
        (2, [1004, 1004, 2008, 2008], 2008, 2),
        (3, [1004, 1004, 1004, 2008], 2008, 1),
        (4, [1004; 4], 1004, 0),
    ] {
        let machine = machine("T4");
        let disk = machine.device(disk(depth));
        for cpu in 0..4 {
            spawn(&machine, cpu, [Act::Io(disk, 4096)]);
        }
        machine.run();
        let expected: Vec<(u64, u32)> = done.map(|us| us * US).into_iter().zip(0..).collect();
        assert_eq!(exits(&machine), expected, "depth {depth}");
        let stats = DeviceStats {
            served: 4,
            bytes: 4 * 4096,
            active_ns: service * US,
            service_ns: 4 * 1004 * US,
            max_queued: queued,
        };
        assert_eq!(machine.device_stats(disk), stats, "depth {depth}");
    }
}

#[test]
fn utilisation_counts_up_to_now_and_not_while_nothing_is_served() {
    let machine = machine("T1");
    let disk = machine.device(disk(2));
    spawn(
        &machine,
        0,
        [
            Act::Sleep(MS),
            Act::Io(disk, 0),
            Act::Sleep(MS),
            Act::Io(disk, 0),
        ],
    );
    machine.run_until(Time(3500 * US));
    assert_eq!(machine.device_stats(disk).active_ns, 1500 * US);
    machine.run();
    assert_eq!(machine.device_stats(disk).active_ns, 2 * MS);
}

#[test]
fn jitter_is_random_around_the_mean_and_the_same_in_every_run() {
    let served = |seed| {
        let options = Options::on("T1").unwrap();
        let machine = Machine::new(Options { seed, ..options });
        let spec = DeviceSpec::new("disk", MS);
        let disk = machine.device(DeviceSpec {
            jitter: 200,
            ..spec
        });
        spawn(&machine, 0, vec![Act::Io(disk, 0); 2000]);
        machine.run();
        let ends = times(&machine, |what| *what == What::IoEnd(disk));
        let starts = std::iter::once(0).chain(ends.iter().map(|e| e.0));
        let takes: Vec<u64> = ends.iter().zip(starts).map(|(e, s)| e.0 - s).collect();
        takes
    };
    let takes = served(1);
    let mean = takes.iter().sum::<u64>() / 2000;
    assert!((990 * US..1010 * US).contains(&mean), "{mean}");
    let (least, most) = (takes.iter().min(), takes.iter().max());
    assert!(least >= Some(&(800 * US)) && least < Some(&(802 * US)));
    assert!(most <= Some(&(1200 * US)) && most > Some(&(1198 * US)));
    assert_eq!(served(1), takes);
    assert_ne!(served(2), takes);
}

#[test]
fn who_submits_goes_on() {
    let machine = machine("T2");
    let (disk, sem) = (machine.device(disk(1)), machine.semaphore(0));
    let submit = |then| Act::Submit(disk, 0, then);
    spawn(
        &machine,
        0,
        [
            submit(Completion::Nothing),
            submit(Completion::Post(sem)),
            Act::Burn(10 * US),
        ],
    );
    spawn(&machine, 1, [Act::Take(sem)]);
    machine.run();
    assert_eq!(exits(&machine), [(10 * US, 0), (2 * MS, 1)]);
    assert_eq!(machine.device_stats(disk).served, 2);
}

/// Submits a request from CPU 2 that queues an item there when it is done.
fn submits(machine: &Machine) -> (QueueId, ItemId) {
    let disk = machine.device(disk(1));
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let item = machine.item("i", |_| Script::boxed([Act::Burn(MS)]));
    let done = Completion::Queue { queue, item };
    spawn(machine, 2, [Act::Submit(disk, 0, done)]);
    (queue, item)
}

fn starts(machine: &Machine) -> Vec<(u64, usize)> {
    let trace = machine.trace().into_iter();
    let starts = trace.filter(|l| matches!(l.what, What::Start(..)));
    starts.map(|l| (l.at.0, l.cpu)).collect()
}

#[test]
fn a_completion_queues_on_the_cpu_that_submitted() {
    let machine = machine("T4");
    let (queue, item) = submits(&machine);
    machine.run();
    assert_eq!(starts(&machine), [(MS, 2)]);
    let queued = What::Queued(queue, item, true);
    let line = machine.trace().into_iter().find(|l| l.what == queued);
    assert_eq!(line.map(|l| (l.at.0, l.cpu)), Some((MS, 2)));
}

#[test]
fn a_completion_for_a_cpu_that_went_away_comes_to_another_one() {
    let machine = machine("T4");
    submits(&machine);
    machine.run_until(Time(MS / 2));
    machine.set_online(2, false);
    machine.run();
    assert_eq!(starts(&machine), [(MS, 0)]);
}

#[test]
fn a_completion_for_a_queue_that_is_gone_is_dropped() {
    let machine = machine("T4");
    let (queue, item) = submits(&machine);
    spawn(
        &machine,
        0,
        [Act::Burn(10 * US), Act::Call(Call::DestroyWorkqueue(queue))],
    );
    machine.run();
    assert_eq!(starts(&machine), []);
    let refused = What::Queued(queue, item, false);
    assert!(machine.trace().iter().any(|l| l.what == refused));
    assert_eq!(machine.referred_to(), (Vec::new(), Vec::new()));
}

#[test]
fn data_comes_from_where_it_was_touched_last() {
    let far = |topology: &str, cpu| {
        let mut options = Options::on(topology).unwrap();
        options.costs.refill = [1, 10, 100, 1000, 10_000];
        let machine = Machine::new(options);
        let data = machine.data();
        assert_eq!(machine.home_of(data), None);
        spawn(&machine, 0, [Act::Touch(data, 8192)]);
        spawn(
            &machine,
            cpu,
            [
                Act::Sleep(MS),
                Act::Touch(data, 2560),
                Act::Touch(data, 1024),
            ],
        );
        machine.run();
        assert_eq!(machine.home_of(data), Some(cpu));
        // Of the second touch there, 1 is left.
        (exits(&machine)[0], machine.now().0 - MS - 1)
    };
    let first = (0, 0);
    assert_eq!(far("T8", 0), (first, 2));
    assert_eq!(far("T8", 1), (first, 25));
    assert_eq!(far("T8", 2), (first, 250));
    assert_eq!(far("T16", 5), (first, 2500));
    assert_eq!(far("T8", 4), (first, 25_000));
}

#[test]
fn who_yields_goes_behind_the_others() {
    let machine = Machine::new(Options {
        discipline: Discipline::Fair(100 * MS),
        ..Options::on("T1").unwrap()
    });
    spawn(&machine, 0, [Act::Burn(MS), Act::Yield, Act::Burn(MS)]);
    spawn(&machine, 0, [Act::Burn(MS)]);
    spawn(&machine, 0, [Act::Burn(MS)]);
    machine.run();
    assert_eq!(exits(&machine), [(2 * MS, 1), (3 * MS, 2), (4 * MS, 0)]);
}

#[test]
fn foreign_load_takes_its_share() {
    let machine = machine("T1");
    let ours = spawn(&machine, 0, [Act::Burn(SECOND)]);
    let hog = ThreadSpec::named("hog").on(0);
    let id = machine.spawn(hog, Load::endless().until(Time(SECOND)).boxed());
    machine.run();
    let shares = [ours, id].map(|id| machine.thread_stats(id).cpu_ns / MS);
    // Its last burn, of 10 ms, may take twice as long.
    assert!((500..=510).contains(&shares[1]), "{shares:?}");
    assert_eq!(machine.now().0 / MS, 1000 + shares[1]);
}

#[test]
fn foreign_load_pauses_in_between() {
    for vary in [0, 500] {
        let machine = machine("T1");
        let load = Load::duty(3 * MS, 7 * MS).varied(vary);
        let id = machine.spawn(ThreadSpec::named("load"), load.boxed());
        assert_eq!(machine.run_until(Time(10 * SECOND)), Ended::TimeUp);
        let busy = machine.thread_stats(id).cpu_ns;
        let off = if vary == 0 { 0 } else { 100 * MS };
        assert!(busy.abs_diff(3 * SECOND) <= off, "{busy}");
        assert_eq!(busy == 3 * SECOND, vary == 0);
    }
}

/// Queues an item at 0; when it starts.
fn first_start(options: Options) -> (u64, u64) {
    let machine = Machine::new(options);
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("w"));
    let item = machine.item("a", |_| Script::boxed([]));
    let cpu = None;
    spawn(
        &machine,
        0,
        [Act::Call(Call::QueueWork { queue, cpu, item })],
    );
    machine.run();
    (starts(&machine)[0].0, machine.spawn_failures())
}

#[test]
fn threads_fail_to_come_during_outages() {
    let (at, failures) = first_start(Options {
        spawn_outages: vec![0..10 * MS, 1500 * MS..2500 * MS],
        ..Options::on("T1").unwrap()
    });
    assert_eq!(failures, 1);
    assert!((1000 * MS..1010 * MS).contains(&at), "{at}");
    let (at, failures) = first_start(Options {
        spawn_outages: vec![0..MS, MS..2500 * MS],
        ..Options::on("T1").unwrap()
    });
    assert_eq!(failures, 3);
    assert!((3000 * MS..3030 * MS).contains(&at), "{at}");
}

#[test]
fn threads_fail_to_come_by_chance() {
    let first_fails = |seed, spawn_fails| {
        first_start(Options {
            seed,
            spawn_fails,
            ..Options::on("T1").unwrap()
        })
        .1
    };
    let failing = |per_mille| (0..200).filter(|&s| first_fails(s, per_mille) > 0).count();
    assert_eq!(failing(0), 0);
    let some = failing(250);
    // A worker and a reserve are made: 1 - 0.75^2 of the runs, when both are asked for.
    assert!((40..120).contains(&some), "{some} of 200");
    let machine = Machine::new(Options {
        spawn_fails: 1000,
        ..Options::on("T1").unwrap()
    });
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("w"));
    let item = machine.item("a", |_| Script::boxed([]));
    let cpu = None;
    spawn(
        &machine,
        0,
        [Act::Call(Call::QueueWork { queue, cpu, item })],
    );
    machine.run_until(Time(9500 * MS));
    assert_eq!((starts(&machine), machine.spawn_failures()), (vec![], 10));
    machine.set_spawn_fails(0);
    machine.run();
    assert_eq!(starts(&machine).len(), 1);
}

#[test]
fn threads_take_about_their_time_to_be_made() {
    let takes = |seed| {
        first_start(Options {
            seed,
            spawn_takes: MS,
            spawn_jitter: 500,
            ..Options::on("T1").unwrap()
        })
        .0
    };
    let all: Vec<u64> = (0..100).map(takes).collect();
    // A worker, then its reserve.
    assert!(all.iter().all(|at| (MS..3 * MS).contains(at)), "{all:?}");
    let early = all.iter().filter(|&&at| at < 2 * MS).count();
    assert!((30..70).contains(&early), "{early}");
}

/// Items whose programs draw numbers, on a pool of which `busy` other items keep workers; with
/// threads that draw.
fn draws(seed: u64, busy: usize) -> Vec<(ItemId, u64)> {
    let options = Options::on("T4").unwrap();
    let machine = Machine::new(Options { seed, ..options });
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("w"));
    let drawn: std::rc::Rc<std::cell::RefCell<Vec<(ItemId, u64)>>> = Default::default();
    let mut acts = Vec::new();
    let cpu = None;
    for _ in 0..10 {
        let drawn = drawn.clone();
        let item = machine.item("draws", move |_| {
            let drawn = drawn.clone();
            let mut done = false;
            Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
                if std::mem::replace(&mut done, true) {
                    return Act::End;
                }
                let item = cx.execution().expect("an item").item;
                let number = cx.random().bits();
                drawn.borrow_mut().push((item, number));
                Act::Burn(number % MS)
            })
        });
        acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
    }
    for _ in 0..busy {
        let item = machine.item("burns", |_| Script::boxed([Act::Burn(MS)]));
        acts.insert(0, Act::Call(Call::QueueWork { queue, cpu, item }));
    }
    spawn(&machine, 0, acts);
    machine.run();
    let mut drawn = drawn.borrow().clone();
    drawn.sort_unstable();
    drawn
}

#[test]
fn an_item_draws_the_same_whoever_executes_it() {
    let alone = draws(7, 0);
    assert_eq!(draws(7, 9), alone);
    assert_ne!(draws(8, 0), alone);
    let mut numbers: Vec<u64> = alone.iter().map(|d| d.1).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 10, "each has its own");
}

#[test]
fn a_thread_draws_the_same_whatever_others_do() {
    let second = |first_draws: usize| {
        let machine = machine("T2");
        let drawn: std::rc::Rc<std::cell::Cell<u64>> = Default::default();
        let seen = drawn.clone();
        let first = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            for _ in 0..first_draws {
                cx.random().bits();
            }
            Act::End
        };
        let second = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            seen.set(cx.random().bits());
            Act::End
        };
        machine.spawn(ThreadSpec::named("first"), Box::new(first));
        machine.spawn(ThreadSpec::named("second"), Box::new(second));
        machine.run();
        drawn.get()
    };
    assert_eq!(second(0), second(5));
}

/// Everything at once: locks, devices with jitter, data, failing threads, foreign load.
fn busy(seed: u64) -> Machine {
    let mut options = Options::on("T8").unwrap();
    options.seed = seed;
    options.spawn_takes = 30 * US;
    options.spawn_jitter = 300;
    options.spawn_fails = 100;
    options.costs.refill = [0, 10, 30, 100, 200];
    let machine = Machine::new(options);
    let locks = [
        machine.lock(LockSpec::new("a").spin(20 * US)),
        machine.lock(LockSpec::new("b").handoff()),
    ];
    let disk = machine.device(DeviceSpec {
        jitter: 300,
        ..disk(3)
    });
    let (data, sem) = (machine.data(), machine.semaphore(2));
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    for n in 0..40 {
        let lock = locks[n % 2];
        let item = machine.item("i", move |_| {
            Script::boxed([
                Act::Touch(data, 4096),
                Act::Lock(lock),
                Act::Burn(50 * US),
                Act::Unlock(lock),
                Act::Take(sem),
                Act::Io(disk, 1024),
                Act::Post(sem),
            ])
        });
        let done = Completion::Queue { queue, item };
        spawn(&machine, n % 8, [Act::Submit(disk, 512, done), Act::Yield]);
    }
    let load = Load::duty(MS, MS).varied(500).until(Time(20 * MS));
    machine.spawn(ThreadSpec::named("load"), load.boxed());
    machine.run();
    machine
}

#[test]
fn the_seed_decides() {
    let machine = busy(1);
    assert_eq!(starts(&machine).len(), 40);
    let first = text(&machine);
    assert!(first.len() > 500, "{} lines", first.len());
    assert_eq!(text(&busy(1)), first);
    assert_ne!(text(&busy(2)), first);
}
