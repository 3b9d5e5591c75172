//! Memory nodes: which CPUs each has, how far they are from each other.

use cmwq_policy::CpuMask;

use super::files::Files;
use super::shape::Groups;

/// From a node to itself (kernel `LOCAL_DISTANCE`, ACPI 6.5 section 5.2.17).
const LOCAL: u32 = 10;

/// To another one of which nothing is said (kernel `REMOTE_DISTANCE`).
const REMOTE: u32 = 20;

/// What a byte of the firmware's table holds.
const FARTHEST: u32 = 255;

/// Nodes that have CPUs.
pub(super) struct Nodes {
    pub(super) cpus: Vec<CpuMask>,
    pub(super) distances: Vec<Vec<u32>>,
}

/// One node's directory.
struct Listed {
    cpus: CpuMask,
    /// To each node that has a directory, in the order of their numbers.
    distances: Option<Vec<u32>>,
}

/// Nodes that have a CPU in common, or parts of a core, count as one: the wider.
pub(super) fn read(files: &mut Files, online: &CpuMask, smt: &[CpuMask]) -> Nodes {
    let listed = listed(files, online);
    let groups = merged(files, &listed, smt);
    let cpus = |group: &Vec<usize>| union(group.iter().map(|&at| &listed[at].cpus));
    let mut nodes = Nodes {
        cpus: groups.iter().map(cpus).collect(),
        distances: distances(&listed, &groups),
    };
    nodes.adopt(files, online);
    nodes
}

impl Nodes {
    /// CPUs that no node lists go to the first one, as in the kernel.
    fn adopt(&mut self, files: &mut Files, online: &CpuMask) {
        let listed = union(&self.cpus);
        let strays: CpuMask = online.iter().filter(|&cpu| !listed.contains(cpu)).collect();
        if strays.is_empty() {
            return;
        }
        let Some(first) = self.cpus.first_mut() else {
            // A kernel without NUMA says nothing of nodes.
            self.cpus = vec![strays];
            self.distances = vec![vec![LOCAL]];
            return;
        };
        *first = union([&*first, &strays]);
        files.warn(format!(
            "no memory node lists CPUs {strays}: they count to the first"
        ));
    }
}

fn listed(files: &mut Files, online: &CpuMask) -> Vec<Listed> {
    let numbers = files.numbered("node", "node");
    let mut node = |(at, number): (usize, &u32)| {
        let file = |name| format!("node/node{number}/{name}");
        let row = |text: &str| row(text, at, numbers.len());
        let cpus = files.cpulist(&file("cpulist")).unwrap_or(CpuMask::EMPTY);
        Listed {
            cpus: cpus.and(online),
            distances: files.parsed(&file("distance"), "a row of distances between nodes", row),
        }
    };
    numbers.iter().enumerate().map(&mut node).collect()
}

/// `10 21 31`: the row of node number `at` of `nodes`.
fn row(text: &str, at: usize, nodes: usize) -> Option<Vec<u32>> {
    let row: Option<Vec<u32>> = text.split_whitespace().map(|n| n.parse().ok()).collect();
    let in_range = |row: &Vec<u32>| row.iter().all(|n| (LOCAL..=FARTHEST).contains(n));
    row.filter(|row| row.len() == nodes && row[at] == LOCAL && in_range(row))
}

/// The places in `listed` that make one node each, without those that have no CPU.
fn merged(files: &mut Files, listed: &[Listed], smt: &[CpuMask]) -> Vec<Vec<usize>> {
    let mut groups = Groups::of(listed.len());
    let cores = smt.iter().chain(listed.iter().map(|node| &node.cpus));
    for cpus in cores {
        let touched = (0..listed.len()).filter(|&at| !listed[at].cpus.and(cpus).is_empty());
        groups.join(&touched.collect());
    }
    let mut nodes = Vec::new();
    for at in (0..listed.len()).filter(|&at| groups.of_cpu(at) == at) {
        let group: Vec<usize> = groups.cpus(at).iter().collect();
        let cpus = union(group.iter().map(|&at| &listed[at].cpus));
        if group.len() > 1 {
            files.warn(format!(
                "memory nodes overlap at CPUs {cpus}: they count as one"
            ));
        }
        nodes.extend((!cpus.is_empty()).then_some(group));
    }
    nodes
}

/// Between the nearest parts of each two.
fn distances(listed: &[Listed], groups: &[Vec<usize>]) -> Vec<Vec<u32>> {
    let between = |from: &[usize], to: &[usize]| {
        let pairs = from.iter().flat_map(|&a| to.iter().map(move |&b| (a, b)));
        pairs
            .map(|(a, b)| distance(listed, a, b))
            .min()
            .unwrap_or(REMOTE)
    };
    let row = |from: &Vec<usize>| groups.iter().map(|to| between(from, to)).collect();
    groups.iter().map(row).collect()
}

fn distance(listed: &[Listed], from: usize, to: usize) -> u32 {
    let row = listed[from].distances.as_ref();
    row.map_or(usual_distance(from, to), |row| row[to])
}

/// Where the firmware says nothing.
pub(super) fn usual_distance(from: usize, to: usize) -> u32 {
    if from == to { LOCAL } else { REMOTE }
}

pub(super) fn union<'a>(sets: impl IntoIterator<Item = &'a CpuMask>) -> CpuMask {
    sets.into_iter().flat_map(|cpus| cpus.iter()).collect()
}
