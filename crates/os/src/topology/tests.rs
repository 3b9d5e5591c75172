//! Against small made-up trees.

use std::fs;
use std::path::PathBuf;

use super::*;

#[test]
fn cpu_lists() {
    for (text, want) in [
        ("0-3,8\n", Some("0-3,8")),
        ("", Some("")),
        ("\n", Some("")),
        (" 5 ", Some("5")),
        ("0-4000000000", Some("0-1023")),
        ("3-1", None),
        ("a", None),
        ("1-", None),
        ("-1", None),
        ("1,,2", Some("1-2")),
    ] {
        let got = parse_cpulist(text).map(|mask| mask.to_string());
        assert_eq!(got.as_deref(), want, "{text:?}");
    }
}
#[test]
fn sizes() {
    for (text, want) in [
        ("48K", Some(48)),
        ("2M", Some(2048)),
        ("", None),
        ("K", None),
        ("48", None),
        ("-1K", None),
    ] {
        assert_eq!(parse_size(text), want, "{text:?}");
    }
}

struct Fixture(PathBuf);

impl Fixture {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root =
            std::env::temp_dir().join(format!("cmwq-topology-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join("sys/devices/system").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Fixture(root)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn two_nodes_four_threads() {
    let mut files = vec![
        ("node/node0/cpulist", "0-1\n"),
        ("node/node10/cpulist", "2-3\n"),
        ("node/node2/cpulist", "\n"),
    ];
    let cpus = [
        ("cpu/cpu0/topology/core_cpus_list", "0-1\n"),
        ("cpu/cpu1/topology/core_cpus_list", "0-1\n"),
        ("cpu/cpu2/topology/thread_siblings_list", "2\n"),
        ("cpu/cpu3/topology/thread_siblings_list", "garbage\n"),
        ("cpu/cpu0/cache/index3/level", "3\n"),
        ("cpu/cpu0/cache/index3/type", "Unified\n"),
        ("cpu/cpu0/cache/index3/size", "2M\n"),
        ("cpu/cpu0/cache/index3/shared_cpu_list", "0-2\n"),
        ("cpu/cpu1/cache/index3/level", "3\n"),
        ("cpu/cpu1/cache/index3/type", "Unified\n"),
        ("cpu/cpu1/cache/index3/size", "2M\n"),
        ("cpu/cpu1/cache/index3/shared_cpu_list", "0-2\n"),
        ("cpu/cpu2/cache/index0/level", "x\n"),
    ];
    files.extend(cpus);
    let fixture = Fixture::new("two", &files);
    let topology = read(&fixture.0);
    let mask = |text| parse_cpulist(text).unwrap();
    assert_eq!(topology.nodes, [mask("0-1"), mask("2-3")]);
    assert_eq!(topology.smt, [mask("0-1"), mask("2")]);
    let l3 = Cache {
        level: 3,
        kind: "Unified".to_owned(),
        size_kib: 2048,
        cpus: mask("0-2"),
    };
    assert_eq!(topology.caches, [l3]);
}

#[test]
fn this_machines_cores_do_not_overlap() {
    let smt = read(Path::new("/")).smt;
    for (i, core) in smt.iter().enumerate() {
        assert!(smt[i + 1..].iter().all(|other| core.and(other).is_empty()));
    }
}
