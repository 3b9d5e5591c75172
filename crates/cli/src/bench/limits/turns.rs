//! Starts one process for each run of each setting and shows what they found.

use super::super::parent::{Failure, json_line, print};
use super::super::process;
use super::args::{Limit, LimitsArgs};
use super::row::{Row, table};
use super::scratch;

/// Measures every limit that `args` names, in turns, so that a drift of the machine hits all alike.
pub(super) fn measure_all(args: &LimitsArgs) -> Result<(), Failure> {
    // What is wrong with the place is said once, before anything is measured.
    drop(scratch::make(&args.dir(), args.file_mib)?);
    let mut rows = Vec::new();
    for run in 1..=args.runs {
        for &limit in &args.limits {
            let measured = measure_one(args, limit).map_err(Failure::Run)?;
            let row = Row { run, ..measured };
            if args.json {
                print(&json_line(&row));
            }
            rows.push(row);
        }
    }
    if !args.json {
        print(&table(&args.limits, &rows));
    }
    Ok(())
}

fn measure_one(args: &LimitsArgs, limit: Limit) -> Result<Row, String> {
    let child = process::start(&args.of_child(limit));
    let child =
        child.map_err(|e| format!("limit {limit}: cannot start the measuring process: {e}"))?;
    process::row(child, &format!("limit {limit}"))
}
