//! The tables of the benchmark pages, between their markers.

use super::aims::{self, Aim};
use super::figures::Figures;
use super::front;
use super::items;
use super::limits;
use super::markdown::{cells, markdown, verdict};
use super::rows::{Row, Runs};
use super::scale;

const BEGIN: &str = "<!-- table: ";
const BEGIN_END: &str = " -->";
const END: &str = "<!-- end of table -->";

/// Fills every table that `template` has markers for; all else stays as it is.
pub(super) fn fill(template: &str, figures: &Figures) -> Result<String, String> {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(BEGIN_END).ok_or("a marker does not end")?;
        let (_, after) = after
            .split_once(END)
            .ok_or_else(|| format!("table {name} has no {END}"))?;
        let table = table(name, figures)?;
        page.push_str(&format!("{before}{BEGIN}{name}{BEGIN_END}\n{table}{END}"));
        rest = after;
    }
    Ok(page + rest)
}

fn table(name: &str, figures: &Figures) -> Result<String, String> {
    match name {
        "machine" => Ok(format!(
            "{} CPUs, Linux {}.\n",
            figures.machine.cpus, figures.machine.kernel
        )),
        "summary" => Ok(front::summary(&figures.many)),
        "chart" => Ok(front::chart(&figures.many)),
        "missed" => Ok(front::missed(figures)),
        "aims" => Ok(aims_table(figures)),
        "beside" => Ok(beside_table(figures)),
        "mix-600" => Ok(mix_table(&figures.many, figures.machine.cpus)),
        "mix-60" => Ok(mix_table(&figures.few, figures.machine.cpus)),
        "mix-60-warm" => Ok(mix_table(&figures.warm, figures.machine.cpus)),
        "long" => Ok(mix_table(&figures.long, figures.machine.cpus)),
        "asleep" => Ok(mix_table(&figures.asleep, figures.machine.cpus)),
        "pair" => Ok(mix_table(&figures.pair, figures.machine.cpus)),
        "jobs" => Ok(jobs_table(figures)),
        "items" => Ok(markdown(items::lines(&figures.items))),
        "trips" => Ok(markdown(items::trips(&figures.items))),
        "empty" => Ok(markdown(items::summary(&figures.items))),
        "scale" => Ok(markdown(scale::lines(&figures.scale))),
        "scale-lines" => Ok(markdown(scale::shared(&figures.scale))),
        "scale-summary" => Ok(markdown(scale::summary(&figures.scale))),
        "limits" => Ok(markdown(limits::lines(&figures.limits))),
        other => Err(format!("no such table: {other}")),
    }
}

fn aims_table(figures: &Figures) -> String {
    let mut lines = vec![cells(&["items", "work", "figure", "aim", "measured", ""])];
    let mut add =
        |items: &str, aims: Vec<Aim>| lines.extend(aims.iter().map(|aim| aim_line(items, aim)));
    add("600", aims::of_mix(&figures.many, figures.machine.cpus));
    add("60", aims::of_mix(&figures.few, figures.machine.cpus));
    add(
        "60 again",
        aims::of_mix(&figures.warm, figures.machine.cpus),
    );
    add("-", aims::of_rest(figures));
    markdown(lines)
}

fn aim_line(items: &str, aim: &Aim) -> Vec<String> {
    let sign = if aim.at_least { ">=" } else { "<=" };
    vec![
        items.to_owned(),
        aim.work.to_owned(),
        aim.what.clone(),
        format!("{sign} {}", aim.limit),
        format!("{:.3}", aim.figure),
        if aim.met() {
            "met".to_owned()
        } else {
            "**missed**".to_owned()
        },
    ]
}

/// Our time over that of the others: above 1 they are faster.
fn beside_table(figures: &Figures) -> String {
    let mut lines = vec![cells(&[
        "items",
        "work",
        "best fixed pool",
        "our time / its",
        "/ rayon's",
        "/ tokio's",
    ])];
    for (items, runs) in [
        ("600", &figures.many),
        ("60", &figures.few),
        ("60 again", &figures.warm),
        ("8", &figures.long),
    ] {
        lines.extend(
            runs.works()
                .into_iter()
                .filter_map(|work| beside_line(items, runs, work)),
        );
    }
    markdown(lines)
}

fn beside_line(items: &str, runs: &Runs, work: &str) -> Option<Vec<String>> {
    let ours = runs.of(work, "cmwq")?.elapsed_s;
    let over = |row: Option<Row>| row.map_or("-".to_owned(), |row| verdict(ours / row.elapsed_s));
    let best = runs.best(work);
    Some(vec![
        items.to_owned(),
        work.to_owned(),
        best.as_ref().map_or("-".to_owned(), |row| row.pool.clone()),
        over(best),
        over(runs.of(work, "rayon")),
        over(runs.of(work, "tokio")),
    ])
}

const MIX_HEADER: [&str; 13] = [
    "work",
    "pool",
    "bound s",
    "elapsed s",
    "ratio",
    "item p50 ms",
    "item p99 ms",
    "sojourn p99 ms",
    "peak runnable",
    "peak threads",
    "switches vol. / invol.",
    "CPU s",
    "hogs' share",
];

