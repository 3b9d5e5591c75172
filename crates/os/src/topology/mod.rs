//! Which CPUs share what: memory nodes, caches, cores. From sysfs; what is missing there, or
//! malformed, is missing here, and `Topology::warnings` tells.

use std::collections::HashSet;
use std::hash::Hash;
use std::path::Path;

use cmwq_policy::affinity::Place;
use cmwq_policy::{CpuMask, MAX_CPUS};

mod files;
mod nodes;
mod shape;

use files::Files;

/// The machine as the kernel describes it at one moment: what goes offline, or comes, needs another
/// reading. Its sets have only CPUs that are online.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPUs of each memory node that has any, in the order of the nodes' numbers; each CPU that is
    /// online is in one. Without NUMA in the kernel, one node of all CPUs.
    pub nodes: Vec<CpuMask>,
    /// Every cache, each once, in the order of its first CPU.
    pub caches: Vec<Cache>,
    /// CPUs of each core: more than one where threads share a core.
    pub smt: Vec<CpuMask>,
    /// How far each of `nodes` is from each, as the firmware says; see [`Topology::distance`].
    pub distances: Vec<Vec<u32>>,
    /// CPU numbers that can ever be in use are below this (kernel `nr_cpu_ids`); 0 if not known.
    pub nr_cpu_ids: usize,
    /// What was malformed, missing or contradictory, and what was taken instead; for people to
    /// read.
    pub warnings: Vec<String>,
}

impl Topology {
    /// Where each CPU is: an entry for every number from 0 to the highest that can be in use, at
    /// most [`MAX_CPUS`], and at least one. Nodes have the numbers that they have in `nodes`.
    ///
    /// The last-level cache of a CPU is its highest data or unified one, as far as it lies in the
    /// CPU's node. A CPU of which files tell nothing (it may be offline) is in the first node, has
    /// a core of its own, and shares a cache with all CPUs of the node of which no cache is known.
    pub fn places(&self) -> Vec<Place> {
        shape::places(self)
    }

    /// From one of `nodes` to another: 10 is near, a node to itself; 20 stands for twice as long,
    /// and for what the firmware does not say (ACPI SLIT, kernel `node_distance`).
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        let row = self.distances.get(from);
        let said = row.and_then(|row| row.get(to)).copied();
        said.unwrap_or_else(|| nodes::usual_distance(from, to))
    }

    /// The CPUs that are in use. Layouts made from `places` have to be told: they begin with all.
    pub fn online(&self) -> CpuMask {
        nodes::union(&self.nodes)
    }

    fn nr_cpus(&self) -> usize {
        let sets = self.nodes.iter().chain(&self.smt);
        let sets = sets.chain(self.caches.iter().map(|cache| &cache.cpus));
        let named = sets.filter_map(|cpus| cpus.iter().last()).max();
        let cpus = named.map_or(1, |last| last + 1).max(self.nr_cpu_ids);
        cpus.min(MAX_CPUS)
    }
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cache {
    /// 1 is nearest to the CPU.
    pub level: u8,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size in KiB; 0 if not known.
    pub size_kib: u64,
    /// CPUs that share it.
    pub cpus: CpuMask,
}

impl Cache {
    fn has_data(&self) -> bool {
        matches!(self.kind.as_str(), "Data" | "Unified")
    }
}

/// Reads `{root}/sys/devices/system`; `root` is `/` but in tests.
pub fn read(root: &Path) -> Topology {
    let mut files = Files::of(root.join("sys/devices/system"));
    let numbers = numbers(&mut files);
    let smt = distinct(numbers.iter().filter_map(|cpu| core(&mut files, *cpu)));
    let caches = caches(&mut files, &numbers);
    let online = online(&mut files, &numbers);
    let nodes = nodes::read(&mut files, &online, &smt);
    let mut topology = Topology {
        nodes: nodes.cpus,
        caches,
        smt,
        distances: nodes.distances,
        nr_cpu_ids: nr_cpu_ids(&mut files, &numbers),
        warnings: files.warnings,
    };
    topology.warnings.extend(shape::doubts(&topology));
    topology
}

