//! Queues that get a pool for each cache shard, because their workers wait for the pool's lock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cmwq_policy::time::MICROSECOND;
use cmwq_policy::{Nanos, Time};
use cmwq_sim::scale::{self, Cell as Run, Design, Hardware, Shape};
use cmwq_sim::*;

/// Two caches of 8 CPUs. A hold of a pool's lock takes so long.
fn machine(hold: Nanos) -> Machine {
    let mut options = Options::of(Topology::regular("two caches", 16, 1, 8, 16));
    options.costs = Costs {
        call: 200,
        sharing: Sharing {
            hold,
            ..Sharing::default()
        },
        ..Costs::default()
    };
    Machine::new(options)
}

/// An item that computes, then queues itself again so many times.
fn item(
    machine: &Machine,
    queue: QueueId,
    burns: Nanos,
    again: u32,
    ended: &Rc<Cell<u32>>,
) -> ItemId {
    let ended = ended.clone();
    let id = Rc::new(Cell::new(None));
    let own = id.clone();
    let item = machine.item("i", move |execution| {
        let (ended, own) = (ended.clone(), own.clone());
        let mut step = 0;
        Box::new(move |_: &mut ProgramCx<'_>, _: Option<Answer>| {
            step += 1;
            match step {
                1 => Act::Burn(burns),
                2 if execution <= again => Act::Call(Call::QueueWork {
                    queue,
                    cpu: None,
                    item: own.get().expect("it is known"),
                }),
                _ => {
                    ended.set(ended.get() + 1);
                    Act::End
                }
            }
        })
    });
    id.set(Some(item));
    item
}

/// A thread on each of these CPUs queues so many items, each of which queues itself so often again;
/// until all have ended.
fn run(machine: &Machine, queue: QueueId, burns: Nanos, (items, again): (u32, u32)) {
    let ended = Rc::new(Cell::new(0));
    for cpu in [0, 8] {
        let queue_one = |_| {
            Act::Call(Call::QueueWork {
                queue,
                cpu: None,
                item: item(machine, queue, burns, again, &ended),
            })
        };
        let acts: Vec<Act> = (0..items).map(queue_one).collect();
        machine.spawn(ThreadSpec::named("p").on(cpu), Script::boxed(acts));
    }
    let all = 2 * items * (again + 1);
    machine.run_while(Time(u64::MAX), |_| ended.get() < all);
    assert_eq!(ended.get(), all, "an item is lost");
}

const HOLD: Nanos = 2 * MICROSECOND;
const BURNS: Nanos = 5 * MICROSECOND;
const ITEMS: u32 = 20_000;

#[test]
fn a_queue_whose_workers_wait_for_the_lock_is_spread_and_loses_nothing() {
    let machine = machine(HOLD);
    let queue = machine.alloc_workqueue(QueueSpec::managed("q"));
    run(&machine, queue, BURNS, (ITEMS, 0));
    assert!(machine.is_spread(queue));
    let cpus = |pool| machine.pool_pod(PoolId(pool as u32)).count();
    let pods: Vec<_> = (0..machine.nr_pools()).map(cpus).collect();
    assert_eq!(pods, [16, 8, 8]);
    run(&machine, queue, BURNS, (ITEMS, 0));
}

#[test]
fn then_no_line_that_all_cpus_share_bounds_how_many_items_pass() {
    let cell = Run {
        design: Design::Cmwq,
        shape: Shape::Outside(16),
        topology: scale::machine(64),
        hardware: Hardware::large(),
        item: MICROSECOND,
        items: 100_000,
        seed: 1,
    };
    let ours = cell.run();
    let in_order = Run {
        design: Design::Fifo,
        ..cell
    };
    let in_order = in_order.run();
    assert!(ours.global_ns() <= 20, "{ours:?}");
    assert!(
        ours.elapsed * 10 < in_order.elapsed,
        "{ours:?}, {in_order:?}"
    );
}

#[test]
fn who_does_not_wait_for_the_lock_stays_together() {
    let machine = machine(10);
    let queue = machine.alloc_workqueue(QueueSpec::managed("q"));
    run(&machine, queue, BURNS, (ITEMS, 0));
    assert!(!machine.is_spread(queue));
}

