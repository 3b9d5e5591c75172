//! Who joins an item executes it himself where that may be (`Stacking::Claim`).

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::pool::PoolStats;
use cmwq_policy::queue::Kind;
use cmwq_policy::stacking::{MOST_NESTED, Stacking};
use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{CpuMask, Nanos};
use cmwq_sim::*;

const MS: Nanos = MILLISECOND;

/// Who was answered what, in milliseconds since the start.
type Said = Rc<RefCell<Vec<String>>>;

/// What a pool counted as executing and as running.
type Counted = Rc<RefCell<Vec<(u32, u32)>>>;

struct Bench {
    machine: Machine,
    queue: QueueId,
    said: Said,
}

fn claiming(spec: QueueSpec) -> QueueSpec {
    spec.stacking(Stacking::Claim)
}

fn bench_of(options: Options, spec: QueueSpec) -> Bench {
    let machine = Machine::new(options);
    machine.check_whole(true);
    let queue = machine.alloc_workqueue(spec);
    Bench {
        machine,
        queue,
        said: Said::default(),
    }
}

/// Four CPUs, and a managed queue whose items may be claimed.
fn bench() -> Bench {
    bench_of(
        Options::on("T4").unwrap(),
        claiming(QueueSpec::managed("w")),
    )
}

fn queue_on(queue: QueueId, item: ItemId) -> Act {
    let cpu = None;
    Act::Call(Call::QueueWork { queue, cpu, item })
}

fn join(item: ItemId) -> Act {
    Act::Call(Call::Join(item))
}

fn flush(item: ItemId) -> Act {
    Act::Call(Call::FlushWork(item))
}

/// Does these acts, and writes down what calls that may wait answer.
fn saying(said: &Said, name: &'static str, acts: Vec<Act>) -> Box<dyn Program> {
    let (said, mut acts) = (said.clone(), acts.into_iter());
    let mut told = false;
    Box::new(move |cx: &mut ProgramCx<'_>, answer: Option<Answer>| {
        if let Some(answer) = answer.filter(|_| told) {
            let text = match answer {
                Answer::Bool(truth) => truth.to_string(),
                answer if answer.is_deadlock() => "deadlock".to_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            said.borrow_mut()
                .push(format!("{name} at {}: {text}", cx.now().0 / MS));
        }
        let act = acts.next().unwrap_or(Act::End);
        told = !matches!(act, Act::Call(Call::QueueWork { .. }));
        act
    })
}

impl Bench {
    fn queued(&self, item: ItemId) -> Act {
        queue_on(self.queue, item)
    }

    fn item(&self, name: &'static str, acts: Vec<Act>) -> ItemId {
        let said = self.said.clone();
        self.machine
            .item(name, move |_| saying(&said, name, acts.clone()))
    }

    fn burning(&self, ms: u64) -> ItemId {
        self.item("burns", vec![Act::Burn(ms * MS)])
    }

    fn spawn(&self, name: &'static str, cpu: usize, acts: Vec<Act>) -> ThreadId {
        let spec = ThreadSpec::named(name).on(cpu);
        self.machine.spawn(spec, saying(&self.said, name, acts))
    }

    /// Runs this thread on CPU 0, and everything else to its end. What all have said.
    fn run(&self, acts: Vec<Act>) -> (ThreadId, Vec<String>) {
        let main = self.spawn("main", 0, acts);
        self.machine.run();
        let clean = self.machine.referred_to() == (Vec::new(), Vec::new());
        assert!(clean && self.machine.tokens() == 0);
        (main, self.said.borrow().clone())
    }

    /// The thread of each execution of this item.
    fn executed_by(&self, item: ItemId) -> Vec<ThreadId> {
        let start = |line: &Line| match line.what {
            What::Start(e, _) if e.item == item => Some(line.thread),
            _ => None,
        };
        self.machine.trace().iter().filter_map(start).collect()
    }

    /// In whole milliseconds.
    fn began(&self, item: ItemId) -> Vec<u64> {
        let start = |line: &Line| match line.what {
            What::Start(e, _) if e.item == item => Some(line.at.0 / MS),
            _ => None,
        };
        self.machine.trace().iter().filter_map(start).collect()
    }

    fn stats(&self) -> PoolStats {
        self.machine.pool_stats(self.machine.pool_of(self.queue, 0))
    }

