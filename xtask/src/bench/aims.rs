//! What we aim for, and what was measured.

use super::figures::Figures;
use super::items;
use super::limits;
use super::rows::{Row, Runs};

/// One aim: how far the figure may be from what it is compared with.
pub(super) struct Aim {
    pub(super) work: &'static str,
    pub(super) what: String,
    /// The figure, and the worst that is allowed.
    pub(super) figure: f64,
    pub(super) limit: f64,
    /// Whether the figure must be at least the limit, not at most.
    pub(super) at_least: bool,
}

impl Aim {
    pub(super) fn met(&self) -> bool {
        if self.at_least {
            self.figure >= self.limit
        } else {
            self.figure <= self.limit
        }
    }
}

/// Kinds of work that are to come close to the bound with nothing tuned.
const NEAR_BOUND: [&str; 4] = ["block", "cpu", "mixed", "pipe"];

fn at_most(work: &'static str, what: &str, figure: f64, limit: f64) -> Aim {
    Aim {
        work,
        what: what.to_owned(),
        figure,
        limit,
        at_least: false,
    }
}

fn at_least(work: &'static str, what: &str, figure: f64, limit: f64) -> Aim {
    Aim {
        at_least: true,
        ..at_most(work, what, figure, limit)
    }
}

/// Aims that are the same for every number of items; what was not measured is left out.
pub(super) fn of_mix(runs: &Runs, cpus: usize) -> Vec<Aim> {
    let near = NEAR_BOUND.iter().filter_map(|work| near_bound(runs, work));
    let groups = [
        cpu(runs),
        burst(runs),
        lock(runs),
        barrier(runs),
        multi(runs, cpus),
        foreign(runs),
    ];
    near.chain(groups.into_iter().flatten().flatten()).collect()
}

fn near_bound(runs: &Runs, work: &'static str) -> Option<Aim> {
    let ours = runs.of(work, "cmwq")?;
    Some(at_least(
        work,
        "bound / elapsed",
        ours.bound_s / ours.elapsed_s,
        0.95,
    ))
}

/// Starting late is not a gain: beside every item p99 stands the time since it was queued.
fn no_later(work: &'static str, ours: &Row, theirs: &Row) -> Aim {
    let what = format!(
        "sojourn p99 / that of {} (no worse; 2 % for noise)",
        theirs.pool
    );
    at_most(
        work,
        &what,
        ours.sojourn_p99_ms / theirs.sojourn_p99_ms,
        1.02,
    )
}

fn cpu(runs: &Runs) -> Option<Vec<Aim>> {
    let (ours, two) = (runs.of("cpu", "cmwq")?, runs.of("cpu", "fixed:2")?);
    Some(vec![
        at_most(
            "cpu",
            "item p99 / that of fixed:2",
            ours.item_p99_ms / two.item_p99_ms,
            3.0,
        ),
        no_later("cpu", &ours, &two),
    ])
}

fn burst(runs: &Runs) -> Option<Vec<Aim>> {
    let ours = runs.of("burst", "cmwq")?;
    let best = runs.least("burst", |row| row.sojourn_p99_ms)?;
    let what = format!("sojourn p99 / best of the sweep ({})", best.pool);
    Some(vec![at_most(
        "burst",
        &what,
        ours.sojourn_p99_ms / best.sojourn_p99_ms,
        1.3,
    )])
}

fn lock(runs: &Runs) -> Option<Vec<Aim>> {
    let (ours, four) = (runs.of("lock", "cmwq")?, runs.of("lock", "fixed:4")?);
    let best = runs.best("lock")?;
    let what = format!("elapsed / best of the sweep ({})", best.pool);
    Some(vec![
        at_most("lock", &what, ours.elapsed_s / best.elapsed_s, 1.1),
        at_most("lock", "peak threads", ours.peak_threads as f64, 16.0),
        at_most(
            "lock",
            "item p99 / that of fixed:4",
            ours.item_p99_ms / four.item_p99_ms,
            5.0,
        ),
        no_later("lock", &ours, &four),
        at_most(
            "lock",
            "CPU seconds / those of fixed:4",
            ours.cpu_s / four.cpu_s,
            1.1,
        ),
    ])
}

fn barrier(runs: &Runs) -> Option<Vec<Aim>> {
    let (ours, fixed) = (runs.of("barrier", "cmwq")?, runs.of("barrier", "fixed:64")?);
    Some(vec![at_most(
        "barrier",
        "elapsed / that of fixed:64",
        ours.elapsed_s / fixed.elapsed_s,
        1.2,
    )])
}

fn multi(runs: &Runs, cpus: usize) -> Option<Vec<Aim>> {
    let ours = runs.of("multi", "cmwq")?;
    let what = "peak runnable (CPUs + one for each of 8 pools)";
    Some(vec![at_most(
        "multi",
        what,
        ours.peak_runnable as f64,
        (cpus + 8) as f64,
    )])
}

