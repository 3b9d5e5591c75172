//! `cargo xtask`: the chores of the project.

use std::path::Path;
use std::process::ExitCode;
use xtask::sanitize::{self, Tool};
use xtask::{bench, capi_cost, item_cost, limit_cost, pictures, run_sets, soak, swarm, tidy, vm};

const USAGE: &str = "\
usage: cargo xtask COMMAND
  tidy    check the rules that the whole tree keeps (also part of `cargo test`)
  bench   [--quick] [--only PART] [--tables] [--out DIR]: measure, and write docs/benchmarks.md and docs/bench
  pictures: draw `cmwq top` for the README, of a real run, into docs/pictures
  run-sets  [--rounds N] [--out FILE] [--continue] [--hogs N] [SET...]: `cmwq run` beside xargs
            and GNU parallel
  swarm   [--seeds N] [--from S] [--seed S] [--broken NAME]: random machines, programs and faults
  soak    [--minutes N] [--seed S] [--room NAME] | --one S: hostile programs on real threads
  item-cost   what an empty item costs beside rayon's: instructions (valgrind)
  capi-cost   what an empty item costs from C beside Rust: instructions (valgrind) and time
  limit-cost  what a limit that does not bind costs: instructions (valgrind) and time
  miri    [--seeds N] [SUITE...]: tests under an interpreter that finds undefined behaviour
  tsan    [SUITE...]: tests under ThreadSanitizer, which finds data races
  vm-test [MACHINE...]: where items run, in virtual machines with several nodes and caches";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("tidy") if args.len() == 1 => run_tidy(),
        Some("bench") => bench::run(&args[1..]),
        Some("pictures") if args.len() == 1 => pictures::run(),
        Some("run-sets") => run_sets::run(&args[1..]),
        Some("swarm") => swarm::run(&args[1..]),
        Some("soak") => soak::run(&args[1..]),
        Some("item-cost") => item_cost::run(&args[1..]),
        Some("capi-cost") => capi_cost::run(&args[1..]),
        Some("limit-cost") => limit_cost::run(&args[1..]),
        Some("miri") => sanitize::run(Tool::Miri, &args[1..]),
        Some("tsan") => sanitize::run(Tool::Tsan, &args[1..]),
        Some("vm-test") => vm::run(&args[1..]),
        Some("help" | "-h" | "--help") => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("xtask: not a command: `{}`\n{USAGE}", args.join(" "));
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match tidy::check(&root) {
        Ok(found) if found.is_empty() => ExitCode::SUCCESS,
        Ok(found) => {
            found.iter().for_each(|v| println!("{v}"));
            eprintln!("xtask: {} violations", found.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: cannot read {}: {error}", root.display());
            ExitCode::FAILURE
        }
    }
}
