//! The rows of `cmwq bench items`: how it is called, their medians, their tables and their aims.

use serde::Deserialize;

use super::markdown::verdict;
use super::rows::median;

/// The file of the raw rows.
pub(super) const FILE: &str = "items.jsonl";

/// Who queues the items, and how many times rayon's the cost of an item may be.
const SHAPES: [(&str, &str, f64); 4] = [
    ("outside", "a thread that is no worker", 1.0),
    ("outside2", "two such threads", 1.0),
    ("inside", "one item", 1.2),
    ("chain", "each item the next", 2.0),
];
const TRIP: &str = "trip";
/// How many times that of the best of the others our round trip may take.
const TRIP_AIM: f64 = 1.1;

const OURS: [&str; 3] = ["cmwq", "cmwq-work", "cmwq-fifo"];
const PEERS: [&str; 3] = [RAYON, "tokio", "threadpool"];
const RAYON: &str = "rayon";

/// One run of one pool. See `cmwq bench items` for the meaning of the figures.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Row {
    shape: String,
    pool: String,
    items: u64,
    ns_per_item: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    cpu_ns_per_item: f64,
    voluntary_switches: u64,
    peak_threads: usize,
}

impl Row {
    /// What is compared: us of a round trip, or ns of an item.
    fn figure(&self) -> f64 {
        self.p50_us.unwrap_or(self.ns_per_item)
    }

    fn switches(&self) -> f64 {
        1000.0 * self.voluntary_switches as f64 / self.items.max(1) as f64
    }
}

/// Arguments of the command; one round is a quick one, with a tenth of the items.
pub(super) fn args(rounds: usize) -> Vec<String> {
    let args: &[&str] = match rounds {
        1 => &["--rounds", "1", "--items", "20000", "--trips", "2000"],
        _ => &[],
    };
    let args = ["items"].iter().chain(args);
    args.map(|&arg| arg.to_owned()).collect()
}

/// The runs of one pool and one shape.
struct Cell<'a>(Vec<&'a Row>);

