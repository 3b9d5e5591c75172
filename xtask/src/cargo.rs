//! Programs of the workspace that chores start.

use std::process::{Command, ExitCode};

/// Runs `cargo run --quiet` with these arguments, and then those of the chore; its status is the
/// chore's.
pub fn run(with: &[&str], args: &[String]) -> ExitCode {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet"]).args(with);
    match command.arg("--").args(args).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code.clamp(1, 255) as u8)),
        Err(error) => {
            eprintln!("xtask: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
