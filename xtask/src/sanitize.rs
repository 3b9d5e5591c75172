//! `cargo xtask miri` and `cargo xtask tsan`: the tests once more under an interpreter that knows
//! what Rust allows, and under a detector of data races.
//!
//! Both need a nightly toolchain. It is kept in a home of its own, so that nobody's rustup changes;
//! nothing else of the project needs it. What each of them finds, and cannot find:
//! docs/contributing/testing.md.

mod log;
mod nightly;
mod suites;

use std::path::Path;
use std::process::ExitCode;

use log::Log;
use nightly::Nightly;
use suites::{MIRI, Suite, TSAN};

const USAGE: &str = "usage: cargo xtask miri [--seeds N] [--brief | --short] [SUITE...]
       cargo xtask tsan [--brief | --short] [SUITE...]
  SUITE    only these, by their names in the summary
  --seeds  schedules that miri tries with each suite, from 1; default 1
  --brief  all items are taken for brief, which is what opens the inbox of a pool
  --short  all items are taken for short: several workers are dealt items at a time";

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The interpreter.
    Miri,
    /// ThreadSanitizer.
    Tsan,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Miri => "miri",
            Tool::Tsan => "tsan",
        }
    }

    fn suites(self) -> &'static [Suite] {
        match self {
            Tool::Miri => MIRI,
            Tool::Tsan => TSAN,
        }
    }
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seeds: u32,
    /// Flag of the compiler for what all items are taken for.
    taken_for: &'static str,
    suites: Vec<&'static Suite>,
}

impl Options {
    fn parse(tool: Tool, args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            seeds: 1,
            taken_for: "",
            suites: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--seeds" if tool == Tool::Miri => options.seeds = seeds(args.next())?,
                "--brief" => options.taken_for = "--cfg cmwq_brief",
                "--short" => options.taken_for = "--cfg cmwq_short",
                name => options.suites.push(suite(tool, name)?),
            }
        }
        if options.suites.is_empty() {
            // Tests of the rules say themselves what items are like.
            let takes = |suite: &&Suite| options.taken_for.is_empty() || !suite.is_of_rules();
            options.suites = tool.suites().iter().filter(takes).collect();
        }
        Ok(options)
    }
}

fn seeds(arg: Option<&String>) -> Result<u32, String> {
    let number = arg.and_then(|arg| arg.parse().ok());
    let wanted = number.filter(|&n| n > 0);
    wanted.ok_or_else(|| format!("--seeds needs a number from 1\n{USAGE}"))
}

fn suite(tool: Tool, name: &str) -> Result<&'static Suite, String> {
    let mut suites = tool.suites().iter();
    suites.find(|suite| suite.name == name).ok_or_else(|| {
        let names: Vec<_> = tool.suites().iter().map(|suite| suite.name).collect();
        let known = names.join(", ");
        format!("unknown suite {name:?}, there are {known}\n{USAGE}")
    })
}

/// Runs one of the tools with the arguments after its name. Status 2 for bad arguments, 1 if a test
/// failed, is gone or could not be run.
pub fn run(tool: Tool, args: &[String]) -> ExitCode {
    let options = match Options::parse(tool, args) {
        Ok(options) => options,
        Err(message) => return fail(tool, &message, 2),
    };
    match run_all(tool, &options) {
        Ok(outcomes) => report(tool, &outcomes),
        Err(message) => fail(tool, &message, 1),
    }
}

fn fail(tool: Tool, message: &str, status: u8) -> ExitCode {
    eprintln!("xtask {}: {message}", tool.name());
    ExitCode::from(status)
}

/// What came of one run of a suite.
struct Outcome {
    name: String,
    passed: usize,
    /// Why it does not count as passed.
    faults: Vec<String>,
}

fn run_all(tool: Tool, options: &Options) -> Result<Vec<Outcome>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let nightly = Nightly::install(&root, options.taken_for)?;
    if tool == Tool::Miri {
        nightly.set_up_miri()?;
    }
    let mut outcomes = Vec::new();
    for seed in 1..=options.seeds {
        for suite in &options.suites {
            outcomes.push(run_suite(tool, &nightly, suite, seed)?);
        }
    }
    Ok(outcomes)
}

fn run_suite(tool: Tool, nightly: &Nightly, suite: &Suite, seed: u32) -> Result<Outcome, String> {
    let (name, mut command) = match tool {
        Tool::Miri => (format!("{} seed {seed}", suite.name), nightly.miri(seed)),
        Tool::Tsan => (suite.name.to_owned(), nightly.tsan()?),
    };
    eprintln!("xtask {}: {name}", tool.name());
    let file = nightly.log_file(tool.name(), suite.name)?;
    let log = log::run(command.args(suite.args()), &file)?;
    Ok(Outcome {
        name,
        passed: log.passed.len(),
        faults: faults(suite, &log),
    })
}

