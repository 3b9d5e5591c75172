//! Starts one process for each pool and shows what they found.

use std::io::Write;
use std::process::{Child, ExitCode};

use serde::Serialize;

use super::MixArgs;
use super::clock::{MS, now};
use super::process::{self, cpus};
use super::row::{Row, table};
use super::spec::PoolSpec;

/// Time that processes which begin together have to come up.
const TOGETHER_AFTER: u64 = 400 * MS;

/// Why there are no figures.
#[derive(Debug)]
pub(super) enum Failure {
    /// The arguments ask for what cannot be: status 2.
    Usage(String),
    /// The measurement failed: status 1.
    Run(String),
}

/// Reports a failure; returns the process's status.
pub(super) fn finish(result: Result<(), Failure>) -> ExitCode {
    let (message, status) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Run(message)) => (message, 1),
    };
    eprintln!("cmwq bench: {message}");
    ExitCode::from(status)
}

/// Writes `text` to standard output; a reader that has gone away is not an error.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Measures every pool that `args` names, in processes of their own, and prints the figures.
pub(super) fn measure_all(args: &MixArgs) -> Result<(), Failure> {
    let pools = || {
        args.pools
            .iter()
            .map(|&pool| (pool, pool.expand(args.work)))
    };
    for pool in pools().flat_map(|(_, members)| members) {
        pool.check(args.work, cpus()).map_err(Failure::Usage)?;
    }
    let mut rows = Vec::new();
    for _ in 0..args.repeat {
        for (pool, members) in pools() {
            let shown = measure_pool(args, pool, &members)?;
            if args.json {
                shown.iter().for_each(|row| print(&json_line(row)));
            }
            rows.extend(shown);
        }
    }
    if !args.json {
        print(&table(&rows));
    }
    Ok(())
}

/// `row` as a line of JSON.
pub(super) fn json_line(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("a row is plain data") + "\n"
}

/// The rows to show of `pool`: of a sweep all in JSON, only the best in a table.
fn measure_pool(args: &MixArgs, pool: PoolSpec, members: &[PoolSpec]) -> Result<Vec<Row>, Failure> {
    let rows = members.iter().map(|&member| measure_one(args, member));
    let rows: Vec<Vec<Row>> = rows.collect::<Result<_, _>>().map_err(Failure::Run)?;
    let mut rows = rows.concat();
    if pool == PoolSpec::Sweep {
        mark_best(&mut rows);
        rows.retain(|row| args.json || row.best == Some(true));
    }
    Ok(rows)
}

fn mark_best(rows: &mut [Row]) {
    let best = (0..rows.len()).min_by(|&a, &b| rows[a].elapsed_s.total_cmp(&rows[b].elapsed_s));
    for (index, row) in rows.iter_mut().enumerate() {
        row.best = Some(Some(index) == best);
    }
}

/// Measures one pool: a row for each process, all of which begin at the same moment.
fn measure_one(args: &MixArgs, pool: PoolSpec) -> Result<Vec<Row>, String> {
    let start = (args.processes > 1).then(|| now() + TOGETHER_AFTER);
    let children = (0..args.processes).map(|_| spawn(args, pool, start));
    let children: Vec<Child> = children
        .collect::<Result<_, _>>()
        .map_err(|e| format!("pool {pool}: cannot start the measuring process: {e}"))?;
    children
        .into_iter()
        .map(|child| process::row(child, &format!("pool {pool}")))
        .collect()
}

fn spawn(args: &MixArgs, pool: PoolSpec, start: Option<u64>) -> std::io::Result<Child> {
    let mut words = vec!["mix".to_owned()];
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    add("--work", args.work.name());
    add("--pool", pool.to_string());
    if let Some(items) = args.items {
        add("--items", items.to_string());
    }
    if let Some(start) = start {
        add("--start-at", start.to_string());
    }
    if args.warm_up {
        words.push("--warm-up".to_owned());
    }
    process::start(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(elapsed_s: f64) -> Row {
        let text = format!(
            r#"{{"work":"cpu","pool":"fixed:2","items":1,"bound_s":1,"elapsed_s":{elapsed_s},"ratio":1,
            "item_p50_ms":1,"item_p99_ms":1,"sojourn_p99_ms":1,"hog_slowdown":null,"peak_runnable":1,
            "peak_threads":1,"voluntary_switches":1,"involuntary_switches":1,"cpu_s":1}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_fastest_of_a_sweep_is_marked() {
        let mut rows = [row(3.0), row(1.5), row(2.0)];
        mark_best(&mut rows);
        assert_eq!(
            rows.map(|row| row.best),
            [Some(false), Some(true), Some(false)]
        );
    }
}
