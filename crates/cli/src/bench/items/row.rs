//! The figures of one run: as JSON, and their medians as lines of tables.

use serde::{Deserialize, Serialize};

use super::super::engine::Engine;
use super::super::row::{quotient, seconds};
use super::super::spec::name;
use super::super::stats::{median, percentile};
use super::super::table::titled;
use super::args::{Contender, Shape};
use super::shape::Taken;

/// The pool that the others are compared with.
const BESIDE: &str = "rayon";

/// The figures of one run of one pool. Keys are the JSON's, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) shape: Shape,
    pub(super) pool: Contender,
    /// Which turn this was, from 1.
    pub(super) round: u32,
    /// Or round trips.
    pub(super) items: usize,
    /// From before the first was queued until all had run.
    pub(super) elapsed_s: f64,
    pub(super) ns_per_item: f64,
    /// Of a round trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) p50_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) p99_us: Option<f64>,
    /// CPU time of the process, the threads that queue included. So also the switches.
    pub(super) cpu_ns_per_item: f64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    /// The pool's threads, helpers included.
    pub(super) peak_threads: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cmwq: Option<Engine>,
}

impl Row {
    /// Without what the caller knows: the round, the threads and the pool's own figures.
    pub(super) fn new(pool: Contender, shape: Shape, items: usize, taken: Taken) -> Row {
        let (mut trips, used) = (taken.trips, taken.cost.used);
        let each = |ns: u64| quotient(ns as f64, items as f64);
        let mut micros = |percent| {
            let ns = percentile(&mut trips, percent);
            (shape == Shape::Trip).then(|| ns as f64 / 1e3)
        };
        Row {
            shape,
            pool,
            round: 0,
            items,
            elapsed_s: seconds(taken.cost.elapsed),
            ns_per_item: each(taken.cost.elapsed),
            p50_us: micros(50),
            p99_us: micros(99),
            cpu_ns_per_item: each(used.cpu),
            voluntary_switches: used.voluntary,
            involuntary_switches: used.involuntary,
            peak_threads: 0,
            cmwq: None,
        }
    }

    /// What is compared: us of a round trip, or ns of an item.
    fn figure(&self) -> f64 {
        self.p50_us.unwrap_or(self.ns_per_item)
    }

    fn switches(&self) -> f64 {
        1000.0 * self.voluntary_switches as f64 / self.items as f64
    }
}

const ITEMS: [&str; 10] = [
    "shape",
    "pool",
    "ns/item",
    "min",
    "max",
    "cpu ns",
    "switches/1000",
    "threads",
    "x rayon",
    "by round",
];

const TRIPS: [&str; 11] = [
    "shape",
    "pool",
    "p50 us",
    "min",
    "max",
    "p99 us",
    "cpu ns",
    "switches/1000",
    "threads",
    "x rayon",
    "by round",
];

/// The runs of one pool and one shape.
struct Line<'a> {
    rows: Vec<&'a Row>,
    /// The runs of the pool to compare with, and of the same shape.
    beside: Vec<&'a Row>,
}

impl Line<'_> {
    fn middle(&self, of: impl Fn(&Row) -> f64) -> f64 {
        median(self.rows.iter().map(|row| of(row)).collect())
    }

    fn names(&self) -> [String; 2] {
        [name(self.rows[0].shape), name(self.rows[0].pool)]
    }

    /// Median, least and most.
    fn figures(&self, digits: usize) -> [String; 3] {
        let all = || self.rows.iter().map(|row| row.figure());
        let figures = [
            self.middle(Row::figure),
            all().fold(f64::INFINITY, f64::min),
            all().fold(0.0, f64::max),
        ];
        figures.map(|figure| format!("{figure:.digits$}"))
    }

    fn costs(&self) -> [String; 3] {
        [
            format!("{:.0}", self.middle(|row| row.cpu_ns_per_item)),
            format!("{:.1}", self.middle(Row::switches)),
            format!("{:.0}", self.middle(|row| row.peak_threads as f64)),
        ]
    }

    /// The ratio of the medians, and the median of the ratios of each round.
    fn ratios(&self) -> [String; 2] {
        if self.beside.is_empty() {
            return ["-", "-"].map(str::to_owned);
        }
        let theirs = median(self.beside.iter().map(|row| row.figure()).collect());
        let pairs = self.rows.iter().zip(&self.beside);
        let by_round = median(pairs.map(|(a, b)| a.figure() / b.figure()).collect());
        [self.middle(Row::figure) / theirs, by_round].map(|ratio| format!("{ratio:.2}"))
    }

    fn items(&self) -> [String; ITEMS.len()] {
        let [shape, pool] = self.names();
        let [middle, least, most] = self.figures(0);
        let [cpu, switches, threads] = self.costs();
        let [ratio, by_round] = self.ratios();
        [
            shape, pool, middle, least, most, cpu, switches, threads, ratio, by_round,
        ]
    }

    fn trips(&self) -> [String; TRIPS.len()] {
        let [shape, pool] = self.names();
        let [middle, least, most] = self.figures(1);
        let p99 = format!("{:.1}", self.middle(|row| row.p99_us.unwrap_or(0.0)));
        let [cpu, switches, threads] = self.costs();
        let [ratio, by_round] = self.ratios();
        [
            shape, pool, middle, least, most, p99, cpu, switches, threads, ratio, by_round,
        ]
    }
}

