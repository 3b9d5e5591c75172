//! The pinned toolchain in a home of its own, and the commands that it gives.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// rustc 1.97. Newer ones compare the C types of variadic calls, and miri of 2026-10-29 stops at
/// how rustix hands `syscall(SYS_futex, ...)` the address of an atomic.
const TOOLCHAIN: &str = "nightly-2026-05-20";

/// miri interprets the standard library as well, and tsan builds it again: both need its source.
const COMPONENTS: [&str; 2] = ["miri", "rust-src"];

/// Where the toolchain lives, if not below the target folder.
const HOME: &str = "CMWQ_NIGHTLY_HOME";

/// What of the caller's environment would choose another compiler, or other code.
const INHERITED: [&str; 6] = [
    "CARGO",
    "RUSTC",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
];

/// * Isolation stays on: no file of the host, a clock that runs with the program, and so the same
///   run for the same seed. What the program may not have is refused in silence, as a small system
///   would.
/// * Items' words hold addresses, so provenance is permissive.
/// * Workers never end and the engine is never freed, so leaks say nothing.
const MIRI_FLAGS: &str = "-Zmiri-isolation-error=hide -Zmiri-permissive-provenance \
    -Zmiri-ignore-leaks -Zmiri-num-cpus=2 -Zmiri-env-forward=PROPTEST_CASES";

/// The code of the core is interpreted about a thousand times slower than it runs.
const PROPTEST_CASES: &str = "2";

/// A toolchain that is there.
pub(super) struct Nightly {
    root: PathBuf,
    target: PathBuf,
    home: PathBuf,
    /// Flag of the compiler for what all items are taken for.
    taken_for: &'static str,
}

impl Nightly {
    /// Installs what is missing of it. Nothing is fetched where nothing is missing.
    pub(super) fn install(root: &Path, taken_for: &'static str) -> Result<Nightly, String> {
        let target = path_of("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let target = root.join(target);
        let nightly = Nightly {
            root: root.to_owned(),
            home: path_of(HOME).map_or_else(|| target.join("nightly"), |home| root.join(home)),
            target,
            taken_for,
        };
        if !nightly.is_complete() {
            nightly.fetch()?;
        }
        Ok(nightly)
    }

    fn is_complete(&self) -> bool {
        let args = ["component", "list", "--installed", "--toolchain", TOOLCHAIN];
        let listed = self.rustup().args(args).stderr(Stdio::null()).output();
        let listed = listed.map(|output| output.stdout).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let has = |part: &str| listed.lines().any(|line| line.starts_with(part));
        COMPONENTS.iter().all(|part| has(part))
    }

    fn fetch(&self) -> Result<(), String> {
        let home = self.home.display();
        eprintln!("xtask: installing {TOOLCHAIN} in {home} ({HOME} chooses another place)");
        let args = ["toolchain", "install", TOOLCHAIN, "--profile", "minimal"];
        let mut command = self.rustup();
        command.args(args).arg("--no-self-update");
        for part in COMPONENTS {
            command.args(["--component", part]);
        }
        succeed(&mut command)
    }

    fn rustup(&self) -> Command {
        let mut command = Command::new("rustup");
        INHERITED
            .iter()
            .for_each(|name| _ = command.env_remove(name));
        command
            .env("RUSTUP_HOME", self.home.join("rustup"))
            .env("CARGO_HOME", self.home.join("cargo"))
            .current_dir(&self.root);
        command
    }

    /// `program` of the toolchain, which builds into a folder of its own.
    fn program(&self, program: &str, folder: &str) -> Command {
        let mut command = self.rustup();
        command
            .env("CARGO_TARGET_DIR", self.target.join(folder))
            .args(["run", TOOLCHAIN, program]);
        command
    }

    /// Makes the standard library that miri interprets, unless it is there. Left to itself it would
    /// lie in the user's cache.
    pub(super) fn set_up_miri(&self) -> Result<(), String> {
        succeed(self.cargo_miri().arg("setup"))
    }

    fn cargo_miri(&self) -> Command {
        let mut command = self.program("cargo", "miri");
        command
            .arg("miri")
            .env("MIRI_SYSROOT", self.home.join("miri"));
        command
    }

    /// `cargo miri test`, with the schedule of this seed.
    pub(super) fn miri(&self, seed: u32) -> Command {
        // Last, so that they win: what the caller asks of miri, for example other aliasing rules.
        let own = std::env::var("MIRIFLAGS").unwrap_or_default();
        let mut command = self.cargo_miri();
        command
            .arg("test")
            .env(
                "MIRIFLAGS",
                format!("{MIRI_FLAGS} -Zmiri-seed={seed} {own}"),
            )
            .env("RUSTFLAGS", self.taken_for)
            .env("PROPTEST_CASES", PROPTEST_CASES);
        command
    }

    /// `cargo test` of a build in which every access of memory is watched, those of the standard
    /// library as well: what it does not see it takes for a race.
    pub(super) fn tsan(&self) -> Result<Command, String> {
        let host = self.host()?;
        let mut command = self.program("cargo", "tsan");
        // The helper process has no memory for what tsan writes.
        let mut flags = "-Zsanitizer=thread --cfg cmwq_no_helper ".to_owned();
        flags += self.taken_for;
        command
            .args(["test", "-Zbuild-std", "--target", &host])
            .env("RUSTFLAGS", flags);
        Ok(command)
    }

    /// Where what a tool says of a suite is written to.
    pub(super) fn log_file(&self, tool: &str, suite: &str) -> Result<PathBuf, String> {
        let folder = self.target.join(tool);
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder.join(format!("{suite}.log")))
    }

    /// The target to build for. It has to be named: otherwise the flags are for build scripts as
    /// well.
    fn host(&self) -> Result<String, String> {
        let mut command = self.program("rustc", "tsan");
        let output = command.arg("-vV").output().map_err(not_started)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        host.map(str::to_owned)
            .ok_or_else(|| format!("{TOOLCHAIN} does not say which host it is for"))
    }
}

fn path_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status().map_err(not_started)? {
        status if status.success() => Ok(()),
        status => Err(format!("{command:?}: {status}")),
    }
}

/// Everything is started through rustup.
pub(super) fn not_started(error: std::io::Error) -> String {
    format!("cannot start rustup, which fetches {TOOLCHAIN}: {error}")
}
