//! The process around the queues: handles that are dropped, the end of the program, a CPU quota,
//! and what items leave behind in their workers' threads.

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::*;

const MS: Nanos = MILLISECOND;

type Said = Rc<RefCell<Vec<String>>>;

struct Bench {
    machine: Machine,
    said: Said,
}

impl Bench {
    fn new(options: Options) -> Bench {
        Bench {
            machine: Machine::new(options),
            said: Said::default(),
        }
    }

    fn plain() -> Bench {
        Bench::new(Options::on("T4").unwrap())
    }

    /// Does these acts and writes down, with the millisecond, what its calls answer.
    fn saying(&self, acts: &[Act]) -> Box<dyn Program> {
        let (said, acts) = (self.said.clone(), acts.to_vec());
        let mut acts = acts.into_iter();
        Box::new(move |cx: &mut ProgramCx<'_>, answer: Option<Answer>| {
            if let Some(answer) = answer {
                let text = match answer {
                    Answer::Bool(truth) => truth.to_string(),
                    Answer::Text(text) => text,
                    other => format!("{other:?}").to_lowercase(),
                };
                said.borrow_mut()
                    .push(format!("{}: {text}", cx.now().0 / MS));
            }
            acts.next().unwrap_or(Act::End)
        })
    }

    /// An item that is executed once.
    fn item(&self, acts: &[Act]) -> ItemId {
        let program = RefCell::new(Some(self.saying(acts)));
        let once = move |_| program.borrow_mut().take().expect("executed once");
        self.machine.item("item", once)
    }

    fn burning(&self, ms: u64) -> ItemId {
        self.item(&[Act::Burn(ms * MS)])
    }

    /// Runs a thread on CPU 0 that does this, and everything else to its end. What all have said.
    fn run(&self, acts: &[Act]) -> Vec<String> {
        let main = ThreadSpec::named("main").on(0);
        self.machine.spawn(main, self.saying(acts));
        self.machine.run();
        self.said.borrow().clone()
    }

    fn is_clean(&self) -> bool {
        self.machine.referred_to() == (Vec::new(), Vec::new())
    }

    /// When each execution of this item began, in milliseconds, and in which thread.
    fn starts(&self, item: ItemId) -> Vec<(u64, ThreadId)> {
        let start = |line: &Line| match line.what {
            What::Start(e, _) if e.item == item => Some((line.at.0 / MS, line.thread)),
            _ => None,
        };
        self.machine.trace().iter().filter_map(start).collect()
    }
}

fn queue_on(cpu: usize, queue: QueueId, item: ItemId) -> Act {
    let cpu = Some(cpu);
    Act::Call(Call::QueueWork { queue, cpu, item })
}

fn delayed(queue: QueueId, item: ItemId, ms: u64) -> Act {
    Act::Call(Call::QueueDelayedWork(queue, None, item, ms * MS))
}

fn drop_queue(queue: QueueId) -> Act {
    Act::Call(Call::DropWorkqueue(queue))
}

fn shutdown(ms: u64) -> Act {
    Act::Call(Call::Shutdown(ms * MS))
}

#[test]
fn who_drops_the_last_handle_waits_for_what_is_queued() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    let last = bench.burning(1);
    let first = bench.item(&[Act::Burn(2 * MS), queue_on(2, queue, last)]);
    let armed = bench.burning(1);
    let late = bench.burning(1);
    let acts = [
        queue_on(1, queue, first),
        delayed(queue, armed, 9),
        drop_queue(queue),
        queue_on(1, queue, late),
    ];
    let expected = ["0: true", "0: true", "2: true", "3: true", "3: destroying"];
    assert_eq!(bench.run(&acts), expected);
    assert_eq!(bench.machine.timers_dropped(), 1);
    assert!(bench.machine.is_gone(queue) && bench.is_clean());
}

