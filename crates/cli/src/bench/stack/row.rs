//! The figures of one setting.

use serde::Serialize;

use super::Setting;
use super::clients::Trips;
use crate::bench::stats::{median, percentile};
use crate::bench::table::aligned;

/// One run, or the medians of several. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) setting: &'static str,
    pub(super) clients: u32,
    pub(super) ops: u32,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) migrations_per_op: f64,
    pub(super) cpus_touched: usize,
    pub(super) ops_per_s: f64,
    pub(super) claimed_per_op: f64,
}

impl Row {
    pub(super) fn new(setting: Setting, clients: u32, mut trips: Trips) -> Row {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let all = trips.took.len() as f64;
        Row {
            setting: setting.name(),
            clients,
            ops: (trips.took.len() / clients as usize) as u32,
            p50_us: micros(percentile(&mut trips.took, 50)),
            p99_us: micros(percentile(&mut trips.took, 99)),
            migrations_per_op: trips.migrations as f64 / all,
            cpus_touched: trips.cpus,
            ops_per_s: all * 1e9 / trips.elapsed.max(1) as f64,
            claimed_per_op: 0.0,
        }
    }

    /// Medians, each figure by itself.
    pub(super) fn median(runs: &[&Row]) -> Row {
        let median = |figure: fn(&Row) -> f64| median(runs.iter().map(|row| figure(row)).collect());
        Row {
            p50_us: median(|row| row.p50_us),
            p99_us: median(|row| row.p99_us),
            migrations_per_op: median(|row| row.migrations_per_op),
            cpus_touched: median(|row| row.cpus_touched as f64) as usize,
            ops_per_s: median(|row| row.ops_per_s),
            claimed_per_op: median(|row| row.claimed_per_op),
            ..runs[0].clone()
        }
    }
}

const HEAD: [&str; 9] = [
    "setting",
    "clients",
    "p50 us",
    "p99 us",
    "moves/op",
    "CPUs",
    "ops/s",
    "claimed",
    "x ping-pong",
];

/// The table; the last column is p50 by that of the ping-pong.
pub(super) fn table(rows: &[Row]) -> String {
    let is_ping_pong = |row: &&Row| row.setting == Setting::PingPong.name();
    let ping_pong = rows.iter().find(is_ping_pong);
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| line(row, ping_pong)));
    aligned(&lines, 1)
}

fn line(row: &Row, ping_pong: Option<&Row>) -> [String; 9] {
    let times = match ping_pong {
        Some(of) => format!("{:.2}", row.p50_us / of.p50_us),
        None => "-".to_owned(),
    };
    [
        row.setting.to_owned(),
        row.clients.to_string(),
        format!("{:.1}", row.p50_us),
        format!("{:.1}", row.p99_us),
        format!("{:.4}", row.migrations_per_op),
        row.cpus_touched.to_string(),
        format!("{:.0}", row.ops_per_s),
        format!("{:.2}", row.claimed_per_op),
        times,
    ]
}