#[test]
fn items_that_are_queued_again_and_again_stay_together() {
    let machine = machine(HOLD);
    let queue = machine.alloc_workqueue(QueueSpec::managed("q"));
    run(&machine, queue, BURNS, (200, 100));
    assert!(!machine.is_spread(queue));
}

#[test]
fn a_queue_in_order_is_never_spread() {
    let machine = machine(HOLD);
    let queue = machine.alloc_workqueue(QueueSpec::new("q", cmwq_policy::queue::Kind::Fifo));
    run(&machine, queue, BURNS, (2_000, 0));
    machine.respread(queue, true);
    run(&machine, queue, BURNS, (2_000, 0));
    assert_eq!(machine.nr_pools(), 1);
}

/// Items that write down when they begin, queued on these CPUs one after the other.
fn recorders(machine: &Machine, order: &Rc<RefCell<Vec<usize>>>, count: usize) -> Vec<ItemId> {
    let recorder = |number| {
        let order = order.clone();
        machine.item("r", move |_| {
            let order = order.clone();
            let mut began = false;
            Box::new(move |_: &mut ProgramCx<'_>, _: Option<Answer>| {
                if std::mem::replace(&mut began, true) {
                    return Act::End;
                }
                order.borrow_mut().push(number);
                Act::Burn(100 * MICROSECOND)
            })
        })
    };
    (0..count).map(recorder).collect()
}

#[test]
fn what_is_queued_after_a_limit_of_one_begins_in_order() {
    let machine = machine(0);
    let queue = machine.alloc_workqueue(QueueSpec::managed("q"));
    machine.respread(queue, true);
    let order = Rc::default();
    let items = recorders(&machine, &order, 80);
    let queue_one = |(number, &item): (usize, &ItemId)| {
        Act::Call(Call::QueueWork {
            queue,
            cpu: Some(number % 2 * 8),
            item,
        })
    };
    let (first, last) = items.split_at(60);
    let mut acts: Vec<Act> = first.iter().enumerate().map(queue_one).collect();
    acts.push(Act::Call(Call::SetMaxActive(queue, 1)));
    acts.extend(last.iter().enumerate().map(queue_one));
    acts.push(Act::Call(Call::FlushWorkqueue(queue)));
    machine.spawn(ThreadSpec::named("main").on(0), Script::boxed(acts));
    machine.run();
    let order = order.borrow();
    assert_eq!(order.len(), 80);
    // Those before take turns with them from where they are.
    let behind: Vec<usize> = order
        .iter()
        .copied()
        .filter(|&number| number >= 60)
        .collect();
    assert_eq!(behind, (60..80).collect::<Vec<_>>());
    assert!(!machine.is_spread(queue));
}

#[test]
fn a_queue_that_is_spread_keeps_its_limit_on_a_machine_of_nodes() {
    let machine = Machine::new(Options::of(Topology::regular("nodes", 32, 1, 8, 16)));
    let mut spec = QueueSpec::managed("q");
    spec.made.max_active = 4;
    spec.made.attrs.cpumask = Some((0..16).collect());
    let queue = machine.alloc_workqueue(spec);
    let (running, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let items = (0..60).map(|_| {
        let (running, most) = (running.clone(), most.clone());
        machine.item("i", move |_| {
            let (running, most) = (running.clone(), most.clone());
            let mut began = false;
            Box::new(move |_: &mut ProgramCx<'_>, _: Option<Answer>| {
                if std::mem::replace(&mut began, true) {
                    running.set(running.get() - 1);
                    return Act::End;
                }
                running.set(running.get() + 1);
                most.set(u32::max(most.get(), running.get()));
                Act::Sleep(50 * MICROSECOND)
            })
        })
    });
    let queue_one = |(number, item): (usize, ItemId)| {
        Act::Call(Call::QueueWork {
            queue,
            cpu: Some(number * 8 % 32),
            item,
        })
    };
    let acts: Vec<Act> = items.enumerate().map(queue_one).collect();
    let (before, after) = acts.split_at(30);
    machine.spawn(ThreadSpec::named("a").on(0), Script::boxed(before.to_vec()));
    machine.run_while(Time(u64::MAX), |_| running.get() < 4);
    machine.respread(queue, true);
    machine.spawn(ThreadSpec::named("b").on(0), Script::boxed(after.to_vec()));
    machine.run();
    assert_eq!((most.get(), running.get()), (4, 0));
}