#[test]
fn a_frozen_queue_that_is_dropped_thaws() {
    let bench = Bench::plain();
    let spec = QueueSpec::managed("w").freezable();
    let queue = bench.machine.alloc_workqueue(spec);
    let item = bench.burning(2);
    let freeze = Act::Call(Call::FreezeBegin);
    let acts = [
        freeze.clone(),
        queue_on(1, queue, item),
        drop_queue(queue),
        freeze,
    ];
    assert_eq!(
        bench.run(&acts),
        ["0: void", "0: true", "2: true", "2: void"]
    );
    assert!(bench.machine.is_gone(queue));
    assert!(!bench.machine.max_active(queue).1, "nor is it frozen again");
}

#[test]
fn an_item_that_drops_its_own_queue_leaves_it_to_the_last_one() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    // Of a CPU where nothing else is in flight: that pool workqueue is an orphan anew.
    let last = bench.burning(2);
    let other = bench.item(&[Act::Burn(4 * MS), queue_on(2, queue, last)]);
    let drops = bench.item(&[drop_queue(queue), Act::Burn(MS)]);
    bench.machine.spawn(ThreadSpec::named("look"), {
        let gone = bench.said.clone();
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            if cx.now() == Time(5 * MS) {
                let is_gone = cx.machine().is_gone(queue);
                gone.borrow_mut().push(format!("5: gone {is_gone}"));
                return Act::End;
            }
            Act::Sleep(5 * MS)
        })
    });
    let said = bench.run(&[queue_on(0, queue, other), queue_on(1, queue, drops)]);
    assert_eq!(
        said,
        ["0: true", "0: true", "0: false", "4: true", "5: gone false"]
    );
    assert_eq!(bench.machine.now(), Time(6 * MS));
    assert!(bench.machine.is_gone(queue) && bench.is_clean());
}

#[test]
fn a_drop_that_could_never_end_is_left_to_the_last_item() {
    let bench = Bench::new(Options {
        thread_limit: 1,
        ..Options::on("T4").unwrap()
    });
    let [queue, other] = ["w", "x"].map(|name| {
        let spec = QueueSpec::percpu(name);
        bench.machine.alloc_workqueue(spec)
    });
    let burns = bench.burning(2);
    let drops = bench.item(&[drop_queue(other), Act::Burn(MS)]);
    let said = bench.run(&[queue_on(1, queue, drops), queue_on(1, other, burns)]);
    assert_eq!(said, ["0: true", "0: true", "0: false"]);
    assert_eq!(bench.machine.now(), Time(3 * MS));
    assert!(bench.machine.is_gone(other) && !bench.machine.is_gone(queue));
    assert!(bench.is_clean());
}

#[test]
#[should_panic(expected = "queue `w` has no handle any more")]
fn a_queue_is_dropped_once() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::percpu("w"));
    bench.run(&[drop_queue(queue), drop_queue(queue)]);
}

#[test]
fn shutdown_waits_for_all_and_admits_only_what_items_queue() {
    let bench = Bench::plain();
    let [queue, other] = ["w", "x"].map(|name| {
        let spec = QueueSpec::percpu(name);
        bench.machine.alloc_workqueue(spec)
    });
    let [last, late] = [1, 1].map(|ms| bench.burning(ms));
    let first = bench.item(&[Act::Burn(2 * MS), queue_on(2, other, last)]);
    let acts = [
        queue_on(1, queue, first),
        shutdown(100),
        queue_on(1, queue, late),
    ];
    let expected = [
        "0: true",
        "2: true",
        "3: 2 ended, 0 queued, 0 running, 0 armed",
    ];
    let said = bench.run(&acts);
    assert_eq!(said[..3], expected);
    assert_eq!(said[3], "3: shut down");
    assert_eq!(bench.machine.now(), Time(3 * MS), "not until its deadline");
}

