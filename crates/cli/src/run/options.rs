//! The options of a run in our own words: what other programs mean by theirs, and what one option
//! says of another one.

use super::args::{RunArgs, SummaryFormat, When};
use super::habits;
use super::halt::Halt;
use super::results::is_table;
use super::template::Trim;
use std::io::{self, IsTerminal};
use std::path::Path;

/// The arguments in our own words, and what to say of them. The error is one of usage.
pub(super) fn settle(args: &RunArgs, cpus: usize) -> Result<(RunArgs, Vec<String>), String> {
    refuse(args)?;
    let mut args = implied(args.clone());
    let mut notes = Vec::from_iter(note_on_retries(&args));
    if args.gnu {
        // All attempts, with 0 for as many as it takes.
        let further = |all: u32| all.checked_sub(1).unwrap_or(u32::MAX);
        args.retries = args.retries.map(further);
        args.halt = args.halt.or(Some(Halt::Never));
        // Columns are what is between separators and blanks.
        let trims = args.colsep.is_some() && args.trim.is_none();
        args.trim = if trims { Some(Trim::BOTH) } else { args.trim };
    }
    if let Some(text) = &args.jobs
        && let Some(most) = habits::most_jobs(text, cpus)?
    {
        notes.push(format!(
            "-j {text} is taken as --max-active {most}, an upper limit: without it as many run as \
             keep the CPUs busy"
        ));
        args.max_active = most;
    }
    // Where a script says so, nobody reads it.
    if !io::stderr().is_terminal() {
        notes.clear();
    }
    Ok((args, notes))
}

/// What cannot be done as it is said.
fn refuse(args: &RunArgs) -> Result<(), String> {
    if let Some(text) = args.habits.refused() {
        return Err(text.to_owned());
    }
    if let Some(path) = args.results.as_deref().filter(|path| is_table(path)) {
        let path = path.display();
        return Err(format!(
            "--results {path} asks for a table, which there is not: outputs go to a folder, and \
             --joblog FILE is a table of the jobs"
        ));
    }
    args.workdir.as_deref().map_or(Ok(()), find_workdir)
}

/// The folder that jobs run in is there.
fn find_workdir(folder: &Path) -> Result<(), String> {
    let why = match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is no folder".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("--workdir {}: {why}", folder.display()))
}

/// With what some options say of others.
fn implied(mut args: RunArgs) -> RunArgs {
    if args.summary_file.is_some() && args.summary == SummaryFormat::None {
        args.summary = SummaryFormat::Json;
    }
    // What jobs write themselves has no order.
    args.keep_order &= !args.ungroup;
    // Its lines come in order, as far as they are written.
    args.line_buffer &= !args.keep_order;
    if args.habits.bar > 0 {
        args.progress = When::Always;
    }
    args
}

/// For whoever knows GNU parallel, which counts otherwise.
fn note_on_retries(args: &RunArgs) -> Option<String> {
    let retries = args.retries.filter(|&retries| retries > 0 && !args.gnu)?;
    let is_known = args.jobs.is_some() || args.habits.are_any();
    is_known.then(|| {
        let all = retries.saturating_add(1);
        format!(
            "--retries {retries} are further attempts, {all} in all: in GNU parallel it is the \
             number of all"
        )
    })
}
