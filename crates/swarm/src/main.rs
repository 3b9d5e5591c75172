//! `swarm`: runs seeds, or one seed with everything that is known of it.

use std::process::ExitCode;
use std::time::Instant;

use cmwq_swarm::faults::FAULTS;
use cmwq_swarm::plan::{Feature, Plan};
use cmwq_swarm::swarm::{Totals, swarm};
use cmwq_swarm::{run, shrink};

const USAGE: &str = "\
usage: swarm [--seeds N] [--from S] | --seed S
  --seeds N   so many seeds, 1000 unless said otherwise
  --from S    the first of them, 0 unless said otherwise
  --broken NAME  breaks this rule of the policy (built with the feature `broken`)
  --seed S    one seed, with the end of its trace and the smallest part of it that fails the same way";

/// Failures after which a run ends.
const ENOUGH: usize = 20;

/// In a run of [`WHOLE`] seeds each rule and fault is come across at least so often.
const HITS: u64 = 100;
const WHOLE: u64 = 100_000;

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
        let number = |args: &mut dyn Iterator<Item = String>| {
            let value = args.next().ok_or(format!("{arg} needs a number"))?;
            let parsed = value.parse();
            parsed.map_err(|_| format!("{arg}: not a number: `{value}`"))
        };
        match arg.as_str() {
            "--seeds" => options.seeds = number(&mut args)?,
            "--broken" => break_rule(&args.next().unwrap_or_default())?,
            "--from" => options.from = number(&mut args)?,
            "--seed" => options.seed = Some(number(&mut args)?),
            other => return Err(format!("not an option: `{other}`")),
        }
    }
    Ok(options)
}

#[cfg(feature = "broken")]
fn break_rule(name: &str) -> Result<(), String> {
    use cmwq_policy::probe::breakage::{Broken, set};
    let rule: Broken = name.parse().map_err(|e| format!("--broken {name}: {e}"))?;
    set(Some(rule));
    Ok(())
}

#[cfg(not(feature = "broken"))]
fn break_rule(name: &str) -> Result<(), String> {
    Err(format!(
        "--broken {name}: built without the feature `broken`"
    ))
}

/// Prints how often each rule of the policy was used; the names of those that are expected to be
/// used and were so less than [`HITS`] times.
#[cfg(feature = "probe")]
fn print_coverage() -> Vec<String> {
    use cmwq_policy::probe::Edge;
    for edge in Edge::all() {
        println!("{:>12}  {}", edge.count(), edge.name());
    }
    let rare = Edge::all().filter(|edge| edge.count() < HITS);
    rare.map(|edge| edge.name().to_owned()).collect()
}

#[cfg(not(feature = "probe"))]
fn print_coverage() -> Vec<String> {
    Vec::new()
}

fn main() -> ExitCode {
    // What panics is caught, named and counted; who wants to see where says so.
    if std::env::var_os("CMWQ_SWARM_PANICS").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
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
    let mut rare = print_coverage();
    let faults = FAULTS.iter().zip(totals.faults);
    rare.extend(faults.filter(|f| f.1 < HITS).map(|f| f.0.to_string()));
    if totals.seeds >= WHOLE && totals.failed.is_empty() && !rare.is_empty() {
        println!("less than {HITS} times: {}", rare.join(", "));
        return ExitCode::FAILURE;
    }
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
    println!(
        "{} items were claimed, in {} seeds",
        totals.claimed, totals.claiming
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
