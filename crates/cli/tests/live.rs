//! `cmwq top`, `dump` and `set`, on the real command. It looks at this very process.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cmwq::{JoinHandle, Workqueue};
use serde_json::Value;

fn cmwq(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn me() -> String {
    std::process::id().to_string()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is text")
}

/// What `top` shows of this queue of this process.
fn top(queue: &str) -> Value {
    let output = cmwq(&["top", &me(), "--once", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let seen: Value = serde_json::from_str(text(&output.stdout)).expect("JSON");
    assert_eq!(seen["stale"], Value::Null);
    let queues = seen["process"]["queues"]
        .as_array()
        .expect("a list")
        .clone();
    let found = queues.into_iter().find(|shown| shown["name"] == queue);
    found.expect("the queue is shown")
}

fn set(queue: &str, settings: &[&str]) -> Output {
    cmwq(&[&["set", &me(), queue], settings].concat())
}

/// Asks again until `done`, for a minute.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Items that wait in their function until each has been let go.
struct Held {
    go: Sender<()>,
    items: Vec<JoinHandle<()>>,
}

fn holds(queue: &Workqueue, items: usize) -> Held {
    let (go, wait) = channel();
    let wait = Arc::new(Mutex::new(wait));
    let item = || {
        let wait = wait.clone();
        queue.spawn(move || wait.lock().unwrap().recv().unwrap_or_default())
    };
    let items = (0..items).map(|_| item()).collect();
    Held { go, items }
}

impl Held {
    fn end(self) {
        for _ in &self.items {
            self.go.send(()).unwrap();
        }
        self.items.into_iter().for_each(|item| item.join().unwrap());
    }
}

#[test]
fn a_starved_queue_is_seen_and_helped() {
    let queue = Workqueue::builder("starved")
        .max_active(1)
        .sysfs()
        .build()
        .unwrap();
    let held = holds(&queue, 4);
    eventually("one runs", || top("starved")["executing"] == 1);
    let before = top("starved");
    assert_eq!(
        (&before["active"], &before["waiting"]),
        (&1.into(), &3.into())
    );
    assert_eq!(before["waits"][0]["items"], 3);
    let why = before["waits"][0]["why"].as_str().unwrap();
    assert!(why.contains("max_active"), "{why}");
    // In words, with what holds the slot.
    let shown = cmwq(&["top", &me(), "--once"]);
    let shown = text(&shown.stdout);
    assert!(shown.contains("3 wait: all slots of max_active"), "{shown}");
    assert!(shown.contains("1 executed: live::holds"), "{shown}");

    let explained = cmwq(&["explain", &me(), "starved"]);
    let explained = text(&explained.stdout);
    assert!(explained.contains("1 of 1 slots taken"), "{explained}");
    assert!(
        explained.contains(" ago: an item was queued"),
        "{explained}"
    );

    let output = set("starved", &["max_active=4"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    eventually("all four hold a slot", || top("starved")["active"] == 4);
    assert_eq!(
        (queue.max_active(), top("starved")["inactive"].clone()),
        (4, 0.into())
    );
    held.end();
    eventually("all have ended", || top("starved")["completed"] == 4);
    assert_eq!(top("starved")["started"], 4);
    assert!(top("starved")["waited_p50_ns"].is_u64());
}

#[test]
fn settings_are_checked_and_changed_together() {
    let queue = Workqueue::builder("settings")
        .max_active(3)
        .sysfs()
        .build()
        .unwrap();
    let bad = [
        ("max_active=0", "Invalid argument"),
        ("max_active=-1", "Invalid argument"),
        ("max_active=many", "Invalid argument"),
        ("min_active=0", "Invalid argument"),
        ("nice=20", "Invalid argument"),
        ("nice=-21", "Invalid argument"),
        ("affinity_scope=room", "Invalid argument"),
        ("affinity_strict=2", "Invalid argument"),
        ("cpumask=", "Invalid argument"),
        ("cpumask=x", "Invalid argument"),
        ("colour=red", "No such file"),
    ];
    for (setting, says) in bad {
        // A good one beside it does not count either.
        let output = set("settings", &["max_active=7", setting]);
        assert_eq!(output.status.code(), Some(1), "{setting}");
        assert!(
            text(&output.stderr).contains(says),
            "{setting}: {}",
            text(&output.stderr)
        );
    }
    assert_eq!((queue.max_active(), queue.attrs().nice), (3, 0));

    let good = [
        "max_active=5",
        "nice=7",
        "affinity_scope=cache",
        "affinity_strict=1",
        "cpumask=0",
    ];
    let output = set("settings", &good);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let attrs = queue.attrs();
    assert_eq!(
        (queue.max_active(), attrs.nice, attrs.affinity_strict),
        (5, 7, true)
    );
    assert_eq!(attrs.cpus, Some(vec![0]));
    let output = set("settings", &[]);
    let shown = text(&output.stdout);
    assert!(
        good.iter().all(|setting| shown.contains(setting)),
        "{shown}"
    );
    assert_eq!(set("settings", &["nonsense"]).status.code(), Some(2));
}

#[test]
fn a_queue_that_was_not_built_for_it_is_left_alone() {
    let queue = Workqueue::builder("closed").max_active(3).build().unwrap();
    let output = set("closed", &["max_active=9"]);
    assert_eq!((output.status.code(), queue.max_active()), (Some(1), 3));
    let says = text(&output.stderr);
    assert!(
        says.contains("sysfs()") && says.contains("not permitted"),
        "{says}"
    );
    let percpu = Workqueue::builder("percpu")
        .percpu()
        .sysfs()
        .build()
        .unwrap();
    assert!(text(&set("percpu", &["nice=1"]).stderr).contains("No such file"));
    assert!(set("percpu", &["max_active=2"]).status.success());
    assert_eq!(percpu.max_active(), 2);
    assert!(text(&set("no such queue", &["nice=1"]).stderr).contains("has no queue"));
}

#[test]
fn a_dump_tells_what_a_worker_does_and_where_it_is() {
    let queue = Workqueue::builder("dumped").build().unwrap();
    let held = holds(&queue, 1);
    eventually("it is asleep", || {
        let output = cmwq(&["dump", &me()]);
        let dump = text(&output.stdout);
        let line = dump
            .lines()
            .find(|line| line.contains("of queue \"dumped\" for"));
        line.is_some_and(|line| line.contains("live::holds") && line.contains("sleeps in futex("))
    });
    held.end();
}

#[test]
fn processes_that_cannot_be_looked_at() {
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let mut unreaped = Command::new("true").spawn().unwrap();
    let (gone, plain) = (gone.id().to_string(), other.id().to_string());
    let ended = unreaped.id().to_string();
    let stat = format!("/proc/{ended}/stat");
    eventually("it has ended", || {
        std::fs::read_to_string(&stat).unwrap().contains(") Z ")
    });
    let cases = [
        (ended.as_str(), "has ended"),
        (gone.as_str(), "there is no process"),
        ("0", "there is no process"),
        ("4294967295", "there is no process"),
        ("no such command", "no process of yours"),
        (plain.as_str(), "has no queue of cmwq"),
    ];
    let said = cases.map(|(target, says)| (cmwq(&["top", target, "--once"]), says));
    other.kill().unwrap();
    other.wait().unwrap();
    unreaped.wait().unwrap();
    for (output, says) in said {
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(says),
            "{} is not: {says}",
            text(&output.stderr)
        );
    }
}

#[test]
fn without_a_process_all_are_listed() {
    let queue = Workqueue::builder("listed").max_active(1).build().unwrap();
    let held = holds(&queue, 3);
    eventually("two wait", || top("listed")["waiting"] == 2);
    let list = cmwq(&["top", "--json"]);
    let list: Value = serde_json::from_str(text(&list.stdout)).expect("JSON");
    let mut all = list["processes"].as_array().expect("a list").iter();
    let mine = all.find(|shown| shown["pid"] == std::process::id());
    let mine = mine.expect("it is listed");
    assert!(mine["waiting"].as_u64() >= Some(2), "{mine}");
    assert_eq!((&mine["error"], &mine["run"]), (&Value::Null, &Value::Null));
    let shown = cmwq(&["top"]);
    let shown = text(&shown.stdout);
    let line = shown.lines().find(|line| line.starts_with(&me()));
    // Of the queue of which most items wait, which may be another test's.
    assert!(line.is_some_and(|line| line.contains(" of \"")), "{shown}");
    held.end();
}

/// A process that has nothing but a page which another version has written.
#[test]
fn a_page_of_another_version_is_named_as_such() {
    use std::os::unix::fs::FileExt;
    let mut page = cmwq_stats::Page::new().unwrap();
    page.publish(&cmwq_stats::Snapshot::default()).unwrap();
    page.file().write_all_at(&7_u32.to_le_bytes(), 8).unwrap();
    let handed_on = rustix::io::dup(page.file()).unwrap();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    drop(handed_on);
    let output = cmwq(&["top", &other.id().to_string(), "--once"]);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("layout 7"),
        "{}",
        text(&output.stderr)
    );
}

/// As root only: nobody else can become another user.
#[test]
fn another_user_is_refused() {
    let queue = Workqueue::builder("private").sysfs().build().unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(env!("CARGO_BIN_EXE_cmwq")).args(args).output()
    };
    // There may be no setpriv, no right to use it, or no way to the command.
    if !as_nobody(&["--version"]).is_ok_and(|output| output.status.success()) {
        return;
    }
    for args in [
        &["top", &me(), "--once"][..],
        &["dump", &me()],
        &["set", &me(), "private", "nice=1"],
    ] {
        let output = as_nobody(args).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let says = text(&output.stderr);
        assert!(says.contains("another user's"), "{args:?}: {says}");
    }
    assert_eq!(queue.attrs().nice, 0);
}
