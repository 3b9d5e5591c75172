//! Items that wait for items: who waits, who is refused because nobody could ever do what is waited
//! for, and whose wait fails later.

use std::cell::RefCell;
use std::rc::Rc;

use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::*;

const MS: Nanos = MILLISECOND;

/// Who was answered what, in milliseconds since the start.
type Said = Rc<RefCell<Vec<String>>>;

fn machine(thread_limit: u32) -> Machine {
    Machine::new(Options {
        thread_limit,
        ..Options::on("T4").unwrap()
    })
}

/// Does these acts and writes down what its calls answer.
fn saying(said: &Said, name: &'static str, acts: Vec<Act>) -> Box<dyn Program> {
    let (said, mut acts) = (said.clone(), acts.into_iter());
    Box::new(move |cx: &mut ProgramCx<'_>, answer: Option<Answer>| {
        if let Some(answer) = answer {
            let at = cx.now().0 / MS;
            let text = match answer {
                Answer::Bool(truth) => truth.to_string(),
                Answer::Text(text) => text,
                other => format!("{other:?}").to_lowercase(),
            };
            said.borrow_mut().push(format!("{name} at {at}: {text}"));
        }
        acts.next().unwrap_or(Act::End)
    })
}

/// An item that writes down what its calls answer.
fn item(machine: &Machine, said: &Said, name: &'static str, acts: &[Act]) -> ItemId {
    let (said, acts) = (said.clone(), acts.to_vec());
    machine.item(name, move |_| saying(&said, name, acts.clone()))
}

fn flush(item: ItemId) -> Act {
    Act::Call(Call::FlushWork(item))
}

fn flush_queue(queue: QueueId) -> Act {
    Act::Call(Call::FlushWorkqueue(queue))
}

fn burning(machine: &Machine, ms: u64) -> ItemId {
    machine.item("burns", move |_| Script::boxed([Act::Burn(ms * MS)]))
}

/// Queues these items from one thread, in order, and runs everything to its end.
fn queue_all(machine: &Machine, items: &[(QueueId, ItemId)]) {
    let queued = items.iter().map(|&(queue, item)| {
        let cpu = Some(0);
        Act::Call(Call::QueueWork { queue, cpu, item })
    });
    let main = Script::boxed(queued.collect::<Vec<_>>());
    machine.spawn(ThreadSpec::named("main").on(0), main);
    machine.run();
}

fn is_clean(machine: &Machine) -> bool {
    machine.referred_to() == (Vec::new(), Vec::new())
}

