//! What the calls answer and do, one by one. The whole contract is replayed by the oracle.

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::queue::{Attrs, Kind};
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{CpuMask, Nanos, Time};
use cmwq_sim::*;

const MS: Nanos = MILLISECOND;

/// A machine, and what the calls of its main thread have answered.
struct Bench {
    machine: Machine,
    answers: Rc<RefCell<Vec<String>>>,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            machine: Machine::new(Options::on("T4").unwrap()),
            answers: Rc::default(),
        }
    }

    /// Runs a thread on CPU 0 that does this, and everything else to the end. What its calls
    /// answered.
    fn run(&self, acts: impl IntoIterator<Item = Act>) -> Vec<String> {
        self.answers.borrow_mut().clear();
        self.start(acts);
        self.machine.run();
        self.answers.borrow().clone()
    }

    fn start(&self, acts: impl IntoIterator<Item = Act>) -> ThreadId {
        let mut acts = acts.into_iter().collect::<Vec<_>>().into_iter();
        let answers = self.answers.clone();
        let program = move |_: &mut ProgramCx<'_>, answer: Option<Answer>| {
            answers.borrow_mut().extend(answer.map(text));
            acts.next().unwrap_or(Act::End)
        };
        let main = ThreadSpec::named("main").on(0);
        self.machine.spawn(main, Box::new(program))
    }

    /// An item that burns for so many milliseconds.
    fn item(&self, ms: u64) -> ItemId {
        self.machine
            .item("item", move |_| Script::boxed([Act::Burn(ms * MS)]))
    }

    /// Items in the order in which they were started, each with the time in milliseconds.
    fn starts(&self) -> Vec<(ItemId, u64)> {
        let start = |line: &Line| match line.what {
            What::Start(e, _) => Some((e.item, line.at.0 / MS)),
            _ => None,
        };
        self.machine.trace().iter().filter_map(start).collect()
    }

    fn is_clean(&self) -> bool {
        self.machine.referred_to() == (Vec::new(), Vec::new())
    }
}

fn text(answer: Answer) -> String {
    match answer {
        Answer::Void => "void".to_owned(),
        Answer::Bool(truth) => truth.to_string(),
        Answer::Number(number) => number.to_string(),
        Answer::Text(text) => text,
    }
}

fn queue_on(cpu: usize, queue: QueueId, item: ItemId) -> Act {
    let cpu = Some(cpu);
    Act::Call(Call::QueueWork { queue, cpu, item })
}

fn only(cpu: usize) -> Attrs {
    Attrs {
        nice: 0,
        cpumask: Some([cpu].into_iter().collect()),
        ..Attrs::default()
    }
}

#[test]
fn a_pending_item_is_queued_and_cancelled_once() {
    let bench = Bench::new();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("w").max_active(1));
    let (blocks, item) = (bench.item(10), bench.item(1));
    let answers = bench.run([
        queue_on(1, queue, blocks),
        queue_on(1, queue, item),
        queue_on(1, queue, item),
        Act::Call(Call::WorkBusy(item)),
        Act::Call(Call::Congested(queue, Some(1))),
        Act::Call(Call::CancelWork(item)),
        Act::Call(Call::CancelWork(item)),
        Act::Sleep(MS),
        Act::Call(Call::WorkBusy(blocks)),
        Act::Call(Call::CancelWorkSync(blocks)),
        Act::Call(Call::WorkBusy(blocks)),
    ]);
    let expected = "true true false pending true true false running false idle";
    assert_eq!(answers.join(" "), expected);
    assert_eq!(bench.starts(), [(blocks, 0)]);
    assert_eq!(bench.machine.now(), Time(10 * MS));
    assert!(bench.is_clean());
}

#[test]
fn a_disabled_item_is_refused_until_it_is_enabled_as_often() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::unmanaged("u"));
    let item = bench.item(1);
    let answers = bench.run([
        Act::Call(Call::DisableWork(item)),
        Act::Call(Call::DisableWorkSync(item)),
        queue_on(0, queue, item),
        Act::Call(Call::EnableWork(item)),
        queue_on(0, queue, item),
        Act::Call(Call::EnableAndQueueWork(queue, item)),
        Act::Call(Call::FlushWork(item)),
        Act::Call(Call::FlushWork(item)),
    ]);
    let expected = "false false false false false true true false";
    assert_eq!(answers.join(" "), expected);
}

