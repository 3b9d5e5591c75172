//! The child processes of the process that is looked at. If that is a `cmwq run`, these are its
//! jobs.

use std::fs;

use crate::whereabouts;

/// More are not looked at: each costs several files of `/proc`.
const MOST: usize = 512;

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Child {
    pub(super) pid: u32,
    /// For how long it has been there.
    #[serde(rename = "age_ns")]
    pub(super) age: u64,
    /// CPU time of it and of its own children.
    #[serde(rename = "computed_ns")]
    pub(super) computed: u64,
    /// What it, or the last of its own children, waits for, in words.
    pub(super) doing: String,
    /// Its command line.
    pub(super) command: String,
}

/// Those of `pid`, the oldest first.
pub(super) fn of(pid: u32) -> Vec<Child> {
    let uptime = uptime();
    let pids = whereabouts::children(pid);
    let mut children: Vec<Child> = pids
        .into_iter()
        .take(MOST)
        .filter_map(|pid| child(pid, uptime))
        .collect();
    children.sort_by_key(|child| (std::cmp::Reverse(child.age), child.pid));
    children
}

/// `None`: it is none of the program's, or has ended.
fn child(pid: u32, uptime: u64) -> Option<Child> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    if name.starts_with(b"cmwq/") {
        // The library's own, which reports idle CPUs.
        return None;
    }
    let seen = whereabouts::of(pid);
    Some(Child {
        pid,
        age: uptime.saturating_sub(began(pid)?),
        computed: seen.computed.as_nanos() as u64,
        doing: seen.doing,
        command: command(pid, &name),
    })
}

/// When it began, in nanoseconds since the boot.
fn began(pid: u32) -> Option<u64> {
    let ticks = whereabouts::stat_field(pid, 22)?;
    Some(ticks.saturating_mul(1_000_000_000 / whereabouts::ticks_a_second()))
}

/// Nanoseconds since the boot.
fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split(' ').next().and_then(|word| word.parse().ok());
    (seconds.unwrap_or(0.0_f64) * 1e9) as u64
}

/// The words of its command line; a process that has ended has but a name.
fn command(pid: u32, name: &[u8]) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = match line.is_empty() {
        true => name,
        false => line.as_slice(),
    };
    let line = String::from_utf8_lossy(line);
    line.trim_end_matches(['\0', '\n']).replace('\0', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_shown_with_what_it_waits_for() {
        let mut cat = Command::new("cat")
            .arg("-")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut found = Child::default();
        for _ in 0..3000 {
            let children = of(std::process::id());
            let seen = children.into_iter().find(|child| child.pid == cat.id());
            found = seen.unwrap_or_default();
            // Before its exec it is called like us.
            if found.command == "cat -" && found.doing.contains("reads a pipe") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        drop(cat.stdin.take());
        cat.wait().unwrap();
        assert_eq!(found.command, "cat -");
        assert!(found.doing.contains("reads a pipe"), "{}", found.doing);
        assert!(of(u32::MAX).is_empty());
    }
}
