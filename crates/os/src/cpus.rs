//! How many CPUs this process can use.

use std::fs;
use std::path::Path;

use cmwq_policy::CpuMask;

use crate::cgroup::{self, Quota};
use crate::topology::parse_cpulist;
use crate::{sched, thread};

/// The CPUs of this process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveCpus {
    /// CPUs of the machine that are online.
    pub online: usize,
    /// CPUs the process may run on.
    pub mask: CpuMask,
    /// Those of its first thread: if they change, so may have the others.
    pub first: CpuMask,
    /// The tightest CPU time limit around the process.
    pub quota: Option<Quota>,
    /// How many threads can run at once: the mask's CPUs, or fewer where the quota allows fewer.
    /// At least 1.
    pub target: usize,
}

impl EffectiveCpus {
    /// The same for a process that may run on these CPUs.
    #[must_use]
    pub fn with_mask(self, mask: CpuMask) -> Self {
        let target = target(&mask, self.quota);
        EffectiveCpus {
            mask,
            target,
            ..self
        }
    }
}

/// Reads them. A process has no mask, its threads have: it may use each CPU that one of the
/// program's own threads may use. So a program that pins one of them, its first one perhaps, keeps
/// the others. Threads of ours do not count, they follow.
pub fn effective() -> EffectiveCpus {
    let first = first_mask();
    let online = online();
    let mask = of_all_threads(first, online);
    let quota = cgroup::cpu_quota(Path::new("/"));
    EffectiveCpus {
        online: online.unwrap_or(mask.count()),
        mask,
        first,
        quota,
        target: target(&mask, quota),
    }
}

fn target(mask: &CpuMask, quota: Option<Quota>) -> usize {
    let allowed = quota.map_or(usize::MAX, |quota| quota.cpus_ceil());
    mask.count().min(allowed).max(1)
}

/// What all threads of the program may use. The first one alone says it if it has all CPUs.
fn of_all_threads(first: CpuMask, online: Option<usize>) -> CpuMask {
    match online == Some(first.count()) {
        true => first,
        false => others().fold(first, |all, mask| all.or(&mask)),
    }
}

/// The masks of the threads that are not ours. Where `/proc` does not tell there is the calling
/// one.
fn others() -> impl Iterator<Item = CpuMask> {
    let tids = fs::read_dir("/proc/self/task").map_or(vec![thread::gettid()], |tasks| {
        let name = |task: fs::DirEntry| task.file_name().to_str()?.parse().ok();
        tasks.flatten().filter_map(name).collect()
    });
    let of_program = |tid: &i32| !thread::is_ours(*tid);
    let tids = tids.into_iter().filter(of_program);
    tids.filter_map(|tid| sched::affinity(tid).ok())
}

/// The kernel never answers with an empty mask; CPU 0 stands for a sandbox that answers nothing.
fn first_mask() -> CpuMask {
    sched::affinity(thread::getpid())
        .or_else(|_| sched::affinity(0))
        .unwrap_or_else(|_| CpuMask::first(1))
}

fn online() -> Option<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let count = parse_cpulist(&list)?.count();
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(quota_us: u64) -> Option<Quota> {
        Some(Quota {
            quota_us,
            period_us: 100_000,
        })
    }

    #[test]
    fn the_target_is_the_smaller_of_mask_and_quota() {
        let four = CpuMask::first(4);
        for (quota, want) in [
            (None, 4),
            (quota(1_000_000), 4),
            (quota(200_000), 2),
            (quota(200_001), 3),
            (quota(1_000), 1),
        ] {
            assert_eq!(target(&four, quota), want, "{quota:?}");
        }
        assert_eq!(target(&CpuMask::EMPTY, None), 1);
    }

    #[test]
    fn this_machine_has_cpus() {
        let cpus = effective();
        assert!(cpus.target >= 1 && cpus.target <= cpus.mask.count());
        assert!(cpus.mask.count() <= cpus.online);
    }

    #[test]
    fn the_mask_is_that_of_all_threads_together() {
        let process = effective().mask;
        let one: CpuMask = process.iter().take(1).collect();
        let seen = std::thread::spawn(move || {
            sched::set_affinity_self(&one).unwrap();
            (sched::affinity(0).unwrap(), effective().mask)
        });
        assert_eq!(seen.join().unwrap(), (one, process));
    }
}
