//! Jobs that run much longer than the others.

use crate::support::{Folder, command, finish, give, numbers, start, until, wait_until};
use std::io::{BufRead, BufReader, Read};

/// The last of 40 jobs waits for a fifo, with a guard against waiting for ever.
fn with_one_that_waits(folder: &Folder, guard: &str) -> String {
    let fifo = folder.name("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    format!("[ $0 = 40 ] || exit 0; {guard} cat '{fifo}'; exit 0")
}

#[test]
fn a_job_that_runs_much_longer_is_named_once_with_what_it_waits_for() {
    let folder = Folder::new();
    let job = with_one_that_waits(&folder, "");
    let mut child = start(&mut command(&[
        "--progress",
        "--summary",
        "json",
        "sh",
        "-c",
        &job,
    ]));
    give(&mut child, &numbers(40));
    // Opened for both, so that it does not wait; the job waits for what is never written.
    let mut both = std::fs::OpenOptions::new();
    let both = both.read(true).write(true);
    let fifo = both.open(folder.path("fifo")).unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let (mut text, mut line) = (String::new(), String::new());
    while !line.contains("times the others") {
        line.clear();
        assert_ne!(errors.read_line(&mut line).unwrap(), 0, "{text}");
        text += &line;
    }
    assert!(line.contains("cmwq run: job 40 (40): "), "{line}");
    assert!(line.contains("cat (") && line.contains(" reads "), "{line}");
    drop(fifo);
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(finish(child).code, Some(0));
    assert!(!rest.contains("times the others"), "once: {rest}");
    let json = &rest[rest.find('{').unwrap()..];
    let summary: serde_json::Value = serde_json::from_str(json).unwrap();
    let long = &summary["long_jobs"];
    assert_eq!(long.as_array().map(Vec::len), Some(1), "{long}");
    let job = (&long[0]["sequence"], &long[0]["arguments"]);
    assert_eq!(job, (&40.into(), &"40".into()));
}

#[test]
fn nobody_is_told_of_it_who_does_not_watch() {
    let folder = Folder::new();
    let job = with_one_that_waits(&folder, "timeout 9");
    let mut child = start(&mut command(&["sh", "-c", &job]));
    give(&mut child, &numbers(40));
    let ran = finish(child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn full_progress_shows_what_runs_and_what_fails() {
    let folder = Folder::new();
    let waits = until(&folder.name("go"));
    let job = format!("[ $0 != bad ] || exit 3; {waits}; echo done");
    let mut child = start(&mut command(&["--progress=full", "sh", "-c", &job]));
    give(&mut child, "good\nbad\n");
    let mut errors = child.stderr.take().unwrap();
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    let is_there = |seen: &str| {
        let line = seen.contains(" cpu ") && seen.contains("  good  ") && seen.contains("sleeps");
        line && seen.contains("job 2: sh (bad): exited with status 3")
    };
    while !is_there(&seen) {
        let count = errors.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "{seen}");
        seen += &String::from_utf8_lossy(&buffer[..count]);
    }
    folder.write("go", "");
    errors.read_to_string(&mut seen).unwrap();
    let ran = finish(child);
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "done\n"));
    assert!(
        seen.ends_with("\r\u{1b}[J") || seen.ends_with("\r\u{1b}[K"),
        "{seen:?}"
    );
}

#[test]
fn how_far_a_run_is_shows_from_another_terminal() {
    let folder = Folder::new();
    let job = format!(
        "[ $0 = 1 ] && exit 3; [ $0 = 2 ] && exit; {}",
        until(&folder.name("go"))
    );
    let mut child = start(&mut command(&["--halt", "never", "sh", "-c", &job]));
    give(&mut child, "1\n2\n3\n4\n");
    let pid = child.id().to_string();
    let top = |option: &str| {
        let mut top = std::process::Command::new(env!("CARGO_BIN_EXE_cmwq"));
        let shown = top.args(["top", &pid, "--once", option]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let expected = serde_json::json!({"jobs": 2, "failed": 1, "running": 2, "submitted": 4,
        "is_all": true, "skipped": 0});
    wait_until("half of it is done", || {
        let seen: serde_json::Value = serde_json::from_str(&top("--json")).unwrap_or_default();
        seen["run"] == expected
    });
    let text = top("-i1");
    let line = "cmwq run: 2 of 4 jobs done, 1 failed, 2 running\n";
    assert!(text.contains(line), "{text}");
    folder.write("go", "");
    assert_eq!(finish(child).code, Some(123));
}
