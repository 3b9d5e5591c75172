//! Trees that say too little, or what cannot be: nothing panics, what is taken instead is the
//! wider, and a warning names the file or the CPUs.

use std::fs;

use cmwq_os::CpuMask;
use cmwq_os::topology::Topology;

use crate::tree::{Tree, sets};

/// Two nodes, each of one core with two threads and a cache.
const SOUND: &str = "\
cpu/possible: 0-3
cpu/online: 0-3
cpu/cpu{0-1 2-3}/topology/core_cpus_list: {}
cpu/cpu{0-1 2-3}/cache/index3/level: 3
cpu/cpu{0-1 2-3}/cache/index3/type: Unified
cpu/cpu{0-1 2-3}/cache/index3/shared_cpu_list: {}
node/node0/cpulist: 0-1
node/node0/distance: 10 21
node/node1/cpulist: 2-3
node/node1/distance: 21 10
";

/// The machine above with these files instead of its own.
fn with(files: &str) -> Topology {
    let tree = Tree::of(&format!("{SOUND}{files}"));
    tree.read()
}

/// Core, cache and node of each CPU.
fn places(topology: &Topology) -> Vec<[u32; 3]> {
    let places = topology.places().into_iter();
    places.map(|p| [p.core, p.llc, p.node]).collect()
}

/// The warnings, each a file without the directory that the tree is in, or all of its words.
fn assert_warned(topology: &Topology, want: &[&str]) {
    let got = &topology.warnings;
    let fits = |(got, want): (&String, &&str)| got.contains(want);
    assert_eq!(got.len(), want.len(), "{got:#?}");
    assert!(got.iter().zip(want).all(fits), "{got:#?}");
}

const SOUND_PLACES: [[u32; 3]; 4] = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]];

#[test]
fn a_sound_tree_gives_no_warning() {
    let sound = with("");
    assert_eq!(places(&sound), SOUND_PLACES);
    assert_eq!(sound.distances, [[10, 21], [21, 10]]);
    assert_warned(&sound, &[]);
}

#[test]
fn without_any_file_there_is_one_cpu() {
    let nothing = Tree::new().read();
    assert_eq!(places(&nothing), [[0, 0, 0]]);
    assert_warned(&nothing, &["no CPU is known"]);
}

#[test]
fn without_numa_there_is_one_node() {
    let flat = Tree::of("cpu/online: 0-2").read();
    assert_eq!(flat.nodes, sets("0-2"));
    assert_eq!(flat.distances, [[10]]);
    assert_eq!(places(&flat), [[0, 0, 0], [1, 0, 0], [2, 0, 0]]);
    assert_warned(
        &flat,
        &[
            "no core is known of CPUs 0-2",
            "no cache is known of CPUs 0-2",
        ],
    );
}

#[test]
fn without_a_list_of_those_online_all_that_have_a_directory_are() {
    let tree = Tree::of(SOUND);
    fs::remove_file(tree.path("cpu/online")).unwrap();
    assert_eq!(tree.read().online(), CpuMask::first(4));
    assert_eq!(places(&tree.read()), SOUND_PLACES);
}

/// They keep their number, and get a place in the first node; the kernel says nothing of them.
#[test]
fn cpus_that_are_offline_are_no_reason_to_warn() {
    let tree = Tree::of(
        "cpu/possible: 0-5\ncpu/online: 0,2-3\ncpu/cpu1/online: 0\nnode/node0/cpulist: 0,2\n\
         node/node1/cpulist: 3\ncpu/cpu{0,2 3}/topology/core_cpus_list: {}\n\
         cpu/cpu{0,2 3}/cache/index2/level: 2\ncpu/cpu{0,2 3}/cache/index2/type: Unified\n\
         cpu/cpu{0,2 3}/cache/index2/shared_cpu_list: {}",
    );
    let topology = tree.read();
    assert_eq!(topology.online(), sets("0,2-3")[0]);
    let off = |core| [core, 1, 0];
    let on = [[0, 0, 0], [2, 2, 1]];
    assert_eq!(
        places(&topology),
        [on[0], off(1), on[0], on[1], off(3), off(4)]
    );
    assert_warned(&topology, &[]);
}

