//! `cmwq doctor`, on the real command, also where the system denies something.

mod sandbox;

use sandbox::without_sched_idle;
use std::process::{Command, Output, Stdio};

fn cmwq(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(args).stdin(Stdio::null());
    command
}

fn json(command: &mut Command) -> (Option<i32>, serde_json::Value) {
    let output = command.output().expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("output is text");
    let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (output.status.code(), value)
}

fn signal<'a>(report: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let signals = report["signals"].as_array().expect("a list of signals");
    signals
        .iter()
        .find(|signal| signal["name"] == name)
        .expect("the signal is reported")
}

#[test]
fn json_agrees_with_the_system() {
    let (code, report) = json(&mut cmwq(&["doctor", "--json"]));
    assert_eq!(code, Some(0));
    assert_eq!(
        (&report["version"], &report["usable"]),
        (&1.into(), &true.into())
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    assert_eq!(report["cpus"]["allowed"], allowed.trim());
    let (online, effective) = (&report["cpus"]["online"], &report["cpus"]["effective"]);
    assert!(effective.as_u64() >= Some(1) && effective.as_u64() <= online.as_u64());
    assert_eq!(report["nice"]["highest"], 19);
    assert!(report["nice"]["lowest"].as_i64() >= Some(-20));
    assert!(report["limits"]["open_files"].as_u64() >= Some(1));
    let form = report["canaries"].as_str().unwrap();
    assert!(["process", "threads", "off"].contains(&form), "{form}");
    assert!(report["canaries_reason"].is_string());
    for name in ["canary", "tick", "schedstat", "syscall_file"] {
        let verdict = signal(&report, name)["verdict"].as_str().unwrap();
        assert!(
            ["works", "degraded", "denied"].contains(&verdict),
            "{name}: {verdict}"
        );
        assert_eq!(
            verdict == "works",
            signal(&report, name)["reason"].is_null(),
            "{name}"
        );
    }
}

#[test]
fn open_file_limit_is_the_one_of_this_process() {
    let script = "ulimit -n 77; exec \"$0\" doctor --json";
    let mut shell = Command::new("sh");
    let (_, report) = json(shell.args(["-c", script, env!("CARGO_BIN_EXE_cmwq")]));
    assert_eq!(report["limits"]["open_files"], 77);
    assert_eq!(report["limits"]["open_files_hard"], 77);
}

#[test]
fn text_tells_the_same_as_json() {
    let output = cmwq(&["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, report) = json(&mut cmwq(&["doctor", "--json"]));
    for label in [
        "CPUs online",
        "CPU quota",
        "effective CPUs",
        "memory nodes",
        "nice",
        "threads",
    ] {
        assert!(text.contains(label), "{label} is missing in\n{text}");
    }
    for signal in report["signals"].as_array().unwrap() {
        let name = signal["name"].as_str().unwrap();
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        assert!(
            line.unwrap().contains(signal["verdict"].as_str().unwrap()),
            "{name}: {line:?}"
        );
    }
}

#[test]
fn closed_or_full_standard_output_is_an_error() {
    for (redirection, words) in [(">&-", "is closed"), (">/dev/full", "No space")] {
        let script = format!("\"$0\" doctor {redirection}");
        let mut shell = Command::new("sh");
        let output = shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_cmwq")])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn usage_error_exits_with_2() {
    let output = cmwq(&["doctor", "--yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--yaml"));
}

#[test]
fn denied_sched_idle_is_told_with_its_reason() {
    let (code, report) = json(&mut without_sched_idle(cmwq(&["doctor", "--json"])));
    assert_eq!(code, Some(0), "the tick is left");
    let canary = signal(&report, "canary");
    assert_eq!(canary["verdict"], "denied", "{canary}");
    assert!(
        canary["reason"].as_str().unwrap().contains("EPERM"),
        "{canary}"
    );
    assert_ne!(signal(&report, "tick")["verdict"], "denied");
}

#[test]
fn jobs_run_without_sched_idle() {
    // Jobs that wait: more of them than CPUs have to be started beside each other or in turn.
    let script = "seq 60 | \"$0\" run --summary json sh -c 'sleep 0.02; echo {}'";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script, env!("CARGO_BIN_EXE_cmwq")])
        .stdin(Stdio::null());
    let Output {
        status,
        stdout,
        stderr,
    } = without_sched_idle(shell).output().unwrap();
    assert_eq!(
        status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&stderr)
    );
    assert_eq!(String::from_utf8(stdout).unwrap().lines().count(), 60);
}
