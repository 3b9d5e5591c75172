//! `cmwq sim`: what a program would do on a machine that is made up, in virtual time.

mod cells;
mod files;
mod shape;

use crate::out;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use cmwq_sim::scenario::{Cell, Observation, Scenario, Sweep, Use};

const AFTER: &str = "\
Exit status:
  0  the scenario has run
  1  it came to a point from where it cannot go on, or a file cannot be read or written
  2  bad usage, or a mistake in the scenario

crates/sim/scenarios/README.md of the sources has the language of scenarios.";

/// Run a scenario on a simulated machine, in virtual time
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct SimArgs {
    /// The scenario, a TOML file
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Seed of everything random, in place of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change a value: `queue.NAME.key=value`, `machine.key=value`, `constants.name=*1.25`, ...
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write what happened as a Chrome trace, which ui.perfetto.dev opens
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Draw what the CPUs did over time
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Why there is no result, and the exit status that says so.
enum Failure {
    /// A run, or a file.
    Run(String),
    /// Usage, or the scenario.
    Usage(String),
}

/// Runs the scenario and writes what came of it; gives the exit status of the process.
pub(crate) fn command(args: &SimArgs) -> ExitCode {
    let (message, code) = match simulate(args) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Run(message)) => (message, 1),
        Err(Failure::Usage(message)) => (message, 2),
    };
    // A failure to complain cannot be told to anybody.
    let _ = writeln!(io::stderr(), "cmwq sim: {message}");
    ExitCode::from(code)
}

fn simulate(args: &SimArgs) -> Result<(), Failure> {
    let scenario = read(args)?;
    let observes = args.trace.is_some() || args.plot.is_some();
    let result = match observes {
        false => cells::run(&scenario).map_err(|error| Failure::Run(error.to_string()))?,
        true => observe(args, &scenario)?,
    };
    let text = match args.json {
        true => out::json(&result),
        false => result.to_string(),
    };
    out::write(&text).map_err(|error| Failure::Run(error.to_string()))
}

fn read(args: &SimArgs) -> Result<Scenario, Failure> {
    let path = &args.scenario;
    let name = path.display().to_string();
    let text = files::read(path).map_err(Failure::Run)?;
    let used = Use {
        set: args.set.clone(),
        seed: args.seed,
        this: shape::of_this_machine(),
    };
    Scenario::parse(&name, &text, &used).map_err(|mistake| Failure::Usage(mistake.to_string()))
}

/// Runs the only cell and writes what happened in it.
fn observe(args: &SimArgs, scenario: &Scenario) -> Result<Sweep, Failure> {
    let cell = only(scenario)?;
    let observation = Rc::new(Observation::new());
    let report = cell.run_observed(&observation);
    let report = report.map_err(|error| Failure::Run(error.to_string()))?;
    let write = |path: &Path, contents: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        files::write(path, contents).map_err(Failure::Run)
    };
    if let Some(path) = &args.trace {
        write(path, &|out| observation.write_chrome(out))?;
    }
    if let Some(path) = &args.plot {
        write(path, &|out| out.write_all(observation.svg().as_bytes()))?;
    }
    Ok(scenario.sweep(vec![report]))
}

fn only(scenario: &Scenario) -> Result<&Cell, Failure> {
    match scenario.cells() {
        [cell] => Ok(cell),
        cells => {
            let number = cells.len();
            let axes = scenario.axes().join(", ");
            let message = format!(
                "--trace and --plot show one run, and {} has {number}: choose one with --set ({axes})",
                scenario.name()
            );
            Err(Failure::Usage(message))
        }
    }
}
