//! The rows of `cmwq bench mix`, and the medians of their figures.

use serde::Deserialize;

/// A row of `cmwq bench mix`. See its help for the meaning of the figures.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Row {
    pub(super) work: String,
    pub(super) pool: String,
    pub(super) items: usize,
    pub(super) bound_s: f64,
    pub(super) elapsed_s: f64,
    pub(super) item_p50_ms: f64,
    pub(super) item_p99_ms: f64,
    pub(super) sojourn_p99_ms: f64,
    pub(super) peak_runnable: usize,
    pub(super) peak_threads: usize,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) cpu_s: f64,
    pub(super) hog_share: Option<f64>,
    pub(super) backlog_s: Option<f64>,
    pub(super) cmwq: Option<Engine>,
}

/// What the engine said of itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Engine {
    pub(super) tick_cpu_s: f64,
}

/// Each value once, in the order in which they came first.
pub(super) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Rows of several runs of each pool.
#[derive(Debug, Default)]
pub(super) struct Runs(pub(super) Vec<Row>);

impl Runs {
    pub(super) fn works(&self) -> Vec<&str> {
        distinct(self.0.iter().map(|row| row.work.as_str()))
    }

    fn pools(&self, work: &str) -> Vec<&str> {
        distinct(
            self.0
                .iter()
                .filter(|row| row.work == work)
                .map(|row| row.pool.as_str()),
        )
    }

    /// The median of each figure over the runs of one pool.
    pub(super) fn of(&self, work: &str, pool: &str) -> Option<Row> {
        let rows: Vec<&Row> = self
            .0
            .iter()
            .filter(|row| row.work == work && row.pool == pool)
            .collect();
        medians(&rows)
    }

    fn sweep(&self, work: &str) -> impl Iterator<Item = Row> {
        let fixed = self
            .pools(work)
            .into_iter()
            .filter(|pool| pool.starts_with("fixed:"));
        fixed.filter_map(|pool| self.of(work, pool))
    }

    /// The fixed pool with the least of `figure`.
    pub(super) fn least(&self, work: &str, figure: impl Fn(&Row) -> f64) -> Option<Row> {
        self.sweep(work)
            .min_by(|a, b| figure(a).total_cmp(&figure(b)))
    }

    /// The fastest fixed pool.
    pub(super) fn best(&self, work: &str) -> Option<Row> {
        self.least(work, |row| row.elapsed_s)
    }
}

fn medians(rows: &[&Row]) -> Option<Row> {
    let float = |figure: fn(&Row) -> f64| median(rows.iter().map(|row| figure(row)).collect());
    let count = |figure: fn(&Row) -> u64| median(rows.iter().map(|row| figure(row)).collect());
    let size = |figure: fn(&Row) -> usize| median(rows.iter().map(|row| figure(row)).collect());
    let first = rows.first()?;
    Some(Row {
        work: first.work.clone(),
        pool: first.pool.clone(),
        items: first.items,
        bound_s: first.bound_s,
        elapsed_s: float(|row| row.elapsed_s)?,
        item_p50_ms: float(|row| row.item_p50_ms)?,
        item_p99_ms: float(|row| row.item_p99_ms)?,
        sojourn_p99_ms: float(|row| row.sojourn_p99_ms)?,
        peak_runnable: size(|row| row.peak_runnable)?,
        peak_threads: size(|row| row.peak_threads)?,
        voluntary_switches: count(|row| row.voluntary_switches)?,
        involuntary_switches: count(|row| row.involuntary_switches)?,
        cpu_s: float(|row| row.cpu_s)?,
        hog_share: median(rows.iter().filter_map(|row| row.hog_share).collect()),
        backlog_s: median(rows.iter().filter_map(|row| row.backlog_s).collect()),
        cmwq: median(
            rows.iter()
                .filter_map(|row| Some(row.cmwq.as_ref()?.tick_cpu_s))
                .collect(),
        )
        .map(|tick_cpu_s| Engine { tick_cpu_s }),
    })
}

/// The middle one; of an even number the upper middle.
pub(super) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row with bound 1 s.
    pub(in super::super) fn row(work: &str, pool: &str, elapsed_s: f64) -> Row {
        Row {
            work: work.into(),
            pool: pool.into(),
            items: 600,
            bound_s: 1.0,
            elapsed_s,
            ..Row::default()
        }
    }

    #[test]
    fn medians_are_of_one_pool() {
        let runs = Runs([3.0, 9.0, 1.0].map(|s| row("cpu", "cmwq", s)).into());
        assert_eq!(runs.of("cpu", "cmwq").unwrap().elapsed_s, 3.0);
        assert!(runs.of("cpu", "rayon").is_none());
        assert!(runs.of("block", "cmwq").is_none());
    }

    #[test]
    fn the_best_of_a_sweep_is_by_median_and_never_ours() {
        let rows = [
            ("cmwq", 0.5),
            ("fixed:1", 1.0),
            ("fixed:1", 9.0),
            ("fixed:1", 8.0),
            ("fixed:2", 2.0),
        ];
        let runs = Runs(rows.map(|(pool, s)| row("cpu", pool, s)).into());
        assert_eq!(runs.best("cpu").unwrap().pool, "fixed:2");
    }
}
