//! `cmwq run`: a job for each input line, as many at a time as keep the CPUs busy.
//!
//! The main thread reads lines (`input`) and queues an item for each (`session`), which makes a
//! job's words (`template`), starts it (`launch`), follows it (`job`, `spool`) and hands its output
//! over (`output`). They all meet in `control`. How many run at a time is the engine's decision.

mod args;
mod control;
mod input;
mod job;
mod launch;
mod limit;
mod output;
mod session;
mod signals;
mod spool;
mod status;
mod summary;
mod template;

pub(crate) use args::RunArgs;
pub(crate) use status::OTHER_ERROR;

use input::Lines;
use session::Session;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use template::Template;

/// Runs the jobs; gives the exit status of the process.
pub(crate) fn command(args: &RunArgs) -> ExitCode {
    match run(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // A failure to complain cannot be told to anybody.
            let _ = writeln!(io::stderr(), "cmwq run: {error}");
            ExitCode::from(OTHER_ERROR)
        }
    }
}

fn run(args: &RunArgs) -> io::Result<u8> {
    let started = Instant::now();
    let source = open_input(args)?;
    if crate::startup::stdout_was_closed() {
        return Err(io::Error::other("standard output is closed"));
    }
    crate::startup::keep_exit_statuses();
    let session = Arc::new(Session::new(args, Template::new(&args.command))?);
    signals::watch(&session)?;
    submit_all(&session, source, if args.null { 0 } else { b'\n' });
    session.wait()?;
    let (tally, runnable_ns) = (session.control.tally(), cmwq::stats().runnable_ns);
    if let Some(text) = summary::text(args.summary, tally, started.elapsed(), runnable_ns) {
        session.output.print(&text);
    }
    Ok(session.control.exit_code())
}

fn open_input(args: &RunArgs) -> io::Result<File> {
    match &args.arg_file {
        Some(path) => File::open(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        None if crate::startup::stdin_was_closed() => {
            Err(io::Error::other("standard input is closed"))
        }
        None => Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?)),
    }
}

/// Reads lines and submits a job for each until the input ends or the run is stopped. What was
/// submitted before an input error runs to its end.
fn submit_all(session: &Arc<Session>, source: File, delimiter: u8) {
    let mut lines = Lines::new(source, delimiter, session.control.stop_event());
    let mut sequence = 0;
    loop {
        match lines.next() {
            Ok(None) => break,
            Ok(Some(line)) if !session.template.accepts(&line) => {}
            Ok(Some(line)) => {
                if !session.submit(sequence, line) {
                    break;
                }
                sequence += 1;
            }
            Err(error) => {
                session.control.fail(OTHER_ERROR);
                return session.output.note(&format!("input: {error}"));
            }
        }
    }
}
