//! What can be asked for.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// Arguments of `cmwq bench job`.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct JobArgs {
    /// What to measure
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "beside,tail,idle"
    )]
    pub(super) parts: Vec<Part>,
    /// Foregrounds of `beside`; stress-ng is left out where it is not installed
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "multiply,pages,stress-ng"
    )]
    pub(super) loads: Vec<Load>,
    /// Seconds that a foreground, and a job of `tail` on a CPU of its own, take alone, about
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) seconds: u32,
    /// Runs of each setting; settings take turns. The tables show medians
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// One JSON object per run and setting, one a line, as soon as it is measured
    #[arg(long)]
    pub(super) json: bool,
    /// Measure in this process, whose parent has this process id
    #[arg(long, hide = true)]
    pub(super) child: Option<i32>,
    /// What this process does
    #[arg(long, hide = true, value_enum)]
    pub(super) role: Option<Role>,
    /// Who helps
    #[arg(long, hide = true, value_enum, default_value = "none")]
    pub(super) helpers: Helpers,
    /// What `idle` is done by
    #[arg(long, hide = true, value_enum, default_value = "loop")]
    pub(super) by: By,
    /// Units of work for each thread
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) units: usize,
}

impl JobArgs {
    /// The kind of work of a process that measures.
    pub(super) fn load(&self) -> Load {
        self.loads.first().copied().unwrap_or(Load::Multiply)
    }
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// A foreground beside a job.
    Beside,
    /// The end of a job beside full foreign load.
    Tail,
    /// A job on an idle machine.
    Idle,
}

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Load {
    /// Integer multiplications in a loop.
    Multiply,
    /// Fresh memory, a page after the other: the kernel clears them.
    Pages,
    /// The program of that name, its ackermann function.
    StressNg,
}

/// Who helps the caller of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Helpers {
    /// Nobody: the caller is alone.
    None,
    /// Helpers at nice 19, as jobs have them.
    Nice19,
    /// The same, in a process that may not lift them.
    Nice19Unlifted,
    /// Helpers as nice as the caller.
    Nice0,
    /// Helpers that run only where nothing else does.
    SchedIdle,
}

/// What goes through the billion steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    /// A plain loop on one thread.
    Loop,
    /// A job that may have one thread.
    JobOfOne,
    /// A job.
    Job,
    /// A job with adaptive chunks.
    JobAdaptive,
    /// rayon's `par_chunks`.
    #[cfg(feature = "peers")]
    Rayon,
}

/// What a process that measures does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    Foreground,
    Background,
    Tail,
    Idle,
}
