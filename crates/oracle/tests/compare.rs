//! The comparison finds every single wrong answer, in every scenario, and no right one.

mod common;

use cmwq_oracle::{Aspect, Backend, Edge, Execution, Record, Scenario, Seen, Switches, compare};
use common::{Puppet, scenarios};
use std::sync::OnceLock;

const ALL: Switches = Switches {
    warnings: true,
    times: true,
};

/// What the kernel did, as a record of ours, times included.
fn records() -> &'static [(Scenario, Record)] {
    static RECORDS: OnceLock<Vec<(Scenario, Record)>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let told = |s: &Scenario| s.id != common::CUT;
        let all = scenarios().into_iter().filter(told);
        all.map(|s| (s.clone(), record(&s))).collect()
    })
}

fn record(scenario: &Scenario) -> Record {
    let mut record = Puppet.run(scenario).expect("the puppet plays everything");
    for event in &mut record.events {
        let times = scenario.observed.times_ms.get(&event.execution);
        event.at_ms = times.map_or(0.0, |t| match event.edge {
            Edge::Start => t.start_ms[0],
            Edge::End => t.end_ms.expect("it ended")[1],
        });
    }
    record
}

/// One of them, to be changed.
fn one(id: &str) -> (&'static Scenario, Record) {
    let (scenario, record) = records().iter().find(|(s, _)| s.id == id).expect(id);
    (scenario, record.clone())
}

/// `change` makes a wrong record of a right one; each wrong one must be found. Tells how many
/// scenarios had something to change.
fn found(change: impl Fn(&Scenario, &mut Record) -> bool) -> usize {
    let mut changed = 0;
    for (scenario, record) in records() {
        let mut record = record.clone();
        if change(scenario, &mut record) {
            changed += 1;
            let found = compare(scenario, &record, ALL);
            assert!(!found.is_empty(), "{}: nothing found", scenario.id);
        }
    }
    changed
}

fn compares(scenario: &Scenario, aspect: Aspect) -> bool {
    scenario.compare.contains(&aspect)
}

fn compares_main(scenario: &Scenario) -> bool {
    compares(scenario, Aspect::Returns) || compares(scenario, Aspect::Final)
}