#[test]
fn delayed_items_start_at_their_time_or_at_once() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let [late, moved, flushed, now] = [0; 4].map(|ms| bench.item(ms));
    let delayed = |item, ms| Act::Call(Call::QueueDelayedWork(queue, Some(1), item, ms * MS));
    let answers = bench.run([
        delayed(late, 30),
        delayed(moved, 10),
        delayed(moved, 20),
        delayed(flushed, 1000),
        delayed(now, 0),
        Act::Call(Call::ModDelayedWork(queue, Some(1), moved, 50 * MS)),
        Act::Sleep(5 * MS),
        Act::Call(Call::FlushDelayedWork(flushed)),
        Act::Call(Call::WorkPending(moved)),
    ]);
    let expected = "true true false true true true true true";
    assert_eq!(answers.join(" "), expected);
    assert_eq!(
        bench.starts(),
        [(now, 0), (flushed, 5), (late, 30), (moved, 50)]
    );
    assert!(bench.is_clean());
}

#[test]
fn a_drain_refuses_others_and_a_destroyed_queue_forgets_its_timers() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let again = queue_on(1, queue, ItemId(0));
    let chains = bench.machine.item("chains", move |n| {
        let again = (n < 3).then(|| again.clone());
        Script::boxed([Act::Burn(MS)].into_iter().chain(again).collect::<Vec<_>>())
    });
    assert_eq!(chains, ItemId(0));
    let (armed, other) = (bench.item(0), bench.item(0));
    let intruder = [Act::Sleep(MS / 2), queue_on(1, queue, other)];
    bench.start(intruder);
    let answers = bench.run([
        queue_on(1, queue, chains),
        Act::Call(Call::QueueDelayedWork(queue, None, armed, 100 * MS)),
        Act::Call(Call::DestroyWorkqueue(queue)),
        queue_on(1, queue, other),
        Act::Call(Call::WorkPending(armed)),
    ]);
    let expected = "true true destroying void destroying false";
    assert_eq!(answers.join(" "), expected);
    assert_eq!(bench.starts(), [(chains, 0), (chains, 1), (chains, 2)]);
    assert_eq!(bench.machine.now(), Time(3 * MS));
    assert!(bench.is_clean());
}

#[test]
fn an_ordered_queue_keeps_its_order_over_changes_of_its_attributes() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::ordered("o"));
    let items = [3, 1, 2, 1, 1, 1, 2, 1, 1].map(|ms| bench.item(ms));
    let apply = |cpu| Act::Call(Call::ApplyAttrs(queue, only(cpu)));
    let mut acts: Vec<Act> = Vec::new();
    // Three by each pool workqueue: the later ones must not have turns between those before.
    for (n, three) in items.chunks(3).enumerate() {
        acts.extend(three.iter().map(|&item| queue_on(0, queue, item)));
        acts.push(apply(1 + n));
    }
    bench.run(acts);
    let order: Vec<ItemId> = bench.starts().into_iter().map(|(item, _)| item).collect();
    assert_eq!(order, items);
    assert_eq!(
        bench.machine.now(),
        Time(13 * MS),
        "one at a time, without a pause"
    );
}

#[test]
fn a_higher_limit_starts_those_who_wait() {
    let bench = Bench::new();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::unmanaged("u").max_active(1));
    let items = [10; 4].map(|ms| bench.item(ms));
    let mut acts: Vec<Act> = items.map(|item| queue_on(0, queue, item)).into();
    acts.extend([Act::Sleep(5 * MS), Act::Call(Call::SetMaxActive(queue, 3))]);
    bench.run(acts);
    let times: Vec<u64> = bench.starts().into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [0, 5, 5, 10]);
}

#[test]
fn frozen_queues_begin_nothing_until_they_thaw() {
    let bench = Bench::new();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("f").freezable());
    let (first, second) = (bench.item(3), bench.item(1));
    let answers = bench.run([
        queue_on(1, queue, first),
        Act::Sleep(MS),
        Act::Call(Call::FreezeBegin),
        queue_on(1, queue, second),
        Act::Call(Call::FreezeBusy),
        Act::Sleep(9 * MS),
        Act::Call(Call::FreezeBusy),
        Act::Call(Call::Thaw),
        Act::Call(Call::FlushWorkqueue(queue)),
    ]);
    assert_eq!(answers.join(" "), "true void true true false void void");
    assert_eq!(bench.starts(), [(first, 0), (second, 10)]);
}

#[test]
fn an_item_of_two_queues_runs_once_at_a_time() {
    let bench = Bench::new();
    let one = bench.machine.alloc_workqueue(QueueSpec::percpu("one"));
    let two = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("two").at_nice(-20));
    let (item, other) = (bench.item(10), bench.item(1));
    bench.run([
        queue_on(1, one, item),
        Act::Sleep(MS),
        queue_on(2, two, item),
        queue_on(2, two, other),
    ]);
    assert_eq!(bench.starts(), [(item, 0), (other, 1), (item, 10)]);
    assert!(bench.is_clean());
}

