//! Limits of this process that decide how far cmwq can go here.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::getuid;
use rustix::thread::{CapabilitySet, capabilities};

use crate::{cgroup, sched};

/// File descriptors where the system does not tell the limit: fewer than systems allow.
const OPEN_FILES_UNTOLD: u64 = 256;
/// No limit.
const NONE: u64 = u64::MAX;

/// What the system allows this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads: the least of `RLIMIT_NPROC` (which counts all threads of the user), the kernel's
    /// `threads-max` and `pid_max`, and `pids.max` of the visible cgroups (which count what else
    /// runs in them). `None`: none of them could be read.
    pub threads: Option<u64>,
    /// File descriptors, the soft limit; `u64::MAX` is none. Where the system does not tell, 256:
    /// fewer than systems allow.
    pub open_files: u64,
    /// How far the process may raise that.
    pub open_files_hard: u64,
    /// Memory.
    pub memory: MemoryLimit,
    /// The lowest nice level the calling thread may set, -20 to 19.
    pub nice_best: i32,
}

/// Memory, in bytes; 0 where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Of the machine.
    pub total: u64,
    /// That the kernel thinks a new program could use without swapping.
    pub available: u64,
    /// The tightest limit of the visible cgroups, if there is any.
    pub cgroup_limit: Option<u64>,
}

/// Reads them.
pub fn read() -> Limits {
    let root = Path::new("/");
    let (open_files, open_files_hard) = files();
    Limits {
        threads: threads(root),
        open_files,
        open_files_hard,
        memory: memory(root),
        nice_best: nice_best(),
    }
}

/// [`Limits::open_files`] alone: reads no file.
pub fn open_files() -> u64 {
    files().0
}

/// Bytes of stack of the process's first thread, the soft limit; `u64::MAX` is none. `None`: the
/// system does not tell.
pub fn stack() -> Option<u64> {
    limit_of(libc::RLIMIT_STACK).map(|(soft, _)| soft)
}

/// Of file descriptors, the soft and the hard limit.
fn files() -> (u64, u64) {
    limit_of(libc::RLIMIT_NOFILE).unwrap_or((OPEN_FILES_UNTOLD, OPEN_FILES_UNTOLD))
}

/// As the C library has it.
#[cfg(target_env = "musl")]
type Resource = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Resource = libc::__rlimit_resource_t;

/// The soft and the hard limit; `u64::MAX` is none. `None`: the system does not tell, as in a
/// sandbox that denies the call. (`rustix` takes it for a call that cannot fail.)
fn limit_of(resource: Resource) -> Option<(u64, u64)> {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct is valid for the write.
    let got = unsafe { libc::getrlimit64(resource, &mut limit) };
    (got == 0).then_some((limit.rlim_cur, limit.rlim_max))
}

fn threads(root: &Path) -> Option<u64> {
    TaskLimits::of(root).least()
}

/// What limits the number of tasks: processes and threads, which count alike.
#[derive(Clone, Debug)]
pub struct TaskLimits {
    /// Of this user; `None` where the kernel holds us to none, or does not tell.
    user: Option<u64>,
    /// Of the machine.
    machine: Option<u64>,
    /// Folders of the control groups that we are in, as far as they can be seen.
    groups: Vec<PathBuf>,
}

impl TaskLimits {
    /// Reads them.
    ///
    /// ```
    /// assert!(cmwq_os::limits::TaskLimits::read().left(None) > 0);
    /// ```
    pub fn read() -> Self {
        Self::of(Path::new("/"))
    }

    fn of(root: &Path) -> Self {
        // The kernel holds neither these nor root to RLIMIT_NPROC.
        let exempt = CapabilitySet::SYS_RESOURCE | CapabilitySet::SYS_ADMIN;
        let is_exempt = getuid().is_root() || has_any(exempt);
        let kernel = |name: &str| number(&root.join("proc/sys/kernel").join(name));
        let machine = [kernel("threads-max"), kernel("pid_max")];
        let hierarchies = cgroup::find(root, "pids");
        let groups = hierarchies.iter().flat_map(cgroup::Hierarchy::groups);
        let of_user = limit_of(libc::RLIMIT_NPROC).map(|(soft, _)| soft);
        TaskLimits {
            user: of_user.filter(|&soft| soft != NONE && !is_exempt),
            machine: machine.into_iter().flatten().min(),
            groups: groups.map(|(_, group)| group.to_owned()).collect(),
        }
    }

    /// The least of them, whatever runs.
    fn least(&self) -> Option<u64> {
        let groups = self.groups.iter().filter_map(|group| most_of(group));
        groups.chain(self.user).chain(self.machine).min()
    }

