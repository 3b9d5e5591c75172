//! One pool's figures: as JSON, and as a line of the table.

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::table::aligned;

/// The figures of one pool on one kind of work. Keys are the JSON's, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) work: String,
    pub(super) pool: String,
    pub(super) items: usize,
    /// Seconds that no pool can beat, were the CPUs its own.
    pub(super) bound_s: f64,
    pub(super) elapsed_s: f64,
    /// bound / elapsed.
    pub(super) ratio: f64,
    /// Start to end.
    pub(super) item_p50_ms: f64,
    pub(super) item_p99_ms: f64,
    /// From when the item was to be queued to its end.
    pub(super) sojourn_p99_ms: f64,
    /// How many times longer than alone the hogs take for their work.
    pub(super) hog_slowdown: Option<f64>,
    pub(super) peak_runnable: usize,
    pub(super) peak_threads: usize,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) cpu_s: f64,
    /// Part of the machine that the hogs had, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hog_share: Option<f64>,
    /// Seconds until the last item was started: how long there was backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) backlog_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cmwq: Option<Engine>,
    /// Only in a sweep: whether this is the fastest of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) best: Option<bool>,
}

/// `ns` in seconds, to the microsecond.
pub(super) fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
}

/// `ns` in milliseconds, to the microsecond.
pub(super) fn millis(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

/// A quotient to four places.
pub(super) fn quotient(of: f64, by: f64) -> f64 {
    (of / by * 1e4).round() / 1e4
}

const HEADER: [&str; 16] = [
    "work",
    "pool",
    "items",
    "bound_s",
    "elapsed_s",
    "ratio",
    "item_p50_ms",
    "item_p99_ms",
    "sojourn_p99_ms",
    "hog_slowdown",
    "peak_runnable",
    "peak_threads",
    "voluntary_switches",
    "involuntary_switches",
    "cpu_s",
    "hog_share",
];

impl Row {
    fn cells(&self) -> [String; HEADER.len()] {
        [
            self.work.clone(),
            self.pool_label(),
            self.items.to_string(),
            format!("{:.4}", self.bound_s),
            format!("{:.4}", self.elapsed_s),
            format!("{:.3}", self.ratio),
            format!("{:.3}", self.item_p50_ms),
            format!("{:.3}", self.item_p99_ms),
            format!("{:.3}", self.sojourn_p99_ms),
            or_dash(self.hog_slowdown),
            self.peak_runnable.to_string(),
            self.peak_threads.to_string(),
            self.voluntary_switches.to_string(),
            self.involuntary_switches.to_string(),
            format!("{:.3}", self.cpu_s),
            or_dash(self.hog_share),
        ]
    }

    fn pool_label(&self) -> String {
        match self.best {
            Some(true) => format!("sweep={}", self.pool),
            _ => self.pool.clone(),
        }
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// The table of `rows`, with its header and a line that says what a bound is.
pub(super) fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let mut text = aligned(&lines, 2);
    text.push_str(
        "bound_s: the time no pool can beat on these CPUs, from the CPU time of the items and what \
         they wait for, with no foreign load; ratio = bound / elapsed\n",
    );
    text
}
