//! A foreground alone and beside a job.

use std::process::{Command, Stdio};
use std::thread;

use super::super::clock::now;
use super::super::hogs::cpu_time;
use super::super::process::cpus;
use super::super::row::{quotient, seconds};
use super::super::spec::name;
use super::super::usage::Usage;
use super::args::{Helpers, JobArgs, Load};
use super::background::Background;
use super::row::{Beside, Row};

/// Operations of stress-ng by which its speed is told.
const TRIAL: usize = 500;

/// What a foreground took.
struct Took {
    elapsed: u64,
    cpu: u64,
}

pub(super) fn measure(args: &JobArgs, show: &mut dyn FnMut(Row)) -> Result<(), String> {
    if cpus() < 2 {
        return Err("beside a job on one CPU there is no room for a foreground".to_owned());
    }
    let mut foregrounds = Vec::new();
    for &load in &args.loads {
        if load != Load::StressNg || has_stress_ng() {
            foregrounds.push((load, units(load)? * args.seconds as usize));
        }
    }
    for run in 1..=args.runs {
        for &(load, units) in &foregrounds {
            let alone = carry_out(load, units)?;
            for helpers in [Helpers::Nice19, Helpers::Nice0, Helpers::SchedIdle] {
                let row = beside(load, units, helpers, &alone)?;
                show(Row::Beside(Beside { run, ..row }));
            }
        }
    }
    Ok(())
}

fn has_stress_ng() -> bool {
    let version = Command::new("stress-ng")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Units for each thread of a foreground in a second.
fn units(load: Load) -> Result<usize, String> {
    if load != Load::StressNg {
        return Ok(load.units_per_second());
    }
    let took = carry_out(load, TRIAL)?;
    Ok((TRIAL as f64 / seconds(took.elapsed)).ceil() as usize)
}

fn beside(load: Load, units: usize, helpers: Helpers, alone: &Took) -> Result<Beside, String> {
    let job = if load == Load::Pages {
        Load::Pages
    } else {
        Load::Multiply
    };
    let background = Background::start(job, helpers)?;
    let used = || cpu_time(background.pid()).ok_or("the job has died");
    let before = used()?;
    let took = carry_out(load, units)?;
    let job_cpu = used()? - before;
    let rest = (took.elapsed * cpus() as u64).saturating_sub(took.cpu);
    Ok(Beside {
        foreground: load,
        helpers,
        run: 0,
        alone_s: seconds(alone.elapsed),
        beside_s: seconds(took.elapsed),
        ratio: quotient(took.elapsed as f64, alone.elapsed as f64),
        job_helpers: background.end()?,
        share_of_rest: quotient(job_cpu as f64, rest.max(1) as f64),
    })
}

/// Runs a foreground from its start to its exit.
fn carry_out(load: Load, units: usize) -> Result<Took, String> {
    let (before, start) = (Usage::of_children(), now());
    let status = command(load, units)?
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let status = status.map_err(|e| format!("no foreground: {e}"))?;
    let (elapsed, cpu) = (now() - start, Usage::of_children().since(&before).cpu);
    match status.success() {
        true => Ok(Took { elapsed, cpu }),
        false => Err(format!("the foreground {} ended with {status}", name(load))),
    }
}

fn command(load: Load, units: usize) -> Result<Command, String> {
    let threads = cpus() - 1;
    if load == Load::StressNg {
        let mut command = Command::new("stress-ng");
        // What it says of itself.
        command.stderr(Stdio::null());
        command.args(["--cpu-method", "ackermann", "--cpu", &threads.to_string()]);
        // Of all its processes together.
        command.args(["--cpu-ops", &(units * threads).to_string()]);
        return Ok(command);
    }
    let mut command = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
    command.args(["bench", "job", "--role", "foreground"]);
    command.args(["--loads", &name(load), "--units", &units.to_string()]);
    command.args(["--child", &std::process::id().to_string()]);
    Ok(command)
}

/// The process itself: as many units on each of CPUs - 1 threads.
pub(super) fn foreground(args: &JobArgs) {
    let (load, units) = (args.load(), args.units);
    thread::scope(|threads| {
        for _ in 1..cpus() {
            threads.spawn(move || load.work(0..units));
        }
    });
}
