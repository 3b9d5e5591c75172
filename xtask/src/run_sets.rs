//! `cargo xtask run-sets`: `cmwq run` beside `xargs -P` and GNU parallel, on sets of jobs as people
//! have them.
//!
//! Every runner gets the same list and the same command. One round of a set is each runner once,
//! one after the other, in an order that turns from round to round; the table has medians. Before
//! the first round each runs once while it is looked at: how many processes it has started itself,
//! and the memory of all below it. To look takes CPU time, more of it where more threads are looked
//! at, so nobody looks at the runs that are timed.
//!
//! The best of many widths has the luck of its rounds in its time. So once it is known, it and
//! `cmwq run` take turns for as many pairs more: what counts is the median of their ratios.

mod looks;
mod medians;
mod pairs;
mod runner;
mod sets;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use runner::{Runner, runners};
use serde::{Deserialize, Serialize};
use sets::{Set, sets};

const USAGE: &str = "usage: cargo xtask run-sets [--rounds N] [--out FILE] [SET...]
  SET       only these, by their names in the table
  --rounds  timed rounds of each set, and pairs after them, 1 to 99; default 3
  --out     the raw data, a JSON object for each run and line; default docs/bench/run.jsonl";

/// One run of one set by one runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    set: String,
    runner: String,
    /// 0: of the run that was looked at.
    round: u32,
    /// In the list.
    jobs: u32,
    elapsed_s: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    peak: Option<Peak>,
    /// It had not ended when its time was over, and was ended.
    given_up: bool,
    /// One of a pair, after the rounds: `round` is the number of the pair.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    paired: bool,
}

/// What was seen at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Peak {
    /// Processes that the runner itself had started and that lived, at a time.
    #[serde(rename = "peak_jobs")]
    jobs: u32,
    /// Resident, of the runner and all below it; shared pages are counted in each process.
    #[serde(rename = "peak_mib")]
    mib: f64,
}

struct Options {
    rounds: u32,
    out: PathBuf,
    only: Vec<String>,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let mut options = Options {
            rounds: 3,
            out: root.join("docs/bench/run.jsonl"),
            only: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--rounds" => {
                    let number = args.next().and_then(|n| n.parse().ok());
                    let number = number.filter(|n| (1..=99).contains(n));
                    options.rounds = number.ok_or("--rounds needs a number from 1 to 99")?;
                }
                "--out" => options.out = args.next().ok_or("--out needs a file")?.into(),
                name if sets().iter().any(|set| set.name == name) => {
                    options.only.push(name.to_owned());
                }
                name => return Err(format!("unknown set {name:?}, there are {}", names())),
            }
        }
        Ok(options)
    }
}

fn names() -> String {
    let names: Vec<_> = sets().iter().map(|set| set.name).collect();
    names.join(", ")
}

