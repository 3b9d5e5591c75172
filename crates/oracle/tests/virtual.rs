//! The simulated machine carries out every operation, the same way every time.

mod common;

use cmwq_oracle::{Backend, NotApplicable, Scenario, Virtual, compare};
use common::scenarios;
use common::script::{EVERY, scenario, with_bodies};

/// What a script needs before most operations can be done.
const QUEUE: &str = "alloc_workqueue w unbound,sysfs 4";

fn run(scenario: &Scenario) -> Result<(), String> {
    match Virtual.run(scenario) {
        Err(NotApplicable(why)) => Err(why),
        Ok(record) => {
            assert!(record.finished, "{:?}", record.stuck);
            Ok(())
        }
    }
}

#[test]
fn every_operation_is_done_or_refused_beforehand() {
    let mut refused = Vec::new();
    for &text in EVERY {
        // Whoever waits for a latch waits for ever; whoever awaits gives up.
        if text.starts_with("until") || text.contains("wait g") {
            continue;
        }
        let scenario = scenario(&[QUEUE, text, "sleep 1"]).expect("a good script");
        refused.extend(run(&scenario).err().map(|why| format!("{text}: {why}")));
    }
    assert!(refused.len() < 12, "{refused:#?}");
}

#[test]
fn every_operation_is_done_by_items_and_threads() {
    for &text in EVERY {
        // These wait for the very item that does them, or for a latch.
        let waits = ["flush", "drain", "destroy", "sync", "wait", "join", "until"];
        if waits.iter().any(|word| text.contains(word)) || text.contains("start") {
            continue;
        }
        let main = [
            QUEUE,
            "queue_work w a",
            "await_end a 1",
            "start t",
            "join t",
            "sleep 1",
        ];
        let scenario = with_bodies(
            &main,
            &["only 1 sleep 1", &format!("only 1 {text}")],
            &[text],
        );
        run(&scenario.expect("a good script")).ok();
    }
}

#[test]
fn runs_are_repeatable() {
    for scenario in scenarios() {
        let (first, second) = (Virtual.run(&scenario), Virtual.run(&scenario));
        assert_eq!(first, second, "{}", scenario.id);
    }
}

#[test]
fn who_waits_for_ever_is_named() {
    let scenario = scenario(&["wait g"]).expect("a good script");
    let record = Virtual.run(&scenario).expect("it can be run");
    assert!(!record.finished);
    assert_eq!(record.stuck.as_deref(), Some("main waits in `wait g`"));
    let found = compare(&scenario, &record, Virtual.switches(&scenario));
    let text = found.first().expect("a difference").to_string();
    assert_eq!(
        text,
        "test/own: end of the script: kernel `reached`, ours `main waits in `wait g``"
    );
}

#[test]
fn waiting_in_vain_times_out() {
    let main = ["await_start a 1", "await_end a 1", "join t"];
    let scenario = scenario(&main).expect("a good script");
    let record = Virtual.run(&scenario).expect("it can be run");
    assert!(record.finished);
    let results = record.returns["main"].iter().map(|r| r.1.as_str());
    assert_eq!(results.collect::<Vec<_>>(), ["timeout"; 3]);
}

#[test]
fn interrupts_run_on_the_callers_cpu_and_are_no_item() {
    let main = [
        "pin 2",
        "in_irq cpu",
        "in_timer current_work",
        "alloc_workqueue w percpu 0",
        "queue_work_on 3 w a",
        "await_end a 1",
    ];
    let body = ["in_irq cpu", "in_timer current_work", "current_work"];
    let scenario = with_bodies(&main, &body, &[]).expect("a good script");
    let record = Virtual.run(&scenario).expect("it can be run");
    let of =
        |actor: &str| -> Vec<&str> { record.returns[actor].iter().map(|r| r.1.as_str()).collect() };
    assert_eq!(of("irq"), ["2", "3"]);
    assert_eq!(of("timer"), ["none", "none"]);
    assert_eq!(of("a#1"), ["a"]);
}

#[test]
fn attributes_are_read_and_written_as_in_the_kernel() {
    let cases = [
        ("read wq:w/max_active", "4"),
        ("write wq:w/max_active 7", "0"),
        ("read wq:w/max_active", "7"),
        ("write wq:w/max_active 0", "-22"),
        ("write wq:w/max_active many", "-22"),
        ("read wq:w/per_cpu", "0"),
        ("write wq:w/per_cpu 1", "-13"),
        ("write wq:w/nice -21", "-22"),
        ("write wq:w/nice -3", "0"),
        ("read wq:w/nice", "-3"),
        ("read wq:w/cpumask", "f"),
        ("write wq:w/cpumask zz", "-22"),
        ("write wq:w/cpumask 10", "-75"),
        ("write wq:w/cpumask 6", "0"),
        ("read wq:w/cpumask", "6"),
        ("read wq:w/colour", "-2"),
        ("read wq:x/max_active", "-2"),
        ("destroy_workqueue w", "void"),
        ("read wq:w/max_active", "-2"),
        ("alloc_workqueue p percpu,sysfs 0", "ok"),
        ("read wq:p/nice", "-2"),
        ("read wq:p/max_active", "1024"),
        ("alloc_workqueue o ordered,sysfs 0", "ok"),
        ("write wq:o/max_active 4", "-13"),
        ("alloc_workqueue h unbound 0", "ok"),
        ("read wq:h/max_active", "-2"),
    ];
    let ops = [QUEUE].into_iter().chain(cases.map(|(op, _)| op));
    let scenario = scenario(&ops.collect::<Vec<_>>()).expect("a good script");
    let record = Virtual.run(&scenario).expect("it can be run");
    let results = &record.returns["main"][1..];
    for ((op, expected), result) in cases.iter().zip(results) {
        assert_eq!((result.0.as_str(), result.1.as_str()), (*op, *expected));
    }
    assert_eq!(results.len(), cases.len());
}
