//! Pods and nodes: where items of unbound queues go, on machines with several caches.

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::Attrs;
use cmwq_policy::time::MILLISECOND;
use cmwq_sim::*;

/// What is known of an execution: its item's number, the worker's CPUs, the CPU that it is on.
type Seen = Rc<RefCell<Vec<(u32, String, usize)>>>;

/// An item that writes down where it is, and then sleeps for so long.
fn recorder(machine: &Machine, seen: &Seen, number: u32, sleeps: u64) -> ItemId {
    let seen = seen.clone();
    machine.item("recorder", move |_| {
        let seen = seen.clone();
        let mut began = false;
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            if std::mem::replace(&mut began, true) {
                return Act::End;
            }
            let here = (number, cx.allowed().to_string(), cx.cpu());
            seen.borrow_mut().push(here);
            Act::Sleep(sleeps)
        })
    })
}

fn queue_on(queue: QueueId, cpu: usize, item: ItemId) -> Act {
    Act::Call(Call::QueueWork {
        queue,
        cpu: Some(cpu),
        item,
    })
}

fn t16() -> Machine {
    Machine::new(Options::on("T16").expect("it is known"))
}

fn run(machine: &Machine, acts: Vec<Act>) {
    machine.spawn(ThreadSpec::named("main").on(0), Script::boxed(acts));
    machine.run();
}

/// Queues an item from each of these CPUs, one after the other; what each saw.
fn from_each(machine: &Machine, queue: QueueId, cpus: &[usize]) -> Vec<(u32, String, usize)> {
    let seen = Seen::default();
    let acts = cpus.iter().flat_map(|&cpu| {
        let item = recorder(machine, &seen, cpu as u32, 1);
        [
            queue_on(queue, cpu, item),
            Act::Call(Call::FlushWorkqueue(queue)),
        ]
    });
    run(machine, acts.collect());
    seen.take()
}

#[test]
fn a_strict_queues_items_stay_with_whoever_queued() {
    for (scope, masks) in [
        (Scope::Cpu, ["1", "6", "15"]),
        (Scope::Cache, ["0-3", "4-7", "12-15"]),
        (Scope::Numa, ["0-7", "0-7", "8-15"]),
        (Scope::System, ["0-15"; 3]),
    ] {
        let machine = t16();
        let spec = QueueSpec::unmanaged("q").scope(scope).strict(true);
        let queue = machine.alloc_workqueue(spec);
        let seen = from_each(&machine, queue, &[1, 6, 15]);
        let allowed: Vec<&str> = seen.iter().map(|(_, mask, _)| &**mask).collect();
        assert_eq!(allowed, masks, "{scope:?}");
    }
}

/// The worker of another pod's pool is another one; within the pod it comes back.
#[test]
fn other_queues_items_start_in_the_pod_and_may_go_anywhere() {
    let machine = t16();
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("q").scope(Scope::Cache));
    let seen = from_each(&machine, queue, &[1, 6, 15, 5]);
    for (from, allowed, cpu) in seen {
        assert_eq!(allowed, "0-15");
        assert_eq!(
            cpu / 4,
            from as usize / 4,
            "queued on CPU {from}, ran on {cpu}"
        );
    }
    assert_ne!(machine.pool_of(queue, 1), machine.pool_of(queue, 6));
    assert_eq!(machine.pool_of(queue, 6), machine.pool_of(queue, 5));
}

/// A worker that was pushed out of its pod is brought back when it is woken for the next item.
#[test]
fn workers_come_back_into_their_pod() {
    let machine = t16();
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("q").scope(Scope::Cache));
    let seen = Seen::default();
    let first = recorder(&machine, &seen, 0, 5 * MILLISECOND);
    let second = recorder(&machine, &seen, 1, 1);
    // While the first item sleeps its pod is taken; it goes on, and its worker idles, elsewhere.
    let hog = |cpu| ThreadSpec::named("hog").on(cpu);
    let hogs = [Act::Sleep(MILLISECOND), Act::Burn(10 * MILLISECOND)];
    for cpu in 4..8 {
        machine.spawn(hog(cpu), Script::boxed(hogs.clone()));
    }
    run(
        &machine,
        vec![
            queue_on(queue, 4, first),
            Act::Sleep(20 * MILLISECOND),
            queue_on(queue, 4, second),
            Act::Call(Call::FlushWorkqueue(queue)),
        ],
    );
    let cpus: Vec<usize> = seen.borrow().iter().map(|&(.., cpu)| cpu / 4).collect();
    assert_eq!(cpus, [1, 1]);
    assert_eq!(machine.repatriated(machine.pool_of(queue, 4)), 1);
}

