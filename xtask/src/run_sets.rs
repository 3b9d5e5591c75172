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

mod all;
mod daily;
mod hogs;
mod looks;
mod medians;
mod pairs;
mod runner;
mod sets;
mod table;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use all::sets;
use hogs::Hogs;
use runner::{Runner, runners};
use serde::{Deserialize, Serialize};
use sets::Set;

const USAGE: &str = "usage: cargo xtask run-sets [--rounds N] [--out FILE] [--continue]
       [--seconds N] [--hogs N] [--command FILE] [SET...]
  SET         only these, by their names in the table
  --rounds    timed rounds of each set, and pairs after them, 1 to 99; default 3
  --out       the raw data, a JSON object for each run and line; default docs/bench/run.jsonl
  --continue  measure only what the raw data lacks; the tables are of all of it
  --seconds   begin no run after so long; --continue goes on from there
  --hogs      so many shells compute all the time beside the jobs; default 0
  --command   measure this cmwq, instead of building one";

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
    /// Shells that computed beside it.
    #[serde(default, skip_serializing_if = "is_zero")]
    hogs: u32,
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
    continues: bool,
    seconds: Option<u64>,
    hogs: u32,
    command: Option<PathBuf>,
    only: Vec<String>,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let mut options = Options {
            rounds: 3,
            out: root.join("docs/bench/run.jsonl"),
            continues: false,
            seconds: None,
            hogs: 0,
            command: None,
            only: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--rounds" => options.rounds = number(args.next(), 1..=99, arg)?,
                "--hogs" => options.hogs = number(args.next(), 0..=999, arg)?,
                "--seconds" => {
                    options.seconds = Some(number(args.next(), 1..=999_999, arg)?.into());
                }
                "--command" => {
                    options.command = Some(args.next().ok_or("--command needs a file")?.into());
                }
                "--continue" => options.continues = true,
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

fn number(text: Option<&String>, range: RangeInclusive<u32>, name: &str) -> Result<u32, String> {
    let number = text.and_then(|text| text.parse().ok());
    let number = number.filter(|number| range.contains(number));
    number.ok_or(format!(
        "{name} needs a number from {} to {}",
        range.start(),
        range.end()
    ))
}

fn is_zero(number: &u32) -> bool {
    *number == 0
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
    let cmwq = match &options.command {
        Some(path) => canonical(path)?,
        None => build(root)?,
    };
    let runners = runners(&cmwq);
    let _hogs = Hogs::start(options.hogs).map_err(|e| format!("--hogs: {e}"))?;
    let mut measured = Measured::new(options)?;
    for set in sets() {
        let is_wanted = options.only.is_empty() || options.only.iter().any(|name| name == set.name);
        if !is_wanted {
            continue;
        }
        match set.lacks() {
            Some(program) => eprintln!("{}: left out, there is no {program}", set.name),
            None => measured.measure(&set, &runners, &folder.0, &cmwq)?,
        }
    }
    Ok(measured.rows)
}

/// The rows of this and earlier measurements, and those that there will be.
struct Measured<'a> {
    rows: Vec<Row>,
    options: &'a Options,
    until: Option<Instant>,
}

/// One run to come.
struct Turn<'a> {
    runner: &'a Runner,
    round: u32,
    paired: bool,
}

impl<'a> Measured<'a> {
    fn new(options: &'a Options) -> Result<Self, String> {
        let mut rows = match options.continues {
            true => past(&options.out)?,
            false => Vec::new(),
        };
        rows.retain(|row| row.hogs == options.hogs);
        let seconds = options.seconds.map(Duration::from_secs);
        Ok(Measured {
            rows,
            options,
            until: seconds.map(|seconds| Instant::now() + seconds),
        })
    }

