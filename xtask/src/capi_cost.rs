//! `cargo xtask capi-cost`: what an empty item costs from C, beside Rust.
//!
//! The C program is linked against the shared library, as installed programs are. Both queue the
//! same items in the same way.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::beside;
use crate::callgrind::{self, output};

/// Runs the command; `args` must be empty.
pub fn run(args: &[String]) -> ExitCode {
    callgrind::command("capi-cost", args, measure)
}

fn measure() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = root.join("target/capi-cost");
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--release",
        "-p",
        "cmwq",
        "--example",
        "empty_items",
    ]);
    output(cargo.current_dir(&root).env("CARGO_TARGET_DIR", &target))?;
    let library = target.join("lib");
    let mut make = Command::new(root.join("crates/capi/make"));
    output(
        make.arg("lib")
            .arg(&library)
            .env("CARGO_TARGET_DIR", &target),
    )?;
    let c = target.join("empty_items");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-D_GNU_SOURCE", "-I"])
        .arg(root.join("crates/capi/include"));
    cc.arg(root.join("crates/capi/tests/c/empty_items.c"))
        .arg("-o")
        .arg(&c);
    cc.arg("-L").arg(&library).arg("-lcmwq");
    output(cc.arg(format!("-Wl,-rpath,{}", library.display())))?;
    let rust = target.join("release/examples/empty_items");
    beside::report((&c, "from C"), (&rust, "from Rust"))
}
