//! As the first process of a PID namespace, as in a container: it is the init there, and its
//! process group and session are none of the namespace's.

use crate::support::{feed, heeding};
use std::process::Command;

/// `cmwq run` with these arguments as such a process. None where none can be made.
fn as_init(args: &[&str]) -> Option<Command> {
    let made = unshare().arg("true").output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("skipped: no PID namespace can be made");
        return None;
    }
    let mut command = unshare();
    command.args([env!("CARGO_BIN_EXE_cmwq"), "run"]).args(args);
    Some(command)
}

fn unshare() -> Command {
    let mut command = heeding("unshare");
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

#[test]
fn jobs_that_are_looked_at_and_orphans_end_as_elsewhere() {
    let Some(mut command) = as_init(&["sh", "-c", "sleep 0.1 & sleep 0.05; echo \"$0\""]) else {
        return;
    };
    let input: String = (0..40).map(|n| format!("{n}\n")).collect();
    let ran = feed(&mut command, input.as_str());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut lines = ran.lines();
    lines.sort_by_key(|line| line.parse::<u32>().unwrap());
    assert_eq!(lines, input.lines().collect::<Vec<_>>());
}

#[test]
fn signal_ends_it_with_the_status_that_a_shell_gives() {
    let Some(mut command) = as_init(&[]) else {
        return;
    };
    let ran = feed(&mut command, "kill -TERM 1; sleep 100\n");
    assert_eq!((ran.code, ran.signal), (Some(143), None), "{}", ran.err);
}
