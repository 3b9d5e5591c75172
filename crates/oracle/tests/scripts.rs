//! Every operation is understood, and what is not is named.

mod common;

use cmwq_oracle::{
    Attrs, Call, Context, Cpus, Delayed, Error, Flag, Flags, ItemCall, MS, Op, Path, Scenario,
    Scope, Target,
};
use common::script::{self, EVERY, line, with_bodies};
use common::{data, scenarios};
use serde_json::json;
use std::path;

fn op(text: &str) -> Op {
    let scenario = script::scenario(&[text]).unwrap_or_else(|e| panic!("{e}"));
    let step = &scenario.script.main[0];
    assert_eq!(&*step.text, text, "the words are kept");
    step.op.clone()
}

#[test]
fn every_operation_is_understood() {
    for text in EVERY {
        op(text);
    }
}

#[test]
fn all_of_our_copy_is_understood() {
    assert_eq!(scenarios().len(), 209);
}

#[test]
fn operations_mean_what_they_say() {
    let calls = |text: &str| match op(text) {
        Op::Call(call) => call,
        other => panic!("{other:?}"),
    };
    let flushed = calls("flush_delayed_work d");
    assert_eq!(flushed, Call::Item(ItemCall::FlushDelayedWork, "d".into()));
    let moved = Delayed {
        queue: "w".into(),
        item: "d".into(),
        cpu: Some(2),
        delay: 5 * MS,
    };
    assert_eq!(
        calls("mod_delayed_work_on 2 w d 5"),
        Call::ModDelayedWork(moved)
    );
    let Call::QueueWork { to, .. } = calls("queue_work_node -1 w a") else {
        panic!("it queues");
    };
    assert_eq!(to, Target::Node(-1));
    let new = Call::AllocWorkqueue {
        queue: "w".into(),
        flags: Flags(vec![Flag::Unbound, Flag::PowerEfficient]),
        max_active: -3,
    };
    assert_eq!(calls("alloc_workqueue w unbound,power_efficient -3"), new);
    let attrs = Attrs {
        nice: Some(-5),
        cpus: Some(Cpus(vec![0, 1, 2, 3, 6])),
        scope: Some(Scope::Bad),
        strict: Some(true),
        ordered: Some(false),
    };
    let applied = calls("apply_attrs w nice=-5 cpus=0-3,6 scope=bad strict=1 ordered=0");
    assert_eq!(applied, Call::ApplyAttrs("w".into(), attrs));
    let written = calls("write wq:a/b/max_active -1");
    let path = Path::Queue {
        queue: "a/b".into(),
        attr: "max_active".into(),
    };
    assert_eq!(written, Call::Write(path, "-1".into()));
    let Op::Aside(Context::Irq, inner) = op("in_irq cancel_work a") else {
        panic!("it is done from an interrupt");
    };
    assert_eq!(&*inner.text, "cancel_work a");
}

#[test]
fn cpus_are_written_as_the_kernel_does() {
    let text = |cpus: &[u32]| Cpus(cpus.to_vec()).to_string();
    assert_eq!(text(&[]), "");
    assert_eq!(text(&[3]), "3");
    assert_eq!(text(&[0, 1, 2, 3, 5, 8, 9]), "0-3,5,8-9");
}

#[test]
fn a_bad_operation_is_named() {
    let bad = [
        ("jump a", "`jump`: no such operation"),
        ("", "``: an operation is missing"),
        ("queue_work w", "`w`: an item is missing"),
        ("queue_work w zz", "`zz`: the script has no such item"),
        ("queue_work w a a", "`a`: one word too many"),
        ("queue_work_on x w a", "`x`: is not a CPU number"),
        ("queue_work_on -2 w a", "`-2`: is not a CPU number"),
        ("queue_delayed_work w d soon", "`soon`: is not milliseconds"),
        ("start zz", "`zz`: the script has no such thread"),
        ("only x sleep 5", "`x`: is not a count"),
        ("only 1", "`1`: an operation is missing"),
        ("upto 2 jump a", "`jump`: no such operation"),
        ("alloc_workqueue w perkpu 0", "`perkpu`: no such flag"),
        ("apply_attrs w nice", "`nice`: is not key=value"),
        ("apply_attrs w scope=die", "`scope=die`: no such scope"),
        ("apply_attrs w colour=1", "`colour=1`: no such attribute"),
        ("pin 3-1", "`3-1`: is not a list of CPUs"),
        ("read wq:max_active", "`wq:max_active`: is not a path"),
        ("read cpu:x/online", "`cpu:x/online`: is not a path"),
        ("write wq:w/nice", "`wq:w/nice`: a value is missing"),
        ("fail_thread_creation 2", "`2`: is neither 0 nor 1"),
    ];
    for (text, what) in bad {
        let error = script::scenario(&["sleep 1", text]).expect_err(text);
        assert_eq!(error.to_string(), format!("test/own: main op 2, {what}"));
    }
    let error = with_bodies(&[], &["jump"], &[]).expect_err("it is bad");
    assert!(error.to_string().contains("item a op 1, `jump`"), "{error}");
    let error = with_bodies(&[], &[], &["cpu", "jump"]).expect_err("it is bad");
    assert!(
        error.to_string().contains("thread t op 2, `jump`"),
        "{error}"
    );
}

#[test]
fn bad_lines_and_folders_are_named() {
    let of = |text: &str| Scenario::parse(text, path::Path::new("a.jsonl"), 7).unwrap_err();
    assert!(of("{").to_string().starts_with("a.jsonl:7: EOF"));
    let script = json!({"items": {}, "threads": {}, "main": []});
    let mut value = line("x", &script);
    value["compare"] = json!(["returns", "colours"]);
    let error = of(&value.to_string()).to_string();
    assert!(error.contains("unknown variant `colours`"), "{error}");
    value.as_object_mut().expect("an object").remove("observed");
    value["compare"] = json!([]);
    let error = of(&value.to_string()).to_string();
    assert!(error.contains("missing field `observed`"), "{error}");

    let gone = Scenario::load_folder(path::Path::new("no/such/folder")).unwrap_err();
    assert!(matches!(gone, Error::Io { .. }), "{gone}");
    assert!(gone.to_string().starts_with("no/such/folder: "), "{gone}");
    let empty = data().join("../src");
    let empty = Scenario::load_folder(&empty).unwrap_err().to_string();
    assert!(empty.contains("there is no scenario"), "{empty}");
}
