//! `cargo xtask soak`: hostile programs at random on real threads; `docs/testing.md`.

use std::process::{Command, ExitCode};

/// Runs the soak with these arguments: with the checks of debug builds.
pub fn run(args: &[String]) -> ExitCode {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "-p", "cmwq-soak", "--"])
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
