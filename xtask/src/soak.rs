//! `cargo xtask soak`: hostile programs at random on real threads; `docs/contributing/testing.md`.

use std::process::ExitCode;

use crate::cargo;

/// Runs the soak with these arguments: with the checks of debug builds.
pub fn run(args: &[String]) -> ExitCode {
    cargo::run(&["-p", "cmwq-soak"], args)
}
