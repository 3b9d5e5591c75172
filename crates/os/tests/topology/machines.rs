//! Real machines. `machines/NAME.sysfs` has the files, as in [`Tree::of`], and where they are from;
//! `machines/NAME.pods` what is expected, worked out by hand from the kernel's rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cmwq_os::CpuMask;
use cmwq_os::topology::Topology;
use cmwq_policy::affinity::{Layout, Scope};

use crate::tree::{Tree, sets};

/// What a file of expectations says.
#[derive(Default)]
struct Expected {
    /// Of each scope but the one that makes each CPU a pod.
    pods: BTreeMap<String, Vec<CpuMask>>,
    distances: Vec<Vec<u32>>,
    warnings: Vec<String>,
}

impl Expected {
    fn parse(text: &str) -> Expected {
        let mut expected = Expected::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (key, value) = line.split_once(": ").expect(line);
            match key {
                "warning" => expected.warnings.push(value.to_owned()),
                "distances" => expected.distances = value.split('|').map(row).collect(),
                scope => {
                    let twice = expected.pods.insert(scope.to_owned(), sets(value));
                    assert_eq!(twice, None, "{line}");
                }
            }
        }
        expected
    }
}

fn row(text: &str) -> Vec<u32> {
    let numbers = text.split_whitespace();
    numbers
        .map(|number| number.parse().expect(number))
        .collect()
}

/// The scope's pods, in the order of their first CPUs; without CPUs that are offline.
fn pods(topology: &Topology, scope: Scope) -> (String, Vec<CpuMask>) {
    let (layout, online) = (Layout::new(topology.places()), topology.online());
    let mut pods: Vec<CpuMask> = Vec::new();
    for cpu in online.iter() {
        let pod = layout.pod(scope, cpu).and(&online);
        if !pods.contains(&pod) {
            pods.push(pod);
        }
    }
    (scope.name().to_owned(), pods)
}

fn check(sysfs: &Path) {
    let topology = Tree::of(&fs::read_to_string(sysfs).unwrap()).read();
    let expected = fs::read_to_string(sysfs.with_extension("pods")).unwrap();
    let expected = Expected::parse(&expected);
    let scopes = Scope::ALL.into_iter().filter(|&scope| scope != Scope::Cpu);
    let pods: BTreeMap<_, _> = scopes.map(|scope| pods(&topology, scope)).collect();
    assert_eq!(expected.pods, pods, "{}", sysfs.display());
    assert_eq!(
        expected.distances,
        topology.distances,
        "{}",
        sysfs.display()
    );
    assert_eq!(expected.warnings, topology.warnings, "{}", sysfs.display());
}

fn machines() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topology/machines");
    let files = fs::read_dir(directory).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().unwrap() == "sysfs")
        .collect();
    files.sort();
    files
}

#[test]
fn real_machines_have_the_pods_that_the_kernels_rules_give() {
    let machines = machines();
    assert!(machines.len() >= 10, "{machines:?}");
    machines.iter().for_each(|sysfs| check(sysfs));
}

#[test]
fn nodes_have_the_distances_of_the_firmware() {
    let machine = machines()
        .into_iter()
        .find(|file| file.ends_with("power-ac922.sysfs"));
    let topology = Tree::of(&fs::read_to_string(machine.unwrap()).unwrap()).read();
    let distance = |from, to| topology.distance(from, to);
    assert_eq!(
        [distance(0, 0), distance(0, 1), distance(1, 1)],
        [10, 40, 10]
    );
    // It has no third node.
    assert_eq!([distance(2, 2), distance(0, 2)], [10, 20]);
}
