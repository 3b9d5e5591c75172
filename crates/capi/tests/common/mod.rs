//! Compiles C programs against the library, as a user would, and runs them.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Whoever runs longer hangs. Generous: machines are busy, and valgrind is slow.
const PATIENCE: Duration = Duration::from_secs(300);

/// The folder of this crate.
pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("it is in target/PROFILE/deps");
    profile.parent().expect("so it has a target folder").into()
}

static SCRATCH: OnceLock<PathBuf> = OnceLock::new();

/// A folder for what this process makes, and no other run of the tests. It goes with the process.
pub(crate) fn scratch() -> &'static Path {
    SCRATCH.get_or_init(|| {
        let folder = target().join("capi").join(std::process::id().to_string());
        std::fs::create_dir_all(&folder).expect("it can be made");
        // SAFETY: a function that may be called at the end of the process.
        unsafe { libc::atexit(remove_scratch) };
        folder
    })
}

extern "C" fn remove_scratch() {
    if let Some(folder) = SCRATCH.get() {
        // Another try would not help.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// The script that makes the library.
pub(crate) fn make() -> Command {
    let mut make = Command::new(here().join("make"));
    make.env("CARGO_TARGET_DIR", target());
    make.env("CARGO", env!("CARGO"));
    make
}

/// The folder of libcmwq.so and libcmwq.a.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = scratch().join("lib");
        let made = make()
            .arg("lib")
            .arg(&folder)
            .args(["--profile", "dev"])
            .output();
        let made = made.expect("the script can be run");
        assert!(made.status.success(), "{}", text(&made.stderr));
        folder
    })
}

/// Whether there is a command of this name, which can be run with these arguments.
pub(crate) fn has(command: &str, args: &[&str]) -> bool {
    let mut ask = Command::new(command);
    ask.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

/// A C compiler is taken for granted; others are used where they are.
pub(crate) const CC: &str = "cc";
pub(crate) const CXX: &str = "c++";

/// All that a compiler can say, as errors.
pub(crate) const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];

/// A program to be compiled.
pub(crate) struct Program {
    command: Command,
    to: PathBuf,
    linked: bool,
}

impl Program {
    /// Of these files, which are named from the crate's folder.
    pub(crate) fn new(compiler: &str, sources: &[&str]) -> Program {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, SeqCst);
        let to = scratch().join(format!("program{number}"));
        let mut command = Command::new(compiler);
        command
            .args(["-g", "-O1", "-D_GNU_SOURCE"])
            .arg("-o")
            .arg(&to);
        command.arg("-I").arg(here().join("include"));
        command.args(sources.iter().map(|source| here().join(source)));
        Program {
            command,
            to,
            linked: false,
        }
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Program {
        self.command.args(args);
        self
    }

    /// With the kernel's names, and the headers that stand in for the kernel's.
    pub(crate) fn kernel(mut self) -> Program {
        for folder in ["include/cmwq", "include/cmwq/shims"] {
            self.command.arg("-I").arg(here().join(folder));
        }
        self
    }

    /// Linked against the archive.
    pub(crate) fn archive(mut self) -> Program {
        self.command.arg(library().join("libcmwq.a"));
        self.command.args(["-lpthread", "-ldl", "-lm"]);
        self.linked = true;
        self
    }

    /// Against nothing of ours, or something that was named.
    pub(crate) fn alone(mut self) -> Program {
        self.linked = true;
        self
    }

    /// The program. Fails with what the compiler has said.
    pub(crate) fn build(mut self) -> PathBuf {
        if !self.linked {
            self.command.arg("-L").arg(library());
            self.command.args(["-lcmwq", "-lpthread"]);
        }
        let made = self.command.output().expect("there is a compiler");
        let said = text(&made.stderr);
        assert!(made.status.success(), "{:?}\n{said}", self.command);
        self.to
    }

    pub(crate) fn run(self) -> Ended {
        run(&mut Command::new(self.build()))
    }
}

/// How a program ended.
pub(crate) struct Ended {
    pub(crate) output: Output,
}

impl Ended {
    /// It passed, or cannot run here and has said why.
    pub(crate) fn passed(&self) {
        let said = self.said();
        match self.output.status.code() {
            Some(0) => {}
            Some(77) => println!("skipped: {said}"),
            _ => panic!("{:?}\n{said}", self.output.status),
        }
    }

    pub(crate) fn said(&self) -> String {
        text(&self.output.stderr) + &text(&self.output.stdout)
    }

    /// It ended itself, with a message that has these words.
    pub(crate) fn aborted(&self, words: &[&str]) {
        use std::os::unix::process::ExitStatusExt;
        let said = self.said();
        let signal = self.output.status.signal();
        assert_eq!(
            signal,
            Some(libc::SIGABRT),
            "{:?}\n{said}",
            self.output.status
        );
        for word in words {
            assert!(said.contains(word), "`{word}` is not said:\n{said}");
        }
    }
}

/// Runs a program that finds the shared library.
pub(crate) fn run(command: &mut Command) -> Ended {
    command.env("LD_LIBRARY_PATH", library());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("it can be run");
    let pid = libc::pid_t::try_from(child.id()).expect("a pid");
    let (ended, waits) = mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let hangs = waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hangs {
            // SAFETY: it is not waited for, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        hangs
    });
    let output = child.wait_with_output().expect("it is a child of ours");
    drop(ended);
    let hangs = guard.join().expect("it does not panic");
    assert!(!hangs, "{command:?} hangs\n{}", text(&output.stderr));
    Ended { output }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A test that cannot run here says so.
pub(crate) fn skip(why: &str) {
    println!("skipped: {why}");
}
