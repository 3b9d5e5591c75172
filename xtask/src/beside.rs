//! Two programs that do the same beside each other: instructions, and times of pairs of runs.
//!
//! Each takes a number of rounds and `inside` or `outside`, as `empty_items` of the runtime does,
//! and prints nanoseconds.

use std::path::Path;
use std::process::Command;

use crate::callgrind::{self, output};

/// Items of one round.
const ITEMS: u64 = 1000;
/// Rounds of the two runs whose difference counts: beginning and end of a process cancel out.
const COUNTED: [u64; 2] = [20, 60];
/// Rounds of a run that is timed.
const TIMED: u64 = 400;
/// Pairs of such runs.
pub(crate) const PAIRS: usize = 25;
/// Of so many sorted values, the 8th from either end bound the median with 95.7 % (binomial).
const BOUND: usize = 7;

/// A program, and what it is called in the report.
pub(crate) type Named<'a> = (&'a Path, &'a str);

/// Compares the first program with the second one.
pub(crate) fn report(first: Named<'_>, second: Named<'_>) -> Result<(), String> {
    let (one, other) = (instructions(first.0)?, instructions(second.0)?);
    let ratio = one as f64 / other as f64;
    println!(
        "instructions for each item: {one} {}, {other} {}: {ratio:.4}",
        first.1, second.1
    );
    for from in ["inside", "outside"] {
        let (low, median, high) = middle(pairs(first.0, second.0, from)?);
        println!("time, {PAIRS} pairs, queued {from}: {median:.3} (95 %: {low:.3} to {high:.3})");
    }
    Ok(())
}

/// Ratios of times, of pairs of runs; who is first takes turns.
fn pairs(first: &Path, second: &Path, from: &str) -> Result<Vec<f64>, String> {
    let pair = |n: usize| match n % 2 {
        0 => Ok(time(first, from)? / time(second, from)?),
        _ => {
            let other = time(second, from)?;
            Ok(time(first, from)? / other)
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

/// Instructions for each item.
fn instructions(program: &Path) -> Result<u64, String> {
    let [few, many] = COUNTED;
    let more = counted(program, many)?.saturating_sub(counted(program, few)?);
    Ok(more / ((many - few) * ITEMS))
}

fn counted(program: &Path, rounds: u64) -> Result<u64, String> {
    let args = [&*rounds.to_string(), "inside"];
    callgrind::instructions(&program.to_string_lossy(), &args)
}

/// Nanoseconds of a run.
fn time(program: &Path, from: &str) -> Result<f64, String> {
    let printed = output(Command::new(program).args([&TIMED.to_string(), from]))?;
    let number = printed.trim().parse();
    number.map_err(|_| format!("{} printed no number: {printed}", program.display()))
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