    /// What the pool counts as executing and as running, each time that this item begins.
    fn counting(&self, then: Vec<Act>) -> (ItemId, Counted) {
        let seen = Counted::default();
        let (list, pool) = (seen.clone(), self.machine.pool_of(self.queue, 0));
        let item = self.machine.item("counts", move |_| {
            let (list, mut acts) = (list.clone(), then.clone().into_iter());
            let mut first = true;
            Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
                if std::mem::take(&mut first) {
                    let census = cx.machine().census(pool);
                    list.borrow_mut().push((census.executing, census.running));
                }
                acts.next().unwrap_or(Act::End)
            })
        });
        (item, seen)
    }
}

#[test]
fn a_thread_executes_what_it_joins() {
    let bench = bench();
    let item = bench.burning(2);
    let (main, said) = bench.run(vec![bench.queued(item), join(item), join(item)]);
    assert_eq!(said, ["main at 2: true", "main at 2: false"]);
    assert_eq!(bench.executed_by(item), [main]);
    let stats = bench.stats();
    assert_eq!((stats.claimed, stats.started, stats.completed), (1, 1, 1));
}

#[test]
fn only_join_claims_and_only_where_the_queue_says_so() {
    for stacking in [Stacking::Off, Stacking::Stay] {
        let spec = QueueSpec::managed("w").stacking(stacking);
        let bench = bench_of(Options::on("T4").unwrap(), spec);
        let item = bench.burning(2);
        let (main, said) = bench.run(vec![bench.queued(item), join(item)]);
        assert_eq!(said, ["main at 2: true"], "{stacking:?}");
        assert_ne!(bench.executed_by(item), [main], "{stacking:?}");
    }
    for call in [Call::FlushWork, Call::CancelWorkSync] {
        let bench = bench();
        let item = bench.burning(2);
        bench.run(vec![bench.queued(item), Act::Call(call(item))]);
        assert_eq!(bench.stats().claimed, 0);
    }
    let options = Options {
        stacking: Stacking::Claim,
        ..Options::on("T4").unwrap()
    };
    let bench = bench_of(options, QueueSpec::managed("w"));
    let item = bench.burning(2);
    bench.run(vec![bench.queued(item), join(item)]);
    assert_eq!(bench.stats().claimed, 1, "the machine says it for all");
}

#[test]
fn inside_of_an_item_the_thread_counts_as_one() {
    let bench = bench();
    let (inner, seen) = bench.counting(vec![Act::Burn(2 * MS)]);
    let outer = bench.item(
        "outer",
        vec![bench.queued(inner), join(inner), Act::Burn(MS)],
    );
    let (_, said) = bench.run(vec![bench.queued(outer), flush(outer)]);
    assert_eq!(said, ["outer at 2: true", "main at 3: true"]);
    assert_eq!(bench.executed_by(inner), bench.executed_by(outer));
    assert_eq!(*seen.borrow(), [(2, 1)]);
    assert_eq!(bench.stats().claimed, 1);
}

#[test]
fn a_thread_of_the_program_counts_as_a_worker_that_runs() {
    let bench = bench();
    let (item, seen) = bench.counting(vec![Act::Burn(MS)]);
    bench.run(vec![bench.queued(item), join(item)]);
    assert_eq!(*seen.borrow(), [(1, 1)]);
    assert_eq!(bench.machine.nr_running(PoolId(0)), 0);
}

/// The thread blocks as a whole: the only CPU goes to another item.
#[test]
fn what_is_claimed_sleeps_and_others_run() {
    let options = Options::on("T1").unwrap();
    let bench = bench_of(options, claiming(QueueSpec::managed("w")));
    let inner = bench.item("inner", vec![Act::Sleep(10 * MS)]);
    let other = bench.burning(1);
    let acts = vec![bench.queued(inner), bench.queued(other), join(inner)];
    let outer = bench.item("outer", acts);
    bench.run(vec![bench.queued(outer)]);
    assert_eq!(bench.executed_by(inner), bench.executed_by(outer));
    assert_eq!((bench.began(inner), bench.began(other)), (vec![0], vec![0]));
}

#[test]
fn what_has_begun_is_waited_for() {
    let bench = bench();
    let item = bench.burning(5);
    let (main, said) = bench.run(vec![bench.queued(item), Act::Sleep(MS), join(item)]);
    assert_eq!(said, ["main at 5: true"]);
    assert_ne!(bench.executed_by(item), [main]);
    assert_eq!(bench.stats().claimed, 0);
}