#[test]
fn cpus_beyond_what_a_mask_holds_are_left_out() {
    let tree = Tree::of("cpu/possible: 0-1535\ncpu/online: 0-1535\nnode/node0/cpulist: 0-1023");
    for cpu in [0, 1023, 1024, 1535] {
        let core = format!("cpu/cpu{cpu}/topology/core_cpus_list");
        tree.write(&core, cpu.to_string());
    }
    tree.write("node/node1/cpulist", "1024-1535");
    let topology = tree.read();
    assert_eq!(topology.places().len(), 1024);
    assert_eq!(topology.nodes, [CpuMask::first(1024)]);
    let others = [
        "no core is known of CPUs 1-1022",
        "no cache is known of CPUs 0-1023",
    ];
    assert_warned(&topology, &["CPUs from 1024 on", others[0], others[1]]);
}

#[test]
fn a_cpu_of_which_nothing_is_said_counts_to_the_first_node() {
    let topology = with("cpu/online: 0-4\ncpu/possible: 0-4");
    assert_eq!(topology.nodes, sets("0-1,4 2-3"));
    assert_eq!(places(&topology)[..4], SOUND_PLACES);
    assert_eq!(places(&topology)[4], [2, 2, 0]);
    let warnings = [
        "no memory node lists CPUs 4",
        "no core is known of CPUs 4",
        "no cache is known of CPUs 4",
    ];
    assert_warned(&topology, &warnings);
}

