//! Starts one process for each pool, shape and round, and shows what they found.

use std::fs::File;
use std::io::Write;

use super::super::parent::{json_line, print};
use super::super::process;
use super::super::spec::name;
use super::args::{Contender, ItemsArgs, Shape};
use super::row::{Row, tables};

/// Measures every pool and shape that `args` names. Pools take turns, and who is first changes
/// from round to round, so that a drift of the machine hits all alike.
pub(super) fn measure_all(args: &ItemsArgs) -> Result<(), String> {
    let mut raw = Raw::open(args)?;
    let mut rows = Vec::new();
    for round in 1..=args.rounds {
        for &shape in &args.shapes {
            for pool in rotated(&args.pools, round) {
                let measured = measure_one(args, pool, shape)?;
                let row = Row { round, ..measured };
                raw.keep(&row)?;
                rows.push(row);
            }
        }
    }
    match raw {
        Raw::Printed => Ok(()),
        _ => {
            print(&tables(&rows));
            Ok(())
        }
    }
}

fn rotated(pools: &[Contender], round: u32) -> Vec<Contender> {
    let mut pools = pools.to_vec();
    let first = (round as usize - 1) % pools.len();
    pools.rotate_left(first);
    pools
}

fn measure_one(args: &ItemsArgs, pool: Contender, shape: Shape) -> Result<Row, String> {
    let what = format!("pool {}, shape {}", name(pool), name(shape));
    let child = process::start(&args.of_child(pool, shape));
    let child = child.map_err(|e| format!("{what}: cannot start the measuring process: {e}"))?;
    process::row(child, &what)
}

/// Where the rows go as soon as they are measured.
enum Raw {
    Nowhere,
    Printed,
    Kept(File),
}

impl Raw {
    fn open(args: &ItemsArgs) -> Result<Raw, String> {
        match &args.json {
            None => Ok(Raw::Nowhere),
            Some(None) => Ok(Raw::Printed),
            Some(Some(path)) => File::create(path)
                .map(Raw::Kept)
                .map_err(|e| format!("{}: {e}", path.display())),
        }
    }

    fn keep(&mut self, row: &Row) -> Result<(), String> {
        match self {
            Raw::Nowhere => Ok(()),
            Raw::Printed => {
                print(&json_line(row));
                Ok(())
            }
            Raw::Kept(file) => file
                .write_all(json_line(row).as_bytes())
                .map_err(|e| format!("cannot write the rows: {e}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pool_is_first_in_its_round() {
        let pools = [Contender::Cmwq, Contender::CmwqWork];
        assert_eq!(rotated(&pools, 1), pools);
        assert_eq!(rotated(&pools, 2), [Contender::CmwqWork, Contender::Cmwq]);
        assert_eq!(rotated(&pools, 3), pools);
    }
}
