//! Each rule that can be broken changes a decision: what these tests decide with all rules in
//! order, and with one broken. Where that leads to a state that must not be, the invariants notice
//! it.

use super::contract::{drained, expired, queued_elsewhere};
use super::fifo::in_order;
use super::leaving::{crowded, end_by, leave, run};
use super::rig::Todo;
use super::*;
use crate::affinity::{Layout, Place, Scope};
use crate::attrs::Spread;
use crate::colours::{Colours, Flush};
use crate::cpumask::CpuMask;
use crate::hog::{Sample, Switches};
use crate::limit::Limit;
use crate::pool::brief::SHORT;
use crate::pool::{IDLE_WORKER_TIMEOUT, Rule};
use crate::probe::breakage::{self, Broken};
use crate::pwq::PwqFlags;
use crate::queue::{Attrs, Kind, Queue, QueueAttrs};
use crate::time::Nanos;
use crate::work::WorkWord;
use core::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::String;

pub(super) const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// What comes of it while the rule is broken; the words of the invariant that fails.
fn broken<T>(rule: Broken, scenario: impl Fn() -> T) -> Result<T, String> {
    breakage::set(Some(rule));
    let outcome = catch_unwind(AssertUnwindSafe(scenario));
    breakage::set(None);
    outcome.map_err(|panic| match panic.downcast::<String>() {
        Ok(words) => *words,
        Err(panic) => String::from(*panic.downcast::<&str>().expect("words")),
    })
}

/// The scenario comes out right, and wrong with this rule broken.
pub(super) fn decides<T: Debug + PartialEq>(
    rule: Broken,
    scenario: impl Fn() -> T,
    right: T,
    wrong: T,
) {
    assert_eq!(scenario(), right, "all rules in order");
    assert_eq!(broken(rule, scenario), Ok(wrong), "{}", rule.name());
}

/// The scenario comes out right, and with this rule broken an invariant fails with these words.
pub(super) fn fails<T: Debug + PartialEq>(
    rule: Broken,
    scenario: impl Fn() -> T,
    right: T,
    words: &str,
) {
    assert_eq!(scenario(), right, "all rules in order");
    let error = broken(rule, scenario).expect_err(rule.name());
    assert!(error.contains(words), "{}: {error}", rule.name());
}

#[test]
fn the_limit_is_off_by_one() {
    let taken = || {
        let slots = std::iter::successors(Some(Limit::new(2)), |limit| limit.try_take());
        slots.count() - 1
    };
    decides(Broken::LimitOffByOne, taken, 2, 3);
}

/// A queue over two pools with one slot: its holder, and one that waits in the other pool.
fn one_slot() -> (Rig, usize) {
    let mut rig = Rig::new((0..2).map(|_| attrs(8)));
    rig.pwq(0, 1);
    rig.sibling(0, 1);
    let holder = rig.queue_and_run(1, 0)[0];
    rig.queue_and_run(1, 1);
    (rig, holder)
}

#[test]
fn waiters_are_overtaken() {
    let overtakes = || {
        let (mut rig, holder) = one_slot();
        let (pool, id) = rig.who(holder).unwrap();
        rig.end(pool, id, DONE);
        let later = rig.queue_new(1, 0)[0];
        rig.store.items[later].is_active()
    };
    decides(Broken::WaitersOvertaken, overtakes, false, true);
}

/// What runs when its holder has ended.
fn whose_turn() -> Vec<usize> {
    let (mut rig, holder) = one_slot();
    rig.end_and_run(holder, DONE);
    rig.executing()
}

#[test]
fn nobody_says_that_he_waits() {
    fails(Broken::WaitingUnsaid, whose_turn, std::vec![1], "limit 0");
}

#[test]
fn a_turn_is_lost() {
    fails(Broken::TurnLost, whose_turn, std::vec![1], "a slot is lost");
}

#[test]
fn a_cancelled_item_keeps_its_slot() {
    let slots = || {
        let mut rig = Rig::one(attrs(1), 10);
        let work = rig.queue_new(1, 0)[0];
        rig.cancel(work);
        rig.store.limits[0].now().nr()
    };
    fails(Broken::CancelKeepsSlot, slots, 0, "slots of 0");
}

/// The order in which items of an ordered queue begin whose attributes change after the third.
fn order() -> Vec<usize> {
    let mut rig = Rig::new((0..2).map(|_| attrs(2)));
    let pwq = rig.ordered(0);
    rig.queue_and_run(3, pwq);
    rig.replace(0, 1);
    rig.queue_and_run(1, pwq);
    while let Some(&work) = rig.executing().first() {
        rig.end_and_run(work, DONE);
    }
    rig.started
}

#[test]
fn a_plug_is_ignored() {
    fails(
        Broken::PlugIgnored,
        order,
        std::vec![0, 1, 2, 3],
        "wait for 0",
    );
}

#[test]
fn nobody_unplugs() {
    let (right, wrong) = (std::vec![0, 1, 2, 3], std::vec![0, 1, 2]);
    decides(Broken::UnplugForgotten, order, right, wrong);
}