    /// How many more tasks there may be at this moment, if so many are this user's; `u64::MAX`
    /// where nothing is known. `None`: as many as there are on the machine, which are at least as
    /// many.
    pub fn left(&self, of_user: Option<u64>) -> u64 {
        let all = all_tasks();
        let below = |limit: Option<u64>, now: Option<u64>| Some(limit?.saturating_sub(now?));
        let of_group = |group: &PathBuf| below(most_of(group), number(&group.join("pids.current")));
        let groups = self.groups.iter().map(of_group);
        let others = [below(self.machine, all), below(self.user, of_user.or(all))];
        let least = groups.chain(others).flatten().min();
        least.unwrap_or(u64::MAX)
    }
}

fn most_of(group: &Path) -> Option<u64> {
    number(&group.join("pids.max"))
}

/// Of the whole machine, whoever can be seen: what stands behind the slash in `loadavg`.
fn all_tasks() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let (_, all) = text.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

fn memory(root: &Path) -> MemoryLimit {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let limit = tightest(root, "memory", "memory.max", "memory.limit_in_bytes");
    MemoryLimit {
        total: meminfo_bytes(&meminfo, "MemTotal:").unwrap_or(0),
        available: meminfo_bytes(&meminfo, "MemAvailable:").unwrap_or(0),
        // Version 1 writes "no limit" as a number close to the largest.
        cgroup_limit: limit.filter(|&bytes| bytes < 1 << 62),
    }
}

/// The bytes that a line of `/proc/meminfo` stands for.
pub(crate) fn meminfo_bytes(meminfo: &str, key: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn nice_best() -> i32 {
    if has_any(CapabilitySet::SYS_NICE) {
        return -20;
    }
    // A limit of 1 allows nice 19, of 40 nice -20. Staying where one is needs no leave, and nothing
    // else is sure where the limit is not told.
    let limit = limit_of(libc::RLIMIT_NICE).map_or(0, |(soft, _)| soft.min(40));
    sched::nice_self().min(20 - limit as i32)
}

fn has_any(wanted: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.intersects(wanted))
}

/// The least number in such a file of any visible group of this controller; the file is called
/// differently in the two versions.
fn tightest(root: &Path, controller: &str, v2_file: &str, v1_file: &str) -> Option<u64> {
    let hierarchies = cgroup::find(root, controller);
    let groups = hierarchies.iter().flat_map(cgroup::Hierarchy::groups);
    let files = groups.map(|(v2, group)| group.join(if v2 { v2_file } else { v1_file }));
    files.filter_map(|file| number(&file)).min()
}

/// The number in a file; `max` is none.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let limits = read();
        assert!(limits.threads.is_none_or(|threads| threads > 0));
        assert!(limits.open_files > 2 && limits.open_files <= limits.open_files_hard);
        assert!(limits.memory.available <= limits.memory.total);
        assert!((-20..=19).contains(&limits.nice_best));
        assert!(limits.nice_best <= sched::nice_self());
    }

    #[test]
    fn nice_best_can_be_set_and_nothing_better() {
        std::thread::spawn(|| {
            let best = nice_best();
            sched::set_nice_self(best).unwrap();
            assert_eq!(sched::nice_self(), best);
            assert!(best == -20 || sched::set_nice_self(best - 1).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn meminfo() {
        let text = "MemTotal:       16 kB\nMemAvailable:    4 kB\nHuge: 1\n";
        assert_eq!(meminfo_bytes(text, "MemTotal:"), Some(16 * 1024));
        assert_eq!(meminfo_bytes(text, "MemAvailable:"), Some(4 * 1024));
        assert_eq!(meminfo_bytes(text, "Huge:"), None);
        assert_eq!(
            meminfo_bytes("MemTotal: 99999999999999999 kB", "MemTotal:"),
            None
        );
        assert_eq!(meminfo_bytes("", "MemTotal:"), None);
    }

    #[test]
    fn the_tightest_group_decides() {
        let root = std::env::temp_dir().join(format!("cmwq-limits-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "0::/a\n5:memory:/m\n");
        let v1 = "33 30 0:30 / /cg1 rw - cgroup cgroup rw,memory\n";
        write(
            "proc/self/mountinfo",
            &format!("31 30 0:29 / /cg rw - cgroup2 cgroup2 rw\n{v1}"),
        );
        write("proc/sys/kernel/threads-max", "70\n");
        write("cg/a/pids.max", "max\n");
        write("cg/pids.max", "50\n");
        write("cg1/memory.limit_in_bytes", "9223372036854771712\n");
        let found = (threads(&root), memory(&root).cgroup_limit);
        write("cg/a/memory.max", "4096\n");
        let limited = memory(&root).cgroup_limit;
        fs::remove_dir_all(&root).unwrap();
        assert_eq!((found, limited), ((Some(50), None), Some(4096)));
    }
}