/// Runs with the arguments after the name. Status 2 for bad arguments, 1 if something could not be
/// run.
pub fn run(args: &[String]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = match Options::parse(args, &root) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("xtask run-sets: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match measure(&root, &options) {
        Ok(rows) => {
            print!("{}", table::of(&rows));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask run-sets: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(root: &Path, options: &Options) -> Result<Vec<Row>, String> {
    let folder = Folder::new()?;
    let cmwq = build(root)?;
    let runners = runners(&cmwq);
    let mut rows = Vec::new();
    for set in sets() {
        if options.only.is_empty() || options.only.iter().any(|name| name == set.name) {
            rows.extend(measure_set(&set, &runners, &folder.0, &cmwq, options)?);
        }
    }
    Ok(rows)
}

fn measure_set(
    set: &Set,
    runners: &[Runner],
    folder: &Path,
    cmwq: &Path,
    options: &Options,
) -> Result<Vec<Row>, String> {
    let work = set
        .prepare(folder, cmwq)
        .map_err(|e| format!("{}: {e}", set.name))?;
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..=options.rounds {
        for at in 0..runners.len() {
            // Whoever comes first is not always the same.
            let runner = &runners[(at + round as usize) % runners.len()];
            if is_hopeless(&rows, &runner.name) {
                continue;
            }
            rows.push(note(runner.run(set, &work, round)?, options)?);
        }
    }
    let Some(pair) = pairs::pair(runners, &rows) else {
        return Ok(rows);
    };
    for round in 1..=options.rounds {
        for runner in pairs::turn(pair, round) {
            let row = Row {
                paired: true,
                ..runner.run(set, &work, round)?
            };
            rows.push(note(row, options)?);
        }
    }
    Ok(rows)
}

/// A run that is over: who waits sees it, and it is kept.
fn note(row: Row, options: &Options) -> Result<Row, String> {
    eprintln!("{:<10} {:<22} {:8.3} s", row.set, row.runner, row.elapsed_s);
    append(&options.out, &row)?;
    Ok(row)
}

/// Who took twice as long as the fastest once is not measured again.
fn is_hopeless(rows: &[Row], runner: &str) -> bool {
    let best = rows
        .iter()
        .map(|row| row.elapsed_s)
        .fold(f64::MAX, f64::min);
    let mut own = rows.iter().filter(|row| row.runner == runner);
    own.any(|row| row.given_up || row.elapsed_s > 2.0 * best)
}

fn append(path: &Path, row: &Row) -> Result<(), String> {
    use std::io::Write;
    let line = serde_json::to_string(row).map_err(|e| e.to_string())?;
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}"))
        .map_err(|e| format!("{}: {e}", path.display()))
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    let built = cargo
        .current_dir(root)
        .args(["build", "--release", "--quiet", "-p", "cmwq-cli"])
        .status();
    match built {
        Ok(status) if status.success() => {}
        _ => return Err("cannot build the command".to_owned()),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or(root.join("target"), PathBuf::from);
    let path = target.join("release/cmwq");
    path.canonicalize()
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// A directory of files to work on, which goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("cmwq-run-sets-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Options::parse(&words, Path::new("root"))
    }

    #[test]
    fn arguments() {
        let options = parse(&["--rounds", "5", "waits"]).ok().unwrap();
        assert_eq!(
            (options.rounds, options.only),
            (5, vec!["waits".to_owned()])
        );
        assert_eq!(parse(&[]).ok().unwrap().rounds, 3);
        for bad in [&["--rounds", "0"][..], &["--rounds"], &["wait"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn xargs_runs_a_small_set() {
        let folder = tempdir();
        let set = Set::empty(20);
        let work = set.prepare(&folder.0, Path::new("/bin/true")).unwrap();
        let mut all = runners(Path::new("/no/cmwq")).into_iter();
        let xargs = all.find(|runner| runner.name == "xargs -P2").unwrap();
        for (round, looked_at) in [(0, true), (1, false)] {
            let row = xargs.run(&set, &work, round).unwrap();
            assert_eq!((row.jobs, row.given_up), (20, false));
            assert!(row.elapsed_s > 0.0);
            assert_eq!(row.peak.is_some(), looked_at);
        }
    }

    #[test]
    fn who_was_half_as_fast_as_the_fastest_is_not_measured_again() {
        let row = |runner: &str, elapsed_s, given_up| Row {
            set: "waits".to_owned(),
            runner: runner.to_owned(),
            round: 1,
            jobs: 200,
            elapsed_s,
            peak: None,
            given_up,
            paired: false,
        };
        let rows = [
            row("fast", 1.0, false),
            row("slow", 1.9, false),
            row("too slow", 2.1, false),
            row("ended", 2.0, true),
        ];
        let names = ["fast", "slow", "too slow", "ended", "new"];
        let hopeless = names.map(|name| is_hopeless(&rows, name));
        assert_eq!(hopeless, [false, false, true, true, false]);
    }

    fn tempdir() -> Folder {
        let path = std::env::temp_dir().join(format!("cmwq-run-sets-test-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}