#[test]
fn a_core_in_two_caches_joins_them() {
    let topology = with(
        "node/node0/cpulist: 0-3\nnode/node1/cpulist: \ncpu/cpu{0-2 3}/topology/core_cpus_list: {}",
    );
    assert_eq!(
        places(&topology),
        [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    );
    assert_warned(&topology, &["caches and cores overlap at CPUs 0-3"]);
}

#[test]
fn a_core_in_two_nodes_joins_them() {
    let topology =
        with("cpu/cpu1/topology/core_cpus_list: 1-2\ncpu/cpu2/topology/core_cpus_list: 1-2");
    assert_eq!(topology.nodes, sets("0-3"));
    assert_eq!(topology.distances, [[10]]);
    assert_eq!(places(&topology), [[0, 0, 0]; 4]);
    let warnings = [
        "memory nodes overlap at CPUs 0-3",
        "cores overlap at CPUs 0-3",
        "caches and cores overlap at CPUs 0-3",
    ];
    assert_warned(&topology, &warnings);
}

/// Joined nodes are as far from the others as the nearest part is.
#[test]
fn nodes_with_cpus_in_common_are_one() {
    let topology = with(
        "node/node0/cpulist: 0-1\nnode/node1/cpulist: 1\nnode/node2/cpulist: 2-3\n\
         node/node0/distance: 10 12 31\nnode/node1/distance: 12 10 21\nnode/node2/distance: 31 25 10",
    );
    assert_eq!(topology.nodes, sets("0-1 2-3"));
    assert_eq!(topology.distances, [[10, 21], [25, 10]]);
    assert_eq!(places(&topology), SOUND_PLACES);
    assert_warned(&topology, &["memory nodes overlap at CPUs 0-1"]);
}

/// As with Sub-NUMA clusters: each node has its part, and that is no contradiction.
#[test]
fn a_cache_in_two_nodes_is_one_in_each() {
    let topology = with("cpu/cpu{0-3}/cache/index3/shared_cpu_list: {}");
    assert_eq!(places(&topology), SOUND_PLACES);
    assert_warned(&topology, &[]);
}

#[test]
fn caches_that_overlap_are_one() {
    let flat =
        "node/node0/cpulist: 0-3\nnode/node1/cpulist: \ncpu/cpu1/cache/index3/shared_cpu_list: 1-2";
    let topology = with(flat);
    assert_eq!(
        places(&topology).iter().map(|place| place[1]).max(),
        Some(0)
    );
    assert_warned(&topology, &["caches and cores overlap at CPUs 0-3"]);
}

/// Nor are those of one level more: what matters is the highest that has data.
#[test]
fn caches_of_instructions_join_nothing() {
    let topology = with(
        "cpu/cpu{0-3}/cache/index4/level: 4\ncpu/cpu{0-3}/cache/index4/type: Instruction\n\
         cpu/cpu{0-3}/cache/index4/shared_cpu_list: {}\nnode/node0/cpulist: 0-3\nnode/node1/cpulist: ",
    );
    assert_eq!(
        places(&topology),
        [[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]]
    );
}

/// The other CPU's files still say it.
#[test]
fn a_file_without_meaning_is_named() {
    for (file, text) in [
        ("cpu0/cache/index3/level", "three"),
        ("cpu0/cache/index3/type", ""),
        ("cpu0/cache/index3/shared_cpu_list", "1-0"),
        ("cpu0/cache/index3/shared_cpu_list", ""),
        ("cpu0/topology/core_cpus_list", "\u{fffd}"),
        ("cpu0/topology/core_cpus_list", "99999999999999999999"),
    ] {
        let topology = with(&format!("cpu/{file}: {text}"));
        assert_eq!(places(&topology), SOUND_PLACES, "{file}: {text}");
        assert_warned(
            &topology,
            &[&format!("sys/devices/system/cpu/{file} is not a")],
        );
    }
}

#[test]
fn distances_that_cannot_be_are_the_usual_ones() {
    for row in [
        "10", "10 21 21", "10 x", "20 10", "10 9", "10 256", "10 -1", "",
    ] {
        let topology = with(&format!("node/node0/distance: {row}"));
        assert_eq!(topology.distances, [[10, 20], [21, 10]], "{row}");
        assert_warned(&topology, &["node/node0/distance is not a row"]);
    }
}

/// An ARM server with Linux 5.15-rc1 ends them so: hwloc's
/// tests/hwloc/linux/128arm-2pa2n8cluster4co.
#[test]
fn a_nul_behind_a_list_is_no_part_of_it() {
    let tree = Tree::of(SOUND);
    tree.write("cpu/cpu0/topology/core_cpus_list", "0-1\n\0");
    assert_warned(&tree.read(), &[]);
}

#[test]
fn what_is_no_file_of_sysfs_neither_stops_nor_ends_in_a_panic() {
    type Make = fn(&Tree, &str);
    let cases: [(&str, Make); 6] = [
        ("itself", |tree, file| tree.link(file, tree.path(file))),
        ("a directory", |tree, file| {
            fs::create_dir(tree.path(file)).unwrap()
        }),
        ("endless", |tree, file| tree.link(file, "/dev/zero")),
        ("a pipe", |tree, file| {
            let path = std::ffi::CString::new(tree.path(file).to_str().unwrap()).unwrap();
            // SAFETY: a path that ends with a NUL.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        }),
        ("huge", |tree, file| {
            tree.write(file, "0-1,".repeat(1 << 18))
        }),
        ("no text", |tree, file| {
            tree.write(file, [0xff, 0xfe, 0x00, b'1'])
        }),
    ];
    for (what, make) in cases {
        for file in [
            "cpu/cpu0/topology/core_cpus_list",
            "cpu/cpu0/cache/index3/level",
            "cpu/online",
        ] {
            let tree = Tree::of(SOUND);
            fs::remove_file(tree.path(file)).unwrap();
            make(&tree, file);
            assert_eq!(places(&tree.read()), SOUND_PLACES, "{file} is {what}");
        }
    }
}

#[test]
fn directories_that_lead_to_each_other_are_not_followed() {
    let tree = Tree::of(SOUND);
    tree.link("cpu/cpu4", tree.path("cpu"));
    tree.link("cpu/cpu5", tree.path("cpu/cpu6"));
    tree.link("cpu/cpu6", tree.path("cpu/cpu5"));
    tree.link("node/node2", tree.path("node"));
    let topology = tree.read();
    assert_eq!(places(&topology)[..4], SOUND_PLACES);
    assert_eq!(topology.nodes, sets("0-1 2-3"));
}
