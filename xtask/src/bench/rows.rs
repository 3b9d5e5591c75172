//! The kept JSON lines, read back, and the medians of their figures.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::limits;

/// The file that says where the others were measured.
pub(super) const MACHINE: &str = "machine.jsonl";

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

/// One run of the job set.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct JobRun {
    pub(super) runner: String,
    pub(super) bound_s: f64,
    pub(super) elapsed_s: f64,
}

/// Where it was measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Machine {
    /// CPUs that the measured command could use.
    pub(super) cpus: usize,
    /// Release of the kernel.
    pub(super) kernel: String,
}

/// All that was kept.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) machine: Machine,
    /// Rows with 600 and with 60 items.
    pub(super) many: Runs,
    pub(super) few: Runs,
    pub(super) long: Runs,
    pub(super) asleep: Runs,
    /// Two rows for each run: two processes at once.
    pub(super) pair: Runs,
    pub(super) jobs: Vec<JobRun>,
    pub(super) limits: Vec<limits::Row>,
}

impl Figures {
    /// Reads what is in `dir`; a file that is not there has no rows.
    pub(super) fn load(dir: &Path) -> Result<Figures, String> {
        let runs = |name: &str| lines(&dir.join(name)).map(Runs);
        Ok(Figures {
            machine: lines(&dir.join(MACHINE))?
                .pop()
                .ok_or_else(|| format!("{}: no {MACHINE}: nothing was measured", dir.display()))?,
            many: runs("mix-600.jsonl")?,
            few: runs("mix-60.jsonl")?,
            long: runs("long.jsonl")?,
            asleep: runs("asleep.jsonl")?,
            pair: Runs(together(lines(&dir.join("pair.jsonl"))?)),
            jobs: lines(&dir.join("jobs.jsonl"))?,
            limits: lines(&dir.join(limits::FILE))?,
        })
    }

    /// Median seconds of one runner of the job set.
    pub(super) fn job_time(&self, runner: &str) -> Option<f64> {
        let times = self
            .jobs
            .iter()
            .filter(|run| run.runner == runner)
            .map(|run| run.elapsed_s);
        median(times.collect())
    }

    /// The runners of the job set in the order in which they ran first.
    pub(super) fn runners(&self) -> Vec<&str> {
        distinct(self.jobs.iter().map(|run| run.runner.as_str()))
    }
}

fn lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(format!("{}: {e}", file.display())),
    };
    let parse = |line| serde_json::from_str(line).map_err(|e| format!("{}: {e}", file.display()));
    text.lines().map(parse).collect()
}

/// Two processes that began together are one run: the work of both, the time of the slower.
fn together(rows: Vec<Row>) -> Vec<Row> {
    let both = |pair: &[Row]| {
        let slower = if pair[0].elapsed_s > pair[1].elapsed_s {
            &pair[0]
        } else {
            &pair[1]
        };
        Row {
            bound_s: pair[0].bound_s + pair[1].bound_s,
            ..slower.clone()
        }
    };
    rows.chunks_exact(2).map(both).collect()
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

    #[test]
    fn a_pair_has_both_bounds_and_the_slower_time() {
        let pairs = together(vec![row("mixed", "cmwq", 1.5), row("mixed", "cmwq", 2.5)]);
        assert_eq!(
            (pairs.len(), pairs[0].bound_s, pairs[0].elapsed_s),
            (1, 2.0, 2.5)
        );
    }

    #[test]
    fn what_is_missing_has_no_rows_and_what_is_broken_is_named() {
        let dir = std::env::temp_dir().join(format!("cmwq-rows-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        assert!(Figures::load(&dir).unwrap_err().contains(MACHINE));
        std::fs::write(dir.join(MACHINE), r#"{"cpus":2,"kernel":"6.18"}"#).unwrap();
        assert!(Figures::load(&dir).unwrap().many.0.is_empty());
        std::fs::write(dir.join("long.jsonl"), "{\n").unwrap();
        assert!(Figures::load(&dir).unwrap_err().contains("long.jsonl"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
