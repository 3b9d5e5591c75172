//! What can be asked for.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::super::spec::name;

/// Limits that a queue can have.
const RANGE: std::ops::RangeInclusive<usize> = 1..=2_048;

/// Arguments of `cmwq bench limits`.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct LimitsArgs {
    /// Kind of queue: managed starts a worker where a CPU would idle, unmanaged all items at once
    #[arg(long, value_enum, default_value = "managed")]
    pub(super) kind: Kind,
    /// Settings of max_active to compare, 1 to 2048; none is a queue with no limit set
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "4,8,16,32,64,128,256,768,none"
    )]
    pub(super) limits: Vec<Limit>,
    /// Producers: threads that queue an item when one of their own ends
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) producers: u32,
    /// Items that each producer keeps in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) depth: u32,
    /// Seconds that the producers go on in each run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) seconds: u32,
    /// Queue this many items in each run, however long that takes
    #[arg(long, conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) items: Option<u64>,
    /// Runs of each setting; settings take turns. The table shows medians
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Where the scratch file is made, which never has a name there [default: the temporary
    /// directory]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Size of the scratch file in MiB, all of it written before each run; blocks go round in it
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(super) file_mib: u32,
    /// One JSON object per run and setting, one a line, as soon as it is measured
    #[arg(long)]
    pub(super) json: bool,
    /// Measure in this process, whose parent has this process id, and print the row
    #[arg(long, hide = true)]
    pub(super) child: Option<i32>,
}

impl LimitsArgs {
    /// Where the scratch file is made.
    pub(super) fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// The arguments of the process that measures `limit`.
    pub(super) fn of_child(&self, limit: Limit) -> Vec<OsString> {
        let mut words = vec!["limits".into()];
        let mut add = |name: &str, value: String| words.extend([name.into(), value.into()]);
        add("--kind", name(self.kind));
        add("--limits", limit.to_string());
        add("--producers", self.producers.to_string());
        add("--depth", self.depth.to_string());
        match self.items {
            Some(items) => add("--items", items.to_string()),
            None => add("--seconds", self.seconds.to_string()),
        }
        add("--file-mib", self.file_mib.to_string());
        words.extend(["--dir".into(), self.dir().into_os_string()]);
        words
    }
}

/// Kind of queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Its pools keep as many items running as CPUs serve.
    Managed,
    /// Every item that the limit lets through starts at once, as the kernel's unbound queues do.
    Unmanaged,
}

/// What `max_active` is set to; None leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Limit(pub(super) Option<usize>);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => limit.fmt(f),
            None => "none".fmt(f),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "none" => Ok(Limit(None)),
            Ok(limit) if RANGE.contains(&limit) => Ok(Limit(Some(limit))),
            _ => Err(format!(
                "limit {text:?} is neither none nor {} to {}",
                RANGE.start(),
                RANGE.end()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_back_as_written() {
        for text in ["1", "768", "2048", "none"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_limits_are_named() {
        for text in ["0", "2049", "-1", "many", ""] {
            let error = text.parse::<Limit>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
