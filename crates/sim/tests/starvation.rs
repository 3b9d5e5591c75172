//! Chains of items that depend on each other: each waits, by means that no queue knows of, until
//! the one that was queued behind it has ended. They need as many slots as there are links.

use std::cell::Cell;
use std::rc::Rc;

use cmwq_policy::Time;
use cmwq_policy::affinity::Scope;
use cmwq_policy::contract::Starvation;
use cmwq_policy::pwq::DFL_MIN_ACTIVE;
use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_sim::*;

/// A machine, and how many items have ended.
struct Bench {
    machine: Machine,
    ended: Rc<Cell<u32>>,
}

impl Bench {
    fn on(topology: &str, signals: Signals) -> Bench {
        let machine = Machine::new(Options {
            signals,
            ..Options::of(Topology::synthetic(topology).unwrap())
        });
        Bench {
            machine,
            ended: Rc::default(),
        }
    }

    /// A chain of so many items, the first of which ends last.
    fn chain(&self, links: u32) -> Vec<ItemId> {
        let latches: Vec<Latch> = (0..=links).map(|_| self.machine.latch()).collect();
        self.machine.open(latches[links as usize]);
        let link = |pair: &[Latch]| self.link(pair[0], pair[1]);
        latches.windows(2).map(link).collect()
    }

    fn link(&self, own: Latch, next: Latch) -> ItemId {
        let ended = self.ended.clone();
        self.machine.item("link", move |_| {
            let (ended, mut waited) = (ended.clone(), false);
            Box::new(move |cx: &mut ProgramCx<'_>, _| {
                if !std::mem::replace(&mut waited, true) {
                    return Act::Wait(next);
                }
                ended.set(ended.get() + 1);
                cx.open(own);
                Act::End
            })
        })
    }

    /// Queues them in order from CPU 0.
    fn queue_all(&self, queue: QueueId, items: &[ItemId]) {
        let queued = items.iter().map(|&item| {
            let cpu = Some(0);
            Act::Call(Call::QueueWork { queue, cpu, item })
        });
        let acts: Vec<Act> = queued.collect();
        let main = ThreadSpec::named("main").on(0);
        self.machine.spawn(main, Script::boxed(acts));
    }

    /// How many of a chain end on such a queue, and what is reported of it until nothing happens.
    fn run(&self, spec: QueueSpec, links: u32) -> (u32, Vec<Report>) {
        let queue = self.machine.alloc_workqueue(spec);
        let items = self.chain(links);
        self.queue_all(queue, &items);
        self.machine.run();
        (self.ended.get(), self.machine.reports())
    }
}

const ONE_NODE: &str = "node:1 core:4 pu:1";
const TWO_NODES: &str = "node:2 core:4 pu:1";

