//! Locks, to the nanosecond: who gets one and when, what waiting costs, and what pools make of it.

use cmwq_policy::Time;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};
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

/// After `late`, so many rounds with `held` under the lock and `between` after it.
fn rounds(lock: LockId, late: u64, rounds: usize, held: u64, between: u64) -> Vec<Act> {
    let round = [
        Act::Lock(lock),
        Act::Burn(held),
        Act::Unlock(lock),
        Act::Burn(between),
    ];
    let acts = std::iter::repeat_n(round, rounds).flatten();
    let first = (late > 0).then_some(Act::Sleep(late));
    first.into_iter().chain(acts).collect()
}

fn once(lock: LockId, late: u64, held: u64) -> Vec<Act> {
    rounds(lock, late, 1, held, 0)
}

/// Who got the lock, and when.
fn owners(machine: &Machine, lock: LockId) -> Vec<(u64, u32)> {
    let trace = machine.trace().into_iter();
    let got = trace.filter(|l| l.what == What::Locks(lock));
    got.map(|l| (l.at.0, l.thread.0)).collect()
}

#[test]
fn waiters_get_the_lock_in_the_order_in_which_they_came() {
    for spec in [LockSpec::new("m"), LockSpec::new("m").handoff()] {
        let machine = machine("T4");
        let lock = machine.lock(spec);
        // The first comes last.
        for cpu in 0..4 {
            spawn(&machine, cpu, once(lock, 10 * US * (4 - cpu as u64), MS));
        }
        machine.run();
        let from = 10 * US;
        let expected = [(0, 3), (1, 2), (2, 1), (3, 0)];
        assert_eq!(
            owners(&machine, lock),
            expected.map(|(n, id)| (from + n * MS, id))
        );
        let stats = machine.lock_stats(lock);
        let expected = LockStats {
            acquired: 4,
            contended: 3,
            max_waiters: 3,
            held_ns: 4 * MS,
            waited_ns: 6 * MS - (10 + 20 + 30) * US,
        };
        assert_eq!(stats, expected);
        assert_eq!(machine.owner_of(lock), None);
    }
}

/// Two threads on one CPU, the first of which loses the CPU with the lock in its hands: how often
/// each way of giving the lock away makes somebody wait.
fn convoy(spec: LockSpec) -> (Vec<(u64, u32)>, LockStats) {
    let machine = Machine::new(Options {
        discipline: Discipline::Fair(1500 * US),
        ..Options::on("T1").unwrap()
    });
    let lock = machine.lock(spec);
    for _ in 0..2 {
        spawn(&machine, 0, rounds(lock, 0, 5, MS, 0));
    }
    machine.run();
    assert_eq!(machine.now().0, 10 * MS);
    (owners(&machine, lock), machine.lock_stats(lock))
}

#[test]
fn a_lock_that_is_handed_over_makes_a_convoy() {
    let (got, stats) = convoy(LockSpec::new("m").handoff());
    // From 2 ms on they take turns: each finds the lock given to the other.
    let turns: Vec<(u64, u32)> = [0, 0, 1, 0, 1, 0, 1, 0, 1, 1]
        .into_iter()
        .enumerate()
        .map(|(ms, id)| (ms as u64 * MS, id))
        .collect();
    assert_eq!(got, turns);
    assert_eq!((stats.acquired, stats.contended), (10, 7));
}

#[test]
fn a_lock_that_is_free_for_all_stays_with_who_has_the_cpu() {
    let (got, stats) = convoy(LockSpec::new("m"));
    // The woken one gets no CPU before the other one has the lock again.
    let owners: Vec<u32> = got.into_iter().map(|(_, id)| id).collect();
    assert_eq!(owners[..5], [0; 5]);
    assert_eq!(owners[5..], [1; 5]);
    assert_eq!((stats.acquired, stats.contended), (10, 1));
}

#[test]
fn a_woken_waiter_that_comes_too_late_keeps_its_place() {
    let machine = machine("T4");
    let lock = machine.lock(LockSpec::new("m"));
    // 0 has the lock up to 1 ms, and 3 takes it in the same instant, before 1 has its CPU back,
    // which a thread burns that came while 1 slept.
    spawn(&machine, 0, once(lock, 0, MS));
    spawn(&machine, 1, once(lock, 100 * US, MS));
    spawn(&machine, 1, [Act::Sleep(500 * US), Act::Burn(2 * MS)]);
    spawn(&machine, 2, once(lock, 200 * US, MS));
    spawn(&machine, 3, once(lock, MS, MS));
    machine.run();
    // 1 tries when it has its CPU, at 2.5 ms.
    let expected = [(0, 0), (MS, 4), (2500 * US, 1), (3500 * US, 3)];
    assert_eq!(owners(&machine, lock), expected);
    let asked = machine.thread_stats(ThreadId(1));
    assert_eq!(asked.voluntary_switches, 2, "one sleep before, one for it");
}

