//! One pool and one shape, measured in this process.

use super::super::clock::{self, MS};
use super::super::parent::{json_line, print};
use super::super::process::{cpus, die_with_parent};
use super::super::usage::threads;
use super::args::{Contender, ItemsArgs, Shape};
use super::row::Row;
use super::{closures, shape, tally, works};

/// Measures the one pool and the one shape that `args` names and prints the row.
pub(super) fn child(args: &ItemsArgs, parent: i32) -> Result<(), String> {
    die_with_parent(parent)?;
    let ([pool], [shape]) = (&args.pools[..], &args.shapes[..]) else {
        return Err("--child takes one pool and one shape".to_owned());
    };
    print(&json_line(&measure(args, *pool, *shape)?));
    Ok(())
}

fn measure(args: &ItemsArgs, pool: Contender, shape: Shape) -> Result<Row, String> {
    tally::set_spin(args.spin);
    let (warm_up, items) = (args.warm_up(shape), args.counted(shape));
    let load = match pool {
        Contender::CmwqWork => works::start(shape, warm_up.max(items))?,
        _ => closures::start(pool, cpus())?,
    };
    // Brings the CPU to its speed.
    clock::burn(20 * MS);
    shape::run(load, shape, warm_up)?;
    let taken = shape::run(load, shape, items)?;
    // All threads but this one and the producer are the pool's, its helpers included.
    let threads = threads(shape::PRODUCER).map_err(|e| format!("cannot count threads: {e}"))?;
    Ok(Row {
        peak_threads: threads - 1,
        cmwq: load.engine(),
        ..Row::new(pool, shape, items, taken)
    })
}
