//! What cmwq reads of the machine, against what it was made of.

use std::path::Path;

use cmwq_os::topology::{self, Topology};
use cmwq_policy::CpuMask;
use cmwq_policy::affinity::{Layout, Scope};

use crate::checks::{Checks, same};
use crate::expected::{Expected, written};

pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    let topology = topology::read(Path::new("/"));
    show(&topology);
    let warnings = topology.warnings.join("; ");
    checks.note("warnings", same(&warnings, "").map(|_| "none"));
    let online = topology.online().to_string();
    checks.note("online", same(&online, &expected.cpus().to_string()));
    let nodes = written(&topology.nodes);
    let told = written(expected.pods(Scope::Numa));
    checks.note("nodes", same(&nodes, &told));
    let layout = Layout::new(topology.places());
    for scope in Scope::ALL {
        let pods = written(&pods(&layout, scope, &topology.online()));
        let told = written(expected.pods(scope));
        checks.note(&format!("pods of {}", scope.name()), same(&pods, &told));
    }
}

fn show(topology: &Topology) {
    println!(
        "cores {}, distances {:?}",
        written(&topology.smt),
        topology.distances
    );
    for cache in &topology.caches {
        let (level, kind, size) = (cache.level, &cache.kind, cache.size_kib);
        // The others are alike, one for each core.
        if cache.cpus.contains(0) {
            println!("L{level} {kind} {size} KiB of CPUs {}", cache.cpus);
        }
    }
}

/// Each once, in the order of their first CPUs.
fn pods(layout: &Layout, scope: Scope, cpus: &CpuMask) -> Vec<CpuMask> {
    let mut pods: Vec<CpuMask> = cpus.iter().map(|cpu| layout.pod(scope, cpu)).collect();
    let first = |pod: &CpuMask| pod.iter().next();
    pods.sort_by_key(first);
    pods.dedup();
    pods
}
