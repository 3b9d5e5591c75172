//! `cmwq bench stack`: does a client that waits for an item on its own CPU stay there?
//!
//! The shape is that of dbench on XFS (kernel 5.6, "Allow a per-CPU kthread waking a task to stack
//! on the same CPU"): each client queues an item on a per-CPU queue and waits for it, over and
//! over. The worker is bound to the client's CPU; the client is not. The same with a managed queue,
//! whose items the clients claim (`Stacking::Claim`) or do not. Beside it a ping-pong of two
//! threads by futexes on one CPU: what the kernel itself takes for such a round trip.

mod clients;
mod measure;
mod ping_pong;
mod row;

use clap::Args;

use super::parent::Failure;

/// Arguments of `cmwq bench stack`.
#[derive(Debug, Clone, Args)]
pub(in crate::bench) struct StackArgs {
    /// Clients at a time, in the order to measure [default: 1, the CPUs, twice as many]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: Vec<u32>,
    /// Round trips of each client in each run
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    ops: u32,
    /// Microseconds that each item computes
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    work_us: u32,
    /// Microseconds that each item sleeps after that
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    sleep_us: u32,
    /// Runs of each setting; settings take turns. The table shows medians
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// One JSON object per run, one a line
    #[arg(long)]
    json: bool,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// Two threads on one CPU, by futexes, without cmwq.
    PingPong,
    /// A per-CPU queue whose waiters go where the scheduler puts them.
    Unstacked,
    /// A per-CPU queue whose waiters stay.
    Stacked,
    /// A managed queue whose items are not claimed: what the next one is to be compared with.
    Unclaimed,
    /// A managed queue whose waiters execute what they wait for, where no worker has begun it.
    Claimed,
}

impl Setting {
    const ALL: [Setting; 5] = [
        Setting::PingPong,
        Setting::Unstacked,
        Setting::Stacked,
        Setting::Unclaimed,
        Setting::Claimed,
    ];

    fn name(self) -> &'static str {
        match self {
            Setting::PingPong => "ping-pong",
            Setting::Unstacked => "unstacked",
            Setting::Stacked => "stacked",
            Setting::Unclaimed => "unclaimed",
            Setting::Claimed => "claimed",
        }
    }
}

/// What an item does, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Item {
    work: u64,
    sleep: u64,
}

impl Item {
    fn execute(self) {
        if self.work > 0 {
            super::clock::burn(self.work);
        }
        if self.sleep > 0 {
            super::clock::sleep(self.sleep);
        }
    }
}

pub(super) fn run(args: &StackArgs) -> Result<(), Failure> {
    measure::run(args)
}
