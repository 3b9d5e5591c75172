//! `cmwq bench`: what a pool makes of items that compute, wait, convoy and meet, beside the lower
//! bound that any pool has.
//!
//! `mix` measures pools, `items` what an empty item costs, `limits` the limits of a queue, `stack`
//! where waiters wake up, `job` multithreaded jobs; `scale` simulates larger machines. Each pool or
//! limit is measured in a process of its own, so that threads, peaks and resource usage of one
//! cannot leak into the figures of the next.

mod canaries;
mod clock;
mod engine;
mod execute;
mod hogs;
mod items;
mod jobs;
mod limits;
mod parent;
mod pipes;
mod plan;
mod pools;
mod process;
mod record;
mod row;
mod run;
mod scale;
mod spec;
mod stack;
mod stats;
mod table;
mod usage;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use spec::{PoolSpec, Work};

/// Arguments of `cmwq bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Run one kind of work on one or more pools and compare the time with the lower bound
    Mix(MixArgs),
    /// Queue empty items in several ways and compare what each costs, in time, CPU and switches
    Items(items::ItemsArgs),
    /// Compare limits of a queue (max_active), and none, over items that queue up at one lock
    Limits(limits::LimitsArgs),
    /// Clients that wait for items on their own CPU: do they stay there, and what does a round trip
    /// take
    Stack(stack::StackArgs),
    /// Measure multithreaded jobs: what a foreground beside one feels, what its end takes, its
    /// speed-up
    Job(jobs::JobArgs),
    /// Simulate what lines that CPUs share cost from 1 to 256 CPUs, beside models of other pools
    Scale(scale::ScaleArgs),
    /// Compute, then sleep: one job of a job set
    #[command(hide = true)]
    Burn(BurnArgs),
    /// Compute until the parent dies: the foreign load of `--work foreign`
    #[command(hide = true)]
    Hog(HogArgs),
}

/// Arguments of `cmwq bench mix`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MixArgs {
    /// Kind of work item
    #[arg(long, value_enum)]
    work: Work,
    /// Pools to measure: cmwq, fixed:N, sweep (fixed 1, 2, 4 ... 256), and with the feature `peers`
    /// rayon, tokio (spawn_blocking), tokio-spawn
    #[arg(long = "pool", value_delimiter = ',', default_value = "cmwq")]
    pools: Vec<PoolSpec>,
    /// Number of items [default: 600, long: 8]; barrier rounds up to groups of 64, long stops at 8
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    items: Option<u32>,
    /// One JSON object per pool, one a line
    #[arg(long)]
    json: bool,
    /// Measure the whole list of pools this many times
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Give each pool all items twice, and measure the second time: it has the threads then that it
    /// made for the first
    #[arg(long, conflicts_with = "processes")]
    warm_up: bool,
    /// Measure each pool in this many processes that begin together, and show a row of each
    #[arg(long, hide = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    processes: u32,
    /// CLOCK_MONOTONIC time, in ns, at which the run begins: lets two processes begin together
    #[arg(long, hide = true)]
    start_at: Option<u64>,
    /// Measure in this process, whose parent has this process id, and print the row
    #[arg(long, hide = true)]
    child: Option<i32>,
}

#[derive(Debug, Args)]
struct BurnArgs {
    /// Milliseconds of CPU time and of sleep, as CPU+SLEEP
    #[arg(value_parser = parse_job)]
    times: (u32, u32),
}

#[derive(Debug, Args)]
struct HogArgs {
    /// Process id of the parent, to notice when it has died already
    #[arg(long)]
    parent: i32,
}

/// Carries out `cmwq bench`. Status 0, 1 when a measurement failed, 2 for arguments that cannot be.
pub(crate) fn command(args: BenchArgs) -> ExitCode {
    match args.command {
        BenchCommand::Mix(mix) => parent::finish(match mix.child {
            Some(parent) => run::child(&mix, parent),
            None => parent::measure_all(&mix),
        }),
        BenchCommand::Items(items) => parent::finish(items::run(&items)),
        BenchCommand::Limits(limits) => parent::finish(limits::run(&limits)),
        BenchCommand::Stack(stack) => parent::finish(stack::run(&stack)),
        BenchCommand::Job(job) => parent::finish(jobs::run(&job)),
        BenchCommand::Scale(scale) => parent::finish(scale::run(&scale)),
        BenchCommand::Burn(job) => burn(job.times),
        BenchCommand::Hog(hog) => hogs::hog_main(hog.parent),
    }
}

fn burn((cpu_ms, sleep_ms): (u32, u32)) -> ExitCode {
    clock::burn(u64::from(cpu_ms) * clock::MS);
    clock::sleep(u64::from(sleep_ms) * clock::MS);
    ExitCode::SUCCESS
}

fn parse_job(text: &str) -> Result<(u32, u32), String> {
    let parsed = text
        .split_once('+')
        .and_then(|(cpu, sleep)| Some((cpu.parse().ok()?, sleep.parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?} is not CPU+SLEEP in milliseconds, such as 20+180"))
}
