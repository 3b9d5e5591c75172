//! Whatever the files say: no panic, and places that fit into each other.

use std::collections::BTreeSet;

use cmwq_os::CpuMask;
use cmwq_os::topology::{Cache, Topology};
use cmwq_policy::affinity::{Layout, Place, Scope};
use proptest::prelude::*;

use crate::tree::Tree;

/// What one step writes into a tree.
#[derive(Clone, Debug)]
enum Entry {
    Core(u32, CpuMask),
    Cache(u32, u8, CpuMask),
    Node(u32, CpuMask),
    Online(CpuMask),
    Distance(u32, Vec<u32>),
    Anything(&'static str, String),
}

/// Each is written sound at times by the other steps.
const FILES: [&str; 8] = [
    "cpu/online",
    "cpu/possible",
    "cpu/cpu1/topology/core_cpus_list",
    "cpu/cpu2/cache/index3/level",
    "cpu/cpu2/cache/index3/type",
    "cpu/cpu0/cache/index2/shared_cpu_list",
    "node/node0/cpulist",
    "node/node1/distance",
];

fn cpus() -> impl Strategy<Value = CpuMask> {
    prop::collection::vec(0usize..7, 0..4).prop_map(|cpus| cpus.into_iter().collect())
}

fn entry() -> impl Strategy<Value = Entry> {
    let anything = prop_oneof![".{0,9}", "[0-9,x -]{0,9}", Just("0-4000000000".to_owned())];
    prop_oneof![
        3 => (0u32..7, cpus()).prop_map(|(cpu, cpus)| Entry::Core(cpu, cpus)),
        3 => (0u32..7, 1u8..4, cpus()).prop_map(|(cpu, level, cpus)| Entry::Cache(cpu, level, cpus)),
        2 => (0u32..4, cpus()).prop_map(|(node, cpus)| Entry::Node(node, cpus)),
        1 => cpus().prop_map(Entry::Online),
        1 => (0u32..4, prop::collection::vec(9u32..30, 0..4)).prop_map(|(n, row)| Entry::Distance(n, row)),
        1 => (prop::sample::select(&FILES[..]), anything).prop_map(|(file, text)| Entry::Anything(file, text)),
    ]
}

fn write(tree: &Tree, entry: &Entry) {
    let list = |file: String, cpus: &CpuMask| tree.write(&file, cpus.to_string());
    match entry {
        Entry::Core(cpu, cpus) => list(format!("cpu/cpu{cpu}/topology/core_cpus_list"), cpus),
        Entry::Node(node, cpus) => list(format!("node/node{node}/cpulist"), cpus),
        Entry::Online(cpus) => list("cpu/online".to_owned(), cpus),
        Entry::Cache(cpu, level, cpus) => {
            let index = format!("cpu/cpu{cpu}/cache/index{level}");
            tree.write(&format!("{index}/level"), level.to_string());
            tree.write(&format!("{index}/type"), "Unified");
            list(format!("{index}/shared_cpu_list"), cpus);
        }
        Entry::Distance(node, row) => {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            tree.write(&format!("node/node{node}/distance"), row.join(" "));
        }
        Entry::Anything(file, text) => tree.write(file, text),
    }
}

/// Numbers from 0 on, none left out.
fn assert_dense(numbers: impl Iterator<Item = u32>) {
    let numbers: BTreeSet<u32> = numbers.collect();
    assert!(
        numbers.iter().copied().eq(0..numbers.len() as u32),
        "{numbers:?}"
    );
}

fn assert_nested(places: &[Place]) {
    for a in places {
        for b in places {
            assert!(a.core != b.core || a.llc == b.llc, "{a:?} {b:?}");
            assert!(a.llc != b.llc || a.node == b.node, "{a:?} {b:?}");
        }
    }
    assert_dense(places.iter().map(|place| place.core));
    assert_dense(places.iter().map(|place| place.llc));
}

/// The policy finds each CPU in its pods.
fn assert_usable(topology: &Topology) {
    let places = topology.places();
    let cpus = places.len();
    let layout = Layout::new(places);
    for scope in Scope::ALL {
        assert!(
            (0..cpus).all(|cpu| layout.pod(scope, cpu).contains(cpu)),
            "{scope:?}"
        );
    }
}

/// Nodes have CPUs, none has those of another; their distances are a square.
fn assert_nodes_are_parts(topology: &Topology) {
    let nodes = topology.nodes.len();
    let cpus = topology.nodes.iter().map(CpuMask::count);
    assert_eq!(cpus.sum::<usize>(), topology.online().count());
    assert!(topology.nodes.iter().all(|node| !node.is_empty()));
    assert_eq!(topology.distances.len(), nodes);
    for (at, row) in topology.distances.iter().enumerate() {
        assert_eq!((row.len(), row[at]), (nodes, 10));
        assert!(row.iter().all(|distance| (10..=255).contains(distance)));
    }
}

proptest! {
    // Thousands of files for a few hundred trees.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_tree_gives_places_within_each_other(entries in prop::collection::vec(entry(), 0..20)) {
        let tree = Tree::new();
        entries.iter().for_each(|entry| write(&tree, entry));
        let topology = tree.read();
        assert_nested(&topology.places());
        assert_nodes_are_parts(&topology);
        let node = |cpu| topology.places()[cpu as usize].node as usize;
        let online = topology.online();
        prop_assert!(online.iter().all(|cpu| topology.nodes[node(cpu as u32)].contains(cpu)));
        assert_usable(&topology);
        prop_assert_eq!(topology, tree.read());
    }

    /// Its fields are public.
    #[test]
    fn any_value_gives_places_within_each_other(
        nodes in prop::collection::vec(cpus(), 0..4),
        caches in prop::collection::vec((1u8..4, cpus()), 0..8),
        smt in prop::collection::vec(cpus(), 0..8),
        nr_cpu_ids in 0usize..12,
    ) {
        let cache = |(level, cpus)| Cache { level, kind: "Unified".to_owned(), size_kib: 0, cpus };
        let caches = caches.into_iter().map(cache).collect();
        let topology = Topology { nodes, caches, smt, nr_cpu_ids, ..Topology::default() };
        assert_nested(&topology.places());
        assert_usable(&topology);
    }
}
