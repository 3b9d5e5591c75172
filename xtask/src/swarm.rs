//! `cargo xtask swarm`: swarm testing of the policy in the simulated machine;
//! `docs/contributing/swarm.md`.

use std::process::ExitCode;

use crate::cargo;

/// Runs the swarm with these arguments, built with the counters of the policy's rules and, where a
/// rule is to be broken, with that.
pub fn run(args: &[String]) -> ExitCode {
    let breaks = args.iter().any(|arg| arg == "--broken");
    let features = if breaks { "probe,broken" } else { "probe" };
    let with = ["--release", "-p", "cmwq-swarm", "--features", features];
    cargo::run(&with, args)
}
