//! What is run, in which order, and where what it prints goes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::figures::{MACHINE, WARM};
use super::items;
use super::limits;
use super::machine::{Bench, cpus, describe};
use super::scale;

/// Kinds of work that are measured with each number of items.
const WORKS: [&str; 9] = [
    "block", "cpu", "mixed", "burst", "pipe", "lock", "barrier", "multi", "foreign",
];
const FIXED: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const FEW: usize = 60;
const XARGS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 90];

/// One measurement: its file of JSON lines, its name, the arguments of the command.
pub(super) struct Run {
    file: String,
    name: String,
    kind: Kind,
}

enum Kind {
    /// `cmwq bench` with these arguments.
    Bench(Vec<String>),
    /// The job set, by `cmwq run` or by `xargs -P N`.
    Jobs(Option<usize>),
}

/// Carries out `runs`; returns how many of them failed.
pub(super) fn all(bench: &Bench, runs: &[Run], out: &Path) -> Result<usize, String> {
    for run in runs {
        write(&out.join(&run.file), "")?;
    }
    let list = bench
        .input("jobs", &job_list())
        .map_err(|e| format!("cannot write the job set: {e}"))?;
    let machine = serde_json::to_string(&describe()).map_err(|e| e.to_string())? + "\n";
    write(&out.join(MACHINE), &machine)?;
    let mut failed = 0;
    for (index, run) in runs.iter().enumerate() {
        eprint!("[{:>3}/{}] {:<40}", index + 1, runs.len(), run.name);
        match run.carry_out(bench, &list) {
            Ok((lines, elapsed)) => {
                eprintln!(" {elapsed:.3} s");
                append(&out.join(&run.file), &lines)?;
            }
            Err(message) => {
                failed += 1;
                eprintln!(" FAILED: {message}");
            }
        }
    }
    Ok(failed)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn append(file: &Path, lines: &str) -> Result<(), String> {
    let opened = File::options().append(true).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(lines.as_bytes()));
    written.map_err(|e| format!("{}: {e}", file.display()))
}

/// Everything, `rounds` times. Pools take turns within each kind of work, so that a drift of the
/// machine hits them alike.
pub(super) fn plan(counts: &[usize], rounds: usize, cpus: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    for &count in counts {
        for work in WORKS {
            add_mix(
                &mut runs,
                rounds,
                &format!("mix-{count}"),
                work,
                count,
                &pools(work, cpus),
            );
        }
    }
    for work in WORKS.iter().filter(|_| counts.contains(&FEW)) {
        add_mix(&mut runs, rounds, WARM, work, FEW, &pools(work, cpus));
    }
    let few = [
        "cmwq".to_owned(),
        format!("fixed:{cpus}"),
        "rayon".to_owned(),
        "tokio".to_owned(),
    ];
    add_mix(&mut runs, rounds, "long", "long", 8, &few);
    add_mix(&mut runs, rounds, "asleep", "asleep", 1_000, &few[..1]);
    let pairs = [
        few[0].clone(),
        few[1].clone(),
        "fixed:64".to_owned(),
        few[3].clone(),
    ];
    add_mix(&mut runs, rounds, "pair", "mixed", 600, &pairs);
    add_jobs(&mut runs, rounds, cpus);
    runs.extend(limits::KINDS.map(|kind| limits_run(kind, rounds)));
    runs.push(items_run(rounds));
    runs.push(scale_run());
    runs
}

/// All rounds in one: the command itself lets its settings take turns.
fn limits_run(kind: &str, rounds: usize) -> Run {
    Run {
        file: limits::FILE.to_owned(),
        name: format!("limits {kind}"),
        kind: Kind::Bench(limits::args(kind, rounds)),
    }
}

/// As `limits_run`, with rounds of the command's own choice.
fn items_run(rounds: usize) -> Run {
    Run {
        file: items::FILE.to_owned(),
        name: "items".to_owned(),
        kind: Kind::Bench(items::args(rounds)),
    }
}

/// Simulated: more rounds would say the same.
fn scale_run() -> Run {
    Run {
        file: scale::FILE.to_owned(),
        name: "scale".to_owned(),
        kind: Kind::Bench(scale::args()),
    }
}

/// A pool of too few threads never ends with barriers; rayon has as many as there are CPUs. To a
/// fixed pool `multi` is `cpu`, and not swept again.
fn pools(work: &str, cpus: usize) -> Vec<String> {
    let wanted = |n: usize| match work {
        "barrier" => n >= 64,
        "multi" => n == cpus || n == 16,
        _ => true,
    };
    let fixed = FIXED
        .iter()
        .filter(|&&n| wanted(n))
        .map(|n| format!("fixed:{n}"));
    let rayon = (work != "barrier" || cpus >= 64).then(|| "rayon".to_owned());
    let pools = std::iter::once("cmwq".to_owned()).chain(fixed);
    pools.chain(rayon).chain(["tokio".to_owned()]).collect()
}

fn add_mix(
    runs: &mut Vec<Run>,
    rounds: usize,
    set: &str,
    work: &str,
    count: usize,
    pools: &[String],
) {
    for round in 1..=rounds {
        for pool in pools {
            let count = count.to_string();
            let mut args = vec!["mix", "--work", work, "--pool", pool, "--items", &count];
            match set {
                "pair" => args.extend(["--processes", "2"]),
                WARM => args.push("--warm-up"),
                _ => {}
            }
            runs.push(Run {
                file: format!("{set}.jsonl"),
                name: format!("{set} {work} {pool}, round {round}"),
                kind: Kind::Bench(args.into_iter().map(str::to_owned).collect()),
            });
        }
    }
}