fn foreign(runs: &Runs) -> Option<Vec<Aim>> {
    let ours = runs.of("foreign", "cmwq")?;
    let fair = 2.0 * ours.bound_s;
    Some(vec![
        at_most(
            "foreign",
            "elapsed / (2 x bound)",
            ours.elapsed_s / fair,
            1.15,
        ),
        at_least(
            "foreign",
            "share of the machine that the hogs keep",
            ours.hog_share?,
            0.45,
        ),
    ])
}

/// Aims that have one number of items only.
pub(super) fn of_rest(figures: &Figures) -> Vec<Aim> {
    let all = [
        long(figures),
        asleep(figures),
        pair(figures),
        jobs(figures),
        unlimited(&figures.limits),
    ];
    let empty = items::aims(&figures.items).into_iter();
    let empty = empty.map(|(shape, what, figure, aim)| at_most(shape, &what, figure, aim));
    all.into_iter().flatten().chain(empty).collect()
}

fn long(figures: &Figures) -> Option<Aim> {
    let ours = figures.long.of("long", "cmwq")?;
    // The aim is stated for two CPUs: one more than there are.
    let limit = (figures.machine.cpus + 1) as f64;
    Some(at_most(
        "long",
        "peak runnable (CPUs + 1)",
        ours.peak_runnable as f64,
        limit,
    ))
}

fn asleep(figures: &Figures) -> Option<Aim> {
    let ours = figures.asleep.of("asleep", "cmwq")?;
    let share = ours.cmwq?.tick_cpu_s / ours.backlog_s?;
    let what = "CPU of the tick / time with backlog, 1,000 blocked workers beside hogs";
    Some(at_most("asleep", what, share, 0.02))
}

fn pair(figures: &Figures) -> Option<Aim> {
    let ours = figures.pair.of("mixed", "cmwq")?;
    let what = "two processes at once: elapsed / sum of their bounds";
    Some(at_most("mixed", what, ours.elapsed_s / ours.bound_s, 1.05))
}

/// A managed queue needs no limit. To an unmanaged one a limit means threads: there is no aim.
fn unlimited(rows: &[limits::Row]) -> Option<Aim> {
    let (best, share) = limits::without(rows)?;
    let what = format!("MiB/s with no limit / best limit ({best})");
    Some(at_least("limits", &what, share, 0.95))
}

/// The fastest of the runners that are given a number.
pub(super) fn best_xargs(figures: &Figures) -> Option<(String, f64)> {
    let xargs = figures
        .runners()
        .into_iter()
        .filter(|runner| runner.starts_with("xargs"));
    let times = xargs.filter_map(|runner| Some((runner.to_owned(), figures.job_time(runner)?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn jobs(figures: &Figures) -> Option<Aim> {
    let (name, best) = best_xargs(figures)?;
    let ours = figures.job_time("cmwq run")?;
    Some(at_most(
        "job set",
        &format!("cmwq run / best {name}"),
        ours / best,
        1.1,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::row;
    use super::*;

    fn aim<'a>(aims: &'a [Aim], work: &str, what: &str) -> &'a Aim {
        aims.iter()
            .find(|aim| aim.work == work && aim.what.starts_with(what))
            .unwrap()
    }

    #[test]
    fn a_ratio_below_the_aim_is_missed() {
        let aims = of_mix(
            &Runs(vec![row("block", "cmwq", 1.04), row("pipe", "cmwq", 1.06)]),
            2,
        );
        assert!(aim(&aims, "block", "bound").met());
        assert!(!aim(&aims, "pipe", "bound").met());
    }

    #[test]
    fn lock_is_compared_with_the_best_and_with_fixed_4() {
        let with = |pool: &str, s: f64, cpu_s: f64| Row {
            cpu_s,
            peak_threads: 17,
            ..row("lock", pool, s)
        };
        let runs = Runs(vec![
            with("cmwq", 1.2, 1.0),
            with("fixed:4", 1.0, 1.0),
            with("fixed:8", 1.1, 1.0),
        ]);
        let aims = of_mix(&runs, 2);
        assert!(!aim(&aims, "lock", "elapsed / best of the sweep (fixed:4)").met());
        assert!(!aim(&aims, "lock", "peak threads").met());
        assert!(aim(&aims, "lock", "CPU seconds").met());
    }

    #[test]
    fn hogs_are_left_their_half() {
        let ours = |hog_share| Row {
            hog_share: Some(hog_share),
            ..row("foreign", "cmwq", 2.2)
        };
        assert!(of_mix(&Runs(vec![ours(0.46)]), 2).iter().all(Aim::met));
        assert!(!of_mix(&Runs(vec![ours(0.30)]), 2).iter().all(Aim::met));
    }

    #[test]
    fn what_was_not_measured_has_no_aim() {
        assert!(of_mix(&Runs::default(), 2).is_empty());
        assert!(of_rest(&Figures::default()).is_empty());
    }
}
