//! What can be asked for: kinds of work and pools, and the errors of asking for what cannot be.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// Items of one barrier group: a pool with fewer threads than this hangs in `barrier`.
pub(super) const BARRIER_GROUP: usize = 64;
/// Items of `long` at most: eight seconds of computing.
const LONG_ITEMS: usize = 8;
/// Threads that tokio's blocking pool may grow to when nothing is configured.
const TOKIO_BLOCKING_THREADS: usize = 512;

/// Kind of work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Work {
    /// 0.5 ms CPU, 5 ms sleep, 0.5 ms CPU
    Block,
    /// 3 ms CPU
    Cpu,
    /// One third cpu, two thirds block
    Mixed,
    /// block items in bursts of 24 each 20 ms
    Burst,
    /// 0.5 ms CPU, a blocking read from a pipe, 0.5 ms CPU
    Pipe,
    /// 0.3 ms CPU, 1 ms sleep under one shared mutex, 0.3 ms CPU
    Lock,
    /// 0.5 ms CPU, meet 63 others, 0.5 ms CPU
    Barrier,
    /// 1 s CPU
    Long,
    /// cpu over 8 queues with 8 different attribute sets
    Multi,
    /// mixed beside as many CPU hogs of the same cgroup as there are CPUs
    Foreign,
    /// Items that sleep 8 s, a fifth as many cpu items behind them, beside hogs
    #[value(hide = true)]
    Asleep,
}

impl Work {
    pub(super) fn name(self) -> String {
        name(self)
    }

    /// How many items are run when `asked` were asked for.
    pub(super) fn items(self, asked: Option<u32>) -> usize {
        let asked = asked.map(|n| n as usize);
        match self {
            Work::Long => asked.unwrap_or(LONG_ITEMS).min(LONG_ITEMS),
            Work::Barrier => asked.unwrap_or(600).next_multiple_of(BARRIER_GROUP),
            _ => asked.unwrap_or(600),
        }
    }

    /// Whether CPU hogs run beside the items.
    pub(super) fn has_hogs(self) -> bool {
        matches!(self, Work::Foreign | Work::Asleep)
    }

    /// Queues that the items are spread over.
    pub(super) fn queues(self) -> usize {
        if self == Work::Multi { 8 } else { 1 }
    }
}

/// A value of an option, as it is written in arguments.
pub(super) fn name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no value is skipped");
    value.get_name().to_owned()
}

/// A pool as named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolSpec {
    Cmwq,
    Fixed(usize),
    Sweep,
    Rayon,
    Tokio,
    TokioSpawn,
}

impl fmt::Display for PoolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolSpec::Cmwq => f.write_str("cmwq"),
            PoolSpec::Fixed(n) => write!(f, "fixed:{n}"),
            PoolSpec::Sweep => f.write_str("sweep"),
            PoolSpec::Rayon => f.write_str("rayon"),
            PoolSpec::Tokio => f.write_str("tokio"),
            PoolSpec::TokioSpawn => f.write_str("tokio-spawn"),
        }
    }
}

impl FromStr for PoolSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(count) = text.strip_prefix("fixed:") {
            return parse_threads(count).map(PoolSpec::Fixed);
        }
        match text {
            "cmwq" => Ok(PoolSpec::Cmwq),
            "sweep" => Ok(PoolSpec::Sweep),
            "rayon" => Ok(PoolSpec::Rayon),
            "tokio" => Ok(PoolSpec::Tokio),
            "tokio-spawn" => Ok(PoolSpec::TokioSpawn),
            _ => Err(format!(
                "unknown pool {text:?}: cmwq, fixed:N, sweep, rayon, tokio, tokio-spawn"
            )),
        }
    }
}

fn parse_threads(count: &str) -> Result<usize, String> {
    match count.parse() {
        Ok(n @ 1..=4096) => Ok(n),
        _ => Err(format!(
            "fixed:{count}: the number of threads must be 1 to 4096"
        )),
    }
}

impl PoolSpec {
    /// The pools that are measured for this one: `sweep` is nine, or those that do not hang.
    pub(super) fn expand(self, work: Work) -> Vec<PoolSpec> {
        let least = if work == Work::Barrier {
            BARRIER_GROUP
        } else {
            1
        };
        match self {
            PoolSpec::Sweep => (0..=8)
                .map(|shift| 1 << shift)
                .filter(|&n| n >= least)
                .map(PoolSpec::Fixed)
                .collect(),
            one => vec![one],
        }
    }

    fn is_peer(self) -> bool {
        matches!(
            self,
            PoolSpec::Rayon | PoolSpec::Tokio | PoolSpec::TokioSpawn
        )
    }

    /// Threads the pool may have at most, where that is a number.
    fn most_threads(self, cpus: usize) -> Option<usize> {
        match self {
            PoolSpec::Cmwq | PoolSpec::Sweep => None,
            PoolSpec::Fixed(n) => Some(n),
            PoolSpec::Rayon | PoolSpec::TokioSpawn => Some(cpus),
            PoolSpec::Tokio => Some(TOKIO_BLOCKING_THREADS),
        }
    }

    /// Refuses what this binary lacks and what would never end.
    pub(super) fn check(self, work: Work, cpus: usize) -> Result<(), String> {
        if self.is_peer() && !cfg!(feature = "peers") {
            return Err(format!(
                "pool {self} is not in this binary: build it with `--features peers`"
            ));
        }
        match self.most_threads(cpus) {
            Some(n) if work == Work::Barrier && n < BARRIER_GROUP => Err(format!(
                "pool {self} has {n} threads: work barrier needs {BARRIER_GROUP}, with fewer it never ends"
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_read_back_as_written() {
        for text in ["cmwq", "fixed:7", "sweep", "rayon", "tokio", "tokio-spawn"] {
            assert_eq!(text.parse::<PoolSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_pools_are_named() {
        for text in ["fixed:0", "fixed:x", "fixed:", "fixed:9999", "fixes"] {
            let error = text.parse::<PoolSpec>().unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn sweep_leaves_out_what_hangs() {
        assert_eq!(PoolSpec::Sweep.expand(Work::Block).len(), 9);
        let barrier = PoolSpec::Sweep.expand(Work::Barrier);
        assert_eq!(barrier, [64, 128, 256].map(PoolSpec::Fixed));
        for pool in barrier {
            assert_eq!(pool.check(Work::Barrier, 2), Ok(()));
        }
        assert!(
            PoolSpec::Fixed(63)
                .check(Work::Barrier, 2)
                .unwrap_err()
                .contains("fixed:63")
        );
    }

    #[test]
    fn item_counts_follow_the_work() {
        assert_eq!(Work::Long.items(Some(600)), 8);
        assert_eq!(Work::Long.items(Some(3)), 3);
        assert_eq!(Work::Barrier.items(Some(65)), 128);
        assert_eq!(Work::Block.items(Some(65)), 65);
        assert_eq!(Work::Block.items(None), 600);
    }
}
