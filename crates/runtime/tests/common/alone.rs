//! Tests in a process of their own: for options of the process, and for what ends one.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};

/// Names the test that this process is to run.
const VARIABLE: &str = "CMWQ_TEST_ALONE";
/// Printed by a test that came to its end, so that a misspelt name cannot pass.
const CAME_TO_ITS_END: &str = "came to its end";

/// Whether this process was started for this test.
pub(crate) fn is_child(test: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|name| name == test)
}

/// A command that runs this test, and nothing else, in a new process.
pub(crate) fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, test);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the body of the test of this name in a process of its own.
pub(crate) fn alone(test: &str, body: fn()) {
    if is_child(test) {
        let _watch = super::watchdog();
        body();
        println!("{test} {CAME_TO_ITS_END}");
        return;
    }
    let output = command(test).output().unwrap();
    let whole = output.status.success() && text(&output.stdout).contains(CAME_TO_ITS_END);
    assert!(whole, "alone: {}", describe(&output));
}

/// The same for a test that needs several nice levels, which a process at the end of them has not.
pub(crate) fn alone_among_levels(test: &str, body: fn()) {
    match has_levels() {
        true => alone(test, body),
        false => println!("the last nice levels: nothing to be seen"),
    }
}

/// Whether there are as many as the tests use below the one that this process has.
pub(crate) fn has_levels() -> bool {
    cmwq_os::sched::nice_self() + 7 <= 19
}

/// Runs this test's child and returns how it ended.
pub(crate) fn output_of(test: &str) -> Output {
    command(test).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn describe(output: &Output) -> String {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    format!(
        "{}\n-- stdout\n{stdout}\n-- stderr\n{stderr}",
        output.status
    )
}

/// A child that the test looks at from outside. Killed and reaped with the value.
pub(crate) struct Watched(pub(crate) Child);

impl Watched {
    pub(crate) fn start(test: &str) -> Self {
        let mut command = command(test);
        Watched(
            command
                .stdin(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap(),
        )
    }

    /// Reads what the child prints until this has come.
    pub(crate) fn wait_for(&mut self, word: &str) {
        let stdout = self.0.stdout.as_mut().unwrap();
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while !text(&seen).contains(word) {
            let n = stdout.read(&mut byte).unwrap();
            assert_eq!(n, 1, "the child ended before \"{word}\": {}", text(&seen));
            seen.push(byte[0]);
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
