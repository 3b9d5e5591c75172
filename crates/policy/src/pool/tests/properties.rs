//! Any sequence of events, true or false reports, any order of what they ask for: the invariants of
//! `check.rs` and `check_items.rs` hold after each, and when the faults stop everything finishes.

use super::events::{event, machine};
use super::rig::{Rig, Todo};
use super::*;
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
        assert_eq!(
            (pool.worklist.held(), pool.worklist.deferred().len()),
            (0, 0)
        );
        assert_eq!(pool.nr_idle(), pool.nr_workers());
        assert!(pool.crew.manager().is_none());
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
        assert_eq!((limit.now().nr(), limit.waiters().len()), (0, 0));
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
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

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
    let mut note = |name, is: bool| seen.extend(is.then_some(name));
    note("create", todo(|t| matches!(t, Todo::Create(..))));
    note("deferred", todo(|t| matches!(t, Todo::Confirm(_))));
    let redirected = |t: &Todo| matches!(t, Todo::Insert(_, _, how) if how.redirected);
    note("redirected", todo(redirected));
    for pool in &rig.pools {
        let workers = pool.crew.ids().map(|id| pool.crew.get(id));
        for worker in workers {
            let executes = worker.current.is_some();
            note("rescued", worker.rescues.is_some() && executes);
            note("own list", !worker.scheduled.is_empty());
        }
        let stats = pool.stats();
        note("step back", stats.step_backs > 0);
        note("convoy step back", stats.convoy_step_backs > 0);
        note(
            "held back",
            pool.worklist.lanes().iter().any(|lane| lane.waiting > 0),
        );
        note("tick start", stats.tick_starts > 0);
        note("idle report", stats.idle_reports > 0);
    }
    for pwq in rig.store.pwqs.iter().map(|pwq| &pwq.state) {
        note("plugged", pwq.is_plugged() && pwq.nr_inactive() > 0);
        note("retired", pwq.retired && pwq.nr_in_flight() > 0);
    }
}

fn name(action: Action<usize>) -> &'static str {
    match action {
        Action::Wake(_) | Action::WakeNear(..) => "wake",
        Action::Spawn(_) => "spawn",
        Action::Inspect => "inspect",
        Action::Flushed(_) => "flushed",
        Action::Drained(_) => "drained",
        Action::Released(_) => "released",
        Action::Emptied(_) => "emptied",
        Action::Activate(_) => "activate",
        Action::Spread(_) => "spread",
        Action::Gather(_) => "gather",
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
    for _ in 0..400 {
        let mut machine = machine().new_tree(&mut runner).unwrap().current();
        for event in events.new_tree(&mut runner).unwrap().current() {
            _ = machine.event(event);
            look(&machine.rig, &mut seen);
        }
        seen.extend(machine.rig.said.iter().map(|s| name(s.1)));
        seen.append(&mut machine.reached);
    }
    let expected = [
        "activate",
        "barrier behind inactive",
        "barrier behind queued",
        "barrier behind running",
        "barrier behind scheduled",
        "barrier behind deferred",
        "claim",
        "claim inside",
        "convoy step back",
        "create",
        "deferred",
        "drained",
        "emptied",
        "fail wait",
        "flushed",
        "held back",
        "hog",
        "idle report",
        "inspect",
        "mayday",
        "own list",
        "plugged",
        "redirected",
        "released",
        "rescued",
        "retired",
        "spawn",
        "steal deferred",
        "steal inactive",
        "steal linked",
        "steal queued",
        "steal scheduled",
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
