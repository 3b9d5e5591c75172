//! When more workers do not help.

use super::*;
use crate::growth::{FREE_GROWTH, Holding};
use crate::time::{MICROSECOND, Nanos};

const LOCK: SeenState = SeenState::Asleep(Some(0x1000));
const PIPE: SeenState = SeenState::Asleep(None);

/// Ticks of 4 ms in which all executing items are found thus, and one item ends every so often.
fn ticks(rig: &mut Rig, count: usize, found: SeenState, every: Option<Nanos>) -> Vec<usize> {
    let mut executing = Vec::new();
    for _ in 0..count {
        let ends = every.map_or(0, |every| 4 * MILLISECOND / every);
        for _ in 0..ends {
            rig.advance(every.unwrap_or_default());
            let (pool, id, _) = rig.running()[0];
            rig.end(pool, id, ItemReport::default());
            rig.run();
        }
        if ends == 0 {
            rig.advance(4 * MILLISECOND);
        }
        rig.scan(0, |_| found);
        rig.run();
        executing.push(rig.executing().len());
    }
    executing
}

fn most(executing: &[usize]) -> usize {
    executing.iter().copied().max().unwrap_or(0)
}

#[test]
fn past_twice_the_target_somebody_looks_once() {
    let mut rig = Rig::one(attrs(2), 100);
    rig.queue_and_run(20, 0);
    for _ in 2..FREE_GROWTH * 2 {
        assert!(rig.idle_report(0));
        rig.run();
    }
    assert_eq!(rig.executing().len(), 4);
    assert_eq!(rig.count(Action::Inspect), 0);
    assert!(!rig.idle_report(0));
    assert!(!rig.idle_report(0));
    assert_eq!(rig.count(Action::Inspect), 1);
    assert!(!rig.published(0).wants, "canaries may park");
    rig.scan(0, |_| PIPE);
    rig.run();
    assert_eq!(rig.executing().len(), 6, "what blocks is no lock");
}

#[test]
fn a_look_that_stopped_early_is_none() {
    let mut rig = Rig::one(attrs(1), 100);
    rig.queue_and_run(20, 0);
    rig.idle_report(0);
    rig.run();
    rig.idle_report(0);
    assert_eq!(rig.count(Action::Inspect), 1);
    assert_eq!(rig.pools[0].plan_scan().enough, u32::MAX, "look at all");
    rig.call(0, |p, cx| p.scanned(cx, &[], false));
    assert!(rig.pools[0].growth.is_asking());
    assert_eq!(rig.executing().len(), 2);
    rig.scan(0, |_| PIPE);
    rig.run();
    assert_eq!(rig.executing().len(), 3);
}

#[test]
fn items_that_sleep_for_themselves_all_start() {
    let mut rig = Rig::one(attrs(2), 200);
    rig.queue_and_run(100, 0);
    let executing = ticks(&mut rig, 60, PIPE, None);
    assert_eq!(most(&executing), 100);
}

#[test]
fn a_barrier_is_no_convoy() {
    let mut rig = Rig::one(attrs(2), 200);
    rig.queue_and_run(64, 0);
    let executing = ticks(&mut rig, 60, LOCK, None);
    assert_eq!(most(&executing), 64, "all meet at one address");
}

/// Those of one group end, two in half a millisecond, while those of the next one arrive. Each look
/// sees some of them only.
#[test]
fn barriers_one_after_the_other_are_no_convoy() {
    const GROUP: usize = 64;
    let mut rig = Rig::one(attrs(2), 200);
    rig.queue_and_run(6 * GROUP, 0);
    let mut looks = 0;
    while !rig.executing().is_empty() {
        let begun: Vec<usize> = rig.started.iter().map(|work| work / GROUP).collect();
        let met = |work: usize| begun.iter().filter(|&&of| of == work / GROUP).count() == GROUP;
        let runs = rig.executing().into_iter().filter(|&work| met(work));
        for work in runs.take(16).collect::<Vec<_>>() {
            rig.advance(MILLISECOND / 4);
            rig.end_and_run(work, ItemReport::default());
        }
        rig.advance(MILLISECOND);
        rig.scan(0, |work| match met(work) {
            true => SeenState::Runnable,
            false => SeenState::Asleep(Some(0x1000 * (1 + work / GROUP) as u64)),
        });
        rig.run();
        looks += 1;
        assert!(looks < 1_000, "{:?}", rig.executing());
    }
    assert_eq!(rig.pools[0].stats().growth.convoys, 0);
}

