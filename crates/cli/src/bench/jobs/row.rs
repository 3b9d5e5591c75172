//! The figures: as JSON, and as lines of tables.

use serde::{Deserialize, Serialize};

use super::super::spec::name;
use super::super::stats::median;
use super::super::table::titled;
use super::args::{By, Helpers, Load};

/// The figures of one run of one setting.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
pub(super) enum Row {
    Beside(Beside),
    Tail(Tail),
    Idle(Idle),
}

/// A foreground beside a job.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Beside {
    pub(super) foreground: Load,
    pub(super) helpers: Helpers,
    pub(super) run: u32,
    /// The foreground's time without the job, in the same run.
    pub(super) alone_s: f64,
    pub(super) beside_s: f64,
    /// Of these two.
    pub(super) ratio: f64,
    /// Helpers that the job has had meanwhile.
    pub(super) job_helpers: u32,
    /// Of the CPU time that the foreground has left: what caller and helpers have used.
    pub(super) share_of_rest: f64,
}

/// A job beside full foreign load. Also what the process that runs it prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tail {
    pub(super) helpers: Helpers,
    #[serde(default)]
    pub(super) run: u32,
    pub(super) elapsed_s: f64,
    /// To the caller's time alone, in the same run.
    #[serde(default)]
    pub(super) ratio: f64,
    pub(super) job_helpers: u32,
    /// Of the units: what helpers did.
    pub(super) helped: f64,
    pub(super) claims: u64,
    /// Helpers that had the caller's nice level at the end.
    pub(super) lifted: u32,
}

/// A billion steps on an idle machine. Also what the process that makes them prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Idle {
    pub(super) by: By,
    #[serde(default)]
    pub(super) run: u32,
    pub(super) cpus: usize,
    pub(super) elapsed_s: f64,
    /// Of the loop's time in the same run, divided by the CPUs, to this one's.
    #[serde(default)]
    pub(super) of_perfect: f64,
}

/// The tables of what was measured.
pub(super) fn tables(rows: &[Row]) -> String {
    let (mut beside, mut tail, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        match row {
            Row::Beside(row) => beside.push(row),
            Row::Tail(row) => tail.push(row),
            Row::Idle(row) => idle.push(row),
        }
    }
    let tables = [beside_table(&beside), tail_table(&tail), idle_table(&idle)];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    tables.join("\n")
}

/// The rows of each setting, in the order of first appearance.
fn groups<'a, R, K: PartialEq>(rows: &[&'a R], key: impl Fn(&R) -> K) -> Vec<Vec<&'a R>> {
    let mut groups: Vec<Vec<&R>> = Vec::new();
    for &row in rows {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn middle<R>(rows: &[&R], of: impl Fn(&R) -> f64) -> f64 {
    median(rows.iter().map(|row| of(row)).collect())
}

fn beside_table(rows: &[&Beside]) -> Option<String> {
    let header = [
        "foreground",
        "helpers",
        "alone s",
        "beside s",
        "ratio",
        "job's helpers",
        "of rest",
    ];
    let line = |rows: Vec<&Beside>| {
        [
            name(rows[0].foreground),
            name(rows[0].helpers),
            format!("{:.3}", middle(&rows, |row| row.alone_s)),
            format!("{:.3}", middle(&rows, |row| row.beside_s)),
            format!("{:.3}", middle(&rows, |row| row.ratio)),
            format!("{:.0}", middle(&rows, |row| row.job_helpers.into())),
            format!("{:.3}", middle(&rows, |row| row.share_of_rest)),
        ]
    };
    let groups = groups(rows, |row| (row.foreground, row.helpers));
    let floor =
        "a thread at nice 19 beside one at nice 0 has 15 of 1039 parts of the CPU: ratio 1.014\n";
    titled(header, 2, groups.into_iter().map(line)).map(|table| table + floor)
}

fn tail_table(rows: &[&Tail]) -> Option<String> {
    let header = [
        "job beside hogs",
        "s",
        "ratio",
        "helpers",
        "helped",
        "claims",
        "lifted",
    ];
    let line = |rows: Vec<&Tail>| {
        [
            name(rows[0].helpers),
            format!("{:.3}", middle(&rows, |row| row.elapsed_s)),
            format!("{:.3}", middle(&rows, |row| row.ratio)),
            format!("{:.0}", middle(&rows, |row| row.job_helpers.into())),
            format!("{:.3}", middle(&rows, |row| row.helped)),
            format!("{:.0}", middle(&rows, |row| row.claims as f64)),
            format!("{:.0}", middle(&rows, |row| row.lifted.into())),
        ]
    };
    let groups = groups(rows, |row| row.helpers);
    titled(header, 1, groups.into_iter().map(line))
}

fn idle_table(rows: &[&Idle]) -> Option<String> {
    let header = ["10^9 steps by", "s", "of perfect"];
    let line = |rows: Vec<&Idle>| {
        [
            name(rows[0].by),
            format!("{:.3}", middle(&rows, |row| row.elapsed_s)),
            format!("{:.3}", middle(&rows, |row| row.of_perfect)),
        ]
    };
    let groups = groups(rows, |row| row.by);
    titled(header, 1, groups.into_iter().map(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(helpers: Helpers, ratio: f64) -> Row {
        Row::Beside(Beside {
            foreground: Load::Pages,
            helpers,
            run: 1,
            alone_s: 1.0,
            beside_s: ratio,
            ratio,
            job_helpers: 1,
            share_of_rest: 0.99,
        })
    }

    #[test]
    fn lines_are_medians_of_a_setting() {
        let rows = [1.0, 1.5, 1.1].map(|ratio| beside(Helpers::Nice19, ratio));
        let text = tables(&[&rows[..], &[beside(Helpers::SchedIdle, 1.25)]].concat());
        let lines: Vec<&str> = text.lines().collect();
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(
            words,
            ["pages", "nice19", "1.000", "1.100", "1.100", "1", "0.990"]
        );
        assert!(lines[2].contains("sched-idle") && lines[3].contains("1.014") && lines.len() == 4);
    }

    #[test]
    fn what_was_not_measured_has_no_table() {
        assert_eq!(tables(&[]), "");
    }
}
