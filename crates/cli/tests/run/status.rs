//! Exit statuses, beside those of the real xargs.

use crate::support::{self, Folder, Ran, feed, numbers, run};
use std::io::{BufRead, BufReader, Read};
use std::process::Command;

/// What lines of `exit {}` arguments make of the exit status.
const TABLE: [(&str, i32); 11] = [
    ("0\n0\n", 0),
    ("1\n", 123),
    ("0\n1\n0\n", 123),
    ("125\n", 123),
    ("126\n", 123),
    ("127\n", 123),
    ("254\n", 123),
    ("255\n", 124),
    ("1\n255\n", 124),
    ("0; kill -9 $$\n", 0),
    ("$(kill -9 $$)\n", 125),
];

fn xargs(args: &[&str], input: &str) -> Ran {
    feed(Command::new("xargs").args(args), input)
}

#[test]
fn same_status_as_xargs() {
    for (input, expected) in TABLE {
        let ours = run(&["--max-active", "1", "sh", "-c", "exit {}"], input);
        assert_eq!(ours.code, Some(expected), "{input:?}: {}", ours.err);
        let theirs = xargs(&["-I{}", "sh", "-c", "exit {}"], input);
        assert_eq!(theirs.code, Some(expected), "xargs {input:?}");
    }
}

/// A folder in PATH that may not be searched makes every unknown command one that is denied.
fn plain_path(command: &mut Command) -> &mut Command {
    command.env("PATH", "/usr/bin:/bin")
}

#[test]
fn command_that_cannot_be_run() {
    for (command, status) in [("no-such-command", 127), ("/dev/null", 126), ("/", 126)] {
        let ours = feed(
            plain_path(&mut support::command(&[command, "x"])),
            numbers(100),
        );
        assert_eq!(ours.code, Some(status), "{command}");
        assert_eq!(ours.err.lines().count(), 1, "one message: {}", ours.err);
        assert!(ours.err.contains(command), "{}", ours.err);
        assert!(
            !ours.err.contains("job "),
            "it is no job's fault: {}",
            ours.err
        );
        let theirs = feed(
            plain_path(Command::new("xargs").args([command, "x"])),
            "1\n",
        );
        assert_eq!(theirs.code, Some(status));
    }
}

#[test]
fn a_command_of_one_line_that_is_not_found_is_that_jobs() {
    let ran = run(&["--max-active", "1", "{}", "x"], "true\nno-such-command\n");
    assert_eq!(ran.code, Some(127));
    assert!(ran.err.contains("job 2: no-such-command: "), "{}", ran.err);
}

#[test]
fn unknown_command_of_a_shell_line_is_that_jobs_failure() {
    let ran = run(
        &["--summary", "json"],
        "no-such-command 2>/dev/null\necho on\n",
    );
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "on\n"));
    assert_eq!(
        (&ran.summary()["jobs"], &ran.summary()["failed"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn script_without_interpreter_line_is_run_by_the_shell() {
    let folder = Folder::new();
    let script = folder.write("script", "echo ran $1\n");
    let made = run(&["chmod", "+x"], script.as_str());
    assert_eq!(made.code, Some(0));
    assert_eq!(run(&[&script], "x\n").text(), "ran x\n");
}

/// Lines of which the second stops the run.
fn stopping_run(second: &str) -> (Ran, usize) {
    let folder = Folder::new();
    let jobs: String = (0..200)
        .map(|job| format!("touch '{}'\n", folder.name(&format!("job{job}"))))
        .collect();
    let input = format!("echo before\n{second}\n{jobs}");
    let ran = run(&["--max-active", "1"], input);
    let started = (0..200)
        .filter(|job| folder.path(&format!("job{job}")).exists())
        .count();
    (ran, started)
}

#[test]
fn status_255_stops_the_run() {
    let (ran, started) = stopping_run("echo last; exit 255");
    assert_eq!((ran.code, started), (Some(124), 0));
    assert_eq!(ran.lines(), ["before", "last"]);
    assert!(
        ran.err
            .contains("exited with status 255; no more jobs start"),
        "{}",
        ran.err
    );
}

#[test]
fn job_killed_by_a_signal_stops_the_run() {
    let (ran, started) = stopping_run("echo last; kill -SEGV $$");
    assert_eq!((ran.code, started), (Some(125), 0));
    assert_eq!(ran.lines(), ["before", "last"]);
    assert!(ran.err.contains("SIGSEGV"), "{}", ran.err);
}

#[test]
fn infinite_input_is_not_read_to_its_end() {
    // `yes` ends when its pipe breaks; a command that first reads everything never ends.
    let script = format!(
        "yes | '{}' run sh -c 'exit 255'",
        env!("CARGO_BIN_EXE_cmwq")
    );
    assert_eq!(
        feed(Command::new("sh").args(["-c", &script]), "").code,
        Some(124)
    );
}

/// The run goes on after it, and its jobs still count.
#[test]
fn halt_now_ends_the_others_also_after_an_input_error() {
    let folder = Folder::new();
    let mut child = support::start(&mut support::command(&["--halt", "now"]));
    let fails = format!("{}; exit 3", support::until(&folder.name("go")));
    support::give(&mut child, &format!("sleep 1000\n{fails}\nan\0argument\n"));
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    messages.read_line(&mut text).unwrap();
    assert!(text.contains("line 3 has"), "{text}");
    folder.write("go", "");
    assert_eq!(support::finish(child).code, Some(1), "the first cause");
    messages.read_to_string(&mut text).unwrap();
    for words in ["job 2: ", "exited with status 3; aborting"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
