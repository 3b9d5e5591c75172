//! The `cmwq` command.
//!
//! `run` executes jobs read from standard input, `doctor` tells what this system allows, `bench`
//! measures, `sim` runs scenarios on a made-up machine. `top`, `dump`, `explain`, `trace` and `set`
//! look at the queues of a running process and change them. `man` and `completions` print what
//! their names say.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `complaint`, `default_action`, `so_far`, `startup`, `whereabouts`
//! 2. `out`
//! 3. `bench`, `doctor`, `live`, `pages`, `run`, `sim`: a command each; none imports another

mod bench;
mod complaint;
mod default_action;
mod doctor;
mod live;
mod out;
mod pages;
mod run;
mod sim;
mod so_far;
mod startup;
mod whereabouts;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Concurrency-managed workqueues: start the next job the moment a CPU would idle
#[derive(Parser)]
#[command(name = "cmwq", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Doctor(doctor::DoctorArgs),
    /// Measure the engine beside other pools and beside the bound that any pool has
    Bench(bench::BenchArgs),
    Top(live::TopArgs),
    Dump(live::DumpArgs),
    Explain(live::ExplainArgs),
    Trace(live::TraceArgs),
    Set(live::SetArgs),
    Sim(sim::SimArgs),
    Man(pages::ManArgs),
    Completions(pages::CompletionsArgs),
}

/// What the definitions of all options and the way to the first job take, with much to spare.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    if cmwq_os::limits::stack().is_none_or(|limit| limit >= STACK as u64 / 8) {
        return command();
    }
    // The main thread has as little stack as who started us allows, and jobs are to have that.
    let larger = std::thread::Builder::new().stack_size(STACK);
    match larger.spawn(command).map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        // It may be enough.
        Err(_) => command(),
    }
}

fn command() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match parse(words) {
        Ok(cli) => dispatch(cli.command),
        Err(error) => report(&error),
    }
}

fn parse(mut words: Vec<OsString>) -> Result<Cli, clap::Error> {
    loop {
        let error = match Cli::try_parse_from(&words) {
            Ok(cli) => return Ok(cli),
            Err(error) => error,
        };
        let unknown = unknown(&error).filter(|_| is_for_run());
        match unknown.and_then(|option| run::spelling::respelt(&words, option)) {
            Some(respelt) => words = respelt,
            None => return Err(first(error, &words)),
        }
    }
}

/// An option that there is not.
fn unknown(error: &clap::Error) -> Option<&String> {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    match error.get(ContextKind::InvalidArg).filter(|_| is_unknown)? {
        ContextValue::String(option) => Some(option),
        _ => None,
    }
}

fn is_for_run() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "run")
}

/// The first error. Of `--summary sh -c` clap tells that there is no `-c`, and not that `sh`, which
/// it took for the value of `--summary`, is none.
fn first(error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_it = |word: &OsString| word.as_bytes().starts_with(unknown.as_bytes());
    let before = words.iter().position(is_it).map(|at| &words[..at]);
    let earlier = before.and_then(|before| Cli::try_parse_from(before).err());
    let is_earlier = |earlier: &clap::Error| {
        let kinds = [ErrorKind::InvalidValue, ErrorKind::ValueValidation];
        error.kind() == ErrorKind::UnknownArgument && kinds.contains(&earlier.kind())
    };
    earlier.filter(is_earlier).unwrap_or(error)
}

fn dispatch(command: Command) -> ExitCode {
    match command {
        Command::Run(args) => run::command(&args),
        Command::Doctor(args) => doctor::command(&args),
        Command::Bench(args) => bench::command(args),
        Command::Top(args) => live::top(&args),
        Command::Dump(args) => live::dump(&args),
        Command::Explain(args) => live::explain(&args),
        Command::Trace(args) => live::trace(&args),
        Command::Set(args) => live::set(&args),
        Command::Sim(args) => sim::command(&args),
        Command::Man(args) => pages::man(&args),
        Command::Completions(args) => pages::completions(&args),
    }
}

/// Shows help, version or a usage error. `run` keeps to the exit statuses of xargs, where 1 is
/// "some other error" and 2 means nothing.
fn report(error: &clap::Error) -> ExitCode {
    let for_run = is_for_run();
    let absent = || unknown(error).and_then(|option| run::absent::option(option));
    if let Some(text) = for_run.then(absent).flatten() {
        complaint::say(&format_args!("cmwq run: {text}"));
        return ExitCode::from(run::OTHER_ERROR);
    }
    let printed = error.print();
    match error.exit_code() {
        0 => complaint::finish("cmwq: ", printed),
        _ if for_run => ExitCode::from(run::OTHER_ERROR),
        _ => ExitCode::from(2),
    }
}