#[test]
fn at_its_deadline_shutdown_says_what_is_left() {
    let bench = Bench::plain();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("w").max_active(1));
    let [done, runs, waits, armed] = [2, 5, 1, 1].map(|ms| bench.burning(ms));
    let acts = [
        queue_on(1, queue, done),
        queue_on(1, queue, runs),
        queue_on(1, queue, waits),
        delayed(queue, armed, 9),
        shutdown(4),
    ];
    let said = bench.run(&acts);
    assert_eq!(said[4..], ["4: 1 ended, 1 queued, 1 running, 1 armed"]);
    assert_eq!(bench.machine.timers_dropped(), 1, "it was outside");
    assert_eq!(bench.starts(waits)[0].0, 7, "what is left goes on");
}

#[test]
fn an_item_that_shuts_down_does_not_wait_for_itself() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("w"));
    let burns = bench.burning(3);
    let ends = bench.item(&[shutdown(100)]);
    let said = bench.run(&[queue_on(1, queue, ends), queue_on(1, queue, burns)]);
    assert_eq!(said[2..], ["3: 1 ended, 0 queued, 0 running, 0 armed"]);
}

#[test]
fn two_items_that_shut_down_do_not_wait_for_each_other() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("w"));
    let [a, b] = [5, 9].map(|ms| bench.item(&[shutdown(ms)]));
    let burns = bench.burning(3);
    let said = bench.run(&[a, b, burns].map(|item| queue_on(1, queue, item)));
    let expected = [
        "3: 1 ended, 0 queued, 0 running, 0 armed",
        "3: 2 ended, 0 queued, 0 running, 0 armed",
    ];
    assert_eq!(said[3..], expected);
}

#[test]
fn who_waits_for_the_item_that_shuts_down_is_not_waited_for() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("w"));
    let ends = bench.item(&[shutdown(100)]);
    // Before the shutdown, and after it has begun to wait for the last one.
    let waits =
        [0, 2].map(|ms| bench.item(&[Act::Sleep(ms * MS), Act::Call(Call::FlushWork(ends))]));
    let burns = bench.burning(3);
    let items = [ends, waits[0], waits[1], burns];
    let said = bench.run(&items.map(|item| queue_on(1, queue, item)));
    let expected = [
        "3: 1 ended, 0 queued, 0 running, 0 armed",
        "3: true",
        "3: true",
    ];
    assert_eq!(said[4..], expected);
}

#[test]
fn what_begins_after_the_item_that_shuts_down_is_queued_at_its_end() {
    let bench = Bench::plain();
    let one = bench
        .machine
        .alloc_workqueue(QueueSpec::managed("one").max_active(1));
    let other = bench.machine.alloc_workqueue(QueueSpec::managed("other"));
    let ends = bench.item(&[Act::Sleep(MS), shutdown(100)]);
    let [no_slot, burns] = [2, 3].map(|ms| bench.burning(ms));
    let waits = bench.item(&[Act::Call(Call::FlushWork(no_slot))]);
    let said = bench.run(&[
        queue_on(1, one, ends),
        queue_on(1, one, no_slot),
        queue_on(1, other, waits),
        queue_on(1, other, burns),
    ]);
    let expected = ["3: 1 ended, 1 queued, 0 running, 0 armed", "5: true"];
    assert_eq!(said[4..], expected);
    assert_eq!(bench.starts(no_slot)[0].0, 3);
}

/// Six items of 4 ms on four CPUs; when each began.
fn begins(quotas: &[(u64, u32)]) -> Vec<u64> {
    let bench = Bench::plain();
    let quotas = quotas.to_vec();
    let mut at = quotas.into_iter();
    let first = at.next().expect("a quota to begin with");
    bench.machine.set_quota(first.1);
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("w"));
    let mut then = None;
    let change = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        if let Some((_, quota)) = then {
            cx.machine().set_quota(quota);
        }
        then = at.next();
        then.map_or(Act::End, |(ms, _)| Act::Sleep(ms * MS))
    };
    bench
        .machine
        .spawn(ThreadSpec::named("quota"), Box::new(change));
    let items = [4; 6].map(|ms| bench.burning(ms));
    bench.run(&items.map(|item| queue_on(0, queue, item)));
    items.iter().map(|&item| bench.starts(item)[0].0).collect()
}