#[test]
fn a_convoy_does_not_grow() {
    let mut rig = Rig::one(attrs(2), 1000);
    rig.queue_and_run(1000, 0);
    let executing = ticks(&mut rig, 100, LOCK, Some(MILLISECOND));
    assert!(most(&executing) <= 12, "until it is seen: {executing:?}");
    let settled = &executing[40..];
    assert!(settled.iter().all(|n| (4..=5).contains(n)), "{executing:?}");
    assert!(rig.pools[0].nr_workers() <= 13, "nor do idle threads");
    let holding = rig.pools[0].holding(rig.now);
    assert!(matches!(holding, Holding::Convoy { .. }), "{holding:?}");
    assert!(rig.pools[0].stats().completed >= 390);
}

#[test]
fn a_damped_start_does_start_an_item() {
    // Each damped worker that arrives is one more at work, until an item ends and one steps back.
    let mut rig = Rig::one(attrs(1), 1000);
    rig.queue_and_run(1000, 0);
    ticks(&mut rig, 10, LOCK, Some(500 * MICROSECOND));
    let due = loop {
        if let Some(due) = rig.pools[0].look_at(rig.now) {
            break due;
        }
        ticks(&mut rig, 1, LOCK, Some(500 * MICROSECOND));
    };
    let before = rig.executing().len();
    rig.now = rig.now.max(due);
    let (pool, id, _) = rig.running()[0];
    rig.end(pool, id, ItemReport::default());
    rig.scan(0, |_| LOCK);
    rig.run();
    assert!(rig.executing().len() > before.min(2), "{before}");
}

#[test]
fn who_works_already_steps_back_when_a_convoy_forms() {
    let mut rig = Rig::one(attrs(2), 1000);
    rig.queue_and_run(1000, 0);
    ticks(&mut rig, 20, PIPE, None);
    let grown = rig.executing().len();
    assert!(grown >= 20, "{grown}");
    let executing = ticks(&mut rig, 60, LOCK, Some(MILLISECOND));
    assert!(executing[59] <= 6, "{executing:?}");
    assert!(rig.pools[0].stats().convoy_step_backs as usize >= grown - 6);
}

#[test]
fn growth_comes_back_when_the_convoy_dissolves() {
    let mut rig = Rig::one(attrs(2), 1000);
    rig.queue_and_run(1000, 0);
    ticks(&mut rig, 40, LOCK, Some(MILLISECOND));
    let executing = ticks(&mut rig, 20, PIPE, Some(MILLISECOND));
    assert!(executing[19] >= 20, "{executing:?}");
}

#[test]
fn a_reserve_that_arrives_passes_the_gate_too() {
    let four = PoolAttrs {
        thread_limit: 4,
        ..attrs(2)
    };
    let mut rig = Rig::one(four, 100);
    rig.queue_and_run(50, 0);
    for _ in 0..2 {
        rig.idle_report(0);
        rig.run();
    }
    assert_eq!((rig.executing().len(), rig.pools[0].nr_idle()), (4, 0));
    rig.pools[0].attrs.thread_limit = 10;
    let (pool, manager, _) = rig.running()[0];
    rig.end(pool, manager, ItemReport::default());
    rig.deliver_all();
    rig.ask(pool, manager);
    // Everybody sleeps before it arrives: the estimate alone would let it in.
    for work in rig.executing() {
        rig.hint_begin(work);
    }
    assert_eq!(rig.pools[0].nr_running(), 0);
    rig.run();
    assert_eq!((rig.executing().len(), rig.pools[0].nr_idle()), (4, 1));
    assert_eq!(rig.count(Action::Inspect), 1);
    rig.scan(0, |_| PIPE);
    rig.run();
    assert_eq!(rig.executing().len(), 6);
}

/// A rig of one pool in which items of the first queue have queued up at a lock, and more of them
/// wait.
fn convoy_beside_another_queue() -> (Rig, usize) {
    let mut rig = Rig::one(attrs(2), 1000);
    let other = rig.pwq(0, 1000);
    convoy(&mut rig);
    (rig, other)
}

fn convoy(rig: &mut Rig) {
    rig.queue_and_run(140, 0);
    ticks(rig, 30, LOCK, Some(MILLISECOND));
    assert!(
        !rig.pools[0].worklist.lanes()[0].list.is_empty(),
        "they are held back"
    );
}

