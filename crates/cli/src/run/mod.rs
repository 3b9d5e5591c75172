//! `cmwq run`: a job for each input line, as many at a time as keep the CPUs busy.
//!
//! The command's thread finds out what is to be run (`options`: `habits`; `plan`: `sources`), reads
//! lines (`input`), CSV (`records`) or blocks (`blocks`), makes jobs of them (`feed`, `batch`) and
//! queues an item for each (`session`). That makes the words of the job (`template`: `columns`,
//! `hole`, `script`, `shell`), starts it (`launch`), follows it (`process_job`, `vigil`), decides
//! whether its end counts (`halt`) and hands its output over (`output`), which is then logged
//! (`log`). They all meet in `control`. How many run at a time is the engine's decision.

pub(crate) mod absent;
mod args;
mod batch;
mod blocks;
mod board;
mod columns;
mod control;
mod crowd;
mod delay;
mod doubts;
mod dry_run;
mod failures;
mod feed;
mod groups;
mod habits;
mod halt;
mod hole;
mod input;
mod launch;
mod leftovers;
mod limit;
mod log;
mod long;
mod memory;
mod options;
mod orphans;
mod output;
mod plan;
mod process_job;
mod progress;
mod quote;
mod records;
mod reports;
mod results;
mod room;
mod scheduling;
mod script;
mod session;
mod shell;
mod signals;
mod slots;
mod sources;
mod spare;
pub(crate) mod spelling;
mod status;
mod summary;
mod syntax;
mod tally;
mod tasks;
mod template;
mod threads;
mod vigil;
mod waiting;

pub(crate) use args::RunArgs;
pub(crate) use status::OTHER_ERROR;

use args::{SummaryFormat, When};
use crowd::Looks;
use doubts::Doubts;
use failures::FailedJob;
use feed::Jobs;
use halt::Halt;
use hole::Text;
use log::{Done, JobLog};
use plan::{Opened, Plan};
use progress::Progress;
use results::Results;
use session::{Session, Setup};
use status::RunEnd;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tally::Tally;
use template::Template;

/// Runs the jobs; gives the exit status of the process, unless a signal is to end it.
pub(crate) fn command(args: &RunArgs) -> ExitCode {
    match run(args) {
        Ok(RunEnd::Code(code)) => ExitCode::from(code),
        Ok(RunEnd::Signal(signal)) => crate::default_action::die_of(signal),
        Err(error) => {
            crate::complaint::of("cmwq run: ", &error);
            ExitCode::from(OTHER_ERROR)
        }
    }
}

