//! The program that is all of the user space in a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{output, root};

const EXAMPLE: &str = "vm_guest";

/// Builds it without shared libraries, as there is no loader in the machine. The flags would change
/// every crate, so it has a target folder of its own.
pub(super) fn build(folder: &Path) -> Result<PathBuf, String> {
    let host = host()?;
    let target = folder.join("guest");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // The target has to be named, or the flags are for build scripts as well.
    let mut command = Command::new(cargo);
    command
        .current_dir(root())
        .args(["build", "--quiet", "-p", "cmwq", "--example", EXAMPLE])
        .args(["--target", &host])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    output(&mut command)?;
    Ok(target.join(host).join("debug/examples").join(EXAMPLE))
}

/// The machines have x86 CPUs.
fn host() -> Result<String, String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not say which host it is for")?;
    match host.starts_with("x86_64") {
        true => Ok(host.to_owned()),
        false => Err(format!(
            "the machines have x86_64 CPUs, but rustc builds for {host}"
        )),
    }
}
