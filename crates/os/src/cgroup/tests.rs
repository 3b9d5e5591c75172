//! Against made-up trees: `/proc/self/*` and the groups, below a directory of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::*;

/// A file system of one test, removed with it.
struct Fixture(PathBuf);

impl Fixture {
    fn new(cgroup: &str, mountinfo: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only a number nobody else has.
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("cmwq-cgroup-{}-{number}", std::process::id());
        let fixture = Fixture(std::env::temp_dir().join(name));
        fixture
            .with("proc/self/cgroup", cgroup)
            .with("proc/self/mountinfo", mountinfo)
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A version 1 group's two files.
    fn v1(self, group: &str, quota: &str, period: &str) -> Self {
        self.with(&format!("{group}/cpu.cfs_quota_us"), quota)
            .with(&format!("{group}/cpu.cfs_period_us"), period)
    }

    /// The limit found, as (quota, period).
    fn quota(&self) -> Option<(u64, u64)> {
        cpu_quota(&self.0).map(|quota| (quota.quota_us, quota.period_us))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const V2: &str = "22 27 0:21 / /proc rw - proc proc rw\n\
                  31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 - cgroup cgroup rw,cpu,cpuacct\n\
                  35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

#[test]
fn v2_takes_the_tightest_of_all_ancestors() {
    let tree = |own: &str, middle: &str, top: &str| {
        Fixture::new("0::/a/b\n", V2)
            .with("sys/fs/cgroup/a/b/cpu.max", own)
            .with("sys/fs/cgroup/a/cpu.max", middle)
            .with("sys/fs/cgroup/cpu.max", top)
            .quota()
    };
    assert_eq!(tree("max 100000\n", "max 100000\n", "max 100000\n"), None);
    assert_eq!(
        tree("200000 100000\n", "max 100000\n", "max 100000\n"),
        Some((200_000, 100_000))
    );
    assert_eq!(
        tree("max 100000\n", "150000 100000\n", "max 100000\n"),
        Some((150_000, 100_000))
    );
    // Compared as rates: 50 ms in 20 is more than 100 in 50.
    assert_eq!(
        tree("50000 20000\n", "100000 50000\n", "900000 100000\n"),
        Some((100_000, 50_000))
    );
    assert_eq!(
        tree("90000 100000\n", "95000 100000\n", "80000 100000\n"),
        Some((80_000, 100_000))
    );
}

#[test]
fn v1_with_comounted_controllers() {
    let tree = |own: &str| {
        Fixture::new("4:memory:/x\n3:cpu,cpuacct:/a/b\n1:name=systemd:/z\n", V1)
            .v1("sys/fs/cgroup/cpu,cpuacct/a/b", own, "100000\n")
            .v1("sys/fs/cgroup/cpu,cpuacct/a", "400000\n", "100000\n")
            .v1("sys/fs/cgroup/cpu,cpuacct", "-1\n", "100000\n")
            .v1("sys/fs/cgroup/memory/x", "1000\n", "100000\n")
            .quota()
    };
    assert_eq!(tree("-1\n"), Some((400_000, 100_000)));
    assert_eq!(tree("300000\n"), Some((300_000, 100_000)));
}

#[test]
fn of_two_hierarchies_the_tighter_wins() {
    let hybrid = V1.to_owned() + "38 31 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = |v1: &str, v2: &str| {
        Fixture::new("3:cpu,cpuacct:/a\n0::/u\n", &hybrid)
            .v1("sys/fs/cgroup/cpu,cpuacct/a", v1, "100000\n")
            .with("sys/fs/cgroup/unified/u/cpu.max", v2)
            .quota()
    };
    assert_eq!(tree("100000\n", "max 100000\n"), Some((100_000, 100_000)));
    assert_eq!(tree("-1\n", "250000 100000\n"), Some((250_000, 100_000)));
    assert_eq!(tree("100000\n", "50000 100000\n"), Some((50_000, 100_000)));
    assert_eq!(tree("20000\n", "50000 100000\n"), Some((20_000, 100_000)));
}

#[test]
fn a_container_that_sees_its_own_group_as_the_mount() {
    // No cgroup namespace: the mount shows the subtree that /proc/self/cgroup names in full.
    let bind = "40 30 0:29 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    let tree = Fixture::new("0::/docker/abc/sub\n", bind)
        .with("sys/fs/cgroup/cpu.max", "300000 100000\n")
        .with("sys/fs/cgroup/sub/cpu.max", "max 100000\n");
    assert_eq!(tree.quota(), Some((300_000, 100_000)));
}

#[test]
fn a_mount_of_another_part_of_the_hierarchy_says_nothing() {
    let other = "40 30 0:29 /docker/other /mnt/other ro - cgroup2 cgroup2 rw\n";
    let foreign =
        Fixture::new("0::/docker/abc\n", other).with("mnt/other/cpu.max", "1000 100000\n");
    assert_eq!(foreign.quota(), None);
    let both = Fixture::new("0::/docker/abc\n", &(other.to_owned() + V2))
        .with("mnt/other/cpu.max", "1000 100000\n")
        .with("sys/fs/cgroup/docker/abc/cpu.max", "200000 100000\n");
    assert_eq!(both.quota(), Some((200_000, 100_000)));
    // Moved out of its namespace: the group is not below the mount.
    let moved = Fixture::new("0::/../sibling\n", V2).with("sys/fs/cgroup/cpu.max", "1000 100000\n");
    assert_eq!(moved.quota(), None);
}

#[test]
fn a_namespace_hides_names_between_the_mount_and_the_group() {
    let above = "40 30 0:29 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    for path in ["/", "/x", "/../sibling"] {
        let tree = Fixture::new(&format!("0::{path}\n"), above)
            .with("sys/fs/cgroup/cpu.max", "300000 100000\n")
            .with("sys/fs/cgroup/x/cpu.max", "1000 100000\n");
        assert_eq!(tree.quota(), Some((300_000, 100_000)), "{path}");
    }
}

#[test]
fn odd_names() {
    let spaces = "40 30 0:29 / /mnt/my\\040groups\\134x rw - cgroup2 none\\040at\\040all rw\n";
    let tree = Fixture::new("0::/with space/a:b\n", spaces)
        .with("mnt/my groups\\x/with space/a:b/cpu.max", "300000 100000\n");
    assert_eq!(tree.quota(), Some((300_000, 100_000)));
}

#[test]
fn malformed_files_are_ignored() {
    let texts = [
        "",
        "max",
        "max 0",
        "0 100000",
        "5",
        "5 0",
        "x y",
        "-5 100000",
        "99999999999999999999 1",
    ];
    for text in texts {
        let tree = Fixture::new("0::/a\n", V2)
            .with("sys/fs/cgroup/a/cpu.max", text)
            .with("sys/fs/cgroup/cpu.max", "500000 100000\n");
        assert_eq!(tree.quota(), Some((500_000, 100_000)), "{text:?}");
    }
    let limit = |cgroup: &str, mounts: &str| {
        Fixture::new(cgroup, mounts)
            .with("sys/fs/cgroup/cpu.max", "1000 100000\n")
            .quota()
    };
    assert_eq!(limit("0::/\n", V2), Some((1000, 100_000)));
    for cgroup in ["", "\n", "0", "0:", "0::", "0::a", ":::", "0:cpu:/\n"] {
        assert_eq!(limit(cgroup, V2), None, "{cgroup:?}");
    }
    for mounts in [
        "",
        "\n",
        "1 2 3",
        "1 2 0:1 / /sys/fs/cgroup rw - cgroup2",
        "1 2 0:1 / /sys/fs/cgroup rw cgroup2 x rw",
    ] {
        assert_eq!(limit("0::/\n", mounts), None, "{mounts:?}");
    }
    assert_eq!(cpu_quota(Path::new("/no/such/root")), None);
}

#[test]
fn throttling_is_summed_over_the_groups_that_count_it() {
    let tree = Fixture::new("0::/a\n", V2);
    assert_eq!(nr_throttled(&tree.0), None);
    let tree = tree
        .with(
            "sys/fs/cgroup/a/cpu.stat",
            "usage_usec 7\nnr_periods 9\nnr_throttled 3\nthrottled_usec 5\n",
        )
        .with("sys/fs/cgroup/cpu.stat", "nr_periods 0\nnr_throttled 4\n");
    assert_eq!(nr_throttled(&tree.0), Some(7));
    let groups = CpuGroups::find(&tree.0);
    let _tree = tree.with("sys/fs/cgroup/cpu.stat", "nr_throttled 6\n");
    assert_eq!(groups.nr_throttled(), Some(9));
}

#[test]
fn quota_in_cpus() {
    for (quota_us, period_us, ceil, milli) in [
        (100_000, 100_000, 1, 1000),
        (100_001, 100_000, 2, 1000),
        (1, 100_000, 1, 0),
        (250_000, 100_000, 3, 2500),
    ] {
        let quota = Quota {
            quota_us,
            period_us,
        };
        assert_eq!((quota.cpus_ceil(), quota.milli_cpus()), (ceil, milli));
    }
    let absurd = Quota {
        quota_us: u64::MAX,
        period_us: 1,
    };
    assert_eq!(absurd.milli_cpus(), u64::MAX);
}

/// Makes a real group with a limit, where the machine lets us.
#[test]
fn a_real_group_reads_as_made() {
    let groups = CpuGroups::find(Path::new("/"));
    let Some((v2, base)) = groups.hierarchies.iter().flat_map(Hierarchy::groups).next() else {
        return;
    };
    let group = base.join(format!("cmwq-test-{}", std::process::id()));
    let limit = match v2 {
        true => ("cpu.max", "50000 100000"),
        false => ("cpu.cfs_quota_us", "50000"),
    };
    if fs::create_dir(&group).is_ok() {
        if fs::write(group.join(limit.0), limit.1).is_ok() {
            let quota = read_quota(v2, &group);
            assert_eq!(quota.map(|quota| quota.milli_cpus()), Some(500));
        }
        fs::remove_dir(&group).unwrap();
    }
}
