//! Where the jobs' output goes: each job's as a whole, in the order of ends or of lines, or line by
//! line. What has been written is then said to have been in the joblog.

mod backpressure;
mod held;
mod lines;
mod spool;
mod stream;
mod tag;

pub(super) use held::Held;
pub(super) use lines::LineSink;
pub(super) use spool::{Spool, check_folder, in_folder};

use super::log::{Entry, JobLog, Own};
use backpressure::Backpressure;
use cmwq_admission::Files;
use rustix::fs::{FileType, fstat};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stream::Stream;

/// What a pipe holds by default, so what one read may return.
const READ_SIZE: usize = 64 * 1024;
/// To the beginning of the line, which is then erased with what is below.
const ERASE: &str = "\r\x1b[K";
const ERASE_BELOW: &str = "\r\x1b[J";

/// One of the two streams that a job writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum To {
    Out,
    Err,
}

/// Why output did not reach anybody.
#[derive(Debug)]
pub(super) enum Lost {
    /// It could not be read, or there was no space to hold it.
    Unheld(io::Error),
    /// Our own standard output or standard error, which the error names.
    Unwritten(io::Error),
    /// It was written, but the joblog, which the error names, could not be.
    Unlogged(io::Error),
}

/// The held output of one job; None where it was not to be held.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) out: Option<Spool>,
    pub(super) err: Option<Spool>,
}

/// A job that has ended.
pub(super) struct Finished {
    pub(super) blocks: Blocks,
    /// Before each line of its output.
    pub(super) tag: Option<Vec<u8>>,
    /// For the joblog, if there is one.
    pub(super) entry: Entry,
}

/// Our standard output and standard error and the joblog, shared by all jobs.
pub(super) struct Output {
    keep_order: bool,
    quiet: bool,
    backpressure: Backpressure,
    held: Held,
    state: Mutex<State>,
}

struct State {
    out: Stream,
    err: Stream,
    log: Option<JobLog>,
    /// Progress is on so many last lines of the terminal.
    bar_lines: usize,
    /// With `keep_order`: the job whose turn it is, and those that ended before their turn.
    next: u64,
    early: BTreeMap<u64, Option<Finished>>,
}

impl Output {
    pub(super) fn new(keep_order: bool, quiet: bool, log: Option<JobLog>) -> io::Result<Self> {
        let backpressure = Backpressure::default();
        // Only with `keep_order` does what a job left wait for other jobs.
        let files = match keep_order {
            true => Files::of(cmwq_os::limits::open_files()),
            false => Files::unlimited(),
        };
        let held = Held::new(files, &backpressure);
        let own = log.as_ref().and_then(JobLog::own);
        let mut state = State {
            out: Stream::of(io::stdout().as_fd(), "standard output", &backpressure)?,
            err: Stream::of(io::stderr().as_fd(), "standard error", &backpressure)?,
            log,
            bar_lines: 0,
            next: 0,
            early: BTreeMap::new(),
        };
        if let Some(own) = own {
            let lost = |lost| match lost {
                Lost::Unheld(error) | Lost::Unwritten(error) | Lost::Unlogged(error) => error,
            };
            state.log_here(own, JobLog::HEADER).map_err(lost)?;
        }
        Ok(Self {
            keep_order,
            quiet,
            backpressure,
            held,
            state: Mutex::new(state),
        })
    }

    /// Takes what the job `sequence` left (None: it has not run, or its output is lost), writes
    /// whatever has its turn, and logs it. Must be called once for each job, counted from 0.
    pub(super) fn put(&self, sequence: u64, mut finished: Option<Finished>) -> Result<(), Lost> {
        let mut state = self.lock();
        if !self.keep_order {
            return state.write(finished);
        }
        if let Some(Finished { blocks, .. }) = finished.as_mut().filter(|_| sequence != state.next)
        {
            let spools = [&mut blocks.out, &mut blocks.err];
            spools.into_iter().flatten().for_each(Spool::shrink);
        }
        state.early.insert(sequence, finished);
        let written = state.write_those_in_turn();
        self.held.set_turn(state.next);
        written
    }

    /// What is held of the jobs' output, all of it.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// Writes `bytes` of a running job.
    fn write_now(&self, to: To, bytes: &[u8]) -> Result<(), Lost> {
        let mut state = self.lock();
        state.erase_bar();
        let stream = state.stream(to);
        let written = stream.write_all(bytes);
        stream.is_written();
        written.map_err(|error| Lost::Unwritten(stream.name_in(error)))
    }

    /// Whether a job may not begin, because somebody waits for room for the output of others; what
    /// it would write would have nowhere to go. `again` is then called once there is room.
    pub(super) fn defer(&self, again: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        self.backpressure.defer(again)
    }

    /// Whether `defer` would hold a job back.
    pub(super) fn is_held_up(&self) -> bool {
        self.backpressure.is_closed()
    }

    /// Waits until there is room in our standard output, or until `stop` is readable. Each job
    /// passes here before it starts.
    pub(super) fn wait_for_room_or(&self, stop: BorrowedFd<'_>) {
        self.lock().out.wait_for_room_or(stop);
    }

