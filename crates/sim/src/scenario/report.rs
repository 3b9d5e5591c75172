//! What came of a run, as data. The keys are stable: others may be added.

use std::collections::BTreeMap;

use cmwq_policy::Nanos;
use serde::Serialize;

use crate::SignalStats;

/// What came of one run. Counts and shares are of the time after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What varies, with its value in this run.
    pub cell: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// Why it ended: `time` (the duration is over), `main` (the main threads have ended) or `quiet`
    /// (nothing was left to happen).
    pub ended: String,
    /// Virtual time at its end.
    pub virtual_ns: Nanos,
    /// How much of that is measured.
    pub measured_ns: Nanos,
    /// By name.
    pub counters: BTreeMap<String, Counter>,
    /// By name.
    pub spans: BTreeMap<String, Span>,
    /// What CPUs and scheduler did.
    pub cpu: CpuReport,
    /// By name.
    pub queues: BTreeMap<String, QueueReport>,
    /// In the order in which they were made; from the start on, warm-up included.
    pub pools: Vec<PoolReport>,
    /// By name; from the start on.
    pub locks: BTreeMap<String, LockReport>,
    /// By name; from the start on.
    pub devices: BTreeMap<String, DeviceReport>,
    /// What the signals of user space did; `null` where pools are told exactly.
    pub signals: Option<SignalReport>,
    /// Threads that were not over when nothing was left to happen: they wait for something for
    /// ever.
    pub stuck: Vec<String>,
    /// Attempts to create a thread that failed.
    pub spawn_failures: u64,
    /// Items that kept their CPU for long, and worklists that stood still: how often that was
    /// reported.
    pub troubles: u64,
}

/// What a scenario has counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counter {
    /// In all.
    pub total: u64,
    /// By second of virtual time.
    pub per_second: f64,
}

/// How long something took that a scenario has marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// How often.
    pub count: u64,
    /// The mean.
    pub mean_ns: Nanos,
    /// The shortest.
    pub min_ns: Nanos,
    /// Half of them took no longer.
    pub p50_ns: Nanos,
    /// Nine of ten took no longer.
    pub p90_ns: Nanos,
    /// 99 of a hundred took no longer.
    pub p99_ns: Nanos,
    /// The longest.
    pub max_ns: Nanos,
}

/// What CPUs and scheduler did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuReport {
    /// CPUs of the machine.
    pub cpus: usize,
    /// The share of their time that threads other than SCHED_IDLE ones had, 0 to 1.
    pub utilisation: f64,
    /// That time, of all CPUs together.
    pub busy_ns: Nanos,
    /// CPU time that went into what `[machine.costs]` says, at full speed.
    pub overhead_ns: Nanos,
    /// Time in which threads were ready without a CPU, of all together.
    pub waited_ns: Nanos,
    /// Times a CPU turned from a thread that slept, ended or lost it.
    pub switches: u64,
    /// Of those, the ones that lost their CPU although they had use for it.
    pub preemptions: u64,
    /// Times a thread got another CPU than before, by how far that was.
    pub migrations: Distances,
    /// Times an idle worker was woken.
    pub worker_wakes: u64,
}

/// Counts by distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distances {
    /// The same CPU.
    pub same: u64,
    /// Another CPU of the core.
    pub core: u64,
    /// Another core of the last-level cache.
    pub llc: u64,
    /// Another cache of the node.
    pub node: u64,
    /// Another node.
    pub machine: u64,
}

impl Distances {
    /// From an array by [`Distance`](crate::Distance).
    pub fn of(by: [u64; 5]) -> Distances {
        let [same, core, llc, node, machine] = by;
        Distances {
            same,
            core,
            llc,
            node,
            machine,
        }
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.same + self.core + self.llc + self.node + self.machine
    }

    /// Those in the same last-level cache.
    pub fn in_llc(&self) -> u64 {
        self.same + self.core + self.llc
    }
}

