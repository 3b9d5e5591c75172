//! Runs a command of tests and reads what became of each.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Lines of what the tool said that are shown when a suite fails; all of it is in the file.
const SHOWN: usize = 100;

/// What became of the tests.
pub(super) struct Log {
    pub(super) status: ExitStatus,
    pub(super) passed: Vec<String>,
    pub(super) failed: Vec<String>,
}

/// Runs the command. What it prints is passed on; what it says beside that (compiler, tool) goes to
/// `file`, of which the first finding is shown if the command fails.
pub(super) fn run(command: &mut Command, file: &Path) -> Result<Log, String> {
    let named = |error: std::io::Error| format!("{}: {error}", file.display());
    let said = File::create(file).map_err(named)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(said)
        .spawn()
        .map_err(super::nightly::not_started)?;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    let stdout = child.stdout.take().expect("it was asked for");
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| format!("{command:?}: {error}"))?;
        println!("{line}");
        match verdict(&line) {
            Some((name, true)) => passed.push(name.to_owned()),
            Some((name, false)) => failed.push(name.to_owned()),
            None => {}
        }
    }
    let status = child
        .wait()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if !status.success() {
        let mut text = Vec::new();
        let read = File::open(file).and_then(|mut file| file.read_to_end(&mut text));
        read.map_err(named)?;
        let text = String::from_utf8_lossy(&text);
        eprintln!("{}\nall of it: {}", finding(&text), file.display());
    }
    Ok(Log {
        status,
        passed,
        failed,
    })
}

/// A test's name and whether it passed, from the line that ends with its verdict. A tool that ends
/// the process leaves a line without one: that test has failed. One that is ignored has none.
fn verdict(line: &str) -> Option<(&str, bool)> {
    let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.trim_end_matches(" - should panic");
    (!verdict.starts_with("ignored")).then_some((name, verdict == "ok"))
}

/// The first thing that a tool, the compiler or a test complains of, and what follows.
fn finding(text: &str) -> String {
    let starts = ["error", "WARNING: ThreadSanitizer", "thread '"];
    let begins = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(begins).unwrap_or(0);
    let shown: Vec<&str> = lines[first..].iter().copied().take(SHOWN).collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read() {
        assert_eq!(verdict("test a::b ... ok"), Some(("a::b", true)));
        assert_eq!(verdict("test a::b ... FAILED"), Some(("a::b", false)));
        assert_eq!(verdict("test a - should panic ... ok"), Some(("a", true)));
        assert_eq!(verdict("test a::b ... ignored, too ... slow"), None);
        assert_eq!(verdict("test cut_short ... "), Some(("cut_short", false)));
        assert_eq!(verdict("test result: ok. 3 passed; 0 failed"), None);
        assert_eq!(verdict("running 3 tests"), None);
    }

    #[test]
    fn the_first_complaint_is_shown() {
        let text = "warning: of no interest\n  there\nerror: Undefined Behavior\n  here\n";
        assert_eq!(finding(text), "error: Undefined Behavior\n  here");
        assert_eq!(finding("nothing to see"), "nothing to see");
        assert_eq!(finding(""), "");
    }
}
