//! The medians of each runner's rows.

use super::{Peak, Row};

/// What one runner needed for one set, pairs left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Median {
    pub(super) runner: String,
    pub(super) elapsed_s: f64,
    pub(super) peak: Peak,
    pub(super) given_up: bool,
}

/// The fastest of the runners whose names begin with `kind`.
pub(super) fn best(medians: &[Median], kind: &str) -> Option<Median> {
    let of_kind = medians
        .iter()
        .filter(|median| median.runner.starts_with(kind));
    of_kind
        .min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s))
        .cloned()
}

/// A median for each runner of `set`, by name.
pub(super) fn medians(rows: &[Row], set: &str) -> Vec<Median> {
    let of_set = rows.iter().filter(|row| row.set == set && !row.paired);
    let of_set: Vec<&Row> = of_set.collect();
    let mut names: Vec<&str> = of_set.iter().map(|row| row.runner.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let one = |name: &&str| {
        let runs: Vec<&Row> = of_set
            .iter()
            .copied()
            .filter(|row| row.runner == **name)
            .collect();
        let peak = runs.iter().find_map(|row| row.peak);
        Median {
            runner: (*name).to_owned(),
            elapsed_s: median_time(&runs),
            peak: peak.unwrap_or_default(),
            given_up: runs.iter().any(|row| row.given_up),
        }
    };
    names.iter().map(one).collect()
}

/// The median of the runs without looks. A runner with no such run has the time of the other one.
fn median_time(runs: &[&Row]) -> f64 {
    let timed = runs.iter().filter(|row| row.peak.is_none());
    let mut times: Vec<f64> = timed.map(|row| row.elapsed_s).collect();
    if times.is_empty() {
        times = runs.iter().map(|row| row.elapsed_s).collect();
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