/// Of the CPUs that have a directory.
fn numbers(files: &mut Files) -> Vec<u32> {
    let mut numbers = files.numbered("cpu", "cpu");
    let all = numbers.len();
    numbers.retain(|&cpu| (cpu as usize) < MAX_CPUS);
    if numbers.len() < all {
        files.warn(format!("CPUs from {MAX_CPUS} on are not used"));
    }
    numbers
}

fn online(files: &mut Files, numbers: &[u32]) -> CpuMask {
    let listed = files.cpus("cpu/online");
    let online = listed.unwrap_or_else(|| numbers.iter().map(|&cpu| cpu as usize).collect());
    if online.is_empty() {
        files.warn("no CPU is known".to_owned());
    }
    online
}

/// The number of CPUs that a boot of this kernel may ever have; those that have a directory
/// without.
fn nr_cpu_ids(files: &mut Files, numbers: &[u32]) -> usize {
    let possible = files.cpulist("cpu/possible");
    let last = possible.and_then(|cpus| cpus.iter().last());
    let highest = numbers.last().map(|&cpu| cpu as usize);
    last.max(highest).map_or(0, |last| last + 1)
}

/// A cache has a directory for each of its CPUs. The list of CPUs is read in all of them, the rest
/// in one: on big machines these are thousands of files.
fn caches(files: &mut Files, numbers: &[u32]) -> Vec<Cache> {
    let (mut seen, mut caches) = (HashSet::new(), Vec::new());
    for cpu in numbers {
        let directory = format!("cpu/cpu{cpu}/cache");
        for index in files.numbered(&directory, "index") {
            let path = format!("{directory}/index{index}");
            let cpus = files.cpus(&format!("{path}/shared_cpu_list"));
            let cpus = cpus.filter(|cpus| !seen.contains(&(index, *cpus)));
            if let Some(cache) = cpus.and_then(|cpus| cache(files, &path, cpus)) {
                seen.insert((index, cache.cpus));
                caches.push(cache);
            }
        }
    }
    distinct(caches.into_iter())
}

fn cache(files: &mut Files, path: &str, cpus: CpuMask) -> Option<Cache> {
    let (level, size) = (format!("{path}/level"), format!("{path}/size"));
    Some(Cache {
        level: files.parsed(&level, "a level", |text| text.parse().ok())?,
        kind: files.parsed(&format!("{path}/type"), "a kind of cache", kind)?,
        size_kib: files.parsed(&size, "a size", parse_size).unwrap_or(0),
        cpus,
    })
}

fn kind(text: &str) -> Option<String> {
    let is_known = matches!(text, "Data" | "Instruction" | "Unified");
    is_known.then(|| text.to_owned())
}

fn core(files: &mut Files, cpu: u32) -> Option<CpuMask> {
    let topology = format!("cpu/cpu{cpu}/topology");
    // The second is the name until Linux 5.3.
    files
        .cpus(&format!("{topology}/core_cpus_list"))
        .or_else(|| files.cpus(&format!("{topology}/thread_siblings_list")))
}

/// `48K` or `2M`, in KiB.
fn parse_size(size: &str) -> Option<u64> {
    let unit = |suffix| {
        size.strip_suffix(suffix)
            .and_then(|n| n.parse::<u64>().ok())
    };
    unit('K').or_else(|| unit('M')?.checked_mul(1024))
}

fn distinct<T: Clone + Eq + Hash>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.filter(|one| seen.insert(one.clone())).collect()
}

/// Reads the kernel's list format, `0-3,8`; blanks around it do not matter. `None` if malformed.
/// Numbers from [`MAX_CPUS`] on are dropped.
pub fn parse_cpulist(text: &str) -> Option<CpuMask> {
    let mut mask = CpuMask::EMPTY;
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        // No loop over a number from a file.
        (first..=last.min(MAX_CPUS)).for_each(|cpu| mask.insert(cpu));
    }
    Some(mask)
}

#[cfg(test)]
mod tests;