/// What a queue did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueReport {
    /// Items begun.
    pub executions: u64,
    /// The share of those that began in the last-level cache where they were queued, 0 to 1.
    pub local: f64,
    /// Those, by the distance from the CPU that queued them.
    pub from: Distances,
    /// From being queued to being begun, of items that threads and items queued without delay.
    pub wait: Span,
    /// Attempts to queue that were refused.
    pub refused: u64,
}

/// What a pool did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolReport {
    /// Its number.
    pub pool: u32,
    /// How it chooses.
    pub rule: String,
    /// Where its workers may run.
    pub cpus: String,
    /// Items begun.
    pub executions: u64,
    /// Of those, executed by who joined them.
    pub claimed: u64,
    /// The most workers at a time.
    pub max_workers: u32,
    /// The most workers at a time that slept in the middle of an item.
    pub max_blocked: u32,
    /// How often most workers were found to wait at one lock.
    pub convoys: u64,
    /// How often more workers were tried while that held growth back.
    pub probes: u64,
    /// How often that made items slower, and was undone.
    pub undone: u64,
}

/// What a lock has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LockReport {
    /// Times it was acquired.
    pub acquired: u64,
    /// Times somebody had to wait for it.
    pub contended: u64,
    /// The most threads that waited at a time.
    pub max_waiters: u32,
    /// Time in which somebody had it.
    pub held_ns: Nanos,
    /// Time that was waited for it, by all together.
    pub waited_ns: Nanos,
}

/// What a device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// Requests.
    pub served: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Time in which it served at least one.
    pub active_ns: Nanos,
    /// The most that waited for others at a time.
    pub max_queued: u32,
}

/// What the signals of user space did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SignalReport {
    /// Reports of canaries.
    pub reports: u64,
    /// Of those, lost ones.
    pub lost: u64,
    /// Rounds of the tick.
    pub ticks: u64,
    /// Workers that were looked at.
    pub looked_at: u64,
    /// Hints of items.
    pub hints: u64,
}

impl From<SignalStats> for SignalReport {
    fn from(stats: SignalStats) -> SignalReport {
        SignalReport {
            reports: stats.reports,
            lost: stats.lost,
            ticks: stats.ticks,
            looked_at: stats.looked_at,
            hints: stats.hints,
        }
    }
}

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The file.
    pub scenario: String,
    /// What it is about.
    pub about: Option<String>,
    /// What varies.
    pub axes: Vec<String>,
    /// Its runs.
    pub cells: Vec<Report>,
}

impl Span {
    /// Of so many times; they are sorted on the way.
    pub(crate) fn of(times: &mut [Nanos]) -> Span {
        times.sort_unstable();
        let count = times.len() as u64;
        let (Some(&min_ns), Some(&max_ns)) = (times.first(), times.last()) else {
            return Span::default();
        };
        let sum: u128 = times.iter().map(|&time| u128::from(time)).sum();
        // The nearest rank: the least one that so many are not longer than.
        let rank = |percent: u64| times[((count * percent).div_ceil(100) as usize).max(1) - 1];
        Span {
            count,
            mean_ns: (sum / u128::from(count)) as Nanos,
            min_ns,
            p50_ns: rank(50),
            p90_ns: rank(90),
            p99_ns: rank(99),
            max_ns,
        }
    }
}

/// A part of a whole; 0 of nothing. Only for reports: nothing is decided by it.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut times: Vec<Nanos> = (1..=200).rev().collect();
        let span = Span::of(&mut times);
        let expected = Span {
            count: 200,
            mean_ns: 100,
            min_ns: 1,
            p50_ns: 100,
            p90_ns: 180,
            p99_ns: 198,
            max_ns: 200,
        };
        assert_eq!(span, expected);
        assert_eq!(Span::of(&mut [7]).p50_ns, 7);
        assert_eq!(Span::of(&mut []), Span::default());
    }
}