#[test]
fn the_kernels_own_answers_agree() {
    for (scenario, record) in records() {
        let found = compare(scenario, record, ALL);
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_missing_result_is_found_wherever_it_is() {
    for back in 0..4 {
        let changed = found(|scenario, record| {
            let main = record.returns.entry("main".into()).or_default();
            let at = main.len().checked_sub(1 + back);
            at.map(|at| main.remove(at)).is_some() && compares_main(scenario)
        });
        assert!(changed > 150, "{changed}");
    }
}

#[test]
fn results_of_threads_and_items_count() {
    let changed = found(|scenario, record| {
        let settled = |actor: &String| record.settled.returns.contains_key(actor);
        let actor = record.returns.keys().find(|a| *a != "main" && settled(a));
        let actor = actor
            .filter(|_| compares(scenario, Aspect::Returns))
            .cloned();
        actor.is_some_and(|actor| record.returns.remove(&actor).is_some())
    });
    assert!(changed > 60, "{changed}");
}

#[test]
fn a_result_too_many_is_found() {
    let changed = found(|scenario, record| {
        let main = record.returns.entry("main".into()).or_default();
        let again = main.last().cloned();
        main.extend(again);
        compares_main(scenario) && !main.is_empty()
    });
    assert!(changed > 180, "{changed}");
}

#[test]
fn a_wrong_result_is_found_and_named() {
    let mut changed = 0;
    for (scenario, record) in records() {
        if !compares_main(scenario) {
            continue;
        }
        let kernel = &scenario.observed.returns["main"];
        let mut found = 0;
        for (at, seen) in kernel.iter().enumerate() {
            let mut wrong = record.clone();
            let result = &mut wrong.returns.get_mut("main").expect("it is there")[at];
            result.1.push('!');
            let differences = compare(scenario, &wrong, ALL);
            let named = differences
                .iter()
                .any(|d| d.actor == format!("main op {}", at + 1) && d.what == seen.0);
            // What hung on a race is no difference.
            assert!(named || differences.is_empty(), "{differences:?}");
            found += usize::from(named);
        }
        assert!(found * 10 >= kernel.len() * 6, "{}: {found}", scenario.id);
        changed += found;
    }
    assert!(changed > 2500, "{changed}");
}

#[test]
fn a_wrong_order_is_found() {
    let changed = found(|scenario, record| {
        let settled = &mut record.events[..record.settled.events];
        let differ = settled.len() >= 2;
        if differ {
            settled.swap(0, 1);
        }
        compares(scenario, Aspect::Order) && differ
    });
    assert!(changed > 90, "{changed}");
}

#[test]
fn a_wrong_order_of_starts_is_found() {
    let changed = found(|scenario, record| {
        let starts = |e: &&mut cmwq_oracle::Event| e.edge == Edge::Start;
        let mut starts = record.events.iter_mut().filter(starts);
        if let (Some(a), Some(b)) = (starts.next(), starts.next()) {
            std::mem::swap(&mut a.execution, &mut b.execution);
            return compares(scenario, Aspect::StartOrder);
        }
        false
    });
    assert!(changed > 8, "{changed}");
}

#[test]
fn a_missing_event_is_found() {
    let changed = found(|scenario, record| {
        let some = record.settled.events > 0;
        if some {
            record.events.remove(0);
            record.settled.events -= 1;
        }
        compares(scenario, Aspect::Order) && some
    });
    assert!(changed > 100, "{changed}");
}

/// Without this a run in which nothing ever starts would agree with a script that ends at once.
#[test]
fn a_run_in_which_nothing_happens_is_found() {
    let changed = found(|scenario, record| {
        record.events.clear();
        record.settled.events = 0;
        let order = scenario.observed.execution_order.stable();
        compares(scenario, Aspect::Order) && order.is_some_and(|o| o.len() > 1)
    });
    assert!(changed > 100, "{changed}");
}

#[test]
fn a_script_that_never_ends_is_found() {
    let changed = found(|_, record| {
        record.finished = false;
        record.stuck = Some("main at `flush_work a`".into());
        true
    });
    assert!(changed > 200, "{changed}");
}

fn first(record: &mut Record) -> Option<&mut Execution> {
    record.executions.first_mut()
}

#[test]
fn a_wrong_cpu_is_found() {
    let changed = found(|scenario, record| {
        let moved = first(record).map(|e| e.cpu += 1);
        compares(scenario, Aspect::Cpus) && moved.is_some()
    });
    assert!(changed >= 3, "{changed}");
}

#[test]
fn another_worker_is_found() {
    let changed = found(|scenario, record| {
        let mut items = record.executions.iter().map(|e| e.item.clone());
        let item = items.next();
        let twice = item.is_some_and(|item| items.any(|other| other == item));
        let moved = first(record).map(|e| e.worker = "K99".into());
        compares(scenario, Aspect::SameWorker) && moved.is_some() && twice
    });
    assert!(changed >= 1, "{changed}");
}

#[test]
fn another_peak_is_found() {
    let changed = found(|scenario, record| {
        record.peak += 1;
        compares(scenario, Aspect::Peak) && scenario.observed.peak_concurrency.stable().is_some()
    });
    assert!(changed > 5, "{changed}");
}

#[test]
fn times_far_outside_are_found() {
    for by in [-40.0, 40.0] {
        let changed = found(|scenario, record| {
            let timed =
                |e: &&mut cmwq_oracle::Event| scenario.observed.times_ms.contains_key(&e.execution);
            let event = record.events.iter_mut().rfind(timed);
            event.map(|e| e.at_ms += by).is_some() && compares(scenario, Aspect::Times)
        });
        assert!(changed > 10, "{changed}");
    }
}

#[test]
fn reports_too_many_and_too_few_are_found() {
    let silent = found(|scenario, record| {
        record.misuse.clear();
        let mut messages = scenario.observed.kernel_messages.iter();
        compares(scenario, Aspect::Warnings) && messages.any(|m| m.starts_with("WARN"))
    });
    assert!(silent > 8, "{silent}");
    let loud = found(|scenario, record| {
        let quiet = record.misuse.is_empty();
        record.misuse.push("a report".into());
        compares(scenario, Aspect::Warnings) && quiet
    });
    assert!(loud > 3, "{loud}");
}

#[test]
fn switched_off_aspects_are_not_compared() {
    let off = Switches {
        warnings: false,
        times: false,
    };
    for (scenario, record) in records() {
        let mut record = record.clone();
        record.misuse.push("a report".into());
        for event in &mut record.events {
            event.at_ms += 1e6;
        }
        let found = compare(scenario, &record, off);
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn the_end_of_a_script_is_a_race_and_no_more() {
    let (scenario, record) = one("delayed/pending/cancel_delayed_work_sync");
    let Seen::Same(order) = &scenario.observed.execution_order else {
        panic!("it is stable");
    };
    assert_eq!(order, &["b#1 start"]);
    let mut longer = record.clone();
    let end = cmwq_oracle::Event {
        execution: "b#1".into(),
        edge: Edge::End,
        at_ms: 0.0,
    };
    longer.events.push(end);
    assert_eq!(compare(scenario, &longer, ALL), []);
    // Had it ended before the script last waited, the kernel would have seen it.
    longer.settled.events = 2;
    assert_eq!(compare(scenario, &longer, ALL).len(), 1);
}

#[test]
fn what_is_asked_right_after_queueing_is_a_race() {
    let (scenario, mut record) = one("state/idle/queue_work");
    let busy = |record: &mut Record, at: usize, answer: &str| {
        let result = &mut record.returns.get_mut("main").expect("it is there")[at];
        assert_eq!(result.0, "work_busy a");
        result.1 = answer.into();
    };
    busy(&mut record, 4, "running");
    assert_eq!(compare(scenario, &record, ALL), []);
    busy(&mut record, 1, "running");
    let found = compare(scenario, &record, ALL);
    let text = found.first().expect("one").to_string();
    assert_eq!(
        text,
        "state/idle/queue_work: main op 2 `work_busy a`: kernel `idle`, ours `running`"
    );
}
