//! Rows with typed cells: what is sorted, filtered and shown.

use std::cmp::Ordering;

use regex_lite::Regex;

use super::super::words::{below, short};

/// A column.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// In cells of the terminal, without the blank behind it.
    pub(super) width: u16,
    /// It takes what room is left.
    pub(super) wide: bool,
}

/// What a row is about; a row keeps it from look to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Number(u64),
    Name(String),
}

/// A row, with a cell for each column.
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) cells: Vec<Cell>,
}

/// A value, and how it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// On the left; others on the right.
    Text(String),
    Count(u64),
    Signed(i64),
    /// In nanoseconds, if there is one.
    Time(Option<u64>),
    /// The upper end of a bucket of times, if there is one.
    Below(Option<u64>),
    /// Per second, if it is known.
    Rate(Option<f64>),
}

/// Which column rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) descends: bool,
}

impl Cell {
    pub(super) fn show(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(number) => count(*number),
            Cell::Signed(number) => number.to_string(),
            Cell::Time(time) => time.map_or("-".into(), short),
            Cell::Below(end) => end.map_or("-".into(), below),
            // A rate cannot be negative, and beyond u64 it is all the same.
            Cell::Rate(rate) => rate.map_or("-".into(), |rate| count(rate.round() as u64)),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Cell::Text(_))
    }

    /// Cells of one column are of one sort.
    fn compare(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            (Cell::Count(one), Cell::Count(other)) => one.cmp(other),
            (Cell::Signed(one), Cell::Signed(other)) => one.cmp(other),
            (Cell::Time(one), Cell::Time(other)) => one.cmp(other),
            (Cell::Below(one), Cell::Below(other)) => one.cmp(other),
            (Cell::Rate(one), Cell::Rate(other)) => {
                let known = |rate: &Option<f64>| rate.unwrap_or(-1.0);
                known(one).total_cmp(&known(other))
            }
            _ => Ordering::Equal,
        }
    }
}

/// A number in at most six characters.
fn count(number: u64) -> String {
    const UNITS: [(u64, char); 5] = [
        (1_000_000_000_000_000_000, 'E'),
        (1_000_000_000_000_000, 'P'),
        (1_000_000_000_000, 'T'),
        (1_000_000_000, 'G'),
        (1_000_000, 'M'),
    ];
    match UNITS.iter().find(|(unit, _)| number >= *unit) {
        None => number.to_string(),
        Some((unit, name)) => {
            // Cut, not rounded: 999.9 does not become 1000.0.
            let (whole, tenth) = (number / unit, number % unit / (unit / 10));
            format!("{whole}.{tenth}{name}")
        }
    }
}

/// Keeps the rows of which a text matches, and sorts them. Equal rows keep their order.
pub(super) fn arrange(rows: &mut Vec<Row>, filter: Option<&Regex>, order: Order) {
    if let Some(regex) = filter {
        let matches = |cell: &Cell| matches!(cell, Cell::Text(text) if regex.is_match(text));
        rows.retain(|row| row.cells.iter().any(matches));
    }
    rows.sort_by(|one, other| {
        let (one, other) = (&one.cells[order.column], &other.cells[order.column]);
        match order.descends {
            true => other.compare(one),
            false => one.compare(other),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0, "0"),
            (999_999, "999999"),
            (1_000_000, "1.0M"),
            (999_999_999, "999.9M"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(count(number), text);
        }
        assert_eq!(Cell::Rate(Some(f64::INFINITY)).show(), "18.4E");
        assert_eq!(Cell::Rate(Some(f64::NAN)).show(), "0");
        assert_eq!(Cell::Time(None).show(), "-");
    }

    fn rows(cells: &[(&str, Option<u64>)]) -> Vec<Row> {
        let row = |&(name, time): &(&str, Option<u64>)| Row {
            key: Key::Name(name.into()),
            cells: vec![Cell::Text(name.into()), Cell::Time(time)],
        };
        cells.iter().map(row).collect()
    }

    fn names(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.cells[0].show()).collect()
    }

    #[test]
    fn rows_are_sorted_by_value_and_equal_ones_keep_their_order() {
        let mut all = rows(&[("b", Some(2)), ("a", Some(10)), ("d", None), ("c", Some(2))]);
        let by = |column, descends| Order { column, descends };
        arrange(&mut all, None, by(1, true));
        assert_eq!(names(&all), ["a", "b", "c", "d"]);
        arrange(&mut all, None, by(1, false));
        assert_eq!(names(&all), ["d", "b", "c", "a"]);
        arrange(&mut all, None, by(0, true));
        assert_eq!(names(&all), ["d", "c", "b", "a"]);
    }

    #[test]
    fn a_filter_looks_at_texts_only() {
        let mut all = rows(&[("thumbs", Some(1)), ("mail1", Some(2)), ("mail2", None)]);
        let order = Order {
            column: 0,
            descends: false,
        };
        arrange(&mut all, Some(&Regex::new("^mail|1").unwrap()), order);
        assert_eq!(names(&all), ["mail1", "mail2"]);
        arrange(&mut all, Some(&Regex::new("^none$").unwrap()), order);
        assert!(all.is_empty());
    }
}
