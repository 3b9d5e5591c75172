//! Which CPUs share what: memory nodes, caches, cores. From sysfs; what is missing there, or
//! malformed, is missing here.

use std::fs;
use std::path::{Path, PathBuf};

use cmwq_policy::CpuMask;

/// The machine as the kernel describes it. Only CPUs that are online.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPUs of each memory node that has any, in the order of the nodes' numbers. Without NUMA in
    /// the kernel, one node of all CPUs.
    pub nodes: Vec<CpuMask>,
    /// Every cache, each once, in the order of its first CPU.
    pub caches: Vec<Cache>,
    /// CPUs of each core: more than one where threads share a core.
    pub smt: Vec<CpuMask>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Reads `{root}/sys/devices/system`; `root` is `/` but in tests.
pub fn read(root: &Path) -> Topology {
    let system = root.join("sys/devices/system");
    let cpus = numbered(&system.join("cpu"), "cpu");
    Topology {
        nodes: nodes(&system),
        caches: distinct(cpus.iter().flat_map(|cpu| caches(cpu))),
        smt: distinct(cpus.iter().filter_map(|cpu| core(cpu))),
    }
}

fn nodes(system: &Path) -> Vec<CpuMask> {
    let nodes = numbered(&system.join("node"), "node").into_iter();
    let cpus = nodes.filter_map(|node| cpulist(&node.join("cpulist")));
    // A node may have memory and no CPU.
    let nodes: Vec<CpuMask> = cpus.filter(|cpus| !cpus.is_empty()).collect();
    match nodes.is_empty() {
        true => cpulist(&system.join("cpu/online")).into_iter().collect(),
        false => nodes,
    }
}

fn caches(cpu: &Path) -> Vec<Cache> {
    let indexes = numbered(&cpu.join("cache"), "index").into_iter();
    indexes.filter_map(|index| cache(&index)).collect()
}

fn cache(index: &Path) -> Option<Cache> {
    Some(Cache {
        level: text(&index.join("level"))?.parse().ok()?,
        kind: text(&index.join("type"))?,
        size_kib: text(&index.join("size"))
            .and_then(|size| parse_size(&size))
            .unwrap_or(0),
        cpus: cpulist(&index.join("shared_cpu_list"))?,
    })
}

fn core(cpu: &Path) -> Option<CpuMask> {
    let topology = cpu.join("topology");
    // The second is the name until Linux 5.3.
    cpulist(&topology.join("core_cpus_list"))
        .or_else(|| cpulist(&topology.join("thread_siblings_list")))
}

/// `48K` or `2M`, in KiB.
fn parse_size(size: &str) -> Option<u64> {
    let unit = |suffix| {
        size.strip_suffix(suffix)
            .and_then(|n| n.parse::<u64>().ok())
    };
    unit('K').or_else(|| unit('M')?.checked_mul(1024))
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// The directory's entries called `prefix` and a number, in the numbers' order.
fn numbered(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let number = |name: &std::ffi::OsStr| name.to_str()?.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((number(&entry.file_name())?, entry.path())))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn text(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

fn cpulist(file: &Path) -> Option<CpuMask> {
    parse_cpulist(&text(file)?)
}

/// Reads the kernel's list format, `0-3,8`; blanks around it do not matter. `None` if malformed.
pub fn parse_cpulist(text: &str) -> Option<CpuMask> {
    let mut mask = CpuMask::EMPTY;
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        // Numbers beyond what a mask holds are dropped; no loop over a number from a file.
        (first..=last.min(cmwq_policy::MAX_CPUS)).for_each(|cpu| mask.insert(cpu));
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
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
    fn without_numa_or_sysfs() {
        let fixture = Fixture::new("flat", &[("cpu/online", "0-2\n")]);
        let nodes = vec![CpuMask::first(3)];
        assert_eq!(
            read(&fixture.0),
            Topology {
                nodes,
                ..Topology::default()
            }
        );
        assert_eq!(read(Path::new("/no/such/root")), Topology::default());
    }

    #[test]
    fn this_machines_cores_do_not_overlap() {
        let smt = read(Path::new("/")).smt;
        for (i, core) in smt.iter().enumerate() {
            assert!(smt[i + 1..].iter().all(|other| core.and(other).is_empty()));
        }
    }
}
