//! Against made-up trees, below a directory of its own.

use super::*;

const MOUNTS: &str = "31 30 0:29 / /cg rw - cgroup2 cgroup2 rw\n\
                      33 30 0:30 / /cg1 rw - cgroup cgroup rw,memory\n";

/// A file system of one test, removed with it.
struct Root(PathBuf);

impl Root {
    fn new(name: &str, cgroup: &str) -> Self {
        let root = format!("cmwq-memory-{name}-{}", std::process::id());
        Root(std::env::temp_dir().join(root))
            .with("proc/self/cgroup", cgroup)
            .with("proc/self/mountinfo", MOUNTS)
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn headroom(&self) -> Option<(u64, Bound)> {
        let headroom = Memory::find(&self.0).headroom()?;
        Some((headroom.bytes, headroom.bound))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MEMINFO: &str = "MemTotal: 100 kB\nMemAvailable: 50 kB\n";

#[test]
fn the_machine_alone() {
    let root = Root::new("machine", "0::/\n");
    assert_eq!(root.headroom(), None);
    let root = root.with("proc/meminfo", MEMINFO);
    assert_eq!(root.headroom(), Some((51_200, Bound::Machine)));
    assert_eq!(Memory::find(&root.0).total(), Some(102_400));
}

#[test]
fn version_2_takes_the_tightest_of_all_ancestors() {
    let root = Root::new("v2", "0::/a/b\n")
        .with("proc/meminfo", MEMINFO)
        .with("cg/a/b/memory.max", "max\n")
        .with("cg/a/b/memory.current", "1000\n")
        .with("cg/a/memory.max", "40000\n")
        .with("cg/a/memory.high", "30000\n")
        .with("cg/a/memory.current", "20000\n")
        .with(
            "cg/a/memory.stat",
            "anon 5\nfile 9999\ninactive_file 3000\nactive_file 500\n",
        );
    assert_eq!(root.headroom(), Some((13_500, Bound::Cgroup)));
    assert_eq!(Memory::find(&root.0).total(), Some(30_000));
    let root = root.with("cg/a/b/memory.high", "1500\n");
    assert_eq!(root.headroom(), Some((500, Bound::Cgroup)), "no file cache");
}

#[test]
fn version_1_counts_groups_below() {
    let root = Root::new("v1", "4:memory:/m\n")
        .with("cg1/m/memory.limit_in_bytes", "9000\n")
        .with("cg1/m/memory.usage_in_bytes", "8000\n")
        .with(
            "cg1/m/memory.stat",
            "inactive_file 1\nactive_file 1\ntotal_inactive_file 600\ntotal_active_file 400\n",
        )
        .with("cg1/memory.limit_in_bytes", "9223372036854771712\n")
        .with("cg1/memory.usage_in_bytes", "8000\n");
    assert_eq!(root.headroom(), Some((2_000, Bound::Cgroup)));
    let root = root.with("cg1/m/memory.usage_in_bytes", "20000\n");
    assert_eq!(root.headroom(), Some((0, Bound::Cgroup)), "over its limit");
}

#[test]
fn kills_of_both_versions() {
    let root = Root::new("kills", "0::/a\n4:memory:/m\n")
        .with("proc/vmstat", "oom_kill_other 9\noom_kill 7\n")
        .with("cg/a/memory.events", "oom 4\noom_kill 3\n")
        .with("cg1/m/memory.oom_control", "under_oom 0\noom_kill 2\n");
    assert_eq!(Memory::find(&root.0).kills(), [7, 3, 2]);
}

#[test]
fn this_machine() {
    let memory = Memory::find(Path::new("/"));
    let headroom = memory.headroom().expect("Linux says so since 3.14");
    assert!(headroom.bytes <= memory.total().expect("likewise"));
}
