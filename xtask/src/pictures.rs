//! `cargo xtask pictures`: the pictures of `cmwq top`, of a run that happens now.

use std::path::Path;
use std::process::{Command, ExitCode};

/// The test that has such a run, and draws it.
const TEST: &str = "live::screen::tests::picture::a_starved_queue_is_drawn";

/// Writes them into `docs/pictures`.
pub fn run() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("xtask: cannot make {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut test = Command::new(cargo);
    test.args([
        "test", "--quiet", "-p", "cmwq-cli", "--bin", "cmwq", "--", "--exact", TEST,
    ]);
    // It is absolute: a test runs in the folder of its crate.
    match test.env("CMWQ_WRITE_PICTURES", folder).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
