//! `cmwq bench job`: the processes that measure, in small, and its errors.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A process that does a part of the measurement for this one.
fn role(role: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["bench", "job", "--role", role, "--child"]);
    command.arg(std::process::id().to_string());
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("cmwq starts")
}

fn row(command: &mut Command) -> Value {
    let output = output(command);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_job_tells_what_its_end_took() {
    let tail = |helpers| row(role("tail").args(["--units", "2000", "--helpers", helpers]));
    for helpers in ["none", "nice19", "nice0"] {
        let row = tail(helpers);
        assert_eq!(row["helpers"], helpers, "{row}");
        assert!(row["elapsed_s"].as_f64().unwrap() > 0.0, "{row}");
        let helped = row["helped"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&helped), "{row}");
        assert!(helpers != "none" || row["job_helpers"] == 0, "{row}");
    }
}

#[test]
fn without_the_capability_nobody_is_lifted() {
    let mut command = role("tail");
    let output = output(command.args(["--units", "2000", "--helpers", "nice19-unlifted"]));
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(row["lifted"], 0, "{row}");
}

#[test]
fn a_foreground_ends() {
    for load in ["multiply", "pages"] {
        let output = output(role("foreground").args(["--loads", load, "--units", "50"]));
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{output:?}"
        );
    }
}

#[test]
fn a_job_in_the_background_says_when_it_has_a_helper_and_ends_when_told() {
    if std::thread::available_parallelism().unwrap().get() == 1 {
        return;
    }
    for helpers in ["nice19", "nice0", "sched-idle"] {
        let mut command = role("background");
        command.args(["--helpers", helpers, "--loads", "multiply"]);
        let mut job = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(job.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "1");
        drop(job.stdin.take());
        let had: u32 = said.next().unwrap().unwrap().parse().unwrap();
        assert!(had >= 1 && job.wait().unwrap().success());
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    let output = output(command.args(["bench", "job", "--parts", "middle"]));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("middle"),
        "{output:?}"
    );
}

#[test]
fn a_measuring_process_without_its_parent_ends() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    let output = output(command.args(["bench", "job", "--role", "tail", "--child", "1"]));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
