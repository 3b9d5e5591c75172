//! What it costs that CPUs share the lock and the lines of a pool.

use std::cell::Cell;
use std::rc::Rc;

use cmwq_policy::Nanos;
use cmwq_policy::affinity::Scope;
use cmwq_policy::attrs::Kind;
use cmwq_sim::cpu::lines::trips;
use cmwq_sim::{
    Act, Call, Costs, Machine, Options, PoolId, ProgramCx, QueueSpec, Script, Sharing, ThreadSpec,
    Topology,
};

const ITEMS: u64 = 4_000;

/// So many CPUs in one cache; two threads queue items that burn so much, one each 200 ns, for a
/// queue that keeps one pool. The time until all have ended, and the machine.
fn run(cpus: u32, burns: Nanos, sharing: Sharing) -> (Nanos, Machine) {
    let topology = Topology::regular("one", cpus, 1, cpus, cpus);
    let mut spec = QueueSpec::managed("q");
    spec.made.attrs.scope = Some(Scope::System);
    run_on(topology, spec, burns, sharing)
}

/// The same on this machine, where the first two CPUs queue, for such a queue.
fn run_on(topology: Topology, spec: QueueSpec, burns: Nanos, sharing: Sharing) -> (Nanos, Machine) {
    let cpus = topology.len() as u64;
    let mut options = Options::of(topology);
    options.costs = Costs {
        call: 200,
        sharing,
        ..Costs::default()
    };
    let machine = Machine::new(options);
    let queue = machine.alloc_workqueue(spec);
    let ended = Rc::new(Cell::new(0));
    for half in [0, 1] {
        let item = |_| {
            let ended = ended.clone();
            machine.item("i", move |_| {
                let ended = ended.clone();
                let mut burns = Some(burns);
                Box::new(move |_: &mut ProgramCx<'_>, _| {
                    let act = burns.take().map_or(Act::End, Act::Burn);
                    ended.set(ended.get() + u64::from(act == Act::End));
                    act
                })
            })
        };
        let items = (0..ITEMS / 2).map(item);
        let calls = items.map(|item| {
            let cpu = None;
            Act::Call(Call::QueueWork { queue, cpu, item })
        });
        let calls: Vec<Act> = calls.collect();
        machine.spawn(
            ThreadSpec::named("p").on(half % cpus as usize),
            Script::boxed(calls),
        );
    }
    machine.run_while(cmwq_policy::Time(u64::MAX), |_| ended.get() < ITEMS);
    assert_eq!(ended.get(), ITEMS);
    (machine.now().0, machine)
}

fn the_lock(hold: Nanos) -> Sharing {
    Sharing {
        hold,
        ..Sharing::default()
    }
}

#[test]
fn a_lock_lets_no_more_pass_than_one_at_a_time() {
    const HOLD: Nanos = 250_000;
    // Too long to be dealt, for however long workers wait for the lock.
    const BURNS: Nanos = 600_000;
    let (free, _) = run(16, BURNS, Sharing::default());
    let (bound, machine) = run(16, BURNS, the_lock(HOLD));
    let (lock, _) = machine.pool_lines(PoolId(0));
    assert!(lock.accesses >= ITEMS, "an item takes the lock");
    // At the end some are still at the lock.
    let all = lock.accesses * HOLD;
    assert!(lock.held_ns <= all && lock.held_ns + 18 * HOLD >= all);
    let passed = lock.held_ns - 18 * HOLD;
    assert!(bound >= passed, "{bound} ns for {passed}");
    assert!(bound > 5 * free, "{bound} ns, {free} without a lock");
    assert!(lock.waited_ns > lock.held_ns, "many wait for each");
}

#[test]
fn who_waits_for_the_lock_comes_for_several_items_at_once() {
    const HOLD: Nanos = 2_000;
    let (_, machine) = run(16, 5_000, the_lock(HOLD));
    let (lock, _) = machine.pool_lines(PoolId(0));
    assert!(lock.accesses < ITEMS * 3 / 4, "{lock:?}");
    let (_, machine) = run(16, 5_000, the_lock(HOLD / 100));
    let (lock, _) = machine.pool_lines(PoolId(0));
    assert!(lock.accesses >= ITEMS, "they are not short: {lock:?}");
}

