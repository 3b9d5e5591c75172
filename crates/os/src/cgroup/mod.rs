//! How much CPU time the control groups around this process allow: cgroup v1 and v2, alone or side
//! by side, seen from the host or from a container.
//!
//! A limit of an ancestor binds as much as one's own, so every ancestor that is visible counts, and
//! the tightest wins. A limit above what a container can see cannot be known.

mod hierarchy;

use std::fs;
use std::path::Path;

pub(crate) use hierarchy::{Hierarchy, find};

/// So many microseconds of CPU time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// CPU time in each period, in microseconds.
    pub quota_us: u64,
    /// The period, in microseconds; not 0.
    pub period_us: u64,
}

impl Quota {
    /// CPUs that can be kept busy, rounded up; at least 1.
    pub fn cpus_ceil(&self) -> usize {
        let cpus = self.quota_us.div_ceil(self.period_us.max(1));
        usize::try_from(cpus).unwrap_or(usize::MAX).max(1)
    }

    /// Thousandths of a CPU.
    pub fn milli_cpus(&self) -> u64 {
        let milli = u128::from(self.quota_us) * 1000 / u128::from(self.period_us.max(1));
        u64::try_from(milli).unwrap_or(u64::MAX)
    }

    fn is_tighter(&self, than: &Quota) -> bool {
        u128::from(self.quota_us) * u128::from(than.period_us)
            < u128::from(than.quota_us) * u128::from(self.period_us)
    }
}

/// The CPU control groups of this process, found once and read often.
#[derive(Clone, Debug)]
pub struct CpuGroups {
    hierarchies: Vec<Hierarchy>,
}

impl CpuGroups {
    /// Finds them by `{root}/proc/self/cgroup` and `mountinfo`; `root` is `/` but in tests. What
    /// is malformed or unreadable is taken for absent.
    pub fn find(root: &Path) -> Self {
        CpuGroups {
            hierarchies: find(root, "cpu"),
        }
    }

    /// The tightest limit of CPU time, if there is any.
    pub fn quota(&self) -> Option<Quota> {
        let quotas = self.hierarchies.iter().flat_map(Hierarchy::groups);
        quotas
            .filter_map(|(v2, group)| read_quota(v2, group))
            .reduce(|tightest, quota| match quota.is_tighter(&tightest) {
                true => quota,
                false => tightest,
            })
    }

    /// Periods in which this process's groups were throttled, over all groups that count them.
    /// Only its growth means anything: while it grows, waiting for a CPU says nothing about how
    /// many threads the CPUs can serve.
    pub fn nr_throttled(&self) -> Option<u64> {
        let groups = self.hierarchies.iter().flat_map(Hierarchy::groups);
        groups
            .filter_map(|(_, group)| read_nr_throttled(group))
            .reduce(u64::saturating_add)
    }
}

/// [`CpuGroups::quota`] of the groups found now.
pub fn cpu_quota(root: &Path) -> Option<Quota> {
    CpuGroups::find(root).quota()
}

/// [`CpuGroups::nr_throttled`] of the groups found now.
pub fn nr_throttled(root: &Path) -> Option<u64> {
    CpuGroups::find(root).nr_throttled()
}

fn read_quota(v2: bool, group: &Path) -> Option<Quota> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    match v2 {
        true => parse_quota(&read("cpu.max")?),
        false => {
            let (quota, period) = (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?);
            parse_quota(&format!("{} {}", quota.trim(), period.trim()))
        }
    }
}

/// `QUOTA PERIOD`; no limit is `max` in v2 and -1 in v1.
fn parse_quota(text: &str) -> Option<Quota> {
    let mut words = text.split_ascii_whitespace();
    let quota = Quota {
        quota_us: words.next()?.parse().ok()?,
        period_us: words.next()?.parse().ok()?,
    };
    (quota.quota_us > 0 && quota.period_us > 0).then_some(quota)
}

fn read_nr_throttled(group: &Path) -> Option<u64> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("nr_throttled "))?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests;
