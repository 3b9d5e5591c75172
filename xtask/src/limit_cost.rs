//! `cargo xtask limit-cost`: what it costs that items are counted against a limit that does not
//! bind.
//!
//! One example program is built twice, the second time with `--cfg cmwq_unlimited`, which leaves
//! limits out. Compared are instructions for each item (valgrind's callgrind), in runs of one
//! thread, and the time of runs in pairs, one of each, in turns: of one thread, and of two that
//! work at once.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::beside;
use crate::callgrind::{self, output};

const EXAMPLE: &str = "empty_items";

/// Runs the command; `args` must be empty.
pub fn run(args: &[String]) -> ExitCode {
    callgrind::command("limit-cost", args, measure)
}

fn measure() -> Result<(), String> {
    let limited = build("limited", "")?;
    let unlimited = build("unlimited", "--cfg cmwq_unlimited")?;
    beside::report((&limited, "with a limit"), (&unlimited, "without"))
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