#[test]
fn trips_of_the_lock_add_up() {
    let far = Sharing {
        trips: trips(300, 0, 0),
        beside_lock: 2,
        ..the_lock(100)
    };
    let (near, machine) = run(4, 5_000, the_lock(100));
    assert_eq!(machine.pool_lines(PoolId(0)).0.trip_ns, 0);
    let (apart, machine) = run(4, 5_000, far);
    let (lock, _) = machine.pool_lines(PoolId(0));
    assert_eq!(lock.trip_ns, lock.moves * 900);
    assert!(apart >= lock.busy_ns() && apart > near, "{apart}, {near}");
}

#[test]
fn what_is_left_in_the_inbox_takes_its_line_and_no_lock() {
    let sharing = Sharing {
        leave: 20,
        ..the_lock(100)
    };
    let (_, machine) = run(4, 100, sharing);
    let (lock, trays) = machine.pool_lines(PoolId(0));
    assert!(
        trays.len() == 1 && trays[0].accesses > ITEMS / 2,
        "{trays:?}"
    );
    assert!(lock.accesses < ITEMS, "{lock:?}");
}

#[test]
fn each_cache_has_a_tray_of_its_own_but_what_runs_one_at_a_time_has_one() {
    let accesses = |spec| {
        let sharing = Sharing {
            leave: 20,
            ..the_lock(100)
        };
        let (_, machine) = run_on(Topology::regular("four", 4, 1, 1, 4), spec, 100, sharing);
        let (_, trays) = machine.pool_lines(PoolId(0));
        trays.iter().map(|tray| tray.accesses).collect::<Vec<_>>()
    };
    let trays = accesses(QueueSpec::managed("q"));
    assert!(trays[..2].iter().all(|&tray| tray > ITEMS / 8), "{trays:?}");
    let trays = accesses(QueueSpec::managed("one").max_active(1));
    assert!(trays[0] > ITEMS / 8 && trays[1] == 0, "{trays:?}");
}

#[test]
fn an_execution_and_its_lines_are_private() {
    let alone = Sharing {
        execution: 300,
        ..Sharing::default()
    };
    let carried = Sharing {
        trips: trips(1_000, 0, 0),
        carried: 500,
        ..Sharing::default()
    };
    let (free, _) = run(1, 1_000, Sharing::default());
    assert_eq!(run(1, 1_000, alone).0, free + 300 * ITEMS);
    assert_eq!(run(1, 1_000, carried.clone()).0, free, "it never moves");
    assert!(run(2, 1_000, carried).0 > run(2, 1_000, Sharing::default()).0);
}

#[test]
fn the_same_costs_take_the_same_time() {
    let sharing = Sharing {
        trips: trips(40, 100, 140),
        beside_lock: 1,
        event: 70,
        item: 10,
        ..the_lock(12)
    };
    let once = || {
        let (took, machine) = run(8, 500, sharing.clone());
        (took, machine.pool_lines(PoolId(0)))
    };
    assert_eq!(once(), once());
}

#[test]
fn items_in_order_are_taken_of_the_row_and_few_ask_for_the_lock() {
    let topology = Topology::regular("one", 16, 1, 16, 16);
    let mut spec = QueueSpec::managed("q");
    spec.made.kind = Kind::Fifo;
    let sharing = Sharing {
        row: 20,
        ..the_lock(2_000)
    };
    let (_, machine) = run_on(topology, spec, 5_000, sharing);
    let ([front, behind], (lock, _)) =
        (machine.row_lines(PoolId(0)), machine.pool_lines(PoolId(0)));
    // Not before it is known how long the items take, and not while threads are made for them.
    assert!(front.accesses > ITEMS / 4, "{front:?}");
    assert!(behind.accesses < front.accesses / 2, "{behind:?}");
    assert!(lock.accesses < ITEMS, "{lock:?}");
}