/// The tables of `rows`: one of items, one of round trips.
pub(super) fn tables(rows: &[Row]) -> String {
    let lines = lines(rows);
    let (trips, items): (Vec<&Line>, Vec<&Line>) = lines
        .iter()
        .partition(|line| line.rows[0].shape == Shape::Trip);
    let items = titled(ITEMS, 2, items.iter().map(|line| line.items()));
    let trips = titled(TRIPS, 2, trips.iter().map(|line| line.trips()));
    let tables: Vec<String> = [items, trips].into_iter().flatten().collect();
    tables.join("\n")
}

/// A line for each pool and shape, in the order of the first round.
fn lines(rows: &[Row]) -> Vec<Line<'_>> {
    let of = |shape, pool: &str| -> Vec<&Row> {
        let own = |row: &&Row| row.shape == shape && name(row.pool) == pool;
        rows.iter().filter(own).collect()
    };
    let first = rows.iter().filter(|row| row.round == 1);
    let line = |row: &Row| Line {
        rows: of(row.shape, &name(row.pool)),
        beside: of(row.shape, BESIDE),
    };
    first.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(shape: Shape, pool: Contender, round: u32, figure: f64) -> Row {
        let trip = shape == Shape::Trip;
        Row {
            shape,
            pool,
            round,
            items: 2000,
            elapsed_s: 1.0,
            ns_per_item: figure,
            p50_us: trip.then_some(figure),
            p99_us: trip.then_some(2.0 * figure),
            cpu_ns_per_item: 300.0,
            voluntary_switches: 5,
            involuntary_switches: 0,
            peak_threads: 4,
            cmwq: None,
        }
    }

    fn three(shape: Shape, pool: Contender, figures: [f64; 3]) -> Vec<Row> {
        let rows = (1..).zip(figures);
        rows.map(|(round, figure)| row(shape, pool, round, figure))
            .collect()
    }

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn lines_are_medians_with_what_they_lie_between() {
        let items = three(Shape::Chain, Contender::Cmwq, [9.0, 30.0, 20.0]);
        let trips = three(Shape::Trip, Contender::Cmwq, [9.0, 30.0, 20.0]);
        let text = tables(&[items, trips].concat());
        let lines: Vec<&str> = text.lines().collect();
        let costs = ["300", "2.5", "4", "-", "-"];
        let figures = ["chain", "cmwq", "20", "9", "30"];
        assert_eq!(words(lines[1]), [&figures[..], &costs].concat());
        let figures = ["trip", "cmwq", "20.0", "9.0", "30.0", "40.0"];
        assert_eq!(words(lines[4]), [&figures[..], &costs].concat());
    }

    #[cfg(feature = "peers")]
    #[test]
    fn pools_are_compared_with_rayon_in_their_shape() {
        let rows = [
            three(Shape::Chain, Contender::Cmwq, [10.0, 30.0, 20.0]),
            three(Shape::Chain, Contender::Rayon, [10.0, 10.0, 40.0]),
            three(Shape::Inside, Contender::Rayon, [1.0, 1.0, 1.0]),
        ]
        .concat();
        let text = tables(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("2.00      1.00"), "{text}");
        assert!(lines[2].ends_with("1.00      1.00"), "{text}");
    }
}
