//! The rows of `cmwq bench limits`: how it is called, their medians and their table.

use serde::Deserialize;

use super::rows::{distinct, median};

/// The file of the raw rows.
pub(super) const FILE: &str = "limits.jsonl";
/// Kinds of queue that are measured.
pub(super) const KINDS: [&str; 2] = ["managed", "unmanaged"];

/// A run of one setting. See `cmwq bench limits` for the meaning of the figures.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Row {
    kind: String,
    limit: Option<usize>,
    items: u64,
    mib_s: f64,
    section_us: f64,
    peak_threads: usize,
    voluntary_switches: u64,
    involuntary_switches: u64,
    cpu_s: f64,
}

/// Arguments of the command that measures `kind`: three seconds of each setting in each round, or
/// one second if one round is all.
pub(super) fn args(kind: &str, rounds: usize) -> Vec<String> {
    let seconds = if rounds == 1 { "1" } else { "3" };
    let rounds = rounds.to_string();
    let args = [
        "limits",
        "--kind",
        kind,
        "--runs",
        &rounds,
        "--seconds",
        seconds,
    ];
    args.map(str::to_owned).to_vec()
}

/// The median of each figure over the runs of one setting.
struct Line {
    kind: String,
    limit: Option<usize>,
    mib_s: f64,
    peak_threads: usize,
    voluntary: f64,
    involuntary: f64,
    cpu_s: f64,
    section_us: f64,
}

impl Line {
    fn of(rows: &[Row], kind: &str, limit: Option<usize>) -> Option<Line> {
        let rows = rows.iter();
        let rows: Vec<&Row> = rows
            .filter(|row| row.kind == kind && row.limit == limit)
            .collect();
        let figure = |of: fn(&Row) -> f64| median(rows.iter().map(|row| of(row)).collect());
        Some(Line {
            kind: kind.to_owned(),
            limit,
            mib_s: figure(|row| row.mib_s)?,
            peak_threads: median(rows.iter().map(|row| row.peak_threads).collect())?,
            voluntary: figure(|row| row.voluntary_switches as f64 / row.items.max(1) as f64)?,
            involuntary: figure(|row| row.involuntary_switches as f64 / row.items.max(1) as f64)?,
            cpu_s: figure(|row| row.cpu_s)?,
            section_us: figure(|row| row.section_us)?,
        })
    }

    fn cells(&self, best: f64) -> Vec<String> {
        let limit = self.limit.map(|limit| limit.to_string());
        vec![
            self.kind.clone(),
            limit.unwrap_or("**none**".to_owned()),
            format!("{:.0}", self.mib_s),
            format!("{:.3}", self.mib_s / best),
            self.peak_threads.to_string(),
            format!("{:.3} / {:.3}", self.voluntary, self.involuntary),
            format!("{:.2}", self.cpu_s),
            format!("{:.1}", self.section_us),
        ]
    }
}

/// A line for each setting of `kind`, in the order in which they were measured.
fn of_kind(rows: &[Row], kind: &str) -> Vec<Line> {
    let measured = rows.iter().filter(|row| row.kind == kind);
    let limits = distinct(measured.map(|row| row.limit));
    let lines = limits.into_iter();
    lines
        .filter_map(|limit| Line::of(rows, kind, limit))
        .collect()
}

/// The line with the most throughput of those with a limit.
fn best(lines: &[Line]) -> Option<&Line> {
    let set = lines.iter().filter(|line| line.limit.is_some());
    set.max_by(|a, b| a.mib_s.total_cmp(&b.mib_s))
}

/// The table's lines, the header first.
pub(super) fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let header = [
        "kind",
        "max_active",
        "MiB/s",
        "/ best limit",
        "peak threads",
        "switches an item, vol. / invol.",
        "CPU s",
        "lock held us",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for kind in KINDS {
        let lines = of_kind(rows, kind);
        let best = best(&lines).map_or(f64::NAN, |best| best.mib_s);
        table.extend(lines.iter().map(|line| line.cells(best)));
    }
    table
}

/// The best limit of managed queues, and the throughput without a limit as a part of that limit's.
pub(super) fn without(rows: &[Row]) -> Option<(usize, f64)> {
    let lines = of_kind(rows, "managed");
    let (best, none) = (best(&lines)?, lines.iter().find(|l| l.limit.is_none())?);
    Some((best.limit?, none.mib_s / best.mib_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, limit: Option<usize>, mib_s: f64) -> Row {
        Row {
            kind: kind.into(),
            limit,
            mib_s,
            ..Row::default()
        }
    }

    /// Medians: 20 with a limit of 4, 40 with 8.
    fn rows(none: f64) -> Vec<Row> {
        let four = [10.0, 90.0, 20.0].map(|mib_s| row("managed", Some(4), mib_s));
        let others = [row("managed", Some(8), 40.0), row("managed", None, none)];
        let unmanaged = [row("unmanaged", Some(4), 800.0)];
        [&four[..], &others, &unmanaged].concat()
    }

    #[test]
    fn no_limit_is_compared_with_the_best_median_of_its_kind() {
        assert_eq!(without(&rows(30.0)), Some((8, 0.75)));
    }

    #[test]
    fn the_table_has_a_line_for_each_setting() {
        let lines = lines(&rows(50.0));
        let firsts: Vec<&[String]> = lines.iter().map(|line| &line[..4]).collect();
        assert_eq!(firsts.len(), 5);
        assert_eq!(firsts[1], ["managed", "4", "20", "0.500"]);
        // No limit is never the best limit.
        assert_eq!(firsts[3], ["managed", "**none**", "50", "1.250"]);
        assert_eq!(firsts[4], ["unmanaged", "4", "800", "1.000"]);
    }

    #[test]
    fn what_was_not_measured_is_compared_with_nothing() {
        assert!(without(&[]).is_none());
        assert!(without(&[row("managed", None, 1.0)]).is_none());
        assert_eq!(lines(&[]).len(), 1);
    }
}