fn run(given: &RunArgs) -> io::Result<RunEnd> {
    let started = Instant::now();
    if given.habits.citation {
        return Ok(RunEnd::Code(0));
    }
    if let Some(folder) = &given.habits.tmpdir {
        // Jobs may run elsewhere.
        let folder = std::path::absolute(folder)?;
        // SAFETY: no other thread has been started that could read the environment.
        unsafe { std::env::set_var("TMPDIR", folder) };
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (args, notes) = options::settle(given, cpus).map_err(io::Error::other)?;
    let args = &args;
    let mut plan = Plan::new(args).map_err(io::Error::other)?;
    let source = plan.open()?;
    let template = plan.template()?;
    crate::out::is_open()?;
    if args.dry_run {
        return dry_run::print(args, &plan, &template, source);
    }
    crate::startup::keep_exit_statuses();
    reports::listen();
    signals::survive_file_limit()?;
    let notes = notes.into_iter().chain(temporary_folder(args)?);
    let summary_file = open_summary(args)?;
    let (log, done) = open_log(args, &plan)?;
    threads::allow(args.max_active)?;
    let session = Arc::new(Session::new(args, setup(args, &plan, template, log))?);
    for note in notes.chain(plan.notes()) {
        session.output.note(&note);
    }
    play(args, &session, &plan, (source, done))?;
    let summed_up = sum_up(args, &session, started, summary_file);
    match (summed_up, session.control.end()) {
        // A signal wins over everything.
        (Err(error), end @ RunEnd::Signal(_)) => {
            crate::complaint::of("cmwq run: ", &error);
            Ok(end)
        }
        (summed_up, end) => summed_up.map(|()| end),
    }
}

fn setup(args: &RunArgs, plan: &Plan, template: Template, log: Option<JobLog>) -> Setup {
    let holes = plan.holes();
    let results = args.results.as_deref();
    let tagstring = args.tagstring.as_ref();
    Setup {
        template,
        log,
        results: results.map(|path| Results::new(path, holes)),
        tagstring: tagstring.map(|text| Text::new(text.as_bytes(), holes)),
        is_watched: progress::is_wanted(progress_wanted(args)),
    }
}

/// Runs all jobs, and returns when they are over.
fn play(
    args: &RunArgs,
    session: &Arc<Session>,
    plan: &Plan,
    (source, done): (Opened, Done),
) -> io::Result<()> {
    signals::watch(session)?;
    orphans::adopt()?;
    let _progress = Progress::start(progress::is_wanted(progress_wanted(args)), session)?;
    let stop = session.control.stop_event();
    let mut jobs = plan.jobs(source, &session.template, done, stop)?;
    if args.halt.is_some_and(Halt::is_of_all) {
        session.rules.expect(jobs.read_all());
    }
    session.mind_room();
    session.keep_spare();
    let _looks = Looks::start(session);
    submit_all(session, jobs, plan, args.summary != SummaryFormat::None);
    session.wait()
}

/// Says at the end what is to be said.
fn sum_up(
    args: &RunArgs,
    session: &Session,
    started: Instant,
    file: Option<(File, &Path)>,
) -> io::Result<()> {
    let (tally, runnable_ns) = (session.control.tally(), cmwq::stats().runnable_ns);
    let (long, failed) = (session.long.all(), session.failures.all());
    tell_failures(args, session, tally, &failed);
    let elapsed = started.elapsed();
    let text = summary::text(args.summary, tally, elapsed, runnable_ns, long, failed);
    match (text, file) {
        (Some(text), Some((mut file, path))) => {
            writeln!(file, "{text}").map_err(|error| named(path, &error))
        }
        (Some(text), None) => session.output.deliver(&text),
        (None, _) => Ok(()),
    }
}

/// Names the jobs that failed to somebody at a terminal who has not been told otherwise. One that
/// ended the run has been named.
fn tell_failures(args: &RunArgs, session: &Session, tally: Tally, failed: &[FailedJob]) {
    let is_told = args.summary == SummaryFormat::Text && args.summary_file.is_none();
    let is_known = is_told || args.progress == When::Full || args.joblog.is_some();
    let is_one = session.control.is_stopped() && tally.failed <= 1;
    // A run that ended with enough successes has not failed.
    let is_well = session.control.end() == RunEnd::Code(0);
    let is_said = is_known || is_one || is_well;
    if failed.is_empty() || is_said || args.quiet || !output::is_for_people() {
        return;
    }
    let (count, jobs) = (tally.failed, tally.jobs);
    let lines = failures::lines(failed, count);
    session.output.note(&format!(
        "{count} of {jobs} jobs failed:\n{}",
        lines.trim_end()
    ));
}

fn open_summary(args: &RunArgs) -> io::Result<Option<(File, &Path)>> {
    let Some(path) = &args.summary_file else {
        return Ok(None);
    };
    let file = File::create(path).map_err(|error| named(path, &error))?;
    Ok(Some((file, path)))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Whether output that is held has a place where it is too large for memory. A wrong TMPDIR is an
/// error, and a machine without one is worth a note.
fn temporary_folder(args: &RunArgs) -> io::Result<Option<String>> {
    let found = match args.line_buffer || args.ungroup {
        true => Ok(()),
        false => output::check_folder(),
    };
    match (found, std::env::var_os("TMPDIR")) {
        (Ok(()), _) => Ok(None),
        (Err(error), Some(_)) => Err(error),
        (Err(error), None) => Ok(Some(format!("{error}; larger outputs will be lost"))),
    }
}

fn open_log(args: &RunArgs, plan: &Plan) -> io::Result<(Option<JobLog>, Done)> {
    let Some(path) = &args.joblog else {
        return Ok((None, Done::default()));
    };
    let (log, done) = JobLog::open(path, plan.resume(args))?;
    Ok((Some(log), done))
}

/// Jobs that write to the terminal themselves would write into the line of progress.
fn progress_wanted(args: &RunArgs) -> When {
    match args.progress {
        When::Auto if args.ungroup || args.quiet => When::Never,
        when => when,
    }
}

/// Submits jobs until the input ends or the run is stopped. What was submitted before an input
/// error runs to its end. `counts`: what was left of the input is counted.
fn submit_all(session: &Arc<Session>, mut jobs: Jobs<'_>, plan: &Plan, counts: bool) {
    let control = &session.control;
    match submit_each(session, &mut jobs, plan.doubts()) {
        Ok(0) if !control.is_stopped() => {}
        Ok(in_hand) => {
            let (rest, is_all) = match counts {
                true => jobs.count_rest(),
                false => (0, false),
            };
            control.left_over(in_hand + rest, is_all);
        }
        // Reading was cut short, perhaps in the middle of a record.
        Err(_) if control.is_stopped() => control.left_over(0, false),
        Err(error) => {
            control.fail(OTHER_ERROR);
            let input = plan.name();
            session.output.error(&format!("{input}: {error}"));
        }
    }
    control.input_ended(jobs.skipped());
    session.start_last();
}

/// Submits one job after the other. Gives how many were read and not taken, since the run was
/// stopped: 0 or 1.
fn submit_each(session: &Arc<Session>, jobs: &mut Jobs<'_>, mut doubts: Doubts) -> io::Result<u64> {
    let mut next = 0;
    while let Some(job) = jobs.next()? {
        session.leave_out(next..job.sequence);
        next = job.sequence + 1;
        if let Some(doubt) = doubts.of(&job.lines) {
            session.output.note(doubt);
        }
        if !session.submit(job)? {
            return Ok(1);
        }
    }
    Ok(0)
}
