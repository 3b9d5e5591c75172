//! Machines that are not there: a folder that describes one, as `/sys` would.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

/// The description of a machine; removed when dropped.
pub(crate) struct Sysfs(PathBuf);

impl Sysfs {
    /// A machine of which nothing is known but so many CPUs.
    pub(crate) fn of_cpus(cpus: usize) -> Sysfs {
        let name = format!("cmwq-sysfs-{}", std::process::id());
        let sysfs = Sysfs(std::env::temp_dir().join(name));
        for file in ["possible", "online"] {
            sysfs.write(&format!("cpu/{file}"), &format!("0-{}", cpus - 1));
        }
        sysfs
    }

    /// Each of these CPUs is a node, with a cache of its own.
    pub(crate) fn of_nodes(cpus: &[usize]) -> Sysfs {
        let nodes: Vec<&[usize]> = cpus.chunks(1).collect();
        Sysfs::of_shared_nodes(&nodes)
    }

    /// Each of these lists of CPUs is a node, with one cache that they share.
    pub(crate) fn of_shared_nodes(nodes: &[&[usize]]) -> Sysfs {
        let last = nodes.iter().flat_map(|cpus| cpus.iter()).max();
        let sysfs = Sysfs::of_cpus(last.expect("a CPU") + 1);
        for (node, cpus) in nodes.iter().enumerate() {
            let names: Vec<String> = cpus.iter().map(usize::to_string).collect();
            let list = names.join(",");
            sysfs.write(&format!("node/node{node}/cpulist"), &list);
            for cpu in *cpus {
                for (file, text) in [("level", "3"), ("type", "Unified"), ("size", "1M")] {
                    sysfs.write(&format!("cpu/cpu{cpu}/cache/index3/{file}"), &text);
                }
                sysfs.write(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), &list);
                sysfs.write(&format!("cpu/cpu{cpu}/topology/core_cpus_list"), cpu);
            }
        }
        sysfs
    }

    fn write(&self, file: &str, text: &dyn Display) {
        let path = self.0.join("sys/devices/system").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// From now on, and before first use, this process runs on it.
    pub(crate) fn install(&self) {
        let root = self.0.to_str().unwrap().to_owned().leak();
        cmwq::Builder::new().sysfs_root(root).install().unwrap();
    }
}

impl Drop for Sysfs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
