//! All cells, on as many CPUs as there are. Who simulates which one when changes nothing.

use std::sync::Mutex;
use std::thread;

use cmwq_sim::scale::Cell;

use super::row::Row;

/// The rows, in the order of the cells.
pub(super) fn run(cells: &[Cell]) -> Vec<Row> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = Mutex::new(0..cells.len());
    let rows = Mutex::new(vec![None; cells.len()]);
    let take = || next.lock().expect("nobody panics with it").next();
    let work = || {
        while let Some(at) = take() {
            let row = Row::new(&cells[at], &cells[at].run());
            rows.lock().expect("nobody panics with it")[at] = Some(row);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(cells.len()) {
            scope.spawn(work);
        }
        work();
    });
    let rows = rows.into_inner().expect("nobody panics with it");
    rows.into_iter()
        .map(|row| row.expect("each was simulated"))
        .collect()
}