#[test]
fn items_that_are_held_back_are_overtaken_by_none_of_their_fifo_queue() {
    for fifo in [false, true] {
        let mut rig = Rig::one(attrs(2), 1000);
        rig.store.pwqs[0].state.flags.fifo = fifo;
        convoy(&mut rig);
        let of_another_function = rig.item();
        rig.store.items[of_another_function].key.func += 1;
        assert!(rig.queue(of_another_function, 0));
        let lane = &rig.pools[0].worklist.lanes()[0].list;
        let is_last = lane.iter(&rig.store).last() == Some(of_another_function);
        assert_eq!(is_last, fifo);
    }
}

/// How the workers are found: those of the first queue at the lock, the others asleep elsewhere.
fn by_queue(rig: &Rig, other: &[usize]) -> impl Fn(usize) -> SeenState + use<> {
    let of_other: Vec<usize> = rig
        .executing()
        .into_iter()
        .filter(|work| other.contains(work))
        .collect();
    move |work| if of_other.contains(&work) { PIPE } else { LOCK }
}

#[test]
fn a_convoy_holds_nobody_else_back() {
    let (mut rig, other) = convoy_beside_another_queue();
    let before = rig.executing().len();
    let items = rig.queue_and_run(60, other);
    // As in a pool without a convoy: each look lets as many begin again.
    let mut looks = 0;
    while rig.executing().len() < before + items.len() {
        rig.advance(4 * MILLISECOND);
        let found = by_queue(&rig, &items);
        rig.scan(0, found);
        rig.run();
        looks += 1;
        assert!(looks < 40, "{} execute", rig.executing().len());
    }
}

#[test]
fn nor_does_it_wait_for_others_for_ever() {
    let (mut rig, other) = convoy_beside_another_queue();
    let held: Vec<usize> = rig.pools[0].worklist.lanes()[0]
        .list
        .iter(&rig.store)
        .collect();
    // There are always some of the other queue.
    let mut all = rig.queue_and_run(40, other);
    for _ in 0..400 {
        rig.advance(MILLISECOND);
        for others in [false, true] {
            let of_it = |work: &usize| all.contains(work) == others;
            if let Some(work) = rig.executing().into_iter().find(of_it) {
                rig.end_and_run(work, ItemReport::default());
            }
        }
        all.extend(rig.queue_and_run(3, other));
        let found = by_queue(&rig, &all);
        rig.scan(0, found);
        rig.run();
    }
    assert!(rig.pools[0].worklist.nr_free() > 0);
    assert!(held.iter().all(|work| rig.started.contains(work)));
}

#[test]
fn what_is_held_back_can_be_taken_back_waited_for_and_flushed() {
    let (mut rig, _) = convoy_beside_another_queue();
    let held: Vec<usize> = {
        let list = &rig.pools[0].worklist.lanes()[0].list;
        list.iter(&rig.store).collect()
    };
    let (first, second) = (held[0], held[1]);
    let barrier = rig.barrier(first).expect("it waits");
    assert!(rig.steal(first));
    rig.run();
    assert!(
        rig.started.contains(&barrier),
        "a barrier is of no kind: it is free at once"
    );
    let behind = rig.barrier(second).expect("it waits as well");
    while !rig.started.contains(&behind) {
        let executing = rig.executing();
        rig.end_and_run(executing[0], ItemReport::default());
    }
    let at = |work: usize| rig.started.iter().position(|&one| one == work);
    assert!(at(second) < at(behind));
}

#[test]
fn when_the_convoy_is_over_what_was_held_back_goes_first() {
    let (mut rig, other) = convoy_beside_another_queue();
    let waiting = rig.pools[0].worklist.lanes()[0].waiting;
    let later = rig.queue_new(5, other);
    for _ in 0..400 {
        if rig.pools[0]
            .worklist
            .lanes()
            .iter()
            .all(|lane| lane.list.is_empty())
        {
            break;
        }
        rig.advance(4 * MILLISECOND);
        rig.scan(0, |_| SeenState::Runnable);
    }
    assert!(rig.pools[0].worklist.lanes().iter().all(|lane| !lane.aside));
    assert_eq!(rig.pools[0].nr_queued(), waiting + later.len());
    let first = rig.pools[0].worklist.list().first();
    assert!(first.is_some_and(|first| !later.contains(&first)));
}