#[test]
fn a_worker_overtakes_what_another_one_was_dealt() {
    let is_next = || {
        let (mut rig, mut inbox) = in_order(2);
        let left = leave(&mut rig, &mut inbox, 200);
        let (_, id, _) = rig.running()[0];
        end_by(&mut rig, &mut inbox, id, SHORT);
        crowded(&mut rig, &mut inbox);
        run(&mut rig, &mut inbox);
        rig.started == left[..2]
    };
    decides(Broken::FifoOvertaken, is_next, true, false);
}

#[test]
fn a_frozen_queue_goes_on() {
    let max = || {
        let mut queue: Queue<u8> = Queue::new(QueueAttrs {
            kind: Kind::Managed,
            attrs: Attrs::default(),
            max_active: 7,
            dfl_active: false,
            exact: false,
            cpu_intensive: false,
            mem_reclaim: false,
            freezable: false,
        });
        queue.set_frozen(true);
        queue.effective_max()
    };
    decides(Broken::FreezeIgnored, max, 0, 7);
}

#[test]
fn an_item_runs_twice_in_one_pool() {
    let starts = || {
        let mut rig = Rig::one(attrs(2), 10);
        let work = rig.queue_and_run(1, 0)[0];
        rig.queue(work, 0);
        rig.run();
        rig.started
    };
    fails(
        Broken::ReentrantInPool,
        starts,
        std::vec![0],
        "who executes it",
    );
}

#[test]
fn an_item_runs_twice_in_two_pools() {
    let right = (std::vec![0], std::vec![0, 0]);
    let words = "in pool 0";
    fails(Broken::ReentrantAcrossPools, queued_elsewhere, right, words);
}

#[test]
fn a_timer_drops_its_item() {
    decides(Broken::TimerDropsItem, expired, std::vec![0], std::vec![]);
}

#[test]
fn a_queue_is_drained_too_early() {
    decides(Broken::DrainedEarly, drained, false, true);
}

#[test]
fn an_item_that_waits_for_its_execution_is_not_told() {
    let starts = || {
        let mut rig = Rig::new((0..2).map(|_| attrs(2)));
        rig.pwq(0, 10);
        rig.pwq(1, 10);
        let work = rig.queue_and_run(1, 0)[0];
        rig.queue(work, 1);
        rig.end_and_run(work, DONE);
        rig.started
    };
    fails(
        Broken::DeferralLost,
        starts,
        std::vec![0, 0],
        "waits for ever",
    );
}

#[test]
fn a_disabled_item_is_queued() {
    let disabled = WorkWord::off_queue(7).with_depth(1);
    let pended = || disabled.try_pend().is_ok();
    decides(Broken::DisableIgnored, pended, false, true);
}

#[test]
fn a_flush_is_over_too_early() {
    let over = || {
        let mut colours = Colours::default();
        colours.queued();
        let Flush::Wait(ticket) = colours.begin_flush() else {
            unreachable!("an item is in flight")
        };
        colours.is_done(ticket)
    };
    decides(Broken::FlushEarly, over, false, true);
}

#[test]
fn nobody_creates_a_spare() {
    let workers = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.queue_and_run(1, 0);
        rig.pools[0].nr_workers()
    };
    decides(Broken::NoSpare, workers, 2, 1);
}

/// Two workers have run items without a spare, and ask for the next one both.
fn creations() -> usize {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(1, 0);
    rig.run();
    rig.spawns_fail = true;
    rig.queue_and_run(5, 0);
    rig.advance(2 * SECOND);
    for (pool, id, _) in rig.running() {
        rig.end(pool, id, DONE);
    }
    let creates = |todo: &&(usize, Todo)| matches!(todo.1, Todo::Create(..));
    rig.todo.iter().filter(creates).count()
}

#[test]
fn two_workers_create_at_once() {
    fails(
        Broken::TwoManagers,
        creations,
        1,
        "one thread in the making",
    );
}

#[test]
fn workers_are_made_beyond_the_limit() {
    let workers = || {
        let limited = PoolAttrs {
            thread_limit: 1,
            ..attrs(1)
        };
        let mut rig = Rig::one(limited, 10);
        rig.queue_and_run(3, 0);
        rig.pools[0].nr_workers()
    };
    fails(Broken::ThreadLimitIgnored, workers, 1, "threads of 1");
}

#[test]
fn a_failed_thread_counts_for_ever() {
    let runs = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.spawns_fail = true;
        rig.queue_and_run(1, 0);
        rig.executing()
    };
    fails(
        Broken::SpawnFailureUnnoted,
        runs,
        std::vec![],
        "in the making",
    );
}

#[test]
fn the_last_idle_worker_is_culled() {
    let workers = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.queue_and_run(1, 0);
        rig.end_and_run(0, DONE);
        rig.advance(IDLE_WORKER_TIMEOUT);
        rig.call(0, |p, cx| p.cull(cx));
        rig.run();
        rig.pools[0].nr_workers()
    };
    decides(Broken::LastIdleCulled, workers, 2, 0);
}

