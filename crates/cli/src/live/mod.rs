//! `cmwq top`, `cmwq dump`, `cmwq explain`, `cmwq trace` and `cmwq set`: what the queues of a
//! running process do, and changes to them.

mod children;
mod glossary;
mod json;
mod list;
#[cfg(test)]
mod rig;
mod screen;
mod set;
mod shares;
mod target;
mod text;
mod threads;
mod trace;
mod words;
mod workers;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use crate::complaint::finish;
use crate::out::write;
use cmwq_stats::control::Request;

use glossary::GLOSSARY;
pub(crate) use set::{SetArgs, set};
use target::{Seen, Target};
pub(crate) use trace::{TraceArgs, trace};

/// Show the queues of a running process: what they do, what waits and why
///
/// Any program that uses cmwq can be looked at, by its user and by root. Without PID or NAME all of
/// them are listed.
#[derive(clap::Args)]
#[command(after_long_help = GLOSSARY)]
pub(crate) struct TopArgs {
    /// The number of the process, or the name of its command; all are listed without
    #[arg(value_name = "PID|NAME")]
    process: Option<String>,
    /// Show it once instead of again and again
    #[arg(long)]
    once: bool,
    /// Write a JSON object each time instead of text
    #[arg(long)]
    json: bool,
    /// Seconds between two looks
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
}

/// Say why so many, or so few, workers run for a queue: the last decisions, and what asked for them
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    target: Target,
    /// The name of the queue, or id:N if several have it
    queue: String,
}

/// Show all there is to know of a running process: what each worker executes and where it waits
#[derive(clap::Args)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    target: Target,
    /// Write one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Show each worker on a line of its own, also those that are in the same place
    #[arg(long)]
    all: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "no number".to_owned())?;
    match (0.01..=86400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("not in 0.01 to 86400".into()),
    }
}

/// Gives the exit status of the process.
pub(crate) fn top(args: &TopArgs) -> ExitCode {
    finish("cmwq top: ", show(args))
}

/// Gives the exit status of the process.
pub(crate) fn dump(args: &DumpArgs) -> ExitCode {
    let dumped = args.target.find().and_then(|process| {
        let seen = process.look(&Request::Dump)?;
        write(&match args.json {
            true => json::of(&seen),
            false => workers::dump(&seen, &shares::of(&seen), args.all),
        })
    });
    finish("cmwq dump: ", dumped)
}

/// Gives the exit status of the process.
pub(crate) fn explain(args: &ExplainArgs) -> ExitCode {
    let explained = args.target.find().and_then(|process| {
        let seen = process.look(&Request::Look)?;
        let queue = target::queue(&seen.snapshot.queues, &args.queue)?;
        write(&text::explain(queue, &seen, &shares::of(&seen)))
    });
    finish("cmwq explain: ", explained)
}

fn show(args: &TopArgs) -> io::Result<()> {
    let Some(name) = &args.process else {
        return write(&match args.json {
            true => list::json(),
            false => list::text(),
        });
    };
    let process = Target::named(name).find()?;
    if !args.once && !args.json && screen::is_possible() {
        return screen::show(process, args.interval);
    }
    let mut before: Option<Seen> = None;
    let clears = !args.once && !args.json && io::stdout().is_terminal() && !screen::is_dumb();
    loop {
        let seen = process.look(&Request::Look)?;
        let shown = match args.json {
            true => json::of(&seen),
            false => text::top(&seen, before.as_ref()),
        };
        write(&match clears {
            // Home, and clear what is below.
            true => format!("\x1b[H\x1b[J{shown}"),
            false => shown,
        })?;
        if args.once {
            return Ok(());
        }
        before = Some(seen);
        std::thread::sleep(args.interval);
    }
}
