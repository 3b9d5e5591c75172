//! `cmwq run` and the best `xargs`, one after the other, once it is known which is the best.

use super::medians::{best, medians};
use super::runner::Runner;
use super::{Row, Turn};

/// The command that is compared with the others.
pub(super) const OURS: &str = "cmwq run";

/// Ours and the best `xargs` of these rounds of one set.
pub(super) fn pair<'a>(runners: &'a [Runner], rows: &[Row]) -> Option<[&'a Runner; 2]> {
    let best = best(&medians(rows, &rows.first()?.set), "xargs")?.runner;
    let named = |name: &str| runners.iter().find(|runner| runner.name == name);
    Some([named(OURS)?, named(&best)?])
}

/// Their turns: each comes first as often as the other.
pub(super) fn turns<'a>([ours, best]: [&'a Runner; 2], round: u32) -> [Turn<'a>; 2] {
    let runners = match round % 2 {
        0 => [best, ours],
        _ => [ours, best],
    };
    runners.map(|runner| Turn {
        runner,
        round,
        paired: true,
    })
}

/// Under the table of a set: what the pairs gave, if there are any.
pub(super) fn line(rows: &[Row], set: &str) -> String {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.set == set && row.paired)
        .collect();
    let is_ours = |row: &&&Row| row.runner == OURS;
    let of_round = |row: &&Row| rows.iter().find(|r| !is_ours(r) && r.round == row.round);
    let pairs = rows
        .iter()
        .filter(is_ours)
        .filter_map(|row| Some((row, of_round(row)?)));
    let (names, mut ratios): (Vec<&str>, Vec<f64>) = pairs
        .map(|(ours, best)| (best.runner.as_str(), ours.elapsed_s / best.elapsed_s))
        .unzip();
    ratios.sort_by(f64::total_cmp);
    let (Some(name), [least, .., most]) = (names.first(), &ratios[..]) else {
        return String::new();
    };
    let median = ratios[ratios.len() / 2];
    let n = ratios.len();
    format!(
        "\nThen, in {n} pairs with `{name}`: **{median:.3}** of its time ({least:.3} to {most:.3}).\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(runner: &str, round: u32, elapsed_s: f64, paired: bool) -> Row {
        Row {
            set: "waits".to_owned(),
            runner: runner.to_owned(),
            round,
            jobs: 200,
            elapsed_s,
            peak: None,
            given_up: false,
            hogs: 0,
            paired,
        }
    }

    #[test]
    fn what_counts_is_the_median_of_the_ratios_within_pairs() {
        let mut rows = vec![
            row(OURS, 1, 9.0, false),
            row("xargs -P8", 1, 1.0, false),
            row(OURS, 4, 9.0, true),
        ];
        for (round, ours, best) in [(1, 2.0, 1.0), (2, 10.0, 10.0), (3, 3.3, 3.0)] {
            rows.push(row(OURS, round, ours, true));
            rows.push(row("xargs -P8", round, best, true));
        }
        let text = line(&rows, "waits");
        let expected = "in 3 pairs with `xargs -P8`: **1.100** of its time (1.000 to 2.000)";
        assert!(text.contains(expected), "{text}");
        assert_eq!(line(&rows, "ninety"), "");
    }

    #[test]
    fn the_best_width_of_the_rounds_is_the_one_that_is_paired() {
        let runners = super::super::runner::runners("/no/cmwq".as_ref());
        let rows = [
            row(OURS, 1, 1.0, false),
            row("xargs -P8", 1, 3.0, false),
            row("xargs -P16", 1, 2.0, false),
            row("parallel -j8", 1, 1.0, false),
        ];
        let pair = pair(&runners, &rows).expect("both are there");
        let names = |round| turns(pair, round).map(|turn| turn.runner.name.clone());
        assert_eq!(names(1), [OURS, "xargs -P16"]);
        assert_eq!(names(2), ["xargs -P16", OURS]);
    }
}
