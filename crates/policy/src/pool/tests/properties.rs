//! Any sequence of events, true or false reports, any order of what they ask for: the invariants
//! of `check.rs` and `check_items.rs` hold after each, and when the faults stop everything finishes.

use super::events::{event, machine};
use super::rig::{Rig, Todo};
use super::*;
use crate::pool::Place;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// All is done: nothing queued, nobody awake, all tokens and slots returned.
fn at_rest(rig: &mut Rig) {
    assert!(rig.todo.is_empty() && rig.awake().is_empty() && rig.running().is_empty());
    assert!(
        rig.store
            .items
            .iter()
            .all(|item| !item.word.is_pending() || item.is_barrier())
    );
    assert_eq!(rig.store.budget.used, 0);
    for pool in &rig.pools {
        assert_eq!((pool.nr_running(), pool.nr_queued()), (0, 0));
        assert_eq!((pool.held, pool.deferred.len()), (0, 0));
        assert_eq!(pool.nr_idle(), pool.nr_workers());
        assert!(pool.manager.is_none());
        let stats = pool.stats();
        assert_eq!(stats.started, stats.completed);
    }
    for pool in 0..rig.pools.len() {
        let published = rig.published(pool);
        assert!(!published.backlog && !published.wants);
    }
    for pwq in &rig.store.pwqs {
        assert_eq!(pwq.holds, 0);
    }
    for limit in &rig.store.limits {
        assert_eq!((limit.now().nr, limit.waiters().len()), (0, 0));
    }
    for queue in &rig.queues {
        let in_use = queue.pwqs.iter().map(|&pwq| &rig.store.pwqs[pwq].state);
        assert!(
            in_use
                .into_iter()
                .all(|state| !state.retired && !state.is_plugged())
        );
        assert!(queue.rescuer.at.is_none());
    }
    assert!(rig.flushes.is_empty(), "a flush never ends");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_and_everything_finishes(
        mut machine in machine(),
        events in proptest::collection::vec(event(), 0..250),
    ) {
        for event in events {
            // An event that nobody is there for does not happen.
            _ = machine.event(event);
        }
        machine.finish();
        machine.rig.run();
        at_rest(&mut machine.rig);
    }
}

/// What there is to be seen of the machine as it is now.
fn look(rig: &Rig, seen: &mut BTreeSet<&'static str>) {
    let todo = |is: fn(&Todo) -> bool| rig.todo.iter().any(|t| is(&t.1));
    seen.extend(todo(|t| matches!(t, Todo::Create(..))).then_some("create"));
    seen.extend(todo(|t| matches!(t, Todo::Confirm(_))).then_some("deferred"));
    for pool in &rig.pools {
        let mut workers = pool.workers.ids().map(|id| pool.workers.get(id));
        seen.extend(
            workers
                .any(|w| w.rescues.is_some() && w.current.is_some())
                .then_some("rescued"),
        );
    }
    for pwq in &rig.store.pwqs {
        let waits = pwq.state.is_plugged() && pwq.state.nr_inactive() > 0;
        seen.extend(waits.then_some("plugged"));
        let returns = pwq.state.retired && pwq.state.nr_in_flight() > 0;
        seen.extend(returns.then_some("retired"));
    }
    for &work in &rig.started {
        seen.extend(rig.store.items[work].is_barrier().then_some("barrier"));
    }
}

/// Where an item is that is about to be taken back.
fn note_place(rig: &mut Rig, seen: &mut BTreeSet<&'static str>) {
    for (work, item) in rig.store.items.iter().enumerate() {
        let Some(pool) = item
            .word
            .pool()
            .filter(|_| item.is_queued() && !item.is_barrier())
        else {
            continue;
        };
        _ = (work, pool, Place::Worklist);
        seen.extend(item.word.flags().linked.then_some("linked"));
    }
}

fn name(action: Action<usize>) -> &'static str {
    match action {
        Action::Wake(_) => "wake",
        Action::Spawn(_) => "spawn",
        Action::Inspect => "inspect",
        Action::Flushed(_) => "flushed",
        Action::Drained(_) => "drained",
        Action::Released(_) => "released",
        Action::Emptied(_) => "emptied",
        Action::Activate(_) => "activate",
        Action::Undefer { .. } => "undefer",
        Action::Mayday(_) => "mayday",
        Action::FailWait(_) => "fail wait",
    }
}

#[test]
fn the_events_do_reach_what_they_are_meant_to_reach() {
    // A generator that reaches nothing would prove nothing: over some runs every kind of action,
    // and every kind of step back, is seen.
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let events = proptest::collection::vec(event(), 250);
    let mut seen = BTreeSet::new();
    for _ in 0..150 {
        let mut machine = machine().new_tree(&mut runner).unwrap().current();
        for event in events.new_tree(&mut runner).unwrap().current() {
            _ = machine.event(event);
            look(&machine.rig, &mut seen);
            note_place(&mut machine.rig, &mut seen);
        }
        seen.extend(machine.rig.said.iter().map(|s| name(s.1)));
        for pool in &machine.rig.pools {
            let stats = pool.stats();
            seen.extend((stats.step_backs > 0).then_some("step back"));
            seen.extend((stats.convoy_step_backs > 0).then_some("convoy step back"));
            seen.extend((stats.tick_starts > 0).then_some("tick start"));
            seen.extend((stats.idle_reports > 0).then_some("idle report"));
            let own = pool
                .workers
                .ids()
                .any(|id| !pool.workers.get(id).scheduled.is_empty());
            seen.extend(own.then_some("own list"));
        }
    }
    let expected = [
        "activate",
        "barrier",
        "convoy step back",
        "create",
        "deferred",
        "drained",
        "emptied",
        "fail wait",
        "flushed",
        "idle report",
        "inspect",
        "linked",
        "mayday",
        "own list",
        "plugged",
        "released",
        "rescued",
        "retired",
        "spawn",
        "step back",
        "tick start",
        "undefer",
        "wake",
    ];
    let missing: Vec<_> = expected
        .iter()
        .filter(|kind| !seen.contains(*kind))
        .collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
