//! From a job's lines to its end: what one item of the workqueue does.

mod attempts;
mod clear;
mod conclude;
mod follow;
mod title;

use crate::run::RunArgs;
use crate::run::args::When;
use crate::run::blocks;
use crate::run::board::Board;
use crate::run::control::Control;
use crate::run::delay::Delay;
use crate::run::failures::Failures;
use crate::run::feed::Submission;
use crate::run::halt::{Halt, Next, Rules};
use crate::run::hole::Text;
use crate::run::launch::{Call, Launcher, Own, is_shortage};
use crate::run::limit::Limit;
use crate::run::log::JobLog;
use crate::run::long::LongJobs;
use crate::run::memory::Memory;
use crate::run::output::{self, Blocks, Output};
use crate::run::results::Results;
use crate::run::room::Room;
use crate::run::slots::Slots;
use crate::run::spare::Spare;
use crate::run::status::{JobEnd, OTHER_ERROR};
use crate::run::template::{Given, Template};
use crate::run::threads;
use crate::run::waiting::{Line, Waiting};
use cmwq::Workqueue;
use cmwq_admission::{Crowd, Spent};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Blocks that wait for their jobs to begin, at most.
const BLOCKS_AHEAD: usize = 2;

/// Descriptors that the start of a process takes: both ends of two pipes, its standard input, and
/// both ends of the pipe that tells why it could not be started.
const TO_START: usize = 7;

/// Between two tries to make a file for a block, unless a job leaves.
const RARELY: Duration = Duration::from_millis(100);

/// All that the jobs of a run share.
pub(super) struct Session {
    pub(super) control: Control,
    pub(super) output: Output,
    pub(super) template: Template,
    pub(super) rules: Rules,
    timeout: Option<Duration>,
    line_buffer: bool,
    launcher: Launcher,
    /// Held while a process is started for which there was no room before.
    turn: Mutex<()>,
    /// That this took long was said.
    has_told: Mutex<bool>,
    waiting: Waiting,
    queue: Workqueue,
    /// For the last ones, and whether these have been queued there: see `start_last`.
    at_once: Workqueue,
    last_begun: AtomicBool,
    limit: Limit,
    memory: Memory,
    room: Room,
    slots: Slots,
    delay: Option<Delay>,
    /// Between two attempts at one job.
    retry_delay: Option<Duration>,
    verbose: bool,
    tag: bool,
    tagstring: Option<Text>,
    /// Those that were named, at once if somebody watches.
    pub(super) long: LongJobs,
    is_watched: bool,
    pub(super) board: Board,
    pub(super) failures: Failures,
    results: Option<Results>,
    /// For files of results, and for the start of processes; the latter only where blocks would
    /// take all of it, or if no other process runs.
    spare: Spare,
    has_blocks: bool,
}

/// What a session is made of, beside the options.
pub(super) struct Setup {
    pub(super) template: Template,
    pub(super) log: Option<JobLog>,
    pub(super) results: Option<Results>,
    pub(super) tagstring: Option<Text>,
    /// Somebody sees what is said at once.
    pub(super) is_watched: bool,
}

/// An attempt at a job that has ended.
struct Attempt {
    start: SystemTime,
    runtime: Duration,
    spent: Spent,
    status: ExitStatus,
    end: JobEnd,
    blocks: Blocks,
    /// How many there were at this job, with this one.
    number: u32,
    next: Next,
}

/// Why there is no end of a job: the exit status of the run and the words of the message.
type Ours = (u8, String);

