//! `cargo xtask swarm`: swarm testing of the policy in the simulated machine; `docs/swarm.md`.

use std::process::{Command, ExitCode};

/// Runs the swarm with these arguments, built with the counters of the policy's rules and, where a
/// rule is to be broken, with that.
pub fn run(args: &[String]) -> ExitCode {
    let breaks = args.iter().any(|arg| arg == "--broken");
    let features = if breaks { "probe,broken" } else { "probe" };
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "-p", "cmwq-swarm"])
        .args(["--features", features, "--"])
        .args(args)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code.clamp(1, 255) as u8)),
        Err(error) => {
            eprintln!("xtask: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
