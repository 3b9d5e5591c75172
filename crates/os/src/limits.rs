//! Limits of this process that decide how far cmwq can go here.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use crate::{cgroup, sched};

/// What the system allows this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads: the least of `RLIMIT_NPROC` (which counts all threads of the user), the kernel's
    /// `threads-max` and `pid_max`, and `pids.max` of the visible cgroups (which count what else
    /// runs in them). `None`: none of them could be read.
    pub threads: Option<u64>,
    /// File descriptors, the soft limit; `u64::MAX` is none.
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
    let files = getrlimit(Resource::Nofile);
    Limits {
        threads: threads(root),
        open_files: files.current.unwrap_or(u64::MAX),
        open_files_hard: files.maximum.unwrap_or(u64::MAX),
        memory: memory(root),
        nice_best: nice_best(),
    }
}

fn threads(root: &Path) -> Option<u64> {
    // The kernel does not hold these to RLIMIT_NPROC.
    let exempt = CapabilitySet::SYS_RESOURCE | CapabilitySet::SYS_ADMIN;
    let user = match has_any(exempt) {
        true => None,
        false => getrlimit(Resource::Nproc).current,
    };
    let kernel = |name: &str| number(&root.join("proc/sys/kernel").join(name));
    let groups = tightest(root, "pids", "pids.max", "pids.max");
    [user, kernel("threads-max"), kernel("pid_max"), groups]
        .into_iter()
        .flatten()
        .min()
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
    // A limit of 1 allows nice 19, of 40 nice -20. Staying where one is needs no leave.
    let limit = getrlimit(Resource::Nice)
        .current
        .map_or(40, |limit| limit.min(40));
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