impl Session {
    pub(super) fn new(args: &RunArgs, setup: Setup) -> io::Result<Self> {
        let limit = Limit::new(args.max_active);
        let queue = queue(limit.now())?;
        let at_once = last_queue(args.max_active)?;
        let output = Output::new(args.keep_order, args.quiet, setup.log)?;
        let nice = args.nice.filter(|&nice| is_allowed(nice, &output));
        Ok(Self {
            control: Control::new()?,
            output,
            template: setup.template,
            rules: Rules::new(args.halt, args.retries.unwrap_or(0)),
            timeout: args.timeout,
            line_buffer: args.line_buffer,
            launcher: Launcher::new(
                shared(args),
                nice,
                args.workdir.clone(),
                args.halt == Some(Halt::Never),
            ),
            turn: Mutex::default(),
            has_told: Mutex::default(),
            waiting: Waiting::default(),
            queue,
            at_once,
            last_begun: AtomicBool::new(false),
            limit,
            memory: Memory::new(args.min_free_memory),
            room: Room::new(),
            slots: Slots::default(),
            delay: args.delay.map(Delay::new),
            retry_delay: args.retry_delay,
            verbose: args.verbose,
            tag: args.tag,
            tagstring: setup.tagstring,
            long: LongJobs::default(),
            is_watched: setup.is_watched,
            board: Board::new(args.progress == When::Full),
            failures: Failures::default(),
            spare: Spare::new(match args.pipe {
                true => TO_START,
                false => setup.results.iter().len(),
            }),
            has_blocks: args.pipe,
            results: setup.results,
        })
    }

    /// Queues a job once there is room for it: blocks that wait take room as well. False: the run
    /// is stopped.
    pub(super) fn submit(self: &Arc<Self>, job: Submission) -> io::Result<bool> {
        let is_admitted = match &job.block {
            None => self.control.admit(|| 2 * self.limit.now() + 64),
            Some(_) => self.control.admit(|| self.limit.now() + BLOCKS_AHEAD),
        };
        if !is_admitted {
            return Ok(false);
        }
        let input = match job.block.map(|block| self.stored(&block)).transpose() {
            Ok(Some(None)) => {
                self.control.leave();
                return Ok(false);
            }
            input => input.inspect_err(|_| self.control.leave())?.flatten(),
        };
        let line = Line {
            sequence: job.sequence,
            lines: job.lines,
            input,
        };
        self.waiting.push(line);
        self.begin_on(&self.queue);
        Ok(true)
    }

