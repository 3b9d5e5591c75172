//! Processes and threads: how many more the system allows, and how many each job has.

use cmwq_os::observe::{TaskState, parse_stat};
use rustix::process::{Resource, getrlimit, getuid};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Steps from a process up to the job that it belongs to, at most.
const DEEPEST: usize = 64;

/// What limits the number of tasks.
pub(super) struct Ceilings {
    /// Of this user; `None` where the kernel holds us to none.
    user: Option<u64>,
    /// Of the machine.
    machine: Option<u64>,
    /// Folders of the control groups that we are in.
    groups: Vec<PathBuf>,
}

impl Ceilings {
    pub(super) fn read() -> Self {
        let exempt = CapabilitySet::SYS_RESOURCE | CapabilitySet::SYS_ADMIN;
        let is_exempt = getuid().is_root()
            || capabilities(None).is_ok_and(|sets| sets.effective.intersects(exempt));
        let kernel = |name| number(&Path::new("/proc/sys/kernel").join(name));
        let machine = [kernel("threads-max"), kernel("pid_max")];
        let text = |name| fs::read_to_string(name).unwrap_or_default();
        Self {
            user: getrlimit(Resource::Nproc).current.filter(|_| !is_exempt),
            machine: machine.into_iter().flatten().min(),
            groups: groups(&text("/proc/self/mountinfo"), &text("/proc/self/cgroup")),
        }
    }

    /// How many more there may be, if so many are this user's. `None`: as many as there are on the
    /// machine, which are at least as many.
    pub(super) fn left(&self, of_user: Option<u64>) -> u64 {
        let all = all_tasks();
        let below = |limit: Option<u64>, now: Option<u64>| Some(limit?.saturating_sub(now?));
        let of_group = |folder: &PathBuf| {
            let now = number(&folder.join("pids.current"));
            below(number(&folder.join("pids.max")), now)
        };
        let groups = self.groups.iter().map(of_group);
        let others = [below(self.machine, all), below(self.user, of_user.or(all))];
        let least = groups.chain(others).flatten().min();
        least.unwrap_or(u64::MAX)
    }
}

/// Of the whole machine, whoever can be seen: what stands behind the slash in `loadavg`.
fn all_tasks() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let (_, all) = text.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The folders that may have a `pids.max`, in both versions of control groups: ours and those that
/// it is in, as far as they can be seen.
fn groups(mounts: &str, ours: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for mount in mounts.lines() {
        let Some((place, kind)) = mount.split_once(" - ") else {
            continue;
        };
        let is_v2 = kind.starts_with("cgroup2 ");
        let controllers = kind.rsplit([' ', ',']);
        let is_v1 = kind.starts_with("cgroup ") && controllers.into_iter().any(|one| one == "pids");
        let mut place = place.split(' ').skip(3);
        let (Some(root), Some(point)) = (place.next(), place.next()) else {
            continue;
        };
        let is_ours = |line: &&str| match is_v2 {
            true => line.starts_with("0::"),
            false => {
                is_v1
                    && line
                        .split(':')
                        .nth(1)
                        .is_some_and(|names| names.split(',').any(|one| one == "pids"))
            }
        };
        let Some(group) = ours
            .lines()
            .find(is_ours)
            .and_then(|line| line.splitn(3, ':').nth(2))
        else {
            continue;
        };
        let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
        let folder = Path::new(point).join(below);
        let all = folder
            .ancestors()
            .take_while(|folder| folder.starts_with(point));
        folders.extend(all.map(Path::to_owned));
    }
    folders
}

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
    fn groups_are_found_in_both_versions() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
            39 31 0:36 /box /cg/pids rw,relatime - cgroup cgroup rw,pids\n\
            40 31 0:36 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = groups(mounts, "8:cpu,pids:/box/a/b\n4:memory:/m\n0::/c\n");
        let expected = [
            "/cg/pids/a/b",
            "/cg/pids/a",
            "/cg/pids",
            "/cg/unified/c",
            "/cg/unified",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        assert!(groups("", "").is_empty() && groups(mounts, "").is_empty());
    }

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

    #[test]
    fn this_machine_has_room() {
        assert!(Ceilings::read().left(None) > 0);
    }
}
