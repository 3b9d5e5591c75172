//! What an attempt at a job leaves behind: processes of its tree that outlive the first one.
//!
//! Their parents have ended, so they were given to us (`orphans`). They are known by their process
//! group, or by what the job was told in its environment, wherever they have moved since.

use cmwq_os::adopt;
use cmwq_os::observe::{TaskState, parse_stat};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::collections::HashSet;
use std::time::Duration;

/// In the environment of a job: which run and which of its jobs.
pub(super) const MARK: &str = "CMWQ_JOB";

/// What [`MARK`] is for the job number `sequence`, from 1. While we live nobody else has our
/// number, and a run inside of a job marks its own jobs.
pub(super) fn mark(sequence: u64) -> String {
    format!("{}.{sequence}", std::process::id())
}

/// Pauses between two looks, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

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

/// Of one attempt at one job.
pub(super) struct Leftovers {
    group: i32,
    mark: Vec<u8>,
    /// Groups, and the signals that these were sent.
    told: HashSet<(i32, i32)>,
}

impl Leftovers {
    /// Of an attempt whose first process led the process group `group`. `sequence` counts from 1.
    pub(super) fn new(group: Pid, sequence: u64) -> Self {
        let mark = [MARK.as_bytes(), b"=", mark(sequence).as_bytes()].concat();
        Self {
            group: group.as_raw_pid(),
            mark,
            told: HashSet::new(),
        }
    }

    /// Sends `signal`, which is to end them, to the process groups of those that run, once to each.
    /// Gives one of those that it knew of: children of theirs are found once these have ended.
    pub(super) fn tell(&mut self, signal: Signal) -> Option<i32> {
        let found = self.find();
        for &(_, group) in &found {
            let is_news = self.told.insert((group, signal.as_raw()));
            let Some(group) = Pid::from_raw(group).filter(|_| is_news) else {
                continue;
            };
            // Fails where every member is dead by now or has another user's rights.
            let _ = kill_process_group(group, signal);
            // One that was stopped could not follow it.
            let _ = kill_process_group(group, Signal::CONT);
        }
        found.first().map(|(pid, _)| *pid)
    }

    /// Those that run, with their process groups.
    fn find(&self) -> Vec<(i32, i32)> {
        if !adopt::is_on() {
            let group = Pid::from_raw(self.group);
            let is_there = group.is_some_and(|group| test_kill_process_group(group).is_ok());
            return Vec::from_iter(is_there.then_some((self.group, self.group)));
        }
        let own = cmwq_os::session::group();
        let adopted = adopt::adopted().into_iter();
        let alive = adopted.filter_map(|pid| Some((pid, group_of(pid)?)));
        let is_of_job = |&(pid, group): &(i32, i32)| {
            group != own && (group == self.group || self.is_marked(pid))
        };
        alive.filter(is_of_job).collect()
    }

    fn is_marked(&self, pid: i32) -> bool {
        // Not to be read of another user's process.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        variables.any(|variable| variable == self.mark)
    }
}

/// The process group of one that has not ended.
fn group_of(pid: i32) -> Option<i32> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = parse_stat(&line)?;
    (stat.state != TaskState::Dead && stat.pgrp > 0).then_some(stat.pgrp)
}
