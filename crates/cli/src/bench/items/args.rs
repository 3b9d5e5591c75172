//! What can be asked for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::super::spec::name;

/// Arguments of `cmwq bench items`.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct ItemsArgs {
    /// Pools to measure [default: all in this binary; rayon, tokio (spawn_blocking) and threadpool
    /// need the feature `peers`]
    #[arg(long = "pool", value_enum, value_delimiter = ',', hide_default_value = true,
        default_values_t = Contender::value_variants().to_vec())]
    pub(super) pools: Vec<Contender>,
    /// Who queues the items [default: all]
    #[arg(long = "shape", value_enum, value_delimiter = ',', hide_default_value = true,
        default_values_t = Shape::value_variants().to_vec())]
    pub(super) shapes: Vec<Shape>,
    /// Items of each run, except those of `trip`
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub(super) items: u32,
    /// Round trips of each run of `trip`
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub(super) trips: u32,
    /// Items, or round trips, that each run begins with and does not count [default: a quarter]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    warm_up: Option<u32>,
    /// Nanoseconds that each item spins, by the clock
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) spin: u32,
    /// Runs of each pool and shape; pools take turns. The tables show medians
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: u32,
    /// One JSON object per run, one a line, instead of the tables; beside them if FILE is named
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<Option<PathBuf>>,
    /// Measure in this process, whose parent has this process id, and print the row
    #[arg(long, hide = true)]
    pub(super) child: Option<i32>,
}

impl ItemsArgs {
    /// Items that a run of `shape` counts.
    pub(super) fn counted(&self, shape: Shape) -> usize {
        let counted = match shape {
            Shape::Trip => self.trips,
            _ => self.items,
        };
        counted as usize
    }

    /// Items that a run of `shape` begins with.
    pub(super) fn warm_up(&self, shape: Shape) -> usize {
        let given = self.warm_up.map(|items| items as usize);
        given.unwrap_or_else(|| self.counted(shape) / 4)
    }

    /// The arguments of the process that measures one pool and one shape.
    pub(super) fn of_child(&self, pool: Contender, shape: Shape) -> Vec<String> {
        let mut words = vec!["items".to_owned()];
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--pool", name(pool));
        add("--shape", name(shape));
        add("--items", self.items.to_string());
        add("--trips", self.trips.to_string());
        add("--warm-up", self.warm_up(shape).to_string());
        add("--spin", self.spin.to_string());
        words
    }
}

/// A pool, and the kind of item that it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Contender {
    /// `Workqueue::spawn`, its handle dropped.
    Cmwq,
    /// `Work`, made beforehand and queued again: nothing is allocated.
    CmwqWork,
    /// `Workqueue::spawn` on a queue whose items begin in the order of queueing.
    CmwqFifo,
    /// `ThreadPool::spawn`, one thread for each CPU.
    #[cfg(feature = "peers")]
    Rayon,
    /// `Runtime::spawn_blocking`.
    #[cfg(feature = "peers")]
    Tokio,
    /// `ThreadPool::execute`, one thread for each CPU.
    #[cfg(feature = "peers")]
    Threadpool,
}

/// Who queues the items, and what is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// A thread that is no worker queues all items
    Outside,
    /// Two such threads queue half of them each
    Outside2,
    /// One item queues all others
    Inside,
    /// Each item queues the next
    Chain,
    /// A thread queues one item and waits for its message
    Trip,
}
