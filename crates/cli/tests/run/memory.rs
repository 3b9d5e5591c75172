//! Memory: in a control group with little of it, where the tests may make one.

use crate::support::{Ran, command, feed, numbers, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// A control group of its own for each test, removed at the end.
struct Group {
    path: PathBuf,
    v2: bool,
}

impl Group {
    /// None, with a word about it, where none can be made (no privilege, no controller).
    fn new(name: &str, limit: u64) -> Option<Self> {
        let top = Path::new("/sys/fs/cgroup");
        let v2 = top.join("cgroup.controllers").exists();
        let top = if v2 {
            top.to_owned()
        } else {
            top.join("memory")
        };
        let path = top.join(format!("cmwq-test-{name}-{}", std::process::id()));
        let made = fs::create_dir(&path).is_ok().then(|| Group { path, v2 })?;
        let file = if v2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        let limited = fs::write(made.path.join(file), limit.to_string());
        if limited.is_err() {
            return None;
        }
        // Where the machine could swap instead of killing.
        let swap = if v2 {
            ("memory.swap.max", 0)
        } else {
            ("memory.swappiness", 0)
        };
        let _ = fs::write(made.path.join(swap.0), swap.1.to_string());
        Some(made)
    }

    fn or_skip(name: &str, limit: u64) -> Option<Self> {
        let group = Self::new(name, limit);
        if group.is_none() {
            eprintln!("no memory control group can be made here: not tested");
        }
        group
    }

    /// Runs the command inside.
    fn run(&self, args: &[&str], input: String) -> Ran {
        let inside = command(args);
        let enter = r#"echo $$ >"$0/cgroup.procs" && exec "$@""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", enter]).arg(&self.path);
        shell.arg(inside.get_program()).args(inside.get_args());
        feed(&mut shell, input)
    }

    /// How many the kernel has killed here.
    fn kills(&self) -> u64 {
        let file = if self.v2 {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What was killed leaves the group a little later.
        for _ in 0..500 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        eprintln!("{} is left behind", self.path.display());
    }
}

#[test]
fn jobs_that_grow_to_a_tenth_of_the_memory_are_not_killed() {
    let Some(group) = Group::or_skip("grow", 512 * MIB) else {
        return;
    };
    let job = "sleep 1; dd if=/dev/zero of=/dev/null bs=51M count=20 status=none";
    let ran = group.run(&["--summary", "json", "sh", "-c", job], numbers(40));
    assert_eq!((ran.code, group.kills()), (Some(0), 0), "{}", ran.err);
    let summary = ran.summary();
    assert_eq!(
        (&summary["jobs"], &summary["failed"]),
        (&40.into(), &0.into())
    );
    // It is memory that has held them back, and no more than it had to.
    let peak = summary["peak_jobs"].as_u64().unwrap();
    assert!((2..=9).contains(&peak), "{peak} at a time");
}

/// As of a list of which half has been done before: short jobs end at once, and say nothing of the
/// others.
#[test]
fn nor_are_they_where_every_second_job_finds_nothing_to_do() {
    let Some(group) = Group::or_skip("half", 512 * MIB) else {
        return;
    };
    let job = "[ $(({} % 2)) = 0 ] || { sleep 1; dd if=/dev/zero of=/dev/null bs=51M count=20 status=none; }";
    let ran = group.run(&["--summary", "json", "sh", "-c", job], numbers(60));
    assert_eq!((ran.code, group.kills()), (Some(0), 0), "{}", ran.err);
    let peak = ran.summary()["peak_jobs"].as_u64().unwrap();
    assert!(peak >= 4, "{peak} at a time: memory is used");
}

#[test]
fn a_job_that_is_killed_for_memory_has_failed_and_others_go_on() {
    let Some(group) = Group::or_skip("kill", 256 * MIB) else {
        return;
    };
    let job = [
        "--summary",
        "json",
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "count=1",
        "status=none",
        "bs={}M",
    ];
    let ran = group.run(&job, format!("600\n{}", "1\n".repeat(30)));
    assert_eq!((ran.code, group.kills()), (Some(123), 1), "{}", ran.err);
    assert!(
        ran.err.contains("dd (600): killed, as memory ran out"),
        "{}",
        ran.err
    );
    let summary = ran.summary();
    assert_eq!(
        (&summary["jobs"], &summary["failed"]),
        (&31.into(), &1.into())
    );
}

#[test]
fn one_job_runs_though_all_memory_is_to_be_kept_free() {
    let args = [
        "--min-free-memory",
        "100%",
        "--summary",
        "json",
        "sleep",
        "0.{}",
    ];
    let ran = run(&args, "01\n".repeat(10));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["jobs"], 10);
}

#[test]
fn a_size_that_is_none_is_an_error() {
    let ran = run(&["--min-free-memory", "much", "true"], "x\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("'much'"), "{}", ran.err);
}
