//! `swarm`: runs seeds, or one seed with everything that is known of it.

use std::process::ExitCode;
use std::time::Instant;

use cmwq_swarm::plan::{Feature, Plan};
use cmwq_swarm::swarm::{FAULTS, Totals, swarm};
use cmwq_swarm::{run, shrink};

const USAGE: &str = "\
usage: swarm [--seeds N] [--from S] | --seed S
  --seeds N   so many seeds, 1000 unless said otherwise
  --from S    the first of them, 0 unless said otherwise
  --seed S    one seed, with the end of its trace and the smallest part of it that fails the same way";

/// Failures after which a run ends.
const ENOUGH: usize = 20;

struct Options {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
}

fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        seeds: 1000,
        from: 0,
        seed: None,
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut number = || {
            let value = args.next().ok_or(format!("{arg} needs a number"))?;
            let parsed = value.parse();
            parsed.map_err(|_| format!("{arg}: not a number: `{value}`"))
        };
        match arg.as_str() {
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--seed" => options.seed = Some(number()?),
            other => return Err(format!("not an option: `{other}`")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    // What panics is caught, named and counted.
    std::panic::set_hook(Box::new(|_| {}));
    match parse(std::env::args().skip(1)) {
        Ok(Options {
            seed: Some(seed), ..
        }) => one(seed),
        Ok(options) => many(&options),
        Err(error) => {
            eprintln!("swarm: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn one(seed: u64) -> ExitCode {
    let plan = Plan::of(seed);
    println!("seed {seed}: {plan:?}");
    let outcome = run(&plan, true);
    let (events, ms) = (outcome.events, outcome.time / 1_000_000);
    println!("{events} events in {ms} ms of its time");
    let Some(violation) = outcome.violation else {
        println!("nothing is violated");
        return ExitCode::SUCCESS;
    };
    outcome.trace.iter().for_each(|line| println!("  {line}"));
    println!("VIOLATED: {violation}");
    let small = shrink::shrink(&plan, violation.invariant);
    let outcome = run(&small, true);
    println!(
        "\nthe smallest part that fails so: {small:?}, {} events",
        small.events
    );
    outcome.trace.iter().for_each(|line| println!("  {line}"));
    let violation = outcome.violation.expect("it failed before");
    println!("VIOLATED: {violation}");
    println!("again: cargo xtask swarm --seed {seed}");
    ExitCode::FAILURE
}

fn many(options: &Options) -> ExitCode {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds = options.from..options.from + options.seeds;
    let totals = swarm(seeds, threads, ENOUGH);
    print(&totals, began.elapsed().as_secs_f64());
    match totals.failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn print(totals: &Totals, seconds: f64) {
    let per_second = totals.seeds as f64 / seconds;
    println!(
        "{} seeds in {seconds:.1} s: {per_second:.0} a second; {} events, at least {} a seed; {} items begun",
        totals.seeds, totals.events, totals.fewest, totals.started
    );
    for (fault, n) in FAULTS.iter().zip(totals.faults) {
        println!("{n:>12}  {fault}");
    }
    for (feature, n) in Feature::ALL.iter().zip(&totals.features) {
        println!("{n:>12}  seeds with {feature:?}");
    }
    for (seed, violation) in &totals.failed {
        println!("seed {seed}: VIOLATED {violation}");
        println!("  again: cargo xtask swarm --seed {seed}");
    }
}
