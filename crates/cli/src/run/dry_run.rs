//! `--dry-run`: prints the commands instead of running them.

use super::args::RunArgs;
use super::feed::{Jobs, Submission};
use super::log::{self, Done};
use super::plan::{Opened, Plan};
use super::status::RunEnd;
use super::template::{Given, Template};
use crate::out;
use rustix::event::{EventfdFlags, eventfd};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;

/// Prints what would run.
pub(super) fn print(
    args: &RunArgs,
    plan: &Plan,
    template: &Template,
    source: Opened,
) -> io::Result<RunEnd> {
    let done = match &args.joblog {
        Some(path) if args.resume => log::done(path, plan.resume(args))?,
        _ => Done::default(),
    };
    // Nobody stops this but a signal, which nobody follows.
    let never = eventfd(0, EventfdFlags::CLOEXEC)?;
    let jobs = plan.jobs(source, template, done, never.as_fd())?;
    plan.notes().for_each(|note| say(args, &note));
    print_each(args, plan, template, jobs)?;
    Ok(RunEnd::Code(0))
}

/// Prints the command of each job. Those in front of an error of the input are printed.
fn print_each(
    args: &RunArgs,
    plan: &Plan,
    template: &Template,
    mut jobs: Jobs<'_>,
) -> io::Result<()> {
    let mut doubts = plan.doubts();
    let mut stdout = BufWriter::new(io::stdout().lock());
    let ended = loop {
        let job = match jobs.next() {
            Ok(Some(job)) => job,
            Ok(None) => break Ok(()),
            Err(error) => break Err(io::Error::other(format!("{}: {error}", plan.name()))),
        };
        if let Some(doubt) = doubts.of(&job.lines) {
            say(args, doubt);
        }
        stdout
            .write_all(&line(template, &job))
            .map_err(out::named)?;
    };
    stdout.flush().map_err(out::named)?;
    ended
}

/// The command of a job as somebody would type it. Which slot it would get nobody knows.
fn line(template: &Template, job: &Submission) -> Vec<u8> {
    let given = Given {
        lines: &job.lines,
        sequence: job.sequence,
        slot: 1,
        block: None,
    };
    let mut line = template.typed(given);
    line.push(b'\n');
    line
}

/// Says what a run would.
fn say(args: &RunArgs, note: &str) {
    if !args.quiet {
        crate::complaint::say(&format_args!("cmwq run: {note}"));
    }
}