#[test]
fn the_only_thread_may_not_wait_for_what_it_would_have_to_begin() {
    let (machine, said) = (machine(1), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let other = burning(&machine, 2);
    let acts = [flush(other), Act::Burn(3 * MS)];
    let waiter = item(&machine, &said, "waiter", &acts);
    queue_all(&machine, &[(queue, waiter), (queue, other)]);
    assert_eq!(*said.borrow(), ["waiter at 0: deadlock: w waits for w"]);
    assert_eq!(machine.now(), Time(5 * MS), "one after the other");
    assert!(is_clean(&machine));
}

#[test]
fn with_one_thread_more_it_waits() {
    let (machine, said) = (machine(2), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let other = burning(&machine, 2);
    let acts = [flush(other), Act::Burn(3 * MS)];
    let waiter = item(&machine, &said, "waiter", &acts);
    queue_all(&machine, &[(queue, waiter), (queue, other)]);
    assert_eq!(*said.borrow(), ["waiter at 2: true"]);
    assert_eq!(machine.now(), Time(5 * MS));
}

#[test]
fn the_last_of_those_who_come_to_wait_is_refused() {
    let (machine, said) = (machine(2), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let last = burning(&machine, 1);
    let flush = [flush(last)];
    let first = item(&machine, &said, "first", &flush);
    let second = item(&machine, &said, "second", &flush);
    queue_all(&machine, &[(queue, first), (queue, second), (queue, last)]);
    let expected = ["second at 0: deadlock: w waits for w", "first at 1: true"];
    assert_eq!(*said.borrow(), expected);
    assert!(is_clean(&machine));
}

#[test]
fn an_item_does_not_wait_for_itself() {
    let (machine, said) = (machine(9), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let own = ItemId(0);
    let acts = [
        Call::FlushWork(own),
        Call::FlushDelayedWork(own),
        Call::FlushWorkqueue(queue),
        Call::DrainWorkqueue(queue),
        Call::CancelWorkSync(own),
        Call::DisableWorkSync(own),
        Call::EnableWork(own),
    ];
    let acts = acts.map(Act::Call);
    assert_eq!(item(&machine, &said, "own", &acts), own);
    queue_all(&machine, &[(queue, own)]);
    let mut expected = vec!["own at 0: deadlock: w waits for w"; 6];
    // Refused or not, it is disabled; cancelling leaves it as it was.
    expected.push("own at 0: true");
    assert_eq!(*said.borrow(), expected);
    assert_eq!(machine.item_view(own).word.disable_depth(), 0);
}

#[test]
fn an_item_does_not_wait_for_the_queue_of_its_next_instance() {
    let (machine, said) = (machine(9), Said::default());
    let [queue, next] = ["w", "next"].map(|name| machine.alloc_workqueue(QueueSpec::percpu(name)));
    let own = ItemId(0);
    let cpu = Some(0);
    let queued = Act::Call(Call::QueueWork {
        queue: next,
        cpu,
        item: own,
    });
    let text = said.clone();
    machine.item("own", move |number| match number {
        1 => saying(&text, "own", vec![queued.clone(), flush_queue(next)]),
        _ => Script::boxed([]),
    });
    queue_all(&machine, &[(queue, own)]);
    let expected = ["own at 0: true", "own at 0: deadlock: w waits for next"];
    assert_eq!(*said.borrow(), expected);
    assert_eq!(machine.item_view(own).started, 2);
}

#[test]
fn whoever_holds_all_slots_does_not_wait_for_another_one() {
    let (machine, said) = (machine(99), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w").max_active(1));
    let other = burning(&machine, 1);
    let waiter = item(&machine, &said, "waiter", &[flush(other)]);
    queue_all(&machine, &[(queue, waiter), (queue, other)]);
    assert_eq!(*said.borrow(), ["waiter at 0: deadlock: w waits for w"]);
    assert_eq!(machine.now(), Time(MS));
}

#[test]
fn two_ordered_queues_that_wait_for_each_other() {
    let (machine, said) = (machine(99), Said::default());
    let [a, b] = ["a", "b"].map(|name| machine.alloc_workqueue(QueueSpec::ordered(name)));
    let first = item(&machine, &said, "first", &[Act::Sleep(MS), flush_queue(b)]);
    let second = item(
        &machine,
        &said,
        "second",
        &[Act::Sleep(2 * MS), flush_queue(a)],
    );
    queue_all(&machine, &[(a, first), (b, second)]);
    let expected = ["second at 2: deadlock: b waits for a", "first at 2: void"];
    assert_eq!(*said.borrow(), expected);
    assert!(is_clean(&machine));
}

#[test]
fn a_wait_fails_when_the_thread_that_would_end_it_cannot_be_made() {
    let machine = Machine::new(Options {
        spawn_takes: MS,
        spawn_outages: std::iter::once(MS + 1..10 * SECOND).collect(),
        ..Options::on("T4").unwrap()
    });
    let said = Said::default();
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
    let (other, cpu) = (burning(&machine, 1), Some(0));
    let queued = Call::QueueWork {
        queue,
        cpu,
        item: other,
    };
    // By then a thread may be tried again.
    let acts = [Act::Sleep(1500 * MS), Act::Call(queued), flush(other)];
    let waiter = item(&machine, &said, "waiter", &acts);
    queue_all(&machine, &[(queue, waiter)]);
    let expected = [
        "waiter at 1502: true",
        "waiter at 1503: deadlock: w waits for w",
    ];
    assert_eq!(*said.borrow(), expected);
    assert!(is_clean(&machine));
}

#[test]
fn a_limit_that_is_lowered_may_end_a_wait() {
    let (machine, said) = (machine(99), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w").max_active(2));
    let busy = machine.item("busy", |_| Script::boxed([Act::Sleep(5 * MS)]));
    let other = burning(&machine, 1);
    let acts = [flush(other)];
    let waiter = item(&machine, &said, "waiter", &acts);
    let lower = Script::boxed([Act::Sleep(2 * MS), Act::Call(Call::SetMaxActive(queue, 1))]);
    machine.spawn(ThreadSpec::named("lower").on(1), lower);
    queue_all(&machine, &[(queue, busy), (queue, waiter), (queue, other)]);
    let expected = ["waiter at 5: deadlock: w waits for w"];
    assert_eq!(*said.borrow(), expected, "at the end of the other one");
    assert!(is_clean(&machine));
}

#[test]
fn a_flush_that_moves_is_waited_for_anew() {
    let (machine, said) = (machine(2), Said::default());
    let [queue, other] = ["w", "x"].map(|name| machine.alloc_workqueue(QueueSpec::percpu(name)));
    let items = [burning(&machine, 1), burning(&machine, 1)];
    let waiter = item(&machine, &said, "waiter", &[flush_queue(other)]);
    let all = [(queue, waiter), (other, items[0]), (other, items[1])];
    queue_all(&machine, &all);
    assert_eq!(*said.borrow(), ["waiter at 2: void"]);
    assert!(is_clean(&machine));
}

#[test]
fn refused_to_drain_it_leaves_the_queue_open() {
    let (machine, said) = (machine(1), Said::default());
    let [queue, other] = ["w", "x"].map(|name| machine.alloc_workqueue(QueueSpec::percpu(name)));
    let burns = burning(&machine, 1);
    let again = burning(&machine, 1);
    let cpu = Some(0);
    let acts = [
        Call::DrainWorkqueue(other),
        Call::QueueWork {
            queue: other,
            cpu,
            item: again,
        },
    ];
    let waiter = item(&machine, &said, "waiter", &acts.map(Act::Call));
    queue_all(&machine, &[(queue, waiter), (other, burns)]);
    let expected = ["waiter at 0: deadlock: w waits for x", "waiter at 0: true"];
    assert_eq!(*said.borrow(), expected);
    assert_eq!(machine.now(), Time(2 * MS));
}

#[test]
fn a_rescuer_may_wait() {
    let (machine, said) = (machine(9), Said::default());
    let queue = machine.alloc_workqueue(QueueSpec::percpu("w").mem_reclaim());
    let other = burning(&machine, 1);
    let waiter = item(&machine, &said, "waiter", &[flush(other)]);
    machine.fail_spawns(true);
    let back = Box::new(|cx: &mut ProgramCx<'_>, _: Option<Answer>| {
        match cx.now() {
            Time(0) => return Act::Sleep(SECOND / 2),
            _ => cx.machine().fail_spawns(false),
        }
        Act::End
    });
    machine.spawn(ThreadSpec::named("back").on(1), back);
    queue_all(&machine, &[(queue, waiter), (queue, other)]);
    assert_eq!(said.borrow().len(), 1);
    assert!(said.borrow()[0].ends_with(": true"), "{:?}", said.borrow());
    assert!(is_clean(&machine));
}
