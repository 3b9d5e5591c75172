//! What was measured: the kept JSON lines, read back.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::items;
use super::limits;
use super::rows::{Row, Runs, distinct, median};
use super::scale;

/// The file that says where the others were measured.
pub(super) const MACHINE: &str = "machine.jsonl";

/// As few items as in `mix-60`, of which the pool has had as many before: it has its threads.
pub(super) const WARM: &str = "mix-60-warm";

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
    /// Rows with 600 and with 60 items, which are the first of their process.
    pub(super) many: Runs,
    pub(super) few: Runs,
    /// 60 items after 60 others.
    pub(super) warm: Runs,
    pub(super) long: Runs,
    pub(super) asleep: Runs,
    /// Two rows for each run: two processes at once.
    pub(super) pair: Runs,
    pub(super) jobs: Vec<JobRun>,
    pub(super) limits: Vec<limits::Row>,
    pub(super) items: Vec<items::Row>,
    pub(super) scale: Vec<scale::Row>,
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
            warm: runs(&format!("{WARM}.jsonl"))?,
            long: runs("long.jsonl")?,
            asleep: runs("asleep.jsonl")?,
            pair: Runs(together(lines(&dir.join("pair.jsonl"))?)),
            jobs: lines(&dir.join("jobs.jsonl"))?,
            limits: lines(&dir.join(limits::FILE))?,
            items: lines(&dir.join(items::FILE))?,
            scale: lines(&dir.join(scale::FILE))?,
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

#[cfg(test)]
mod tests {
    use super::super::rows::tests::row;
    use super::*;

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