    /// A file with the block, once there are descriptors for that and for the start of a job.
    /// While there are not, it waits for jobs that were admitted before to leave. `None`: the run
    /// was stopped before.
    fn stored(&self, block: &[u8]) -> io::Result<Option<File>> {
        loop {
            let (seen, is_alone) = self.control.leaves();
            let stored = || blocks::stored(block);
            match self.spare.respect(is_alone, stored) {
                Err(error) if is_shortage(&error) && !is_alone => {
                    if !self.control.wait_for_leave(seen, RARELY) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(output::in_folder(error)),
                Ok(file) => return Ok(Some(file)),
            }
        }
    }

    /// Keeps descriptors aside from here on.
    pub(super) fn keep_spare(&self) {
        self.spare.keep();
    }

    /// There are no jobs with these numbers: nobody waits for their output.
    pub(super) fn leave_out(&self, numbers: Range<u64>) {
        numbers.for_each(|sequence| self.put(sequence, None));
    }

    /// Queues an item that begins the job whose turn it then is.
    fn begin_on(self: &Arc<Self>, queue: &Workqueue) {
        let session = Arc::clone(self);
        // Its result is in the control; nobody joins.
        let _unjoined = queue.spawn(move || session.begin());
    }

    fn begin(self: Arc<Self>) {
        let again = || -> Box<dyn FnOnce() + Send> {
            let session = Arc::clone(&self);
            Box::new(move || session.begin_on(&session.queue))
        };
        if self.output.defer(again) {
            return;
        }
        if let Some(line) = self.waiting.pop() {
            let (session, sequence) = (self, line.sequence);
            let seat = Seat { session, sequence };
            seat.session.run(line);
            seat.session.start_last();
        }
    }

    /// If the end is near, lets all jobs begin that still wait for it, once.
    pub(super) fn start_last(self: &Arc<Self>) {
        if self.last_begun.load(SeqCst) {
            return;
        }
        let Some(last_ones) = self
            .control
            .last_ones()
            .filter(|_| !self.output.is_held_up())
        else {
            return;
        };
        // Those that have begun are all others, also those that wait for room: counted after all of
        // them, so that they are rather too many than too few.
        let left = self.waiting.len();
        let begun = last_ones.saturating_sub(left);
        if self.limit.is_last_round(begun, left) && !self.last_begun.swap(true, SeqCst) {
            (0..left).for_each(|_| self.begin_on(&self.at_once));
        }
    }

    /// Waits until all submitted jobs have ended and their items are done.
    pub(super) fn wait(&self) -> io::Result<()> {
        // The last ones would count as they were seen when they began.
        self.control.wait_until_all_left(cmwq::look);
        self.at_once.flush().map_err(io::Error::other)?;
        self.queue.flush().map_err(io::Error::other)
    }

    /// Stops the run with exit status `code`; the first who does so gets to say why.
    pub(super) fn stop(&self, code: u8, why: &str) {
        if self.control.stop(code) {
            self.output.error(why);
        }
    }

    fn run(&self, line: Line) {
        let Line {
            sequence,
            lines,
            input,
        } = line;
        let slot = self.slots.take();
        let given = Given {
            lines: &lines,
            sequence,
            slot: slot.number,
            block: input.as_ref(),
        };
        let made = self.template.made(given);
        let title = self.title(given);
        if self.verbose && !self.control.is_stopped() {
            let typed = self.template.typed(given);
            self.output.print(&String::from_utf8_lossy(&typed));
        }
        let call = Call {
            words: &made.words,
            variables: &made.variables,
            input: input.as_ref(),
        };
        match self.attempts(&title, call) {
            Ok(Some(last)) => self.conclude(&title, lines, last),
            Ok(None) => self.put(sequence, None),
            Err((code, why)) => {
                self.stop(code, &self.blames(&title, code, &why));
                self.put(sequence, None);
            }
        }
    }

    /// Somebody has looked at the jobs.
    pub(super) fn looked(&self, crowd: &Crowd) {
        self.limit.looked(crowd, &self.queue);
        self.control.has_more_room();
    }

    /// Looks now and then for how many jobs the system has processes: first before any job begins,
    /// beside all of our own threads.
    pub(super) fn mind_room(&self) {
        if let Some(jobs) = self.room.look(|| self.control.leaders()) {
            self.limit.has_room(jobs, &self.queue);
        }
    }
}

/// The queue of the run's jobs.
fn queue(max_active: usize) -> io::Result<Workqueue> {
    let queue = Workqueue::builder("run").max_active(max_active).build();
    threads::with_worker(queue.map_err(io::Error::other)?)
}

/// The queue of the last ones, which may be all that the user allows.
fn last_queue(max_active: usize) -> io::Result<Workqueue> {
    let queue = Workqueue::builder("run-last").unmanaged();
    let queue = queue.max_active(max_active).build();
    queue.map_err(io::Error::other)
}

/// What jobs share with us.
fn shared(args: &RunArgs) -> Own {
    Own {
        stdin: has_our_input(args),
        output: args.ungroup,
    }
}

/// Whether jobs read what we could: we do not, and nobody has to type it. Who reads from a terminal
/// that belongs to another process group is stopped.
fn has_our_input(args: &RunArgs) -> bool {
    let is_ours = |path: &std::path::PathBuf| path.as_os_str() == "-";
    let is_free = !args.arg_file.is_empty() && !args.arg_file.iter().any(is_ours);
    is_free && !io::stdin().is_terminal()
}

/// Whether jobs may have this nice value; else says that they may not.
fn is_allowed(nice: i32, output: &Output) -> bool {
    let best = cmwq_os::limits::read().nice_best;
    if nice < best {
        output.note(&format!("nice {nice} is not allowed: jobs run at ours"));
    }
    nice >= best
}

/// The place of an admitted job, given back however its item ends.
struct Seat {
    session: Arc<Session>,
    sequence: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = "internal error: a job's item panicked";
            self.session.stop(OTHER_ERROR, why);
            // With -k others wait for it.
            self.session.put(self.sequence, None);
        }
        self.session.control.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_of_the_last_ones_run_as_the_user_allows() {
        for most in [1, 7, 1024, 2048] {
            assert_eq!(last_queue(most).unwrap().max_active(), most);
        }
    }
}
