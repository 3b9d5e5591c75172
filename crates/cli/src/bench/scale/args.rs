//! What can be asked for.

use clap::{Args, ValueEnum};
use cmwq_sim::scale::{self, Cell, Design, Hardware};

const AFTER: &str = "\
The constants, where each comes from, and how far the model is from two real CPUs:
docs/contributing/simulation.md of the sources.";

/// Arguments of `cmwq bench scale`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = AFTER)]
pub(in super::super) struct ScaleArgs {
    /// CPUs of the machines: caches of 8, two nodes from 64 on
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024),
        default_values_t = [1, 2, 4, 8, 16, 32, 64, 128, 256])]
    cpus: Vec<u32>,
    /// Nanoseconds that an item computes
    #[arg(long, value_name = "NS", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(0..=10_000_000),
        default_values_t = [0, 1_000, 10_000, 100_000])]
    item: Vec<u64>,
    /// Who queues the items
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Shape::Outside, Shape::Inside])]
    shape: Vec<Shape>,
    /// The pools [default: all]
    #[arg(long = "pool", value_enum, value_delimiter = ',', hide_default_value = true,
        default_values_t = Pool::value_variants().to_vec())]
    pools: Vec<Pool>,
    /// Threads that queue from outside [default: one for four CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    producers: Option<u64>,
    /// Nanoseconds that a cache line takes from one CPU to another: in a cache, a node, the machine
    #[arg(long, value_name = "NS,NS,NS", value_parser = parse_trips)]
    trip: Option<[u64; 3]>,
    /// Items of each run [default: as many as 10 ms need at best, with a limit]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    items: Option<u64>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// One JSON object per run, one a line, instead of the tables
    #[arg(long)]
    pub(super) json: bool,
}

/// Who queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// Threads that are no workers
    Outside,
    /// Each item queues two more
    Inside,
    /// One item queues all others
    Root,
}

/// A pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Pool {
    /// This project as it is: its rules on a simulated machine
    Cmwq,
    /// The same with a queue whose items begin in the order of queueing
    Fifo,
    /// A model of this project at commit 8f19024: one lock, twice an item
    OneLock,
    /// A model of `rayon::spawn`
    Rayon,
    /// A model of deques alone, as under `rayon::join`
    Deques,
    /// A model of what is planned: a lane and a batch for each last-level cache
    Batches,
}

impl Pool {
    fn design(self) -> Design {
        match self {
            Pool::Cmwq => Design::Cmwq,
            Pool::Fifo => Design::Fifo,
            Pool::OneLock => Design::OneLock,
            Pool::Rayon => Design::Rayon,
            Pool::Deques => Design::Deques,
            Pool::Batches => Design::Batches,
        }
    }

    /// Items of a run at most: those that let few items a second pass need fewer.
    fn most(self, shape: scale::Shape) -> u64 {
        match (self, shape) {
            (Pool::Deques, scale::Shape::Inside) | (Pool::Batches, _) => 1_000_000,
            _ => 100_000,
        }
    }
}

impl ScaleArgs {
    /// All that is simulated: shape by shape, item by item, machine by machine, pool by pool.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &shape in &self.shape {
            for &item in &self.item {
                for &cpus in &self.cpus {
                    cells.extend(
                        self.pools
                            .iter()
                            .map(|&pool| self.cell(shape, item, cpus, pool)),
                    );
                }
            }
        }
        cells
    }

    fn cell(&self, shape: Shape, item: u64, cpus: u32, pool: Pool) -> Cell {
        let producers = || self.producers.unwrap_or(u64::from(cpus).div_ceil(4));
        let shape = match shape {
            Shape::Outside => scale::Shape::Outside(producers()),
            Shape::Inside => scale::Shape::Inside,
            Shape::Root => scale::Shape::Root,
        };
        let at_best = u64::from(cpus) * 10_000_000 / (item + 200);
        let items = at_best.clamp(1_000, pool.most(shape));
        Cell {
            design: pool.design(),
            shape,
            topology: scale::machine(cpus),
            hardware: self.hardware(),
            item,
            items: self.items.unwrap_or(items),
            seed: self.seed,
        }
    }

    fn hardware(&self) -> Hardware {
        match self.trip {
            Some([cache, node, machine]) => Hardware::with_trips(cache, node, machine),
            None => Hardware::large(),
        }
    }
}

fn parse_trips(text: &str) -> Result<[u64; 3], String> {
    let parsed: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    let trips = parsed.ok().and_then(|trips| trips.try_into().ok());
    trips.ok_or_else(|| format!("{text:?} is not three times in nanoseconds, such as 40,100,140"))
}
