//! The rows as a table for people: of each set cmwq, the best xargs, `xargs -P` as wide as the machine, and
//! GNU parallel's best and by load.

use std::fmt::Write;

use super::Row;
use super::sets::sets;

/// Of one runner with one set.
#[derive(Clone, Debug, PartialEq)]
struct Median {
    runner: String,
    elapsed_s: f64,
    peak_jobs: u32,
    peak_mib: f64,
    given_up: bool,
}

/// The text.
pub(super) fn of(rows: &[Row]) -> String {
    let mut text = String::new();
    for set in sets() {
        let medians = medians(rows, set.name);
        let best = best(&medians, "xargs");
        let Some(best) = best.map(|best| best.elapsed_s) else {
            continue;
        };
        let _ = writeln!(text, "\n**{}**: {}\n", set.name, set.about);
        text += "| runner | s | of the best xargs | most jobs | most memory, MiB |\n| --- | --- | --- | --- | --- |\n";
        for median in shown(&medians) {
            text += &line(&median, best);
        }
    }
    text
}

fn line(median: &Median, best: f64) -> String {
    let Median {
        runner,
        elapsed_s,
        peak_jobs,
        peak_mib,
        given_up,
    } = median;
    let more = if *given_up { "> " } else { "" };
    let ratio = elapsed_s / best;
    format!(
        "| {runner} | {more}{elapsed_s:.3} | {more}{ratio:.3} | {peak_jobs} | {peak_mib:.0} |\n"
    )
}

/// Ours, and of each of the others the best and what somebody would try first.
fn shown(medians: &[Median]) -> Vec<Median> {
    let named = |name: &str| medians.iter().find(|median| median.runner == name).cloned();
    let all = [
        named("cmwq run"),
        best(medians, "xargs"),
        named("xargs -P2"),
        best(medians, "parallel -j"),
        named("parallel --load 100%"),
    ];
    let mut shown: Vec<Median> = Vec::new();
    for median in all.into_iter().flatten() {
        if !shown.contains(&median) {
            shown.push(median);
        }
    }
    shown
}

fn best(medians: &[Median], kind: &str) -> Option<Median> {
    let of_kind = medians
        .iter()
        .filter(|median| median.runner.starts_with(kind));
    of_kind
        .min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s))
        .cloned()
}

fn medians(rows: &[Row], set: &str) -> Vec<Median> {
    let of_set: Vec<&Row> = rows.iter().filter(|row| row.set == set).collect();
    let mut names: Vec<&str> = of_set.iter().map(|row| row.runner.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let one = |name: &&str| {
        let runs = of_set.iter().filter(|row| row.runner == **name);
        let middle = |value: fn(&Row) -> f64| {
            let mut values: Vec<f64> = runs.clone().map(|row| value(row)).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Median {
            runner: (*name).to_owned(),
            elapsed_s: middle(|row| row.elapsed_s),
            peak_jobs: middle(|row| f64::from(row.peak_jobs)) as u32,
            peak_mib: middle(|row| row.peak_mib),
            given_up: runs.clone().any(|row| row.given_up),
        }
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(runner: &str, elapsed_s: f64) -> Row {
        Row {
            set: "waits".to_owned(),
            runner: runner.to_owned(),
            round: 1,
            jobs: 200,
            elapsed_s,
            peak_jobs: 3,
            peak_mib: 1.0,
            given_up: false,
        }
    }

    #[test]
    fn ratios_are_to_the_median_of_the_best_xargs() {
        let rows = [
            row("cmwq run", 3.3),
            row("xargs -P2", 9.0),
            row("xargs -P16", 3.0),
            row("xargs -P16", 1.0),
            row("xargs -P16", 4.0),
        ];
        let text = of(&rows);
        assert!(
            text.contains("| cmwq run | 3.300 | 1.100 | 3 | 1 |"),
            "{text}"
        );
        assert!(text.contains("| xargs -P16 | 3.000 | 1.000 |"), "{text}");
        assert!(text.contains("| xargs -P2 | 9.000 | 3.000 |"), "{text}");
    }
}
