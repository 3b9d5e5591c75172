//! The rows as a table for people: of each set cmwq, the best xargs, `xargs -P` as wide as the
//! machine, and GNU parallel's best and by load.

use std::fmt::Write;

use super::all::sets;
use super::medians::{Median, best, medians};
use super::{Peak, Row, pairs};

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
        text += &pairs::line(rows, set.name);
    }
    text
}

fn line(median: &Median, best: f64) -> String {
    let Median {
        runner,
        elapsed_s,
        peak: Peak { jobs, mib },
        given_up,
    } = median;
    let more = if *given_up { "> " } else { "" };
    let ratio = elapsed_s / best;
    format!("| {runner} | {more}{elapsed_s:.3} | {more}{ratio:.3} | {jobs} | {mib:.0} |\n")
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
            peak: None,
            given_up: false,
            hogs: 0,
            paired: false,
        }
    }

    fn looked_at(runner: &str, elapsed_s: f64) -> Row {
        let peak = Some(Peak { jobs: 3, mib: 1.0 });
        Row {
            peak,
            round: 0,
            ..row(runner, elapsed_s)
        }
    }

    #[test]
    fn ratios_are_to_the_median_of_the_best_xargs() {
        let rows = [
            looked_at("cmwq run", 7.0),
            row("cmwq run", 3.3),
            looked_at("xargs -P2", 9.0),
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
        assert!(text.contains("| xargs -P2 | 9.000 | 3.000 | 3 |"), "{text}");
    }
}
