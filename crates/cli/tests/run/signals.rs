//! Signals to the command itself.

use crate::support::{Folder, command, finish, signal, start, until, wait_for};
use std::io::Write;
use std::os::unix::process::CommandExt;

#[test]
fn signal_goes_to_the_running_job_and_nothing_more_starts() {
    for number in [libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        let folder = Folder::new();
        let job = format!(
            "trap 'echo got it; exit 0' INT TERM HUP QUIT; touch '{}'; while :; do sleep 0.01; done",
            folder.name("runs")
        );
        let input = format!("echo before\n{job}\ntouch '{}'\n", folder.name("after"));
        let mut child = start(&mut command(&["--max-active", "1"]));
        // Not closed: the end must not depend on the end of the input.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        wait_for(&folder.path("runs"));
        signal(child.id(), number);
        let ran = finish(child);
        assert_eq!(ran.signal, Some(number), "{}", ran.err);
        assert_eq!(ran.lines(), ["before", "got it"]);
        assert!(!folder.path("after").exists());
    }
}

#[test]
fn signal_ends_the_wait_for_input() {
    let folder = Folder::new();
    let mut child = start(&mut command::<&str>(&[]));
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "touch '{}'", folder.name("done")).unwrap();
    wait_for(&folder.path("done"));
    signal(child.id(), libc::SIGTERM);
    assert_eq!(finish(child).signal, Some(libc::SIGTERM));
}

#[test]
fn whole_process_group_of_the_job_gets_the_signal() {
    let folder = Folder::new();
    // The leader waits for a child that does not end by itself.
    let job = format!(
        "sh -c 'touch {}; while :; do sleep 0.01; done'; true",
        folder.name("runs")
    );
    let mut child = start(&mut command::<&str>(&[]));
    writeln!(child.stdin.take().unwrap(), "{job}").unwrap();
    wait_for(&folder.path("runs"));
    signal(child.id(), libc::SIGTERM);
    assert_eq!(finish(child).signal, Some(libc::SIGTERM));
}

#[test]
fn ignored_hangup_stays_ignored() {
    let folder = Folder::new();
    let job = format!(
        "touch '{}'; {}; echo went on",
        folder.name("runs"),
        until(&folder.name("go"))
    );
    let mut command = command::<&str>(&[]);
    let ignore = || {
        // SAFETY: SIG_IGN is no code of ours.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: one call of signal(2), which is safe between fork and exec.
    unsafe { command.pre_exec(ignore) };
    let mut child = start(&mut command);
    writeln!(child.stdin.take().unwrap(), "{job}").unwrap();
    wait_for(&folder.path("runs"));
    signal(child.id(), libc::SIGHUP);
    folder.write("go", "");
    let ran = finish(child);
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "went on\n"));
}