#[test]
fn ordered_percpu_and_bh_items_are_not_claimed() {
    for kind in [Kind::Ordered, Kind::PerCpu, Kind::Bh] {
        let spec = claiming(QueueSpec::new("w", kind));
        let bench = bench_of(Options::on("T4").unwrap(), spec);
        let item = bench.burning(1);
        let (main, said) = bench.run(vec![bench.queued(item), join(item)]);
        assert_eq!(said, ["main at 1: true"], "{kind:?}");
        assert_ne!(bench.executed_by(item), [main], "{kind:?}");
    }
    let spec = claiming(QueueSpec::unmanaged("w"));
    let bench = bench_of(Options::on("T4").unwrap(), spec);
    let item = bench.burning(1);
    let (main, _) = bench.run(vec![bench.queued(item), join(item)]);
    assert_eq!(bench.executed_by(item), [main]);
}

#[test]
fn claims_nest_up_to_a_bound_and_then_the_thread_waits() {
    let bench = bench();
    let last = bench.burning(1);
    let mut chain = vec![last];
    for _ in 0..MOST_NESTED {
        let next = chain[chain.len() - 1];
        chain.push(bench.item("link", vec![bench.queued(next), join(next)]));
    }
    let first = chain[chain.len() - 1];
    let (main, said) = bench.run(vec![bench.queued(first), join(first)]);
    assert_eq!(said.len(), chain.len());
    assert!(
        said.iter().all(|said| said.ends_with("at 1: true")),
        "{said:?}"
    );
    let by_main = |item: &&ItemId| bench.executed_by(**item) == [main];
    assert_eq!(chain.iter().filter(by_main).count(), MOST_NESTED as usize);
    assert_ne!(bench.executed_by(last), [main]);
    assert_eq!(bench.stats().claimed, u64::from(MOST_NESTED));
}

#[test]
fn flushes_and_cancels_wait_for_what_is_claimed() {
    let calls: [fn(QueueId, ItemId) -> Call; 4] = [
        |queue, _| Call::FlushWorkqueue(queue),
        |queue, _| Call::DrainWorkqueue(queue),
        |_, item| Call::FlushWork(item),
        |_, item| Call::CancelWorkSync(item),
    ];
    for call in calls {
        let bench = bench();
        let item = bench.burning(5);
        let call = Act::Call(call(bench.queue, item));
        bench.spawn("other", 1, vec![Act::Sleep(MS), call.clone()]);
        let (main, said) = bench.run(vec![bench.queued(item), join(item)]);
        assert_eq!(bench.executed_by(item), [main]);
        let other = said.iter().find(|said| said.starts_with("other"));
        assert!(
            other.is_some_and(|o| o.contains("at 5")),
            "{call:?}: {said:?}"
        );
    }
}

/// The next instance, which was queued meanwhile, is a worker's.
#[test]
fn what_comes_behind_a_claimed_item_goes_to_the_workers() {
    let bench = bench();
    let item = bench.burning(5);
    let again = vec![Act::Sleep(MS), bench.queued(item), flush(item)];
    bench.spawn("other", 1, again);
    let (main, said) = bench.run(vec![bench.queued(item), join(item)]);
    assert!(said.contains(&"other at 10: true".to_owned()), "{said:?}");
    let by = bench.executed_by(item);
    assert!(by[0] == main && by[1] != main && by.len() == 2);
    assert_eq!(bench.began(item), [0, 5]);
}

#[test]
fn a_claimed_item_keeps_its_slot() {
    let spec = claiming(QueueSpec::managed("w")).max_active(1);
    let bench = bench_of(Options::on("T4").unwrap(), spec);
    let (first, second) = (bench.burning(5), bench.burning(1));
    let queued = vec![bench.queued(first), bench.queued(second)];
    bench.spawn("other", 1, vec![Act::Sleep(MS), join(second)]);
    let (main, said) = bench.run([queued, vec![join(first)]].concat());
    assert_eq!(bench.executed_by(first), [main]);
    assert_eq!(bench.began(second), [5]);
    assert!(said.contains(&"other at 6: true".to_owned()), "{said:?}");
}