fn add_jobs(runs: &mut Vec<Run>, rounds: usize, cpus: usize) {
    let mut widths: Vec<Option<usize>> = XARGS.iter().copied().map(Some).collect();
    if !XARGS.contains(&cpus) {
        widths.push(Some(cpus));
    }
    widths.insert(0, None);
    for round in 1..=rounds {
        // One at a time is the slowest by far, and no contender: once is enough.
        for &width in widths
            .iter()
            .filter(|&&width| round == 1 || width != Some(1))
        {
            let name = format!("jobs {}, round {round}", runner(width));
            runs.push(Run {
                file: "jobs.jsonl".to_owned(),
                name,
                kind: Kind::Jobs(width),
            });
        }
    }
}

fn runner(width: Option<usize>) -> String {
    width.map_or("cmwq run".to_owned(), |n| format!("xargs -P{n}"))
}

impl Run {
    /// Whether its lines go to the file of this name.
    pub(super) fn is_of(&self, part: &str) -> bool {
        self.file.strip_suffix(".jsonl") == Some(part)
    }

    /// The lines to keep, and the seconds that it took.
    fn carry_out(&self, bench: &Bench, list: &PathBuf) -> Result<(String, f64), String> {
        match &self.kind {
            Kind::Bench(args) => {
                let mut command = bench.command(bench.binary());
                timed(command.arg("bench").args(args).arg("--json"))
            }
            Kind::Jobs(width) => run_jobs(bench, list, *width),
        }
    }
}

/// Ninety jobs: every third computes for 120 ms, the others for 20 ms and sleep for 180 ms.
fn job_list() -> String {
    let line = |(cpu, sleep)| format!("{cpu}+{sleep}\n");
    (0..90).map(ninety).map(line).collect()
}

/// Milliseconds of CPU time and of sleep of the n-th of them.
pub(crate) fn ninety(n: u32) -> (u32, u32) {
    match n % 3 {
        0 => (120, 0),
        _ => (20, 180),
    }
}

/// CPU time of the job set, in seconds: no runner can beat it divided by the CPUs.
const JOBS_CPU_S: f64 = 30.0 * 0.120 + 60.0 * 0.020;

fn run_jobs(bench: &Bench, list: &PathBuf, width: Option<usize>) -> Result<(String, f64), String> {
    let mut command = match width {
        None => {
            let mut command = bench.command(bench.binary());
            command
                .args(["run", "--summary", "none", "-a"])
                .arg(list)
                .arg("--");
            command
        }
        Some(n) => {
            let mut command = bench.command("xargs");
            command.args(["-n1", &format!("-P{n}"), "-a"]).arg(list);
            command
        }
    };
    command.arg(bench.binary()).args(["bench", "burn"]);
    let (_, elapsed) = timed(&mut command)?;
    let bound = JOBS_CPU_S / cpus() as f64;
    let line: Value = json!({ "runner": runner(width), "bound_s": bound, "elapsed_s": elapsed });
    Ok((format!("{line}\n"), elapsed))
}

/// Standard output, and seconds from start to exit.
fn timed(command: &mut Command) -> Result<(String, f64), String> {
    let start = Instant::now();
    let output = command
        .output()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    let elapsed = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, error.trim()));
    }
    let text = String::from_utf8(output.stdout).map_err(|e| format!("output is not text: {e}"))?;
    Ok((text, elapsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_take_turns() {
        let runs = plan(&[60], 2, 2);
        let lock: Vec<&str> = runs
            .iter()
            .map(|run| run.name.as_str())
            .filter(|name| name.starts_with("mix-60 lock "))
            .collect();
        assert_eq!(lock.len(), 24);
        assert!(
            lock[0].contains("cmwq, round 1") && lock[12].contains("cmwq, round 2"),
            "{lock:?}"
        );
    }

    #[test]
    fn few_items_are_measured_again_by_the_same_pools() {
        let runs = plan(&[60], 1, 2);
        let of = |part| {
            runs.iter()
                .filter(|run| run.is_of(part))
                .collect::<Vec<_>>()
        };
        let asks = |run: &&Run| match &run.kind {
            Kind::Bench(args) => args.iter().any(|arg| arg == "--warm-up"),
            Kind::Jobs(_) => false,
        };
        assert_eq!(of(WARM).len(), of("mix-60").len());
        assert!(of(WARM).iter().all(asks) && !of("mix-60").iter().any(asks));
    }

    #[test]
    fn barrier_is_not_run_where_it_hangs() {
        assert_eq!(
            pools("barrier", 2),
            ["cmwq", "fixed:64", "fixed:128", "fixed:256", "tokio"]
        );
        assert!(pools("barrier", 64).contains(&"rayon".to_owned()));
    }

    #[test]
    fn xargs_is_run_with_one_job_a_cpu() {
        let runs = plan(&[], 3, 6);
        assert!(
            runs.iter()
                .any(|run| run.name.starts_with("jobs xargs -P6,"))
        );
        assert!(
            runs.iter()
                .any(|run| run.name.starts_with("jobs cmwq run,"))
        );
    }

    #[test]
    fn the_slowest_runner_runs_once() {
        let runs = plan(&[], 3, 2);
        let times = |prefix: &str| {
            runs.iter()
                .filter(|run| run.name.starts_with(prefix))
                .count()
        };
        assert_eq!((times("jobs xargs -P1,"), times("jobs xargs -P2,")), (1, 3));
    }

    #[test]
    fn the_job_set_is_ninety_jobs() {
        let list = job_list();
        assert_eq!(list.lines().count(), 90);
        assert_eq!(list.lines().filter(|&line| line == "120+0").count(), 30);
    }
}
