//! The front page: one table, one picture and every missed aim, for a reader with two minutes.

use super::aims::{self, Aim};
use super::figures::Figures;
use super::markdown::{cells, markdown, verdict};
use super::rows::{Row, Runs};

/// Columns of the longest bar, which stands for the bound.
const WIDTH: f64 = 50.0;
/// The pool that stands for "one thread for each CPU" in the table and the picture.
const ONE_PER_CPU: &str = "rayon";

/// What an item of this work does.
fn describe(work: &str) -> &str {
    match work {
        "block" => "1 ms CPU, 5 ms sleep",
        "cpu" => "3 ms CPU",
        "mixed" => "one third cpu, two thirds block",
        "burst" => "block, 24 each 20 ms",
        "pipe" => "1 ms CPU, reads from a pipe",
        "lock" => "0.6 ms CPU, 1 ms under one lock",
        "barrier" => "0.5 ms CPU, meets 63 others, 0.5 ms CPU",
        "multi" => "cpu, over 8 queues",
        "foreign" => "mixed, beside a busy program",
        other => other,
    }
}

/// Seconds of each pool, and ours over those of the fastest other one: above 1 is a loss.
pub(super) fn summary(runs: &Runs) -> String {
    let mut lines = vec![cells(&[
        "work",
        "an item",
        "possible s",
        "cmwq s",
        "rayon s",
        "tokio s",
        "best of nine sizes s",
        "cmwq / fastest other",
    ])];
    let works = runs.works();
    lines.extend(works.into_iter().filter_map(|work| line(runs, work)));
    markdown(lines)
}

fn line(runs: &Runs, work: &str) -> Option<Vec<String>> {
    let ours = runs.of(work, "cmwq")?;
    let best = runs.best(work);
    let others = [runs.of(work, "rayon"), runs.of(work, "tokio"), best.clone()];
    let fastest = others
        .iter()
        .flatten()
        .map(|row| row.elapsed_s)
        .min_by(f64::total_cmp);
    let seconds = |row: &Row| format!("{:.3}", row.elapsed_s);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    Some(vec![
        work.to_owned(),
        describe(work).to_owned(),
        format!("{:.3}", ours.bound_s),
        format!("**{}**", seconds(&ours)),
        or_dash(others[0].as_ref().map(seconds)),
        or_dash(others[1].as_ref().map(seconds)),
        or_dash(best.map(|row| format!("{} ({})", seconds(&row), size(&row.pool)))),
        or_dash(fastest.map(|fastest| verdict(ours.elapsed_s / fastest))),
    ])
}

fn size(pool: &str) -> &str {
    pool.trim_start_matches("fixed:")
}

/// How much of what is possible each work reaches, beside a pool with one thread for each CPU.
pub(super) fn chart(runs: &Runs) -> String {
    let mut text = "```text\n".to_owned();
    for work in runs.works() {
        for (name, pool) in [("cmwq", "cmwq"), ("one per CPU", ONE_PER_CPU)] {
            let label = if pool == "cmwq" { work } else { "" };
            let bar = runs
                .of(work, pool)
                .map_or("does not end".to_owned(), |row| bar(&row));
            text.push_str(&format!("{label:<8} {name:<12} {bar}\n"));
        }
    }
    text + "```\n"
}

fn bar(row: &Row) -> String {
    let reached = row.bound_s / row.elapsed_s;
    let columns = (reached * WIDTH).round().max(0.0) as usize;
    format!("{} {:.0} %", "█".repeat(columns), reached * 100.0)
}

/// How many aims are met, and each one that is not.
pub(super) fn missed(figures: &Figures) -> String {
    let cpus = figures.machine.cpus;
    let all = [
        ("600 items", aims::of_mix(&figures.many, cpus)),
        ("60 items", aims::of_mix(&figures.few, cpus)),
        ("60 items again", aims::of_mix(&figures.warm, cpus)),
        ("", aims::of_rest(figures)),
    ];
    let count: usize = all.iter().map(|(_, aims)| aims.len()).sum();
    let lines: Vec<String> = all
        .iter()
        .flat_map(|(items, aims)| aims.iter().map(move |aim| (items, aim)))
        .filter(|(_, aim)| !aim.met())
        .map(|(items, aim)| missed_line(items, aim))
        .collect();
    let met = count - lines.len();
    format!(
        "{met} of {count} aims are met. Missed:\n\n{}",
        lines.concat()
    )
}

fn missed_line(items: &str, aim: &Aim) -> String {
    let sign = if aim.at_least { "at least" } else { "at most" };
    let of = [aim.work, items].join(", ");
    let line = format!(
        "* {}: {} is {:.3}, and should be {sign} {}.\n",
        of.trim_end_matches(", "),
        aim.what,
        aim.figure,
        aim.limit
    );
    broken(&line)
}

/// A point of a list in lines as long as prose may be.
fn broken(point: &str) -> String {
    const MOST: usize = 99;
    let mut lines = String::new();
    let mut rest = point;
    while rest.len() > MOST
        && let Some(at) = rest[..MOST].rfind(' ')
    {
        lines = lines + &rest[..at] + "\n  ";
        rest = &rest[at + 1..];
    }
    lines + rest
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::row;
    use super::*;

    #[test]
    fn a_long_point_is_broken_between_words() {
        let point = format!("* {} {}\n", "a".repeat(60), "b".repeat(60));
        let broken = broken(&point);
        assert_eq!(broken.replace("\n  ", " "), point);
        assert!(broken.lines().all(|line| line.len() < 100));
        assert_eq!(super::broken("* short\n"), "* short\n");
    }

    fn runs() -> Runs {
        Runs(vec![
            row("block", "cmwq", 1.25),
            row("block", "fixed:64", 1.0),
            row("block", "tokio", 2.0),
        ])
    }

    #[test]
    fn the_fastest_other_one_decides_what_is_a_loss() {
        let text = summary(&runs());
        let end = "| **1.250** | - | 2.000 | 1.000 (64) | 1.250 (loss) |";
        assert!(text.contains(end), "{text}");
    }

    #[test]
    fn a_bar_is_as_long_as_the_share_of_what_is_possible() {
        let text = chart(&runs());
        assert!(
            text.contains(&format!(" {} 80 %", "█".repeat(40))),
            "{text}"
        );
        assert!(text.contains("one per CPU  does not end"), "{text}");
    }

    #[test]
    fn missed_aims_are_counted_and_named() {
        let figures = Figures {
            many: runs(),
            ..Figures::default()
        };
        let text = missed(&figures);
        assert!(text.starts_with("0 of 1 aims are met."), "{text}");
        assert!(
            text.contains("* block, 600 items: bound / elapsed is 0.800"),
            "{text}"
        );
    }
}