#[test]
fn who_is_not_as_good_as_a_worker_waits() {
    let bench = bench();
    let item = bench.burning(1);
    let acts = vec![bench.queued(item), join(item)];
    let specs = [
        ThreadSpec::named("nice").at_nice(5),
        ThreadSpec::named("idle").of_idle_class(),
    ];
    for spec in specs {
        bench.machine.spawn(spec, Script::boxed(acts.clone()));
        bench.machine.run();
    }
    assert_eq!((bench.stats().claimed, bench.stats().completed), (0, 2));
    let elsewhere = claiming(QueueSpec::managed("v")).on([2, 3].into_iter().collect());
    let elsewhere = bench.machine.alloc_workqueue(elsewhere);
    let (main, _) = bench.run(vec![queue_on(elsewhere, item), join(item)]);
    assert!(!bench.executed_by(item).contains(&main));
}

/// The masks of the thread that does this, at each beginning of `item` and of its own acts.
#[test]
fn a_thread_with_more_cpus_is_confined_while_it_lasts() {
    let bench = bench();
    let two: CpuMask = [0, 1].into_iter().collect();
    let narrow = claiming(QueueSpec::managed("v")).on(two);
    let narrow = bench.machine.alloc_workqueue(narrow);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let list = seen.clone();
    let item = bench.machine.item("looks", move |_| {
        let list = list.clone();
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            list.borrow_mut().push(cx.allowed());
            Act::End
        })
    });
    let list = seen.clone();
    let mut acts = vec![queue_on(narrow, item), join(item)].into_iter();
    let main = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        list.borrow_mut().push(cx.allowed());
        acts.next().unwrap_or(Act::End)
    };
    bench
        .machine
        .spawn(ThreadSpec::named("main"), Box::new(main));
    bench.machine.run();
    let all = CpuMask::first(4);
    assert_eq!(*seen.borrow(), [all, all, two, all]);
}

#[test]
fn what_a_claimed_item_leaves_behind_is_taken_back() {
    let bench = bench();
    let item = bench.machine.item("leaves", |_| {
        Box::new(|cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            cx.pin([3].into_iter().collect());
            cx.set_nice(7);
            Act::End
        })
    });
    let all = ThreadSpec::named("main");
    let acts = vec![bench.queued(item), join(item), Act::Sleep(SECOND)];
    let main = bench.machine.spawn(all, Script::boxed(acts));
    bench.machine.run_until(cmwq_policy::Time(MS));
    assert_eq!(bench.machine.allowed(main), CpuMask::first(4));
    let left = bench.machine.left_behind();
    assert_eq!((left.len(), left[0].thread, left[0].lost), (1, main, false));
    let nice = left[0].what.nice.expect("it was changed");
    assert_eq!((nice.own, nice.found), (0, 7));
}

/// One item of the stack waits for another one: so does the thread for itself.
#[test]
fn who_waits_for_what_is_beneath_is_refused() {
    let bench = bench();
    // Items have the numbers that they are made with.
    let (inner, outer) = (ItemId(0), ItemId(1));
    let flush_queue = Act::Call(Call::FlushWorkqueue(bench.queue));
    let acts = vec![flush(outer), join(outer), flush_queue];
    assert_eq!(bench.item("inner", acts), inner);
    let acts = vec![bench.queued(inner), join(inner)];
    assert_eq!(bench.item("outer", acts), outer);
    let (_, said) = bench.run(vec![bench.queued(outer), join(outer)]);
    let refused = "inner at 0: deadlock";
    let ended = ["outer at 0: true", "main at 0: true"];
    assert_eq!(said, [&[refused; 3], &ended[..]].concat());
}

/// A claim waits for the item beneath that is of another pool.
#[test]
fn a_circle_over_two_pools_is_seen_from_inside_of_a_claim() {
    let bench = bench();
    let nice = claiming(QueueSpec::managed("v").at_nice(5));
    let other = bench.machine.alloc_workqueue(nice);
    let (inner, middle, outer) = (ItemId(0), ItemId(1), ItemId(2));
    bench.item("inner", vec![flush(outer)]);
    // Of another nice level: it is waited for.
    bench.item("middle", vec![queue_on(other, inner), join(inner)]);
    bench.item("outer", vec![bench.queued(middle), join(middle)]);
    let (main, said) = bench.run(vec![bench.queued(outer), join(outer)]);
    assert_eq!(said[0], "inner at 0: deadlock");
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(bench.executed_by(middle), [main]);
    assert_ne!(bench.executed_by(inner), [main]);
}