#[test]
fn a_waiter_spins_before_it_sleeps() {
    for (held, cpu_ns, sleeps) in [(50 * US, 50 * US, 0), (150 * US, 100 * US, 1)] {
        for handoff in [false, true] {
            let machine = machine("T2");
            let spec = LockSpec::new("m").spin(100 * US);
            let lock = machine.lock(LockSpec { handoff, ..spec });
            spawn(&machine, 0, once(lock, 0, held));
            let waiter = spawn(&machine, 1, [Act::Lock(lock)]);
            machine.run();
            assert_eq!(owners(&machine, lock), [(0, 0), (held, 1)]);
            let stats = machine.thread_stats(waiter);
            assert_eq!((stats.cpu_ns, stats.voluntary_switches), (cpu_ns, sleeps));
            assert_eq!(machine.owner_of(lock), Some(waiter), "nobody releases it");
            assert_eq!(machine.lock_stats(lock).waited_ns, held);
        }
    }
}

#[test]
fn spinners_come_before_those_who_sleep_unless_the_lock_is_fair() {
    for (handoff, order) in [(false, [0, 2, 1]), (true, [0, 1, 2])] {
        let machine = machine("T4");
        let spec = LockSpec::new("m").spin(100 * US);
        let lock = machine.lock(LockSpec { handoff, ..spec });
        spawn(&machine, 0, once(lock, 0, 200 * US));
        spawn(&machine, 1, once(lock, 10 * US, 200 * US));
        spawn(&machine, 2, once(lock, 150 * US, 200 * US));
        machine.run();
        let expected = [(0, order[0]), (200 * US, order[1]), (400 * US, order[2])];
        assert_eq!(owners(&machine, lock), expected);
    }
}

#[test]
fn an_optimist_spins_only_while_the_owner_has_a_cpu() {
    // One asks while the owner burns, the other one while it sleeps.
    for (optimistic, early_ns, late_ns) in [(false, 70 * US, 20 * US), (true, 20 * US, 0)] {
        let machine = machine("T4");
        let spec = LockSpec::new("m").spin(70 * US);
        let lock = machine.lock(LockSpec { optimistic, ..spec });
        let owner = [
            Act::Lock(lock),
            Act::Burn(30 * US),
            Act::Sleep(100 * US),
            Act::Unlock(lock),
        ];
        spawn(&machine, 0, owner);
        let early = spawn(&machine, 1, once(lock, 10 * US, 0));
        let late = spawn(&machine, 2, once(lock, 110 * US, 0));
        machine.run();
        let burnt = [early, late].map(|id| machine.thread_stats(id).cpu_ns);
        assert_eq!(burnt, [early_ns, late_ns]);
        // Who still spins is faster than who sleeps.
        let order = if optimistic { [1, 2] } else { [2, 1] };
        let expected = [(0, 0), (130 * US, order[0]), (130 * US, order[1])];
        assert_eq!(owners(&machine, lock), expected);
    }
}

#[test]
fn an_optimist_sleeps_when_the_owner_loses_its_cpu() {
    let machine = Machine::new(Options {
        discipline: Discipline::Fair(MS),
        ..Options::on("T2").unwrap()
    });
    let spec = LockSpec::new("m").spin(100 * MS);
    let lock = machine.lock(LockSpec {
        optimistic: true,
        ..spec
    });
    spawn(&machine, 0, once(lock, 0, 1500 * US));
    spawn(&machine, 0, [Act::Burn(5 * MS)]);
    let waiter = spawn(&machine, 1, [Act::Lock(lock)]);
    machine.run();
    // The owner has slices from 0 and from 2 ms on.
    assert_eq!(owners(&machine, lock), [(0, 0), (2500 * US, 2)]);
    assert_eq!(machine.thread_stats(waiter).cpu_ns, MS);
}

#[test]
fn spinners_slow_the_owner_down() {
    let machine = machine("T4");
    let spec = LockSpec::new("m").spin(MS);
    let lock = machine.lock(LockSpec {
        bounce: 10 * US,
        ..spec
    });
    for cpu in 0..4 {
        spawn(&machine, cpu, once(lock, cpu as u64, 100 * US));
    }
    machine.run();
    let starts: Vec<u64> = owners(&machine, lock).iter().map(|o| o.0).collect();
    assert_eq!(starts, [0, 130 * US, 250 * US, 360 * US]);
    assert_eq!(machine.lock_stats(lock).held_ns, 460 * US);
}

#[test]
fn a_spinner_without_a_cpu_tries_when_it_has_one() {
    let machine = Machine::new(Options {
        discipline: Discipline::Fair(MS),
        ..Options::on("T2").unwrap()
    });
    let lock = machine.lock(LockSpec::new("m").spin(10 * MS));
    spawn(&machine, 0, once(lock, 0, 1500 * US));
    let waiter = spawn(&machine, 1, [Act::Lock(lock)]);
    spawn(&machine, 1, [Act::Burn(1500 * US)]);
    machine.run();
    // It spins up to 1 ms, and has the CPU again at 2 ms.
    assert_eq!(owners(&machine, lock), [(0, 0), (2 * MS, 1)]);
    assert_eq!(machine.thread_stats(waiter).cpu_ns, MS);
}

