//! `cargo xtask item-cost`: instructions that an empty item takes, by valgrind's callgrind.
//!
//! The program is `cmwq bench items`, in the process that measures one pool and one shape. Valgrind
//! runs one thread at a time: this is the path of an item, not what CPUs pay for sharing it. It is
//! slow, too, so what cmwq does by the clock has more weight than it has in life.

use std::path::Path;
use std::process::ExitCode;

use crate::bench::{build, project_root};
use crate::callgrind;

const POOLS: [&str; 3] = ["cmwq", "cmwq-work", "rayon"];
const SHAPES: [&str; 5] = ["outside", "outside2", "inside", "chain", "trip"];
/// Items of the two runs whose difference counts: beginning and end of a process cancel out.
const COUNTED: [u64; 2] = [10_000, 60_000];

/// Runs the command; `args` must be empty.
pub fn run(args: &[String]) -> ExitCode {
    callgrind::command("item-cost", args, measure)
}

fn measure() -> Result<(), String> {
    let command = build(&project_root())?;
    println!(
        "{:<26}{}",
        "instructions for each item",
        line(SHAPES.map(str::to_owned))
    );
    for pool in POOLS {
        let mut costs = SHAPES.map(str::to_owned);
        for cost in &mut costs {
            *cost = instructions(&command, pool, cost)?.to_string();
        }
        println!("{pool:<26}{}", line(costs));
    }
    Ok(())
}

fn line(cells: [String; SHAPES.len()]) -> String {
    cells.map(|cell| format!("{cell:>10}")).concat()
}

/// Instructions for each item.
fn instructions(command: &Path, pool: &str, shape: &str) -> Result<u64, String> {
    let [few, many] = COUNTED;
    let more = counted(command, pool, shape, many)?;
    let more = more.saturating_sub(counted(command, pool, shape, few)?);
    Ok(more / (many - few))
}

fn counted(command: &Path, pool: &str, shape: &str, items: u64) -> Result<u64, String> {
    let (items, parent) = (items.to_string(), std::process::id().to_string());
    let mut args = vec!["bench", "items", "--pool", pool, "--shape", shape];
    args.extend(["--items", &items, "--trips", &items]);
    // As the command starts it: a process that measures and ends with this one.
    args.extend(["--warm-up", "1", "--child", &parent]);
    callgrind::instructions(&command.to_string_lossy(), &args)
}
