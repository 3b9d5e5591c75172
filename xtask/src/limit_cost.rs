//! `cargo xtask limit-cost`: what it costs that items are counted against a limit that does not
//! bind.
//!
//! One example program is built twice, the second time with `--cfg cmwq_unlimited`, which leaves
//! limits out. Compared are instructions for each item (valgrind's callgrind), in runs of one
//! thread, and the time of runs in pairs, one of each, in turns: of one thread, and of two that
//! work at once.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::callgrind::{self, output};

const EXAMPLE: &str = "empty_items";
/// Items of one round of the example.
const ITEMS: u64 = 1000;
/// Rounds of the two runs whose difference counts: beginning and end of a process cancel out.
const COUNTED: [u64; 2] = [20, 60];
/// Rounds of a run that is timed.
const TIMED: u64 = 400;
/// Pairs of such runs.
const PAIRS: usize = 25;
/// Of so many sorted values, the 8th from either end bound the median with 95.7 % (binomial).
const BOUND: usize = 7;

/// Runs the command; `args` must be empty.
pub fn run(args: &[String]) -> ExitCode {
    callgrind::command("limit-cost", args, measure)
}

fn measure() -> Result<(), String> {
    let limited = build("limited", "")?;
    let unlimited = build("unlimited", "--cfg cmwq_unlimited")?;
    let (with, without) = (instructions(&limited)?, instructions(&unlimited)?);
    let ratio = with as f64 / without as f64;
    println!("instructions for each item: {with} with a limit, {without} without: {ratio:.4}");
    for from in ["inside", "outside"] {
        let (low, median, high) = middle(pairs(&limited, &unlimited, from)?);
        println!("time, {PAIRS} pairs, queued {from}: {median:.3} (95 %: {low:.3} to {high:.3})");
    }
    Ok(())
}

/// Ratios of times, of pairs of runs; who is first takes turns.
fn pairs(limited: &Path, unlimited: &Path, from: &str) -> Result<Vec<f64>, String> {
    let pair = |n: usize| match n % 2 {
        0 => Ok(time(limited, from)? / time(unlimited, from)?),
        _ => {
            let without = time(unlimited, from)?;
            Ok(time(limited, from)? / without)
        }
    };
    (0..PAIRS).map(pair).collect()
}

/// The median, and what bounds it.
fn middle(mut ratios: Vec<f64>) -> (f64, f64, f64) {
    ratios.sort_by(f64::total_cmp);
    let last = ratios.len() - 1;
    (ratios[BOUND], ratios[last / 2], ratios[last - BOUND])
}

fn build(name: &str, flags: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = root.join("target/limit-cost").join(name);
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "-p", "cmwq", "--example", EXAMPLE]);
    cargo.current_dir(&root).env("RUSTFLAGS", flags);
    cargo.env("CARGO_TARGET_DIR", &target);
    output(&mut cargo)?;
    Ok(target.join("release/examples").join(EXAMPLE))
}

/// Instructions for each item.
fn instructions(example: &Path) -> Result<u64, String> {
    let [few, many] = COUNTED;
    let more = counted(example, many)?.saturating_sub(counted(example, few)?);
    Ok(more / ((many - few) * ITEMS))
}

fn counted(example: &Path, rounds: u64) -> Result<u64, String> {
    let args = [&*rounds.to_string(), "inside"];
    callgrind::instructions(&example.to_string_lossy(), &args)
}

/// Nanoseconds of a run.
fn time(example: &Path, from: &str) -> Result<f64, String> {
    let printed = output(Command::new(example).args([&TIMED.to_string(), from]))?;
    let number = printed.trim().parse();
    number.map_err(|_| format!("{} printed no number: {printed}", example.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_its_bounds() {
        let ratios = (0..PAIRS).rev().map(|n| n as f64).collect();
        assert_eq!(middle(ratios), (7.0, 12.0, 17.0));
    }
}
