//! Processes and threads: how many each job has, and this user.

use cmwq_os::observe::{TaskState, parse_stat};
use rustix::process::getuid;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Steps from a process up to the job that it belongs to, at most.
const DEEPEST: usize = 64;

/// What was counted.
#[derive(Default)]
pub(super) struct Census {
    /// Tasks of this user.
    pub(super) of_user: u64,
    /// Of each job, by its number.
    pub(super) of_jobs: HashMap<u64, u64>,
}

/// One process.
struct Process {
    parent: i32,
    group: i32,
    tasks: u64,
    is_ours: bool,
}

/// Counts the tasks of all processes that can be seen. `leaders`: the first process of each job,
/// which leads a process group, and the job's number.
pub(super) fn count(leaders: &HashMap<i32, u64>) -> Census {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: HashMap<i32, Process> = pids.filter_map(|pid| Some((pid, process(pid)?))).collect();
    let mut census = Census::default();
    for (&pid, process) in &all {
        census.of_user += if process.is_ours { process.tasks } else { 0 };
        if let Some(job) = job_of(pid, &all, leaders) {
            *census.of_jobs.entry(job).or_default() += process.tasks;
        }
    }
    census
}

fn process(pid: i32) -> Option<Process> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let stat = parse_stat(&fs::read(folder.join("stat")).ok()?)?;
    let owner = fs::metadata(&folder).ok()?.uid();
    Some(Process {
        parent: stat.ppid,
        group: stat.pgrp,
        // A zombie takes a place, and has no threads.
        tasks: if stat.state == TaskState::Dead {
            1
        } else {
            stat.num_threads.max(1)
        },
        is_ours: owner == getuid().as_raw(),
    })
}

/// The job of which the process, or one above it, leads or shares the group.
fn job_of(pid: i32, all: &HashMap<i32, Process>, leaders: &HashMap<i32, u64>) -> Option<u64> {
    let up = |pid: &i32| all.get(pid).map(|process| process.parent);
    let line = std::iter::successors(Some(pid), up).take(DEEPEST);
    let of = |pid: i32| {
        leaders
            .get(&pid)
            .or_else(|| leaders.get(&all.get(&pid)?.group))
    };
    line.filter_map(of).next().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_its_children_and_their_threads() {
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "sleep 1000 & sleep 1000; :"]);
        std::os::unix::process::CommandExt::process_group(&mut child, 0);
        let mut child = child.spawn().unwrap();
        let leader = child.id() as i32;
        let leaders = HashMap::from([(leader, 7)]);
        let mut census = Census::default();
        let is_there = (0..3000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            census = count(&leaders);
            census.of_jobs.get(&7) == Some(&3)
        });
        let group = rustix::process::Pid::from_raw(leader).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(is_there, "{:?}", census.of_jobs);
        assert!(census.of_user >= 4, "{}", census.of_user);
    }
}