    /// Writes a message of our own to standard error, between the jobs' output. `--quiet` leaves
    /// it out.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet {
            self.error(text);
        }
    }

    /// Writes the reason for which the run ends.
    pub(super) fn error(&self, text: &str) {
        self.print(&format!("cmwq run: {text}"));
    }

    /// As `note`, but never waits: lost where standard error has no room, which false says. If
    /// somebody waits to write output, it does not wait for its turn.
    pub(super) fn note_at_once(&self, text: &str) -> bool {
        if self.quiet {
            return true;
        }
        let text = format!("cmwq run: {text}");
        if let Ok(mut state) = self.state.try_lock() {
            let has_room = state.err.has_room();
            if has_room {
                // As in `print`.
                let _ = state.print(&text);
            }
            return has_room;
        }
        match Stream::of(io::stderr().as_fd(), "standard error", &self.backpressure) {
            Ok(mut stream) if stream.has_room() => {
                stream.write_fleeting(&format!("{text}\n"));
                true
            }
            _ => false,
        }
    }

    /// Writes `line` as it is to standard error.
    pub(super) fn print(&self, line: &str) {
        // A failure to complain cannot be told to anybody.
        let _ = self.lock().print(line);
    }

    /// Writes `line`, which somebody wants, as it is to standard error.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) fn deliver(&self, line: &str) -> io::Result<()> {
        let mut state = self.lock();
        let written = state.print(line);
        written.map_err(|error| state.err.name_in(error))
    }

    /// Shows `lines` at the bottom of the terminal until something else is written. Not while
    /// somebody writes, nor behind a line that a job has not ended.
    pub(super) fn show_bar(&self, lines: &[String]) {
        if let Ok(mut state) = self.state.try_lock()
            && state.out.at_line_start()
            && state.err.at_line_start()
            && state.err.has_room()
        {
            let erase = erase(state.bar_lines.max(1));
            let text = lines.join("\r\n");
            state.err.write_fleeting(&format!("{erase}{text}"));
            state.bar_lines = lines.len();
        }
    }

    /// Takes away what `show_bar` shows, unless somebody writes, which does it as well.
    pub(super) fn erase_bar(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.erase_bar();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What erases so many lines, the last of which the cursor is in.
fn erase(lines: usize) -> String {
    match lines {
        1 => ERASE.to_owned(),
        lines => format!("\x1b[{}A{ERASE_BELOW}", lines - 1),
    }
}

/// Whether progress can be shown where nothing was said of it. Not beside a pipe: what is behind it
/// may write to the same terminal, a pager for example.
pub(super) fn is_for_people() -> bool {
    let kind = fstat(io::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    io::stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
        && !matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}

impl State {
    /// Tries all, as what cannot be logged can be written. Gives the first error, of output before
    /// the log's.
    fn write_those_in_turn(&mut self) -> Result<(), Lost> {
        let mut result = Ok(());
        while let Some(finished) = self.early.remove(&self.next) {
            self.next += 1;
            result = match (result, self.write(finished)) {
                (Ok(()), result) => result,
                (Err(Lost::Unlogged(_)), Err(lost @ Lost::Unwritten(_))) => Err(lost),
                (result, _) => result,
            };
        }
        result
    }

    fn write(&mut self, finished: Option<Finished>) -> Result<(), Lost> {
        let Some(Finished { blocks, tag, entry }) = finished else {
            return Ok(());
        };
        let written = self
            .write_block(To::Out, blocks.out, tag.as_deref())
            .and_then(|()| self.write_block(To::Err, blocks.err, tag.as_deref()));
        self.out.is_written();
        self.err.is_written();
        written?;
        match &self.log {
            Some(log) => match log.own() {
                None => log.write(&entry).map_err(Lost::Unlogged),
                Some(own) => self.log_here(own, &JobLog::line(&entry)),
            },
            None => Ok(()),
        }
    }

    /// Writes lines of a joblog that is one of our own streams.
    fn log_here(&mut self, own: Own, lines: &str) -> Result<(), Lost> {
        self.erase_bar();
        let stream = self.stream(match own {
            Own::Output => To::Out,
            Own::Errors => To::Err,
        });
        let written = stream.write_all(lines.as_bytes());
        stream.is_written();
        written.map_err(|error| Lost::Unwritten(stream.name_in(error)))
    }

    fn write_block(
        &mut self,
        to: To,
        block: Option<Spool>,
        tag: Option<&[u8]>,
    ) -> Result<(), Lost> {
        let Some(block) = block.filter(|block| !block.is_empty()) else {
            return Ok(());
        };
        self.erase_bar();
        let stream = self.stream(to);
        let written = match tag {
            None => block.write_to(stream),
            Some(tag) => block.write_tagged(tag, stream),
        };
        written.map_err(|error| Lost::Unwritten(stream.name_in(error)))
    }

    fn stream(&mut self, to: To) -> &mut Stream {
        match to {
            To::Out => &mut self.out,
            To::Err => &mut self.err,
        }
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        self.erase_bar();
        // At once, as some messages do not wait for their turn.
        let written = self.err.write_all(format!("{line}\n").as_bytes());
        self.err.is_written();
        written
    }

    fn erase_bar(&mut self) {
        let lines = std::mem::take(&mut self.bar_lines);
        if lines > 0 {
            self.err.write_fleeting(&erase(lines));
        }
    }
}