#[test]
fn no_more_run_at_a_time_than_the_quota_leaves() {
    assert_eq!(begins(&[(0, u32::MAX)]), [0, 0, 0, 0, 4, 4]);
    assert_eq!(begins(&[(0, 2)]), [0, 0, 4, 4, 8, 8]);
    assert_eq!(begins(&[(0, 0)]), [0, 4, 8, 12, 16, 20], "one in any case");
}

#[test]
fn a_quota_that_is_raised_starts_workers_and_one_that_is_lowered_stops_nobody() {
    assert_eq!(begins(&[(0, 1), (1, 3)]), [0, 1, 1, 4, 5, 5]);
    assert_eq!(begins(&[(0, 4), (1, 1)]), [0, 0, 0, 0, 4, 4]);
}

#[test]
fn with_a_quota_fewer_canaries_are_armed_and_everything_ends() {
    let bench = Bench::new(Options {
        signals: Signals::User(UserSignals::default()),
        ..Options::on("T4").unwrap()
    });
    bench.machine.set_quota(2);
    let queue = bench.machine.alloc_workqueue(QueueSpec::managed("w"));
    let items: Vec<ItemId> = (0..20)
        .map(|_| bench.item(&[Act::Burn(MS), Act::Sleep(2 * MS)]))
        .collect();
    let acts: Vec<Act> = items.iter().map(|&i| queue_on(0, queue, i)).collect();
    bench.run(&acts);
    assert!(items.iter().all(|&item| bench.starts(item).len() == 1));
    assert!(
        bench.machine.now() < Time(SECOND),
        "{:?}",
        bench.machine.now()
    );
}

/// An item that does this to its thread, burns, and ends; it may be executed again.
fn leaving(machine: &Machine, burns: Nanos, what: impl Fn(&mut ProgramCx<'_>) + 'static) -> ItemId {
    let what = Rc::new(what);
    machine.item("leaving", move |_| {
        let (what, mut left) = (what.clone(), 2);
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            left -= 1;
            match left {
                1 => what(cx),
                _ => return Act::End,
            }
            Act::Burn(burns)
        })
    })
}

/// An item that writes down what its thread has.
fn looking(bench: &Bench) -> ItemId {
    let said = bench.said.clone();
    bench.machine.item("looking", move |_| {
        let said = said.clone();
        Box::new(move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
            let text = format!("nice {} on {}", cx.nice(), cx.allowed());
            said.borrow_mut().push(text);
            Act::End
        })
    })
}

fn unprivileged() -> Bench {
    Bench::new(Options {
        nice_best: 0,
        ..Options::on("T4").unwrap()
    })
}

#[test]
fn what_an_item_leaves_behind_is_set_right() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::ordered("w"));
    let leaves = leaving(&bench.machine, MS, |cx| {
        assert!(cx.set_nice(7));
        cx.pin([2].into_iter().collect());
    });
    let looks = looking(&bench);
    let said = bench.run(&[queue_on(0, queue, leaves), queue_on(0, queue, looks)]);
    assert_eq!(said[2..], ["nice 0 on 0-3"]);
    let left = bench.machine.left_behind();
    assert_eq!((left.len(), left[0].items, left[0].lost), (1, 1, false));
    let text = left[0].what.to_string();
    assert_eq!(text, "nice 7 (was 0), CPUs 2 (was 0-3)");
    let threads = [leaves, looks].map(|item| bench.starts(item)[0].1);
    assert_eq!(threads[0], threads[1]);
}