#[test]
#[should_panic(expected = "t1 releases the lock journal, which t0 has")]
fn only_the_owner_releases_a_lock() {
    let machine = machine("T2");
    let lock = machine.lock(LockSpec::new("journal"));
    spawn(&machine, 0, once(lock, 0, MS));
    spawn(&machine, 1, [Act::Burn(US), Act::Unlock(lock)]);
    machine.run();
}

#[test]
#[should_panic(expected = "t0 releases the lock journal, which nobody has")]
fn a_free_lock_is_not_released() {
    let machine = machine("T1");
    let lock = machine.lock(LockSpec::new("journal"));
    spawn(&machine, 0, [Act::Unlock(lock)]);
    machine.run();
}

#[test]
#[should_panic(expected = "t0 waits for itself: it has the lock journal already")]
fn a_lock_is_not_taken_twice() {
    let machine = machine("T1");
    let lock = machine.lock(LockSpec::new("journal"));
    spawn(&machine, 0, [Act::Lock(lock), Act::Lock(lock)]);
    machine.run();
}

#[test]
fn programs_see_who_has_a_lock() {
    let machine = machine("T1");
    let lock = machine.lock(LockSpec::new("m"));
    let mut acts = [Act::Lock(lock), Act::Unlock(lock)].into_iter();
    let mut seen = Vec::new();
    let program = move |cx: &mut ProgramCx<'_>, _| {
        seen.push(cx.has(lock));
        acts.next().unwrap_or_else(|| {
            assert_eq!(seen, [false, true, false]);
            Act::End
        })
    };
    let id = machine.spawn(ThreadSpec::named("t"), Box::new(program));
    machine.run();
    assert!(machine.is_done(id));
}

/// Queues items of this body.
fn queue(machine: &Machine, queue: QueueId, count: usize, body: Vec<Act>) {
    let mut acts = Vec::new();
    for _ in 0..count {
        let body = body.clone();
        let item = machine.item("i", move |_| Script::boxed(body.clone()));
        let cpu = Some(0);
        acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
    }
    machine.spawn(ThreadSpec::named("main"), Script::boxed(acts));
}

#[test]
fn waiting_for_a_lock_is_a_sleep_for_the_pool() {
    let machine = machine("T1");
    let lock = machine.lock(LockSpec::new("m"));
    let w = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let under_it = [Act::Lock(lock), Act::Sleep(10 * MS), Act::Unlock(lock)];
    queue(&machine, w, 2, under_it.into());
    queue(&machine, w, 1, vec![Act::Burn(5 * MS)]);
    machine.run();
    let started = |l: &Line| matches!(l.what, What::Start(..)).then_some(l.at);
    let starts: Vec<Time> = machine.trace().iter().filter_map(started).collect();
    assert_eq!(starts, [Time(0); 3], "the third runs while two sleep");
    assert_eq!(machine.now().0, 20 * MS);
}

/// The workers of a managed queue after items that do this, 2 in a millisecond; the machine is told
/// of blocked workers as a program in user space is.
fn workers_for(body: impl Fn(&Machine) -> Vec<Act>) -> u32 {
    let machine = Machine::new(Options {
        signals: Signals::User(UserSignals::default()),
        ..Options::on("T4").unwrap()
    });
    let queue = machine.alloc_workqueue(QueueSpec::managed("w").max_active(512));
    let body = body(&machine);
    let mut acts = Vec::new();
    for _ in 0..400 {
        let body = body.clone();
        let item = machine.item("i", move |_| Script::boxed(body.clone()));
        let cpu = None;
        acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
        acts.push(Act::Sleep(MS / 2));
    }
    machine.spawn(ThreadSpec::named("main"), Script::boxed(acts));
    machine.run_until(Time(300 * MS));
    machine.workers(machine.pool_of(queue, 0)).0
}

#[test]
fn a_pool_does_not_grow_for_a_convoy() {
    let convoy = workers_for(|m| {
        let lock = m.lock(LockSpec::new("m"));
        vec![Act::Lock(lock), Act::Sleep(MS), Act::Unlock(lock)]
    });
    let limiter = workers_for(|m| {
        let sem = m.semaphore(1);
        vec![Act::Take(sem), Act::Sleep(MS), Act::Post(sem)]
    });
    let blocked = workers_for(|_| vec![Act::Sleep(100 * MS)]);
    // Each of the blocked ones lasts while 200 others come.
    assert!(blocked >= 150, "{blocked}");
    assert!(convoy <= 40, "{convoy}");
    assert!(limiter <= 40, "{limiter}");
}
