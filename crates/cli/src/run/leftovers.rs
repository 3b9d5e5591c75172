//! What an attempt at a job leaves behind: processes of its tree that outlive the first one.
//!
//! Their parents have ended, so they were given to us (`orphans`). They are known by their process
//! group, or by what the job was told in its environment, wherever they have moved since.

use super::vigil::GRACE;
use cmwq_os::observe::{Stat, TaskState, parse_stat};
use cmwq_os::{adopt, kin};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashSet;
use std::time::Duration;

/// In the environment of a job: which run and which of its jobs.
pub(super) const MARK: &str = "CMWQ_JOB";

/// Between the mark of a job and that of a job of a run inside of it.
const BEHIND: u8 = b'/';

/// What [`MARK`] is for the job number `sequence`, from 1. While we live nobody else has our
/// number.
pub(super) fn mark(sequence: u64) -> String {
    mark_in(std::env::var(MARK).ok().as_deref(), sequence)
}

/// `outer`: our own, if we run in a job of another run.
fn mark_in(outer: Option<&str>, sequence: u64) -> String {
    let own = format!("{}.{sequence}", std::process::id());
    match outer {
        Some(outer) => format!("{outer}{}{own}", char::from(BEHIND)),
        None => own,
    }
}

/// Pauses between two looks, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Of a process that may be in the middle of an exec: pauses between looks, and how many.
const EXEC_PAUSE: Duration = Duration::from_millis(1);
const EXEC_TRIES: u32 = 500;

/// From one look to the next, each pause twice the one before.
pub(super) struct Pauses(Duration);

impl Pauses {
    pub(super) fn new() -> Self {
        Self(FIRST_PAUSE)
    }

    pub(super) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// What is sent to those that still run after so long; `None`: they are left alone. `ends_with`:
/// what ends the whole run.
pub(super) fn signal_after(waited: Duration, ends_with: Option<Signal>) -> Option<Signal> {
    match ends_with {
        Some(Signal::KILL) => ends_with,
        _ if waited < GRACE => ends_with.or(Some(Signal::TERM)),
        // Who does not heed the end of a terminal is to outlive it (nohup).
        Some(Signal::HUP) => None,
        _ => Some(Signal::KILL),
    }
}

/// Of one attempt at one job.
pub(super) struct Leftovers {
    group: Pid,
    mark: Vec<u8>,
    /// What their process group has been sent before.
    before: Option<Signal>,
    /// Processes, and the signals that these were sent; and the group, without orphans of ours.
    told: HashSet<(i32, i32)>,
}

impl Leftovers {
    /// Of an attempt whose first process, which is not reaped, led the process group `group`.
    /// `sequence` counts from 1. `before`: what the group was sent already.
    pub(super) fn new(group: Pid, sequence: u64, before: Option<Signal>) -> Self {
        let mark = [MARK.as_bytes(), b"=", mark(sequence).as_bytes()].concat();
        Self {
            group,
            mark,
            before,
            told: HashSet::new(),
        }
    }

    /// Sends `signal`, which is to end them, to those that run, once to each. Gives one of those
    /// that it knew of: children of theirs are found once these have ended.
    pub(super) fn tell(&mut self, signal: Signal) -> Option<i32> {
        if !adopt::is_on() {
            return self.tell_group(signal);
        }
        let (group, mark) = (self.group.as_raw_pid(), &self.mark);
        // Whoever is in the group now has got what that got.
        let has_got = self.before.take() == Some(signal);
        let is_of_job = |stat: &Stat| stat.pgrp == group || is_marked(stat.pid, mark);
        let told = &mut self.told;
        kin::end(signal.as_raw(), is_of_job, |stat| {
            told.insert((stat.pid, signal.as_raw())) && !(has_got && stat.pgrp == group)
        })
    }

    /// Without orphans of ours only the group is known. Its number is nobody else's as long as its
    /// leader is not reaped.
    fn tell_group(&mut self, signal: Signal) -> Option<i32> {
        let group = self.group.as_raw_pid();
        let member = member_of(group)?;
        let has_got = self.before.take() == Some(signal);
        if self.told.insert((group, signal.as_raw())) && !has_got {
            // Fails where every member is dead by now or has another user's rights.
            let _ = kill_process_group(self.group, signal);
            // One that was stopped could not follow it.
            let _ = kill_process_group(self.group, Signal::CONT);
        }
        Some(member)
    }
}

/// Whether the process, or one above it, was started for the job: a run in a job marks its own jobs
/// behind the mark of that.
fn is_marked(pid: i32, mark: &[u8]) -> bool {
    let environment = environment_of(pid);
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|variable| {
        let behind = variable.strip_prefix(mark);
        behind.is_some_and(|behind| behind.is_empty() || behind[0] == BEHIND)
    })
}

/// Empty if it has none, has ended, or is not to be read, of another user's process.
fn environment_of(pid: i32) -> Vec<u8> {
    let read = |name| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mut had_none = false;
    for _ in 0..EXEC_TRIES {
        let environment = read("environ");
        // In the middle of an exec it has neither: for a moment, or as long as it gets no CPU. If
        // the exec came to its end between the two, the first was that of the memory before.
        let has_none = !read("cmdline").is_empty();
        if !environment.is_empty() || (had_none && has_none) || !is_alive(pid) {
            return environment;
        }
        had_none = has_none;
        std::thread::sleep(EXEC_PAUSE);
    }
    Vec::new()
}

fn is_alive(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    parse_stat(&line).is_some_and(|stat| stat.state != TaskState::Dead)
}

/// A process of this group that has not ended.
fn member_of(group: i32) -> Option<i32> {
    let numbers = std::fs::read_dir("/proc").ok()?.flatten();
    let mut pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = parse_stat(&line);
        stat.is_some_and(|stat| stat.pgrp == group && stat.state != TaskState::Dead)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_asked_and_then_killed_unless_a_terminal_has_gone() {
        let after = |waited, ends_with| signal_after(waited, ends_with);
        let (early, late) = (Duration::ZERO, GRACE);
        assert_eq!(after(early, None), Some(Signal::TERM));
        assert_eq!(after(late, None), Some(Signal::KILL));
        assert_eq!(after(early, Some(Signal::QUIT)), Some(Signal::QUIT));
        assert_eq!(after(late, Some(Signal::QUIT)), Some(Signal::KILL));
        assert_eq!(after(early, Some(Signal::KILL)), Some(Signal::KILL));
        assert_eq!(after(early, Some(Signal::HUP)), Some(Signal::HUP));
        assert_eq!(after(late, Some(Signal::HUP)), None);
    }

    #[test]
    fn a_run_in_a_job_marks_its_jobs_behind_the_mark_of_that() {
        let me = std::process::id();
        assert_eq!(mark_in(None, 7), format!("{me}.7"));
        assert_eq!(mark_in(Some("12.3"), 7), format!("12.3/{me}.7"));
        let job = |mark: &str| {
            let mut child = std::process::Command::new("sleep")
                .arg("1000")
                .env(MARK, mark)
                .spawn()
                .unwrap();
            let environ = format!("/proc/{}/environ", child.id());
            while std::fs::read(&environ).unwrap().is_empty() {
                std::thread::yield_now();
            }
            let is_marked = is_marked(child.id() as i32, b"CMWQ_JOB=12.3");
            child.kill().unwrap();
            child.wait().unwrap();
            is_marked
        };
        assert_eq!(
            ["12.3", "12.3/4.5", "12.34", "1.1/12.3", "12"].map(job),
            [true, true, false, false, false]
        );
    }
}