#[test]
fn a_thread_that_cannot_come_back_ends_and_another_one_goes_on() {
    let bench = Bench::new(Options {
        nice_best: 5,
        ..Options::on("T4").unwrap()
    });
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("w").max_active(1));
    let leaves = leaving(&bench.machine, MS, |cx| assert!(cx.set_nice(7)));
    let looks = looking(&bench);
    let said = bench.run(&[queue_on(1, queue, leaves), queue_on(1, queue, looks)]);
    assert_eq!(said[2..], ["nice 0 on 1"]);
    assert!(bench.machine.left_behind()[0].lost);
    let [from, to] = [leaves, looks].map(|item| bench.starts(item)[0].1);
    assert!(from != to && bench.machine.is_done(from));
    assert!(bench.is_clean());
}

#[test]
fn only_the_privileged_go_back_to_a_better_nice_level() {
    let bench = unprivileged();
    let mut tried = false;
    let done = bench.said.clone();
    let program = move |cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        if std::mem::replace(&mut tried, true) {
            return Act::End;
        }
        let could = [5, 3, -1].map(|nice| cx.set_nice(nice));
        done.borrow_mut().push(format!("{could:?} {}", cx.nice()));
        Act::Burn(0)
    };
    bench
        .machine
        .spawn(ThreadSpec::named("a"), Box::new(program));
    assert_eq!(bench.run(&[]), ["[true, true, false] 3"]);
}

#[test]
fn tiny_items_are_looked_at_together_before_their_worker_parks() {
    let bench = Bench::plain();
    let queue = bench.machine.alloc_workqueue(QueueSpec::ordered("w"));
    let tiny = || {
        leaving(&bench.machine, MICROSECOND, |cx| {
            cx.set_nice(7);
        })
    };
    let items = [tiny(), tiny(), tiny()];
    bench.run(&items.map(|item| queue_on(0, queue, item)));
    let left = bench.machine.left_behind();
    let found: Vec<_> = left.iter().map(|left| (left.at.0, left.items)).collect();
    assert_eq!(found, [(3 * MICROSECOND, 3)]);
}

#[test]
fn what_only_the_lost_worker_was_to_run_goes_to_others() {
    let bench = Bench::new(Options {
        nice_best: 19,
        ..Options::on("T4").unwrap()
    });
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::new("w", cmwq_policy::queue::Kind::Unmanaged));
    let leaves = leaving(&bench.machine, 4 * MS, |cx| assert!(cx.set_nice(7)));
    // The second instance is put behind the first one, on the list of its worker.
    let again = [
        queue_on(0, queue, leaves),
        Act::Sleep(MS),
        queue_on(0, queue, leaves),
    ];
    let said = bench.run(&again);
    assert_eq!(said, ["0: true", "1: true"]);
    let starts = bench.starts(leaves);
    assert_eq!((starts[0].0, starts[1].0), (0, 4));
    assert_ne!(starts[0].1, starts[1].1);
    assert!(bench.machine.left_behind().iter().all(|left| left.lost));
    assert!(bench.is_clean());
}

#[test]
fn a_rescuer_goes_on_with_a_nice_level_that_it_cannot_lose() {
    let bench = unprivileged();
    let queue = bench
        .machine
        .alloc_workqueue(QueueSpec::percpu("w").mem_reclaim());
    let leaves = leaving(&bench.machine, MS, |cx| {
        assert!(cx.set_nice(7));
        cx.pin([2].into_iter().collect());
    });
    let looks = looking(&bench);
    bench.machine.fail_spawns(true);
    bench.run(&[queue_on(1, queue, leaves), queue_on(1, queue, looks)]);
    assert_eq!(bench.said.borrow()[2..], ["nice 7 on 1"]);
    let threads = [leaves, looks].map(|item| bench.starts(item)[0].1);
    assert_eq!(threads[0], threads[1]);
    let lost: Vec<bool> = bench.machine.left_behind().iter().map(|l| l.lost).collect();
    assert_eq!(lost, [true], "said once");
}