/// Recorded of a kernel (`unb/T16-round-robin-unequal`): CPUs take turns, in the order in which
/// they began to wait.
#[test]
fn cpus_of_an_unmanaged_queue_take_turns() {
    let machine = t16();
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("q").max_active(1));
    let seen = Seen::default();
    let from = [0, 0, 0, 0, 0, 4, 4, 4, 1];
    let acts = from.iter().enumerate().map(|(n, &cpu)| {
        let item = recorder(&machine, &seen, n as u32, MILLISECOND);
        queue_on(queue, cpu, item)
    });
    run(&machine, acts.collect());
    let order: Vec<u32> = seen.borrow().iter().map(|seen| seen.0).collect();
    assert_eq!(order, [0, 1, 5, 8, 2, 6, 3, 7, 4]);
}

/// Ours: the CPUs of a pod have one list, so that its items come as they were queued.
#[test]
fn cpus_of_a_managed_queue_share_a_list_by_pod() {
    let machine = t16();
    let spec = QueueSpec::managed("q").scope(Scope::Cache).max_active(1);
    let queue = machine.alloc_workqueue(spec);
    let seen = Seen::default();
    let acts = [0, 1, 2, 3, 0].iter().enumerate().map(|(n, &cpu)| {
        let item = recorder(&machine, &seen, n as u32, MILLISECOND);
        queue_on(queue, cpu, item)
    });
    run(&machine, acts.collect());
    let order: Vec<u32> = seen.borrow().iter().map(|seen| seen.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

/// The most items of a queue that ran at once, 40 from each node of two.
fn peak(machine: &Machine, queue: QueueId, call: Option<Call>) -> usize {
    let seen = Seen::default();
    let mut acts: Vec<Act> = call.map(Act::Call).into_iter().collect();
    for n in 0..40 {
        for cpu in [0, 8] {
            let item = recorder(machine, &seen, n, 1000 * MILLISECOND);
            acts.push(queue_on(queue, cpu, item));
        }
    }
    machine.spawn(ThreadSpec::named("main").on(0), Script::boxed(acts));
    machine.run_until(cmwq_policy::Time(500 * MILLISECOND));
    let peak = seen.borrow().len();
    machine.run();
    assert_eq!(seen.borrow().len(), 80, "all ran in the end");
    peak
}

#[test]
fn a_limit_is_split_over_the_nodes() {
    for (max, expected) in [(4, 8), (16, 16), (17, 18), (40, 40)] {
        let machine = t16();
        let queue = machine.alloc_workqueue(QueueSpec::unmanaged("q").max_active(max));
        assert_eq!(peak(&machine, queue, None), expected, "max_active {max}");
    }
    let machine = t16();
    let spec = QueueSpec::unmanaged("q").scope(Scope::System);
    let queue = machine.alloc_workqueue(spec.max_active(4));
    assert_eq!(peak(&machine, queue, None), 4, "a pool over all nodes");
}

#[test]
fn the_floor_of_a_node_can_be_changed() {
    let machine = t16();
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("q").max_active(16));
    let raised = peak(&machine, queue, Some(Call::SetMinActive(queue, 16)));
    assert_eq!(raised, 32);
}

/// Attributes that cut the machine otherwise: what is queued stays, what comes goes by the new
/// ones.
#[test]
fn a_change_of_scope_moves_what_comes_after_it() {
    let machine = t16();
    let spec = QueueSpec::unmanaged("q").scope(Scope::System).strict(true);
    let queue = machine.alloc_workqueue(spec);
    let seen = Seen::default();
    let cpu_strict = Attrs {
        scope: Some(Scope::Cpu),
        strict: true,
        ..Attrs::default()
    };
    let acts = vec![
        queue_on(queue, 5, recorder(&machine, &seen, 0, MILLISECOND)),
        Act::Call(Call::ApplyAttrs(queue, cpu_strict)),
        queue_on(queue, 5, recorder(&machine, &seen, 1, MILLISECOND)),
        queue_on(queue, 9, recorder(&machine, &seen, 2, MILLISECOND)),
        Act::Call(Call::FlushWorkqueue(queue)),
    ];
    run(&machine, acts);
    let mut allowed: Vec<(u32, String)> =
        seen.borrow().iter().map(|s| (s.0, s.1.clone())).collect();
    allowed.sort();
    let expected = [(0, "0-15"), (1, "5"), (2, "9")];
    assert_eq!(allowed, expected.map(|(n, mask)| (n, mask.to_owned())));
    assert_eq!(machine.referred_to(), (Vec::new(), Vec::new()));
}

#[test]
fn a_pod_whose_cpus_have_gone_is_served_by_others_until_one_returns() {
    let machine = t16();
    let spec = QueueSpec::unmanaged("q").scope(Scope::Cpu).strict(true);
    let queue = machine.alloc_workqueue(spec);
    let allowed = |machine: &Machine| from_each(machine, queue, &[5])[0].1.clone();
    assert_eq!(allowed(&machine), "5");
    machine.set_online(5, false);
    assert_eq!(allowed(&machine), "0-15");
    machine.set_online(5, true);
    assert_eq!(allowed(&machine), "5");
}
