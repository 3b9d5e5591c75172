//! How much memory may still be used, and what processes take.
//!
//! What may be used is what the kernel thinks a new program could have without swapping
//! (`MemAvailable`), or less where a control group limits us: a group's file cache is given back
//! before anybody is killed, so it counts as free. A limit of an ancestor binds as much as one's
//! own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup;

/// What limits the memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The machine has no more.
    Machine,
    /// A control group it is in.
    Cgroup,
}

/// Memory that may still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes.
    pub bytes: u64,
    /// Why there are no more.
    pub bound: Bound,
}

/// The files that tell, found once and read often.
#[derive(Clone, Debug)]
pub struct Memory {
    root: PathBuf,
    /// Each with whether it is of version 2; own ones before their ancestors.
    groups: Vec<(bool, PathBuf)>,
}

impl Memory {
    /// Finds them; `root` is `/` but in tests. What is malformed or unreadable is taken for absent.
    pub fn find(root: &Path) -> Self {
        let hierarchies = cgroup::find(root, "memory");
        let groups = hierarchies.iter().flat_map(cgroup::Hierarchy::groups);
        Memory {
            root: root.to_path_buf(),
            groups: groups.map(|(v2, path)| (v2, path.to_path_buf())).collect(),
        }
    }

    /// What may still be used: the least that the machine and the visible groups leave. `None` if
    /// neither says anything.
    pub fn headroom(&self) -> Option<Headroom> {
        let of = |bound| move |bytes| Headroom { bytes, bound };
        let machine = self.meminfo("MemAvailable:").map(of(Bound::Machine));
        let groups = self
            .groups
            .iter()
            .filter_map(|(v2, group)| left(*v2, group));
        let all = machine.into_iter().chain(groups.map(of(Bound::Cgroup)));
        all.min_by_key(|headroom| headroom.bytes)
    }

    /// All there is: of the machine, or the tightest limit of a group if that is less. `None` if
    /// neither says anything.
    pub fn total(&self) -> Option<u64> {
        let groups = self
            .groups
            .iter()
            .filter_map(|(v2, group)| limit(*v2, group));
        self.meminfo("MemTotal:").into_iter().chain(groups).min()
    }

    /// How often the kernel has killed for want of memory: of the machine (Linux 4.13), then of
    /// each group that counts it. Those of other people's processes are among them; only growth
    /// means anything.
    pub fn kills(&self) -> Vec<u64> {
        let vmstat = fs::read_to_string(self.root.join("proc/vmstat"));
        let machine = vmstat.ok().and_then(|text| field(&text, "oom_kill"));
        let in_group = |(v2, group): &(bool, PathBuf)| {
            let text = fs::read_to_string(group.join(file_with_kills(*v2))).ok()?;
            Some(field(&text, "oom_kill").unwrap_or(0))
        };
        let groups = self.groups.iter().filter_map(in_group);
        std::iter::once(machine.unwrap_or(0))
            .chain(groups)
            .collect()
    }

    fn meminfo(&self, key: &str) -> Option<u64> {
        let text = fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        crate::limits::meminfo_bytes(&text, key)
    }
}

/// Which file of a group counts them.
fn file_with_kills(v2: bool) -> &'static str {
    match v2 {
        true => "memory.events",
        false => "memory.oom_control",
    }
}

/// Bytes of memory that only this process has, about: what a fork makes page tables for. 0 if the
/// system does not tell.
pub fn private() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = text.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    match (pages.next(), pages.next()) {
        (Some(Ok(resident)), Some(Ok(shared))) => {
            let pages = resident.saturating_sub(shared);
            pages.saturating_mul(rustix::param::page_size() as u64)
        }
        _ => 0,
    }
}

/// The group's limit: in version 2 the lower one of
/// `memory.max`, at which processes are killed, and `memory.high`, at which they are slowed down.
fn limit(v2: bool, group: &Path) -> Option<u64> {
    let files: &[&str] = match v2 {
        true => &["memory.max", "memory.high"],
        false => &["memory.limit_in_bytes"],
    };
    let limits = files.iter().filter_map(|file| number(&group.join(file)));
    // Version 1 writes "no limit" as a number close to the largest.
    limits.min().filter(|&bytes| bytes < 1 << 62)
}

/// What a group with a limit leaves: limit - (taken - file cache).
fn left(v2: bool, group: &Path) -> Option<u64> {
    let limit = limit(v2, group)?;
    let (taken, prefix) = match v2 {
        true => ("memory.current", ""),
        // Without the prefix version 1 does not count the groups below.
        false => ("memory.usage_in_bytes", "total_"),
    };
    let taken = number(&group.join(taken))?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = ["inactive_file", "active_file"]
        .map(|key| field(&stat, &format!("{prefix}{key}")).unwrap_or(0));
    let held = taken.saturating_sub(cache[0].saturating_add(cache[1]));
    Some(limit.saturating_sub(held))
}

/// The number in a file; `max` is none.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The number behind a key at the beginning of a line.
fn field(text: &str, key: &str) -> Option<u64> {
    let of_key = |line: &str| {
        line.strip_prefix(key)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    };
    text.lines().find_map(of_key)
}

#[cfg(test)]
mod tests;
