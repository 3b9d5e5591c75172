//! Real threads carry out every operation that the public interface has.

mod common;

use cmwq_oracle::{Backend, NotApplicable, Real, Record, Scenario, Table};
use common::script::{EVERY, scenario, with_bodies};

fn real() -> Real {
    Real::new(&Table::default())
}

fn run(scenario: &Scenario) -> Record {
    let record = real().run(scenario).expect("it can be run");
    assert!(record.finished, "{:?}", record.stuck);
    record
}

fn results<'a>(record: &'a Record, actor: &str) -> Vec<&'a str> {
    record.returns[actor].iter().map(|r| r.1.as_str()).collect()
}

#[test]
fn every_operation_is_done_or_refused_beforehand() {
    let mut refused = Vec::new();
    for &text in EVERY {
        // Whoever waits here waits for long.
        let waits = ["until", "wait", "join"];
        if waits.iter().any(|word| text.contains(word)) {
            continue;
        }
        let main = ["alloc_workqueue w unbound,sysfs 4", text];
        match real().run(&scenario(&main).expect("a good script")) {
            Err(NotApplicable(_)) => refused.push(text),
            Ok(record) => assert!(record.finished, "{text}: {:?}", record.stuck),
        }
    }
    assert!(refused.contains(&"reinit a"), "{refused:#?}");
    assert!(refused.len() < 24, "{refused:#?}");
}

#[test]
fn items_threads_and_gates_work_together() {
    let main = [
        "alloc_workqueue w percpu 0",
        "queue_work_on 1 w a",
        "await_start a 1",
        "work_busy a",
        "current_work",
        "start t",
        "sleep 5",
        "open g",
        "join t",
        "await_end a 1",
        "executions a",
        "in_timer current_work",
    ];
    let body = ["current_work", "wait g", "cpu"];
    let scenario = with_bodies(&main, &body, &["flush_work a"]).expect("a good script");
    let record = run(&scenario);
    assert_eq!(results(&record, "a#1")[0], "a");
    assert_eq!(results(&record, "t"), ["true"]);
    assert_eq!(results(&record, "timer"), ["none"]);
    let expected = ["ok", "true", "ok", "running", "none", "ok", "ok", "1"];
    assert_eq!(results(&record, "main"), expected);
    assert_eq!(record.execution_order(), ["a#1 start", "a#1 end"]);
}

#[test]
fn an_item_may_free_itself() {
    let main = [
        "queue_work sys_percpu a",
        "await_end a 1",
        "queue_work sys_percpu a",
    ];
    let scenario = with_bodies(&main, &["free_self", "cpu"], &[]).expect("a good script");
    let record = run(&scenario);
    assert_eq!(
        results(&record, "main"),
        ["true", "ok", "false"],
        "it is gone"
    );
    assert_eq!(results(&record, "a#1")[0], "void");
}

#[test]
fn misuse_and_refusals_are_noted() {
    let record = run(&scenario(&["enable_work a"]).expect("a good script"));
    assert_eq!(record.misuse.len(), 1, "{:?}", record.misuse);
    let main = [
        "alloc_workqueue w percpu 0",
        "queue_work w a",
        "start t",
        "sleep 20",
        "queue_work w b",
        "open g",
        "join t",
        "executions b",
    ];
    let draining = with_bodies(&main, &["wait g"], &["drain_workqueue w"]);
    let record = run(&draining.expect("a good script"));
    assert_eq!(results(&record, "main")[2..], ["false", "ok", "0"]);
    assert_eq!(record.misuse.len(), 1, "{:?}", record.misuse);
}

#[test]
fn what_does_not_fit_is_refused() {
    let many: Vec<String> = (0..2000)
        .map(|cpu| format!("queue_work_on {cpu} w a"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refused = |main: &[&str]| {
        let scenario = scenario(main).expect("a good script");
        let NotApplicable(why) = real().run(&scenario).expect_err("it does not fit");
        why
    };
    assert!(refused(&many).starts_with("2000 CPUs are named"));
    assert!(refused(&["sleep 5000"]).starts_with("too long"));
    assert!(refused(&["spin 50"]).starts_with("how soon it is noticed"));
    assert!(refused(&["reinit a"]).starts_with("the interface has no such call"));
}
