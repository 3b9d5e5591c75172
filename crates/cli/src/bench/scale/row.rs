//! The figures of one simulated run: as JSON, and as tables.

use cmwq_sim::scale::{Cell, Outcome};
use serde::{Deserialize, Serialize};

use super::super::table::titled;

/// The figures of one run. Keys are the JSON's, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) shape: String,
    /// Nanoseconds that an item computes.
    pub(super) item_ns: u64,
    pub(super) cpus: usize,
    pub(super) pool: String,
    /// Nothing was measured.
    pub(super) simulated: bool,
    pub(super) items: u64,
    pub(super) items_per_s: u64,
    /// For how long an item keeps the busiest line of those that all CPUs share, trips included.
    pub(super) global_ns: u64,
    /// And all lines of its last-level cache, or of its CPU.
    pub(super) local_ns: u64,
}

impl Row {
    pub(super) fn new(cell: &Cell, outcome: &Outcome) -> Row {
        Row {
            shape: cell.shape.name().to_owned(),
            item_ns: cell.item,
            cpus: cell.topology.len(),
            pool: cell.design.name().to_owned(),
            simulated: true,
            items: outcome.items,
            items_per_s: outcome.per_second(),
            global_ns: outcome.global_ns(),
            local_ns: outcome.local_ns(),
        }
    }

    /// Of the same machine, items and shape, but for the pool.
    fn is_beside(&self, other: &Row) -> bool {
        let of = |row: &Row| (row.shape.clone(), row.item_ns, row.cpus);
        of(self) == of(other)
    }
}

const HEADER: [&str; 7] = [
    "shape",
    "item us",
    "cpus",
    "pool",
    "million/s",
    "ns global",
    "ns local",
];

/// One table of all rows.
pub(super) fn tables(rows: &[Row]) -> String {
    let lines = rows.iter().enumerate().map(|(at, row)| {
        let is_first = at == 0 || !row.is_beside(&rows[at - 1]);
        line(row, is_first)
    });
    let table = titled(HEADER, 4, lines);
    format!("simulated\n{}", table.unwrap_or_default())
}

fn line(row: &Row, is_first: bool) -> [String; HEADER.len()] {
    let once = |text: String| if is_first { text } else { String::new() };
    [
        once(row.shape.clone()),
        once(format!("{}", row.item_ns as f64 / 1e3)),
        once(row.cpus.to_string()),
        row.pool.clone(),
        format!("{:.3}", row.items_per_s as f64 / 1e6),
        row.global_ns.to_string(),
        row.local_ns.to_string(),
    ]
}