/// Ours, the best of the sweep, the fixed pools that an aim names, and the peers.
fn mix_table(runs: &Runs, cpus: usize) -> String {
    let mut lines = vec![cells(&MIX_HEADER)];
    for work in runs.works() {
        lines.extend(runs.of(work, "cmwq").map(|row| mix_line(&row, "**cmwq**")));
        let best = runs.best(work);
        lines.extend(
            best.iter()
                .map(|row| mix_line(row, &format!("{} (best of sweep)", row.pool))),
        );
        let others = named(work, cpus)
            .into_iter()
            .chain(["rayon".to_owned(), "tokio".to_owned()]);
        let others = others.filter(|pool| best.as_ref().is_none_or(|best| best.pool != *pool));
        lines.extend(
            others
                .filter_map(|pool| runs.of(work, &pool))
                .map(|row| mix_line(&row, &row.pool)),
        );
    }
    markdown(lines)
}

/// Fixed pools that are shown beside the best: one thread for each CPU, and what the aims name.
fn named(work: &str, cpus: usize) -> Vec<String> {
    let aim = match work {
        "cpu" => 2,
        "lock" => 4,
        "barrier" => 64,
        "foreign" => 128,
        _ => cpus,
    };
    let mut counts = vec![cpus, aim];
    counts.dedup();
    counts.iter().map(|n| format!("fixed:{n}")).collect()
}

fn mix_line(row: &Row, label: &str) -> Vec<String> {
    vec![
        row.work.clone(),
        label.to_owned(),
        format!("{:.3}", row.bound_s),
        format!("{:.3}", row.elapsed_s),
        format!("{:.3}", row.bound_s / row.elapsed_s),
        format!("{:.1}", row.item_p50_ms),
        format!("{:.1}", row.item_p99_ms),
        format!("{:.1}", row.sojourn_p99_ms),
        row.peak_runnable.to_string(),
        row.peak_threads.to_string(),
        format!("{} / {}", row.voluntary_switches, row.involuntary_switches),
        format!("{:.3}", row.cpu_s),
        row.hog_share
            .map_or("-".to_owned(), |share| format!("{share:.3}")),
    ]
}

fn jobs_table(figures: &Figures) -> String {
    let mut lines = vec![cells(&[
        "runner",
        "elapsed s",
        "ratio to bound",
        "/ best xargs",
    ])];
    let best = aims::best_xargs(figures);
    let bound = figures.jobs.first().map_or(0.0, |run| run.bound_s);
    for runner in figures.runners() {
        let Some(time) = figures.job_time(runner) else {
            continue;
        };
        let over = best
            .as_ref()
            .map_or("-".to_owned(), |(_, best)| format!("{:.3}", time / best));
        lines.push(vec![
            label(runner, figures.machine.cpus),
            format!("{time:.3}"),
            format!("{:.3}", bound / time),
            over,
        ]);
    }
    markdown(lines)
}

fn label(runner: &str, cpus: usize) -> String {
    match runner {
        "cmwq run" => "**cmwq run**".to_owned(),
        other if other == format!("xargs -P{cpus}") => format!("{other} (= nproc)"),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Machine;
    use super::super::rows::tests::row;
    use super::*;

    fn page(table: &str) -> String {
        format!("# Title\n\n{BEGIN}{table}{BEGIN_END}\nold\n{END}\n\nEnd.\n")
    }

    fn figures() -> Figures {
        let rows = vec![
            row("block", "cmwq", 1.25),
            row("block", "fixed:64", 1.0),
            row("block", "tokio", 2.0),
        ];
        Figures {
            machine: Machine {
                cpus: 2,
                kernel: "6.18".to_owned(),
            },
            many: Runs(rows),
            ..Figures::default()
        }
    }

    #[test]
    fn what_is_between_markers_is_replaced_and_can_be_again() {
        let first = fill(&page("mix-600"), &figures()).unwrap();
        assert!(
            first.starts_with("# Title\n") && first.ends_with("\n\nEnd.\n"),
            "{first}"
        );
        assert!(
            !first.contains("old") && first.contains("| block | **cmwq** |"),
            "{first}"
        );
        assert!(
            first.contains("fixed:64 (best of sweep)") && first.contains("| tokio |"),
            "{first}"
        );
        assert_eq!(fill(&first, &figures()).unwrap(), first);
    }

    #[test]
    fn losses_are_called_so() {
        let beside = fill(&page("beside"), &figures()).unwrap();
        assert!(
            beside.contains("| fixed:64 | 1.250 (loss) | - | 0.625 |"),
            "{beside}"
        );
        let aims = fill(&page("aims"), &figures()).unwrap();
        assert!(aims.contains("| >= 0.95 | 0.800 | **missed** |"), "{aims}");
    }

    #[test]
    fn what_was_not_measured_is_said() {
        assert!(
            fill(&page("jobs"), &figures())
                .unwrap()
                .contains("Not measured.")
        );
    }

    #[test]
    fn bad_markers_are_named() {
        assert!(
            fill(&page("mixx"), &figures())
                .unwrap_err()
                .contains("mixx")
        );
        let open = format!("{BEGIN}aims{BEGIN_END}");
        assert!(fill(&open, &figures()).unwrap_err().contains("aims"));
    }
}