#[test]
fn the_last_item_is_left_behind() {
    let runs = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.queue_and_run(2, 0);
        rig.end_and_run(0, DONE);
        rig.executing()
    };
    decides(Broken::WorkLeftBehind, runs, std::vec![1], std::vec![]);
}

#[test]
fn a_wake_up_is_lost() {
    let runs = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.queue_and_run(1, 0);
        rig.end_and_run(0, DONE);
        rig.queue_and_run(1, 0);
        rig.executing()
    };
    decides(Broken::WakeLost, runs, std::vec![1], std::vec![]);
}

#[test]
fn who_is_back_from_a_hint_does_not_count() {
    let running = || {
        let mut rig = Rig::one(attrs(1), 10);
        rig.queue_and_run(1, 0);
        rig.hint_begin(0);
        rig.hint_end(0);
        rig.pools[0].nr_running()
    };
    decides(Broken::HintEndIgnored, running, 1, 0);
}

#[test]
fn a_hog_goes_on_counting() {
    let percpu = PoolAttrs {
        rule: Rule::PerCpu,
        ..attrs(1)
    };
    let runs = || {
        let mut rig = Rig::one(percpu, 10);
        rig.queue_and_run(2, 0);
        let (_, id) = rig.who(0).unwrap();
        let mut watch = |cpu: Nanos| {
            rig.advance(cpu);
            let sample = Sample {
                item: 1,
                cpu,
                asleep: false,
                switches: Switches::Count(0),
            };
            let hog = rig.call(0, |p, cx| p.watched(cx, id, 1, sample, 10 * MILLISECOND));
            hog.expect("switches are known").is_some()
        };
        assert_eq!(
            [watch(5 * MILLISECOND), watch(20 * MILLISECOND)],
            [false, true]
        );
        rig.run();
        rig.executing()
    };
    decides(Broken::HogStaysCounted, runs, std::vec![0, 1], std::vec![0]);
}

#[test]
fn tokens_are_not_given_back() {
    let used = || {
        let mut rig = Rig::one(attrs(2), 10);
        rig.queue_and_run(2, 0);
        rig.end_and_run(0, DONE);
        rig.end_and_run(1, DONE);
        rig.store.budget.used
    };
    fails(
        Broken::TokenLeaked,
        used,
        0,
        "the budget is the sum of tokens",
    );
}

#[test]
fn the_loss_of_a_cpu_is_ignored() {
    let percpu = PoolAttrs {
        rule: Rule::PerCpu,
        ..attrs(1)
    };
    let runs = || {
        let mut rig = Rig::one(percpu, 10);
        rig.queue_and_run(3, 0);
        rig.call(0, |p, cx| p.set_rule(cx, Rule::Unmanaged));
        rig.run();
        rig.executing().len()
    };
    decides(Broken::HotplugIgnored, runs, 3, 1);
}

/// Two nodes of two CPUs.
fn two_nodes() -> Layout {
    let place = |cpu: u32| Place::new(cpu, cpu / 2, cpu / 2);
    Layout::new((0..4).map(place).collect())
}

#[test]
fn each_node_has_the_whole_limit() {
    let share = || two_nodes().share(&Attrs::default(), Some(0), 10, 1);
    decides(Broken::NodeShareIgnored, share, 5, 10);
}

#[test]
fn workers_of_a_strict_queue_leave_its_pod() {
    let strict = Attrs {
        scope: Some(Scope::Numa),
        strict: true,
        ..Attrs::default()
    };
    let allowed = || {
        two_nodes()
            .reach(Kind::Unmanaged, &strict, Spread::No, 3)
            .allowed
    };
    let (pod, all) = ([2, 3].into_iter().collect(), CpuMask::first(4));
    decides(Broken::StrictIgnored, allowed, pod, all);
}

/// A pool in which no thread can be made, with two items of a queue that has a rescuer, when that
/// is to be called.
fn hopeless() -> Rig {
    let mut rig = Rig::new([attrs(1)]);
    let rescued = PwqFlags {
        rescued: true,
        ..PwqFlags::default()
    };
    rig.pwq_with(0, 10, rescued);
    rig.spawns_fail = true;
    rig.queue_and_run(2, 0);
    rig.advance(10 * MILLISECOND);
    rig.call(0, |p, cx| p.call_rescuers(cx));
    rig.run();
    rig
}

#[test]
fn no_rescuer_is_called() {
    let runs = || hopeless().executing();
    decides(Broken::RescuerNotCalled, runs, std::vec![0], std::vec![]);
}

#[test]
fn a_rescuer_leaves_after_one_item() {
    let runs = || {
        let mut rig = hopeless();
        rig.end_and_run(0, DONE);
        rig.executing()
    };
    decides(Broken::RescuerLeavesEarly, runs, std::vec![1], std::vec![]);
}