/// A run that ends well has run something, and every test that the list names.
fn faults(suite: &Suite, log: &Log) -> Vec<String> {
    let ran = |name: &str| {
        log.passed
            .iter()
            .chain(&log.failed)
            .any(|seen| seen == name)
    };
    let gone = suite.only.iter().filter(|name| !ran(name));
    let mut faults: Vec<String> = log
        .failed
        .iter()
        .map(|name| format!("{name} failed"))
        .collect();
    if !log.status.success() {
        faults.push(log.status.to_string());
    } else {
        // Tests after one that ends the process did not run either, but they are not gone.
        faults.extend(
            gone.map(|name| format!("{name} is in the list of xtask but not in the suite")),
        );
    }
    if log.passed.is_empty() && faults.is_empty() {
        faults.push("no test ran".to_owned());
    }
    faults
}

fn report(tool: Tool, outcomes: &[Outcome]) -> ExitCode {
    for outcome in outcomes {
        let verdict = match outcome.faults.is_empty() {
            true => "ok".to_owned(),
            false => format!("FAILED: {}", outcome.faults.join("; ")),
        };
        println!(
            "{} {}: {} passed, {verdict}",
            tool.name(),
            outcome.name,
            outcome.passed
        );
    }
    match outcomes
        .iter()
        .filter(|outcome| !outcome.faults.is_empty())
        .count()
    {
        0 => ExitCode::SUCCESS,
        failed => fail(
            tool,
            &format!("{failed} of {} suites failed", outcomes.len()),
            1,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn parse(tool: Tool, args: &[&str]) -> Result<Options, String> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        Options::parse(tool, &args)
    }

    #[test]
    fn all_suites_or_those_that_are_named() {
        assert_eq!(parse(Tool::Tsan, &[]).unwrap().suites.len(), TSAN.len());
        let options = parse(Tool::Miri, &["--seeds", "3", "items"]).unwrap();
        assert_eq!((options.seeds, options.suites.len()), (3, 1));
        assert_eq!(options.suites[0].name, "items");
        let briefly = parse(Tool::Tsan, &["--brief", "map"]).unwrap();
        assert_eq!(
            (briefly.taken_for, options.taken_for),
            ("--cfg cmwq_brief", "")
        );
        assert_eq!(briefly.suites.len(), 1);
        let all = parse(Tool::Miri, &[]).unwrap().suites.len();
        let short = parse(Tool::Miri, &["--short"]).unwrap();
        assert_eq!(
            short.suites.len() + 1,
            all,
            "rules are told what items are like"
        );
    }

    #[test]
    fn bad_arguments_are_named() {
        for (tool, args, named) in [
            (Tool::Miri, &["none"][..], "\"none\""),
            (Tool::Tsan, &["--seeds", "2"], "\"--seeds\""),
            (Tool::Miri, &["--seeds"], "--seeds needs"),
            (Tool::Miri, &["--seeds", "0"], "--seeds needs"),
        ] {
            let message = parse(tool, args).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    fn log(passed: &[&str], failed: &[&str], status: i32) -> Log {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Log {
            status: ExitStatus::from_raw(status << 8),
            passed: owned(passed),
            failed: owned(failed),
        }
    }

    #[test]
    fn a_suite_passes_if_all_it_names_has_passed() {
        let suite = suite(Tool::Miri, "flush").unwrap();
        assert!(faults(suite, &log(suite.only, &[], 0)).is_empty());
        let without_first = faults(suite, &log(&suite.only[1..], &[], 0));
        assert_eq!(without_first.len(), 1);
        assert!(without_first[0].contains(suite.only[0]));
        let failed = faults(suite, &log(&suite.only[1..], &suite.only[..1], 101));
        assert!(failed[0].ends_with(" failed") && failed.len() == 2);
        // ThreadSanitizer ends a process whose tests have all passed with a status of its own.
        assert_eq!(faults(suite, &log(suite.only, &[], 66)).len(), 1);
    }

    #[test]
    fn a_suite_in_which_nothing_runs_has_not_passed() {
        let suite = suite(Tool::Miri, "policy").unwrap();
        assert_eq!(faults(suite, &log(&[], &[], 0)), ["no test ran"]);
    }
}