    fn measure(
        &mut self,
        set: &Set,
        runners: &[Runner],
        folder: &Path,
        cmwq: &Path,
    ) -> Result<(), String> {
        let wrong = |e| format!("{}: {e}", set.name);
        // Nothing is made for a set of which all is there.
        let mut work = None;
        let mut take = |measured: &mut Self, turn: Turn<'_>| -> Result<(), String> {
            if !measured.is_due(set, &turn) {
                return Ok(());
            }
            if work.is_none() {
                work = Some(set.prepare(folder, cmwq).map_err(wrong)?);
            }
            let work = work.as_ref().expect("it was made");
            let row = Row {
                paired: turn.paired,
                hogs: measured.options.hogs,
                ..turn.runner.run(set, work, turn.round)?
            };
            measured.note(row)
        };
        let rounds = self.options.rounds;
        let mut turns = (0..=rounds).flat_map(|round| in_turns(runners, round));
        turns.try_for_each(|turn| take(self, turn))?;
        let of_set: Vec<Row> = self.of(set).cloned().collect();
        let Some(pair) = pairs::pair(runners, &of_set) else {
            return Ok(());
        };
        let mut turns = (1..=rounds).flat_map(|round| pairs::turns(pair, round));
        turns.try_for_each(|turn| take(self, turn))
    }

    fn of<'b>(&'b self, set: &'b Set) -> impl Iterator<Item = &'b Row> + Clone {
        self.rows.iter().filter(move |row| row.set == set.name)
    }

    /// Whether there is time for it, it is worth that, and it has not been.
    fn is_due(&self, set: &Set, turn: &Turn<'_>) -> bool {
        let has_time = self.until.is_none_or(|until| Instant::now() < until);
        let name = &turn.runner.name;
        let is_it =
            |row: &Row| row.runner == *name && row.round == turn.round && row.paired == turn.paired;
        // What the table is about is measured to the end, however bad it is.
        let may_be_left_out = name != pairs::OURS && !turn.paired;
        let is_left_out = may_be_left_out && is_hopeless(self.of(set), name);
        has_time && !is_left_out && !self.of(set).any(is_it)
    }

    /// A run that is over: who waits sees it, and it is kept.
    fn note(&mut self, row: Row) -> Result<(), String> {
        eprintln!("{:<10} {:<22} {:8.3} s", row.set, row.runner, row.elapsed_s);
        append(&self.options.out, &row)?;
        self.rows.push(row);
        Ok(())
    }
}

/// Each runner once; whoever comes first is not always the same.
fn in_turns(runners: &[Runner], round: u32) -> impl Iterator<Item = Turn<'_>> {
    let (behind, first) = runners.split_at(round as usize % runners.len());
    first.iter().chain(behind).map(move |runner| Turn {
        runner,
        round,
        paired: false,
    })
}

/// Who took twice as long as the fastest once is not measured again.
fn is_hopeless<'a>(rows: impl Iterator<Item = &'a Row> + Clone, runner: &str) -> bool {
    let best = rows
        .clone()
        .map(|row| row.elapsed_s)
        .fold(f64::MAX, f64::min);
    let mut own = rows.filter(|row| row.runner == runner);
    own.any(|row| row.given_up || row.elapsed_s > 2.0 * best)
}

/// What was measured before.
fn past(path: &Path) -> Result<Vec<Row>, String> {
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|e| wrong(&e))?,
    };
    let rows = text.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().map_err(|e| wrong(&e))
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
    canonical(&target.join("release/cmwq"))
}

fn canonical(path: &Path) -> Result<PathBuf, String> {
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
        let beside = parse(&["--hogs", "2", "--seconds", "9", "--continue"]).unwrap();
        assert_eq!(
            (beside.hogs, beside.seconds, beside.continues),
            (2, Some(9), true)
        );
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
    fn each_runner_comes_first_in_its_turn() {
        let all = runners(Path::new("/no/cmwq"));
        let count = all.len() as u32;
        let names = |round| -> Vec<_> {
            let turns = in_turns(&all, round);
            turns
                .map(|turn| (turn.runner.name.clone(), turn.round))
                .collect()
        };
        for round in 0..=count {
            let turns = names(round);
            assert_eq!(turns[0].0, all[(round % count) as usize].name);
            assert!(turns.iter().all(|turn| turn.1 == round));
            let mut sorted = turns.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), all.len(), "each once");
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
            hogs: 0,
            paired: false,
        };
        let rows = [
            row("fast", 1.0, false),
            row("slow", 1.9, false),
            row("too slow", 2.1, false),
            row("ended", 2.0, true),
        ];
        let names = ["fast", "slow", "too slow", "ended", "new"];
        let hopeless = names.map(|name| is_hopeless(rows.iter(), name));
        assert_eq!(hopeless, [false, false, true, true, false]);
    }

    fn tempdir() -> Folder {
        let path = std::env::temp_dir().join(format!("cmwq-run-sets-test-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}
