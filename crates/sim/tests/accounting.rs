//! Every run is the same; pools know of every sleep; nothing is left behind.

use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, Time};
use cmwq_sim::*;

const MS: Nanos = MILLISECOND;

/// A few items of all kinds on all kinds of queues, queued by three threads.
fn busy(spawn_takes: Nanos) -> Machine {
    let machine = Machine::new(Options {
        spawn_takes,
        ..Options::on("T8").unwrap()
    });
    let queues = [
        QueueSpec::percpu("percpu").max_active(3),
        QueueSpec::percpu("high").at_nice(-20),
        QueueSpec::managed("managed"),
        QueueSpec::unmanaged("unmanaged").max_active(5),
        QueueSpec::ordered("ordered"),
    ]
    .map(|spec| machine.alloc_workqueue(spec));
    for thread in 0..3usize {
        let mut acts = Vec::new();
        for n in 0..40usize {
            let item = machine.item("i", move |_| body(thread + n));
            let queue = queues[(thread + n) % queues.len()];
            let cpu = (n % 4 == 0).then_some(n % 8);
            acts.push(Act::Call(Call::QueueWork { queue, cpu, item }));
            acts.push(Act::Burn((n as u64 % 7) * MS / 10));
        }
        acts.push(Act::Call(Call::FlushWorkqueue(queues[thread])));
        machine.spawn(ThreadSpec::named("producer"), Script::boxed(acts));
    }
    machine
}

fn body(n: usize) -> Box<dyn Program> {
    let (burn, sleep) = (n as u64 % 5 + 1, n as u64 % 11 + 1);
    match n % 3 {
        0 => Script::boxed([Act::Burn(burn * MS)]),
        1 => Script::boxed([Act::Burn(burn * MS), Act::Sleep(sleep * MS), Act::Burn(MS)]),
        _ => Script::boxed([Act::Sleep(sleep * MS)]),
    }
}

fn text(machine: &Machine) -> Vec<String> {
    machine.trace().iter().map(Line::to_string).collect()
}

#[test]
fn the_same_programs_leave_the_same_trace() {
    for spawn_takes in [0, MS / 3] {
        let [first, second] = [(); 2].map(|()| {
            let machine = busy(spawn_takes);
            machine.run();
            text(&machine)
        });
        assert!(first.len() > 500, "{} lines", first.len());
        assert_eq!(first, second);
    }
}

/// Workers of a pool that are not asleep.
fn awake(machine: &Machine, pool: PoolId) -> u32 {
    let threads = machine.worker_threads(pool).into_iter();
    threads.filter(|&id| !machine.is_asleep(id)).count() as u32
}

#[test]
fn pools_know_exactly_who_runs() {
    for spawn_takes in [0, MS / 3] {
        let machine = busy(spawn_takes);
        let mut instants = 0;
        let ended = machine.run_while(Time(3_600_000 * MS), |m| {
            instants += 1;
            for pool in (0..m.nr_pools() as u32).map(PoolId) {
                let (awake, counted) = (awake(m, pool), m.nr_running(pool));
                // A new worker is not counted before it has had a CPU; one that waits until another
                // one is made is.
                let managing = u32::from(spawn_takes > 0);
                let (least, most) = (counted.saturating_sub(managing), counted + 1);
                assert!(
                    (least..=most).contains(&awake),
                    "{}: {pool:?}: {awake} are awake, {counted} counted",
                    m.now().0
                );
            }
            true
        });
        assert_eq!(ended, Ended::Quiet);
        assert!(instants > 100, "{instants}");
    }
}

#[test]
fn nothing_is_left_behind() {
    for spawn_takes in [0, MS / 3] {
        let machine = busy(spawn_takes);
        machine.run();
        assert_eq!(machine.referred_to(), (Vec::new(), Vec::new()));
        assert_eq!(machine.tokens(), 0);
        let (mut started, mut completed) = (0, 0);
        for pool in (0..machine.nr_pools() as u32).map(PoolId) {
            let (all, idle) = machine.workers(pool);
            assert_eq!((all, machine.nr_running(pool)), (idle, 0), "{pool:?}");
            let stats = machine.pool_stats(pool);
            started += stats.started;
            completed += stats.completed;
        }
        assert_eq!((started, completed), (120, 120));
    }
}

#[test]
fn idle_workers_retire_after_five_minutes() {
    let machine = Machine::new(Options::on("T1").unwrap());
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("u"));
    let mut acts = Vec::new();
    for _ in 0..12 {
        let item = machine.item("sleeps", |_| Script::boxed([Act::Sleep(10 * MS)]));
        acts.push(Act::Call(Call::QueueWork {
            queue,
            cpu: None,
            item,
        }));
    }
    machine.spawn(ThreadSpec::named("main"), Script::boxed(acts.clone()));
    machine.run();
    let pool = machine.pool_of(queue, 0);
    assert_eq!(machine.workers(pool), (13, 13), "one more than needed");
    // A machine on which nothing else happens is quiet: a thread keeps it going.
    machine.spawn(
        ThreadSpec::named("waits"),
        Script::boxed([Act::Sleep(301_000 * MS)]),
    );
    machine.run();
    assert_eq!(machine.workers(pool), (2, 2));
}

#[test]
fn threads_take_their_time_to_be_made() {
    let takes = 2 * MS;
    let machine = Machine::new(Options {
        spawn_takes: takes,
        ..Options::on("T1").unwrap()
    });
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let item = machine.item("a", |_| Script::boxed([]));
    let queue_it = Act::Call(Call::QueueWork {
        queue,
        cpu: None,
        item,
    });
    machine.spawn(ThreadSpec::named("main"), Script::boxed([queue_it]));
    machine.run();
    let start = machine
        .trace()
        .into_iter()
        .find(|l| matches!(l.what, What::Start(..)));
    // The worker, then its reserve: that comes before work.
    assert_eq!(start.unwrap().at, Time(2 * takes));
}

#[test]
fn a_failed_creation_is_tried_again_after_its_pause() {
    let machine = Machine::new(Options::on("T1").unwrap());
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let item = machine.item("a", |_| Script::boxed([]));
    let queue_it = Act::Call(Call::QueueWork {
        queue,
        cpu: None,
        item,
    });
    machine.spawn(ThreadSpec::named("main"), Script::boxed([queue_it]));
    machine.fail_spawns(true);
    machine.run_until(Time(500 * MS));
    assert_eq!(machine.spawn_failures(), 1);
    machine.fail_spawns(false);
    machine.run();
    let ended = machine
        .trace()
        .into_iter()
        .find(|l| matches!(l.what, What::End(_)));
    let at = ended.unwrap().at.0;
    assert!((1000 * MS..1010 * MS).contains(&at), "{at}");
}
