//! `cmwq bench limits` as a user calls it: its JSON, its table, its errors, and what it leaves
//! behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Small enough for a test: two producers, the scratch file of 1 MiB in `dir`.
fn limits(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["bench", "limits", "--file-mib", "1", "--producers", "2"]);
    command.args(["--depth", "4", "--dir"]).arg(dir);
    command
}

fn output(dir: &Path, args: &[&str]) -> Output {
    limits(dir).args(args).output().expect("cmwq starts")
}

fn text(dir: &Path, args: &[&str]) -> String {
    let output = output(dir, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    assert_eq!(entries(dir), 0, "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn entries(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is no number in {row}"))
}

/// What holds of every row, on however noisy a machine.
fn check(row: &Value, kind: &str, items: f64) {
    assert_eq!(row["kind"], kind, "{row}");
    assert_eq!(number(row, "items"), items, "{row}");
    let (written, elapsed) = (items / 16.0, number(row, "elapsed_s"));
    let rate = written / elapsed;
    assert!((number(row, "mib_s") / rate - 1.0).abs() < 0.01, "{row}");
    let section = number(row, "section_us") * items / 1e6;
    assert!(section > 0.0 && section <= elapsed, "{row}");
    assert!(number(row, "lock_wait_us") >= 0.0, "{row}");
    assert!(number(row, "peak_threads") >= 1.0, "{row}");
    for key in [
        "voluntary_switches",
        "involuntary_switches",
        "cpu_s",
        "producers_switches",
    ] {
        assert!(number(row, key) >= 0.0, "{row}");
    }
    assert!(row["cmwq"]["tick_starts"].is_u64(), "{row}");
}

#[test]
fn settings_take_turns_and_all_items_are_done() {
    let dir = folder();
    for kind in ["managed", "unmanaged"] {
        let args = ["--json", "--kind", kind, "--limits", "1,8,none"];
        let lines = text(
            dir.path(),
            &[&args[..], &["--items", "40", "--runs", "2"]].concat(),
        );
        let rows: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        rows.iter().for_each(|row| check(row, kind, 40.0));
        let turns: Vec<(Option<u64>, Option<u64>)> = rows
            .iter()
            .map(|row| (row["run"].as_u64(), row["limit"].as_u64()))
            .collect();
        let of_run = |run| [(run, Some(1)), (run, Some(8)), (run, None)];
        assert_eq!(turns, [of_run(Some(1)), of_run(Some(2))].concat());
    }
}

#[test]
fn the_limit_is_the_queue_s() {
    let dir = folder();
    let args = ["--json", "--kind", "unmanaged", "--limits", "1"];
    let line = text(
        dir.path(),
        &[&args[..], &["--items", "200", "--runs", "1"]].concat(),
    );
    let row: Value = serde_json::from_str(&line).unwrap();
    // One that executes, one that was woken when it ended, and a spare: without a limit there would
    // be one for each item in flight.
    assert!(row["cmwq"]["peak_workers"].as_u64() <= Some(3), "{row}");
}

#[test]
fn the_table_has_a_line_for_each_limit_and_a_verdict() {
    let dir = folder();
    let text = text(dir.path(), &["--items", "20", "--limits", "2,none,4"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let firsts: Vec<&str> = lines
        .iter()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(firsts, ["limit", "2", "none", "4", "no"]);
    assert!(lines[0].contains("of best") && lines[0].contains("section us"));
    assert!(lines[4].starts_with("no limit: ") && lines[4].contains(" of the best limit, "));
    let best = |line: &&&str| line.contains("  1.000  ");
    assert!(lines[1..4].iter().filter(best).count() >= 1, "{text}");
}

#[test]
fn a_second_is_enough() {
    let dir = folder();
    let args = ["--json", "--seconds", "1", "--runs", "1", "--limits", "2"];
    let row: Value = serde_json::from_str(&text(dir.path(), &args)).unwrap();
    check(&row, "managed", number(&row, "items"));
    assert!(number(&row, "items") >= 8.0, "{row}");
}

fn refused(dir: &Path, args: &[&str], naming: &str) {
    let output = output(dir, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(error.contains(naming), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?}");
}

#[test]
fn bad_arguments_are_named() {
    let dir = folder();
    refused(dir.path(), &["--limits", "4,many"], "many");
    refused(dir.path(), &["--limits", "0"], "\"0\"");
    refused(dir.path(), &["--limits", "2049"], "1 to 2048");
    refused(dir.path(), &["--kind", "ordered"], "ordered");
    refused(dir.path(), &["--seconds", "0"], "0");
    refused(dir.path(), &["--items", "9", "--seconds", "1"], "--seconds");
}

#[test]
fn a_place_that_cannot_be_is_named_once() {
    let dir = folder();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for place in [dir.path().join("missing"), file, PathBuf::from("/proc")] {
        refused(&place, &["--items", "1"], place.to_str().unwrap());
        let error = output(&place, &["--items", "1"]).stderr;
        assert_eq!(String::from_utf8_lossy(&error).lines().count(), 1);
    }
}

/// Processes that have a file open below `dir`, a name or none.
fn users(dir: &Path) -> Vec<String> {
    let is_below = |fd: fs::DirEntry| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(dir));
    let uses = |process: &PathBuf| {
        let fds = fs::read_dir(process.join("fd"));
        fds.is_ok_and(|fds| fds.flatten().any(is_below))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.map(|entry| entry.path()).filter(uses);
    processes.map(|path| path.display().to_string()).collect()
}

/// Looks again until it is so; the bound only ends a test that fails.
fn until(condition: impl Fn() -> bool) {
    for _ in 0..24_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("never happened");
}

/// Only the first process gets the signal, as from `kill`; a terminal tells all of them.
#[test]
fn a_signal_leaves_no_file_and_no_process() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let dir = folder();
        let mut command = limits(dir.path());
        command.args(["--seconds", "3600"]).stdout(Stdio::null());
        // Whoever runs the tests in the background may have it ignored, which is inherited.
        // SAFETY: only a call that is safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut parent = command.spawn().unwrap();
        let own = format!("/proc/{}", parent.id());
        until(|| users(dir.path()).iter().any(|user| *user != own));
        // SAFETY: sends a signal to a child that has not been waited for.
        unsafe { libc::kill(parent.id() as i32, signal) };
        assert!(!parent.wait().unwrap().success());
        assert_eq!(entries(dir.path()), 0);
        until(|| users(dir.path()).is_empty());
    }
}