#[test]
fn who_keeps_its_cpu_stops_counting_and_is_reported_at_the_fourth_time() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let pairs = [(); 4].map(|()| (bench.item(60), bench.item(0)));
    let mut acts = Vec::new();
    for (hog, behind) in pairs {
        acts.extend([queue_on(1, queue, hog), queue_on(1, queue, behind)]);
        acts.push(Act::Call(Call::FlushWorkqueue(queue)));
    }
    bench.run(acts);
    for started in bench.starts().chunks(2) {
        let gap = started[1].1 - started[0].1;
        assert!((10..=24).contains(&gap), "{started:?}");
    }
    let reports = bench.machine.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].what, Trouble::Hog { func: 0, count: 4 });
    assert_eq!(reports[0].queue, queue);
}

#[test]
fn a_worklist_that_stands_still_is_reported_once() {
    let bench = Bench::new();
    bench.machine.set_hog_threshold(0);
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let (hog, behind) = (bench.item(80_000), bench.item(0));
    bench.run([queue_on(1, queue, hog), queue_on(1, queue, behind)]);
    let reports = bench.machine.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let at = reports[0].at.0 / MS;
    assert!((30_000..30_010).contains(&at), "{at}");
}

#[test]
fn a_rescuer_carries_its_queue_forward_and_no_other() {
    let bench = Bench::new();
    let machine = &bench.machine;
    let saved = machine.alloc_workqueue(QueueSpec::unmanaged("saved").mem_reclaim());
    let lost = machine.alloc_workqueue(QueueSpec::unmanaged("lost"));
    let (first, second) = (bench.item(1), bench.item(1));
    machine.fail_spawns(true);
    bench.start([queue_on(0, lost, first), queue_on(0, saved, second)]);
    machine.run_until(Time(900 * MS));
    assert_eq!(
        bench.starts(),
        [(second, 10)],
        "10 ms after a worker was missing"
    );
    assert!(machine.spawn_failures() > 0);
    machine.fail_spawns(false);
    machine.run();
    let starts = bench.starts();
    assert_eq!(starts[1].0, first);
    assert!((1000..1200).contains(&starts[1].1), "{starts:?}");
    assert!(bench.is_clean());
}

#[test]
fn items_of_a_cpu_that_has_gone_run_elsewhere() {
    let bench = Bench::new();
    let machine = &bench.machine;
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let items = [10; 3].map(|ms| bench.item(ms));
    bench.start(items.map(|item| queue_on(1, queue, item)));
    machine.run_until(Time(5 * MS));
    machine.set_online(1, false);
    machine.run_until(Time(6 * MS));
    assert_eq!(bench.starts().len(), 3, "unmanaged, all start");
    let on_1 = |line: &Line| line.cpu == 1 && line.at > Time(5 * MS);
    machine.run();
    assert!(!machine.trace().iter().any(on_1));
    machine.set_online(1, true);
    bench.run([queue_on(1, queue, items[0])]);
    let last = machine
        .trace()
        .into_iter()
        .rfind(|l| matches!(l.what, What::Start(..)));
    assert_eq!(last.unwrap().cpu, 1);
}

#[test]
fn bh_items_run_one_after_the_other_in_turns() {
    let bench = Bench::new();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::new("bh", Kind::Bh));
    let items: Vec<ItemId> = (0..20).map(|_| bench.item(1)).collect();
    bench.run(items.iter().map(|&item| queue_on(0, queue, item)));
    let order: Vec<ItemId> = bench.starts().into_iter().map(|(item, _)| item).collect();
    assert_eq!(order, items);
    let pool = bench.machine.pool_of(queue, 0);
    assert_eq!(bench.machine.workers(pool), (1, 1));
}

#[test]
fn changed_attributes_are_those_of_the_next_item() {
    let bench = Bench::new();
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("m"));
    let percpu = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let item = bench.item(1);
    let seen: Rc<RefCell<Vec<(String, i8)>>> = Rc::default();
    let notes = seen.clone();
    let looks = bench.machine.item("looks", move |_| {
        let notes = notes.clone();
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            let worker: CpuMask = cx.allowed();
            notes.borrow_mut().push((worker.to_string(), cx.nice()));
            Act::End
        })
    });
    let attrs = Attrs { nice: 7, ..only(2) };
    let answers = bench.run([
        queue_on(0, queue, looks),
        Act::Call(Call::FlushWorkqueue(queue)),
        Act::Call(Call::ApplyAttrs(queue, attrs)),
        queue_on(0, queue, looks),
        Act::Call(Call::ApplyAttrs(percpu, attrs)),
        queue_on(0, percpu, item),
    ]);
    assert_eq!(answers.join(" "), "true void true true false true");
    let expected = [("0-3".to_owned(), 0), ("2".to_owned(), 7)];
    assert_eq!(*seen.borrow(), expected);
}
