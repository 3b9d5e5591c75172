//! What the engine says of itself after a run.

use serde::{Deserialize, Serialize};

/// Counters of the measuring process since its start, in JSON's order of keys. Their meaning is
/// that of [`cmwq::Stats`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Engine {
    pub(super) tick_cpu_s: f64,
    pub(super) canary_reports: u64,
    pub(super) canary_starts: u64,
    pub(super) ticks: u64,
    pub(super) tick_starts: u64,
    pub(super) peak_workers: usize,
    pub(super) step_backs: u64,
    pub(super) convoy_step_backs: u64,
}

impl Engine {
    pub(super) fn now() -> Engine {
        let stats = cmwq::stats();
        Engine {
            tick_cpu_s: stats.tick_cpu_ns as f64 / 1e9,
            canary_reports: stats.canary_reports,
            canary_starts: stats.canary_starts,
            ticks: stats.ticks,
            tick_starts: stats.tick_starts,
            peak_workers: stats.peak_workers,
            step_backs: stats.step_backs,
            convoy_step_backs: stats.convoy_step_backs,
        }
    }
}
