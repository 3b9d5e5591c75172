//! `cmwq bench scale`: what lines that CPUs share cost on machines of 1 to 256 CPUs. Simulated: the
//! text of this project's rules, beside small models of other pools.
//!
//! Nothing is measured here, so the same arguments give the same rows on any machine.

mod args;
mod cells;
mod row;

use super::parent::{Failure, json_line, print};
pub(super) use args::ScaleArgs;

/// Simulates all cells that `args` names and prints their rows.
pub(super) fn run(args: &ScaleArgs) -> Result<(), Failure> {
    let rows = cells::run(&args.cells());
    match args.json {
        true => rows.iter().for_each(|row| print(&json_line(row))),
        false => print(&row::tables(&rows)),
    }
    Ok(())
}
