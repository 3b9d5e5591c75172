//! Where each CPU is, made consistent: a core is in one last-level cache, a cache in one node.

use std::collections::{BTreeMap, BTreeSet};

use cmwq_policy::CpuMask;
use cmwq_policy::affinity::Place;

use super::{Cache, Topology};

/// CPUs that belong together, each group known by its lowest CPU.
pub(super) struct Groups {
    lowest: Vec<usize>,
}

impl Groups {
    /// Each CPU alone.
    pub(super) fn of(cpus: usize) -> Groups {
        let lowest = (0..cpus).collect();
        Groups { lowest }
    }

    /// These CPUs belong together, and so do all that belong to one of them.
    pub(super) fn join(&mut self, cpus: &CpuMask) {
        let joined: CpuMask = cpus.iter().map(|cpu| self.lowest[cpu]).collect();
        // Most sets come once for each of their CPUs.
        if joined.count() < 2 {
            return;
        }
        let lowest = joined.iter().next().expect("there are two");
        let theirs = |group: &&mut usize| joined.contains(**group);
        self.lowest
            .iter_mut()
            .filter(theirs)
            .for_each(|group| *group = lowest);
    }

    pub(super) fn of_cpu(&self, cpu: usize) -> usize {
        self.lowest[cpu]
    }

    pub(super) fn cpus(&self, group: usize) -> CpuMask {
        let all = self.lowest.iter().enumerate();
        all.filter(|&(_, &of)| of == group)
            .map(|(cpu, _)| cpu)
            .collect()
    }
}

fn data_caches(topology: &Topology) -> impl Iterator<Item = &Cache> {
    topology.caches.iter().filter(|cache| cache.has_data())
}

/// Caches within caches: CPUs that share one at any level share the last level. A core's threads
/// share all of them, whatever the lists say.
fn llcs(topology: &Topology, cpus: usize) -> Groups {
    let mut llcs = Groups::of(cpus);
    data_caches(topology).for_each(|cache| llcs.join(&cache.cpus));
    topology.smt.iter().for_each(|core| llcs.join(core));
    llcs
}

fn cores(topology: &Topology, cpus: usize) -> Groups {
    let mut cores = Groups::of(cpus);
    topology.smt.iter().for_each(|core| cores.join(core));
    cores
}

/// What is not known: the core is the CPU's own, the cache is one of all such CPUs of the node, the
/// node is the first. A cache or core that lies in several nodes is cut at their bounds, as the
/// scheduler does it (`match_llc`, `topology_sane`; Sub-NUMA clusters share a cache that each
/// counts as its own).
pub(super) fn places(topology: &Topology) -> Vec<Place> {
    let cpus = topology.nr_cpus();
    let (cores, llcs) = (cores(topology, cpus), llcs(topology, cpus));
    let in_a_cache = data_caches(topology).flat_map(|cache| cache.cpus.iter());
    let known: CpuMask = in_a_cache.map(|cpu| llcs.of_cpu(cpu)).collect();
    let llc = |cpu| Some(llcs.of_cpu(cpu)).filter(|&llc| known.contains(llc));
    let node = |cpu| node_of(topology, cpu);
    let core = numbers((0..cpus).map(|cpu| (node(cpu), cores.of_cpu(cpu))));
    let llc = numbers((0..cpus).map(|cpu| (node(cpu), llc(cpu))));
    let place = |cpu| Place {
        core: core[cpu],
        llc: llc[cpu],
        node: node(cpu),
    };
    (0..cpus).map(place).collect()
}

fn node_of(topology: &Topology, cpu: usize) -> u32 {
    let mut nodes = topology.nodes.iter();
    nodes.position(|node| node.contains(cpu)).unwrap_or(0) as u32
}

/// Numbers from 0 on in the order in which the things come first.
fn numbers<T: Ord>(things: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known = BTreeMap::new();
    let number = |thing| {
        let next = known.len() as u32;
        *known.entry(thing).or_insert(next)
    };
    things.map(number).collect()
}

/// What is taken instead of what the files say, or do not say, of caches and cores.
pub(super) fn doubts(topology: &Topology) -> Vec<String> {
    let (online, cpus) = (topology.online(), topology.nr_cpus());
    let data: Vec<CpuMask> = data_caches(topology).map(|cache| cache.cpus).collect();
    let mut doubts = Vec::new();
    if let Some(cpus) = beyond(&online, &topology.smt) {
        doubts.push(format!(
            "no core is known of CPUs {cpus}: each counts as one of its own"
        ));
    }
    if let Some(cpus) = beyond(&online, &data) {
        doubts.push(format!(
            "no cache is known of CPUs {cpus}: those of a node count as sharing one"
        ));
    }
    for cpus in joined(&cores(topology, cpus), &topology.smt) {
        doubts.push(format!("cores overlap at CPUs {cpus}: they count as one"));
    }
    for cpus in joined(&llcs(topology, cpus), &data) {
        doubts.push(format!(
            "caches and cores overlap at CPUs {cpus}: they count as sharing the last level"
        ));
    }
    doubts
}

/// The CPUs, if there are any, that are in none of these sets.
fn beyond(all: &CpuMask, sets: &[CpuMask]) -> Option<CpuMask> {
    let known: CpuMask = sets.iter().flat_map(|cpus| cpus.iter()).collect();
    let rest: CpuMask = all.iter().filter(|&cpu| !known.contains(cpu)).collect();
    (!rest.is_empty()).then_some(rest)
}

/// The groups that are no set by themselves: several that overlap.
fn joined(groups: &Groups, sets: &[CpuMask]) -> Vec<CpuMask> {
    let lowest = sets.iter().filter_map(|cpus| cpus.iter().next());
    let made: BTreeSet<usize> = lowest.map(|cpu| groups.of_cpu(cpu)).collect();
    let made = made.into_iter().map(|group| groups.cpus(group));
    made.filter(|cpus| !sets.contains(cpus)).collect()
}