fn starvation(report: &Report) -> &Starvation<SlotHolder> {
    match &report.what {
        Trouble::Starvation(found) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn on_one_node_a_chain_as_long_as_the_limit_ends() {
    for max_active in [1, 3, 8, 20] {
        for spec in [QueueSpec::managed("w"), QueueSpec::unmanaged("w")] {
            let bench = Bench::on(ONE_NODE, Signals::Exact);
            let spec = spec.max_active(max_active);
            assert_eq!(bench.run(spec, max_active), (max_active, vec![]));
        }
    }
}

#[test]
fn a_longer_one_is_reported_with_its_links() {
    for max_active in [1, 3, 8] {
        let bench = Bench::on(ONE_NODE, Signals::Exact);
        let spec = QueueSpec::managed("w").max_active(max_active);
        let (ended, reports) = bench.run(spec, max_active + 2);
        assert_eq!((ended, reports.len()), (0, 1), "{reports:?}");
        let found = starvation(&reports[0]);
        assert_eq!(
            (found.nr_active, found.max_active),
            (max_active, max_active)
        );
        assert_eq!((found.nr_inactive, found.node), (2, None));
        let links: Vec<u32> = found.holders.iter().map(|holder| holder.item.0).collect();
        assert_eq!(links, (0..max_active).collect::<Vec<_>>());
        assert_eq!(found.first.addr, u64::from(max_active));
        let at = reports[0].at.0;
        assert!((30 * SECOND..31 * SECOND).contains(&at), "{at}");
    }
}

#[test]
fn a_long_chain_names_16_links() {
    let bench = Bench::on(ONE_NODE, Signals::Exact);
    let spec = QueueSpec::unmanaged("w").max_active(40);
    let (_, reports) = bench.run(spec, 50);
    let found = starvation(&reports[0]);
    assert_eq!((found.nr_active, found.holders.len()), (40, 16));
}

#[test]
fn with_the_signals_of_user_space_it_is_reported_as_well() {
    let signals = Signals::User(UserSignals::default());
    let bench = Bench::on(ONE_NODE, signals);
    let (ended, reports) = bench.run(QueueSpec::managed("w").max_active(2), 3);
    assert_eq!((ended, reports.len()), (0, 1), "{reports:?}");
    assert_eq!(starvation(&reports[0]).holders.len(), 2);
}

/// A queue whose pools are those of nodes, so that each node has its part of the limit.
fn by_node(max_active: u32) -> QueueSpec {
    let spec = QueueSpec::unmanaged("w").scope(Scope::Numa).strict(true);
    spec.max_active(max_active)
}

#[test]
fn on_two_nodes_a_chain_as_long_as_min_active_ends() {
    let bench = Bench::on(TWO_NODES, Signals::Exact);
    assert_eq!(bench.run(by_node(12), DFL_MIN_ACTIVE), (8, vec![]));
}

#[test]
fn on_two_nodes_a_longer_one_is_reported_with_the_node() {
    let bench = Bench::on(TWO_NODES, Signals::Exact);
    let queue = bench.machine.alloc_workqueue(by_node(12));
    let items = bench.chain(9);
    bench.queue_all(queue, &items);
    // The other node moves all the time: that is no progress of this one.
    let other = bench
        .machine
        .item("other", |_| Script::boxed([Act::Sleep(SECOND)]));
    let turns = (0..40).flat_map(move |_| {
        let cpu = Some(7);
        let item = other;
        [
            Act::Call(Call::QueueWork { queue, cpu, item }),
            Act::Sleep(SECOND + MILLISECOND),
        ]
    });
    let acts: Vec<Act> = turns.collect();
    let main = ThreadSpec::named("elsewhere").on(7);
    bench.machine.spawn(main, Script::boxed(acts));
    bench.machine.run();
    let reports = bench.machine.reports();
    assert_eq!((bench.ended.get(), reports.len()), (0, 1), "{reports:?}");
    let found = starvation(&reports[0]);
    assert_eq!(
        (found.node, found.nr_active, found.max_active),
        (Some(0), 8, 8)
    );
    assert_eq!((found.nr_inactive, found.holders.len()), (1, 8));
}

#[test]
fn an_exact_limit_lets_a_chain_of_its_length_end_on_two_nodes() {
    for (links, ended) in [(12, 12), (13, 0)] {
        let bench = Bench::on(TWO_NODES, Signals::Exact);
        let spec = by_node(1).max_active_exact(12);
        let (found, reports) = bench.run(spec, links);
        assert_eq!((found, reports.len()), (ended, usize::from(ended == 0)));
    }
}

#[test]
fn slow_items_are_no_starvation() {
    for signals in [Signals::Exact, Signals::User(UserSignals::default())] {
        for seconds in [25, 34, 100] {
            let bench = Bench::on(ONE_NODE, signals);
            let queue = bench
                .machine
                .alloc_workqueue(QueueSpec::managed("w").max_active(2));
            let slow = move |_| Script::boxed([Act::Sleep(seconds * SECOND)]);
            let items: Vec<ItemId> = (0..20).map(|_| bench.machine.item("slow", slow)).collect();
            bench.queue_all(queue, &items);
            bench.machine.run();
            assert_eq!(bench.machine.reports(), []);
            assert!(bench.machine.now() >= Time(10 * seconds * SECOND));
        }
    }
}

/// Two slots: one item waits for word from another one, which has none. It starves once the other
/// holder, which is only slow, has given its slot to one that waits for word as well.
#[test]
fn what_was_only_slow_may_starve_later() {
    let bench = Bench::on(ONE_NODE, Signals::Exact);
    let machine = &bench.machine;
    let queue = machine.alloc_workqueue(QueueSpec::managed("w").max_active(2));
    let never = machine.latch();
    let waits = |name| machine.item(name, move |_| Script::boxed([Act::Wait(never)]));
    let slow = machine.item("slow", |_| Script::boxed([Act::Sleep(100 * SECOND)]));
    let items = [waits("first"), slow, waits("second"), waits("third")];
    bench.queue_all(queue, &items);
    machine.run();
    let reports = machine.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let found = starvation(&reports[0]);
    let holders: Vec<ItemId> = found.holders.iter().map(|holder| holder.item).collect();
    assert_eq!(holders, [items[0], items[2]]);
    let at = reports[0].at.0;
    assert!((130 * SECOND..162 * SECOND).contains(&at), "{at}");
}

/// One that waits for an item in a call is enough, whatever the others are at.
#[test]
fn an_item_that_waits_for_an_item_is_enough() {
    let bench = Bench::on(ONE_NODE, Signals::Exact);
    let machine = &bench.machine;
    let queue = machine.alloc_workqueue(QueueSpec::managed("w").max_active(2));
    let last = machine.item("last", |_| Script::boxed([]));
    let waits = machine.item("waits", move |_| {
        Script::boxed([Act::Sleep(MILLISECOND), Act::Call(Call::FlushWork(last))])
    });
    let slow = machine.item("slow", |_| Script::boxed([Act::Sleep(40 * SECOND)]));
    bench.queue_all(queue, &[waits, slow, last]);
    machine.run();
    let reports = machine.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(starvation(&reports[0]).first.addr, u64::from(last.0));
}

#[test]
fn an_item_that_waits_through_its_queue_says_for_which() {
    let bench = Bench::on(ONE_NODE, Signals::Exact);
    let machine = &bench.machine;
    let [starved, other] = ["starved", "other"]
        .map(|name| machine.alloc_workqueue(QueueSpec::managed(name).max_active(1)));
    let never = machine.latch();
    let stuck = machine.item("stuck", move |_| Script::boxed([Act::Wait(never)]));
    let waits = machine.item("waits", move |_| {
        Script::boxed([Act::Call(Call::FlushWork(stuck))])
    });
    let behind = machine.item("behind", |_| Script::boxed([]));
    bench.queue_all(other, &[stuck]);
    machine.run_until(Time(MILLISECOND));
    bench.queue_all(starved, &[waits, behind]);
    machine.run();
    let reports = machine.reports();
    assert_eq!((reports.len(), reports[0].queue), (1, starved));
    let found = starvation(&reports[0]);
    let awaited = found.holders[0]
        .awaits
        .map(|pwq| machine.pwq_view(pwq).queue);
    assert_eq!((found.holders[0].item, awaited), (waits, Some(other)));
}