impl<'a> Cell<'a> {
    fn of(rows: &'a [Row], shape: &str, pool: &str) -> Cell<'a> {
        let own = |row: &&Row| row.shape == shape && row.pool == pool;
        Cell(rows.iter().filter(own).collect())
    }

    fn middle(&self, of: impl Fn(&Row) -> f64) -> Option<f64> {
        median(self.0.iter().map(|row| of(row)).collect())
    }

    fn figure(&self) -> Option<f64> {
        self.middle(Row::figure)
    }

    /// The median, and the least and the most.
    fn spread(&self, digits: usize) -> Option<[String; 2]> {
        let all = || self.0.iter().map(|row| row.figure());
        let (least, most) = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
        Some([
            format!("{:.digits$}", self.figure()?),
            format!("{least:.digits$} to {most:.digits$}"),
        ])
    }

    fn costs(&self) -> Option<[String; 3]> {
        Some([
            format!("{:.0}", self.middle(|row| row.cpu_ns_per_item)?),
            format!("{:.1}", self.middle(Row::switches)?),
            format!("{:.0}", self.middle(|row| row.peak_threads as f64)?),
        ])
    }
}

fn figure(rows: &[Row], shape: &str, pool: &str) -> Option<f64> {
    Cell::of(rows, shape, pool).figure()
}

/// The pool of others with the least figure.
fn best(rows: &[Row], shape: &str) -> Option<(&'static str, f64)> {
    let measured = PEERS
        .iter()
        .filter_map(|&pool| Some((pool, figure(rows, shape, pool)?)));
    measured.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// An aim: the shape, what is compared, our part of it, and how much that may be.
pub(super) type Compared = (&'static str, String, f64, f64);

/// The aims of what was measured, beside rayon and, for round trips, beside the best of the others.
pub(super) fn aims(rows: &[Row]) -> Vec<Compared> {
    let shapes = SHAPES.iter().filter_map(|&(shape, _, aim)| {
        let times = figure(rows, shape, OURS[0])? / figure(rows, shape, RAYON)?;
        Some((
            shape,
            "time of an empty item / rayon's".to_owned(),
            times,
            aim,
        ))
    });
    shapes.chain(trip_aim(rows)).collect()
}

fn trip_aim(rows: &[Row]) -> Option<Compared> {
    let (pool, theirs) = best(rows, TRIP)?;
    let times = figure(rows, TRIP, OURS[0])? / theirs;
    let what = format!("p50 of a round trip / best of the others ({pool})");
    Some((TRIP, what, times, TRIP_AIM))
}

/// For the front page: a line for each shape, the header first.
pub(super) fn summary(rows: &[Row]) -> Vec<Vec<String>> {
    let header = [
        "shape",
        "queued by",
        "cmwq",
        "cmwq-work",
        "cmwq-fifo",
        "rayon",
        "tokio",
        "threadpool",
        "cmwq / fastest other",
    ];
    let trip = (TRIP, "a thread that waits for it", 0.0);
    let shapes = SHAPES.iter().chain([&trip]);
    let lines = shapes.filter_map(|&(shape, by, _)| summary_line(rows, shape, by));
    [header.map(str::to_owned).to_vec()]
        .into_iter()
        .chain(lines)
        .collect()
}

fn summary_line(rows: &[Row], shape: &str, by: &str) -> Option<Vec<String>> {
    let ours = figure(rows, shape, OURS[0])?;
    let shown = |figure: f64| match shape {
        TRIP => format!("{figure:.1} us"),
        _ => format!("{figure:.0} ns"),
    };
    let of = |pool: &&str| figure(rows, shape, pool).map_or("-".to_owned(), shown);
    let times = best(rows, shape).map(|(_, theirs)| verdict(ours / theirs));
    let pools = OURS[1..].iter().chain(&PEERS).map(of);
    let names = [
        shape.to_owned(),
        by.to_owned(),
        format!("**{}**", shown(ours)),
    ];
    let last = times.unwrap_or("-".to_owned());
    Some(names.into_iter().chain(pools).chain([last]).collect())
}

/// The full table's lines, the header first. Times over rayon's: ours are losses above 1.
pub(super) fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let header = [
        "shape",
        "pool",
        "ns an item",
        "from, to",
        "CPU ns",
        "switches / 1000",
        "threads",
        "/ rayon's",
    ];
    let line = |cell: &Cell| Some([&cell.spread(0)?[..], &cell.costs()?].concat());
    let shapes: Vec<&str> = SHAPES.iter().map(|shape| shape.0).collect();
    table(rows, &shapes, &header, line)
}

/// The same of round trips.
pub(super) fn trips(rows: &[Row]) -> Vec<Vec<String>> {
    let header = [
        "shape",
        "pool",
        "p50 us",
        "from, to",
        "p99 us",
        "CPU ns",
        "switches / 1000",
        "threads",
        "/ rayon's",
    ];
    let line = |cell: &Cell| {
        let p99 = cell.middle(|row| row.p99_us.unwrap_or(0.0))?;
        Some([&cell.spread(1)?[..], &[format!("{p99:.1}")], &cell.costs()?].concat())
    };
    table(rows, &[TRIP], &header, line)
}

fn table(
    rows: &[Row],
    shapes: &[&str],
    header: &[&str],
    line: impl Fn(&Cell) -> Option<Vec<String>>,
) -> Vec<Vec<String>> {
    let mut table = vec![header.iter().map(|&cell| cell.to_owned()).collect()];
    let pools: Vec<&str> = OURS.into_iter().chain(PEERS).collect();
    for &shape in shapes {
        let rayon = figure(rows, shape, RAYON);
        for &pool in &pools {
            let cell = Cell::of(rows, shape, pool);
            let (Some(figures), Some(time)) = (line(&cell), cell.figure()) else {
                continue;
            };
            let times = rayon.map_or("-".to_owned(), |rayon| beside(pool, time / rayon));
            table.push([vec![shape.to_owned(), label(pool)], figures, vec![times]].concat());
        }
    }
    table
}

fn beside(pool: &str, times: f64) -> String {
    match OURS.contains(&pool) {
        true => verdict(times),
        false => format!("{times:.3}"),
    }
}

fn label(pool: &str) -> String {
    match OURS.contains(&pool) {
        true => format!("**{pool}**"),
        false => pool.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(shape: &str, pool: &str, figure: f64) -> Row {
        let trip = shape == TRIP;
        Row {
            shape: shape.into(),
            pool: pool.into(),
            items: 2000,
            ns_per_item: figure,
            p50_us: trip.then_some(figure),
            p99_us: trip.then_some(2.0 * figure),
            cpu_ns_per_item: 300.0,
            voluntary_switches: 5,
            peak_threads: 4,
        }
    }

    /// Medians: 20 of ours and 10 of rayon for items; 9 of threadpool for round trips.
    fn rows() -> Vec<Row> {
        let ours = [10.0, 90.0, 20.0].map(|ns| row("inside", "cmwq", ns));
        let others = [
            row("inside", "rayon", 10.0),
            row("inside", "tokio", 90.0),
            row(TRIP, "cmwq", 9.0),
            row(TRIP, "rayon", 10.0),
            row(TRIP, "threadpool", 9.0),
        ];
        [&ours[..], &others].concat()
    }

    #[test]
    fn items_are_held_against_rayon_and_trips_against_the_best() {
        let aims = aims(&rows());
        assert_eq!(aims.len(), 2);
        assert_eq!((aims[0].0, aims[0].2, aims[0].3), ("inside", 2.0, 1.2));
        assert_eq!((aims[1].0, aims[1].2, aims[1].3), (TRIP, 1.0, TRIP_AIM));
        assert!(aims[1].1.ends_with("(threadpool)"), "{}", aims[1].1);
    }

    #[test]
    fn losses_are_called_so_and_only_ours() {
        let lines = lines(&rows());
        assert_eq!(lines.len(), 4);
        let ours = [
            "inside",
            "**cmwq**",
            "20",
            "10 to 90",
            "300",
            "2.5",
            "4",
            "2.000 (loss)",
        ];
        assert_eq!(lines[1], ours);
        assert_eq!((&*lines[3][1], &*lines[3][7]), ("tokio", "9.000"));
        let trips = trips(&rows());
        let ours = [
            "trip",
            "**cmwq**",
            "9.0",
            "9.0 to 9.0",
            "18.0",
            "300",
            "2.5",
            "4",
            "0.900",
        ];
        assert_eq!(trips[1], ours);
    }

    #[test]
    fn the_summary_has_a_line_for_each_shape_and_the_fastest_other() {
        let lines = summary(&rows());
        assert_eq!(lines.len(), 3);
        let inside = ["**20 ns**", "-", "-", "10 ns", "90 ns", "-", "2.000 (loss)"];
        assert_eq!(lines[1][2..], inside);
        let trip = ["**9.0 us**", "-", "-", "10.0 us", "-", "9.0 us", "1.000"];
        assert_eq!(lines[2][2..], trip);
    }

    #[test]
    fn what_was_not_measured_has_no_line_and_no_aim() {
        assert!(aims(&[row("inside", "cmwq", 1.0)]).is_empty());
        assert_eq!(
            (lines(&[]).len(), trips(&[]).len(), summary(&[]).len()),
            (1, 1, 1)
        );
    }
}
