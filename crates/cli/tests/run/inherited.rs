//! Jobs find themselves as the user would have started them.

use crate::support::{command, feed, heeding, run};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Calls `prepare` in the process that becomes `command`, before it does.
fn with(mut command: Command, prepare: fn()) -> Command {
    let prepare = move || -> io::Result<()> {
        prepare();
        Ok(())
    };
    // SAFETY: every `prepare` of this file is one system call.
    unsafe { command.pre_exec(prepare) };
    command
}

/// What `script` prints when it is run directly, and when it is a job, both after `prepare`.
fn direct_and_as_job(script: &str, prepare: fn()) -> (String, String) {
    let mut shell = heeding("sh");
    shell.args(["-c", script]);
    let direct = feed(&mut with(shell, prepare), "").text();
    let job = feed(&mut with(command(&["sh", "-c", script]), prepare), "x\n").text();
    assert!(!direct.is_empty());
    (direct, job)
}

/// The lines of blocked and ignored signals, without the two signals that the C library keeps to
/// itself (32 and 33), which its posix_spawn ignores in the new process.
fn without_internal(lines: &str) -> Vec<u64> {
    let masks = lines
        .split_whitespace()
        .filter_map(|word| u64::from_str_radix(word, 16).ok());
    masks.map(|mask| mask & !(0b11 << 31)).collect()
}

fn block_usr1_and_int() {
    // SAFETY: the set is a local that sigemptyset makes valid before the others use it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}

fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is no code of ours.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

#[test]
fn signal_mask_and_dispositions() {
    for prepare in [
        || (),
        block_usr1_and_int,
        || ignore(libc::SIGPIPE),
        || ignore(libc::SIGHUP),
        || ignore(libc::SIGINT),
    ] {
        let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
        let (direct, job) = direct_and_as_job(script, prepare);
        assert_eq!(without_internal(&direct).len(), 2, "{direct}");
        assert_eq!(without_internal(&direct), without_internal(&job));
    }
}

#[test]
fn affinity_nice_and_limits() {
    let script =
        "grep Cpus_allowed: /proc/self/status; nice; ulimit -a; cat /proc/self/timerslack_ns";
    for prepare in [
        || (),
        || {
            // SAFETY: nice takes no pointer.
            unsafe { libc::nice(3) };
        },
    ] {
        let (direct, job) = direct_and_as_job(script, prepare);
        assert_eq!(direct, job);
    }
}

fn batch() {
    set_policy(libc::SCHED_BATCH);
}

fn idle() {
    set_policy(libc::SCHED_IDLE);
}

fn set_policy(policy: i32) {
    let priority = 0;
    // SAFETY: the kernel reads one `struct sched_param`, which on Linux is one int.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
}

#[test]
fn scheduling_policy() {
    // The 41st field; the name, which might have spaces in it, is "cut".
    let script = "cut -d' ' -f41 /proc/self/stat";
    for (prepare, policy) in [(batch as fn(), "3\n"), (idle, "5\n"), (|| (), "0\n")] {
        let (direct, job) = direct_and_as_job(script, prepare);
        assert_eq!((direct.as_str(), job.as_str()), (policy, policy));
    }
}

#[test]
fn no_descriptor_of_ours() {
    let (direct, job) = direct_and_as_job("ls /proc/self/fd", || ());
    assert_eq!(direct, job);
}

#[test]
fn own_process_group() {
    let ran = run(
        &["sh", "-c", "echo $$ $(cut -d' ' -f5 /proc/$$/stat) #"],
        "a\nb\n",
    );
    for line in ran.lines() {
        let (pid, group) = line.split_once(' ').unwrap();
        assert_eq!(pid, group);
    }
    assert_eq!(ran.lines().len(), 2);
}

#[test]
fn ignored_sigchld_does_not_lose_exit_statuses() {
    let ran = feed(
        &mut with(command(&["sh", "-c", "exit {}"]), || ignore(libc::SIGCHLD)),
        "0\n3\n0\n",
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(123), ""));
}
