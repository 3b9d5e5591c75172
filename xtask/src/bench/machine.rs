//! Builds the command and runs it as somebody who has no privileges.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::figures::Machine;

/// `nobody`: whom root measures as.
const UNPRIVILEGED: u32 = 65_534;

/// The command under test and the directory that it and its input lie in, which goes away with
/// this value.
pub(super) struct Bench {
    dir: PathBuf,
    drop_privileges: bool,
}

impl Bench {
    /// Builds the command and copies it to where an unprivileged user can reach it.
    pub(super) fn prepare(root: &Path) -> Result<Bench, String> {
        let built = build(root)?;
        let dir = std::env::temp_dir().join(format!("cmwq-bench-{}", std::process::id()));
        let bench = Bench {
            dir,
            drop_privileges: is_root().map_err(|e| format!("/proc/self: {e}"))?,
        };
        bench
            .stage(&built)
            .map_err(|e| format!("cannot copy the command to {}: {e}", bench.dir.display()))?;
        Ok(bench)
    }

    fn stage(&self, built: &Path) -> io::Result<()> {
        fs::create_dir(&self.dir)?;
        fs::set_permissions(&self.dir, Permissions::from_mode(0o755))?;
        fs::copy(built, self.binary())?;
        fs::set_permissions(self.binary(), Permissions::from_mode(0o755))
    }

    pub(super) fn binary(&self) -> PathBuf {
        self.dir.join("cmwq")
    }

    /// Puts a file of input beside the command; returns its path.
    pub(super) fn input(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.dir.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        Ok(path)
    }

    /// A command that runs `program` unprivileged, with no input.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).stdin(Stdio::null());
        if self.drop_privileges {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        command
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A directory left behind in the temporary directory is not worth an error.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

pub(crate) fn project_root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// CPUs that the measured command will see.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// This machine, as far as it matters to the figures.
pub(super) fn describe() -> Machine {
    Machine {
        cpus: cpus(),
        kernel: kernel(),
    }
}

fn kernel() -> String {
    let version = fs::read_to_string("/proc/version").unwrap_or_default();
    version
        .split_whitespace()
        .nth(2)
        .unwrap_or("unknown")
        .to_owned()
}

/// Builds the command into a folder of its own, so that the other features do not rebuild the usual
/// one.
pub(crate) fn build(root: &Path) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = root.join(target).join("bench");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--package",
            "cmwq-cli",
            "--features",
            "peers",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(root)
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err(format!("cargo build: {status}"));
    }
    Ok(target.join("release/cmwq"))
}
