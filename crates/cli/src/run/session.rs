//! From a job's lines to its end: what one item of the workqueue does.

use super::control::Control;
use super::delay::Delay;
use super::halt::{Next, Rules};
use super::launch::{Launcher, Own, failure, is_shortage};
use super::limit::Limit;
use super::log::{Entry, JobLog};
use super::memory::Memory;
use super::output::{Blocks, Finished, Held, LineSink, Lost, Output, Spool, To};
use super::process_job::{ProcessJob, Sink};
use super::slots::Slots;
use super::status::{JobEnd, OTHER_ERROR};
use super::template::{Given, Template};
use super::threads;
use super::vigil::{Due, Vigil};
use super::waiting::{Line, Waiting};
use cmwq::Workqueue;
use cmwq_admission::{Relief, Spent};
use cmwq_os::usage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Characters of it in messages.
const LONGEST_NAME: usize = 80;

/// All that the jobs of a run share.
pub(super) struct Session {
    pub(super) control: Control,
    pub(super) output: Output,
    pub(super) template: Template,
    rules: Rules,
    timeout: Option<Duration>,
    line_buffer: bool,
    launcher: Launcher,
    /// Held while a process is started for which there was no room before.
    turn: Mutex<()>,
    /// That this took long was said.
    has_told: Mutex<bool>,
    held: Held,
    waiting: Waiting,
    queue: Workqueue,
    /// For the last ones, and whether these have been queued there: see `start_last`.
    at_once: Workqueue,
    last_begun: AtomicBool,
    limit: Limit,
    memory: Memory,
    slots: Slots,
    delay: Option<Delay>,
    verbose: bool,
    tag: bool,
}

/// What messages call a job.
struct Title {
    /// From 0.
    sequence: u64,
    name: String,
    /// From 1.
    slot: usize,
    /// With `--tag`: what its lines begin with.
    tag: Option<Vec<u8>>,
}

/// On both clocks: one for people, one that nobody sets.
#[derive(Clone, Copy)]
struct Moment {
    wall: SystemTime,
    monotonic: Instant,
}

impl Moment {
    fn now() -> Self {
        Self {
            wall: SystemTime::now(),
            monotonic: Instant::now(),
        }
    }
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

/// A process, and when it was started.
type Launched = (Child, Moment);

/// Why there is no end of a job: the exit status of the run and the words of the message.
type Ours = (u8, String);

impl Session {
    pub(super) fn new(
        args: &super::RunArgs,
        template: Template,
        log: Option<JobLog>,
    ) -> io::Result<Self> {
        let limit = Limit::new(args.max_active);
        let queue = Workqueue::builder("run")
            .max_active(limit.now())
            .build()
            .map_err(io::Error::other)?;
        let queue = threads::with_worker(queue)?;
        let at_once = Workqueue::builder("run-last").unmanaged().build();
        let own = Own {
            // Who reads from a terminal that belongs to another process group is stopped.
            stdin: args.arg_file.is_some() && !io::stdin().is_terminal(),
            output: args.ungroup,
        };
        let output = Output::new(args.keep_order, args.quiet, args.tag, log)?;
        let nice = args.nice.filter(|&nice| is_allowed(nice, &output));
        Ok(Self {
            control: Control::new()?,
            output,
            template,
            rules: Rules {
                halt: args.halt,
                retries: args.retries,
            },
            timeout: args.timeout,
            line_buffer: args.line_buffer,
            launcher: Launcher::new(own, nice),
            turn: Mutex::default(),
            has_told: Mutex::default(),
            held: Held::default(),
            waiting: Waiting::default(),
            queue,
            at_once: at_once.map_err(io::Error::other)?,
            last_begun: AtomicBool::new(false),
            limit,
            memory: Memory::new(args.min_free_memory),
            slots: Slots::default(),
            delay: args.delay.map(Delay::new),
            verbose: args.verbose,
            tag: args.tag,
        })
    }

    /// Queues the job of `lines`, the job number `sequence`, once there is room for it. False:
    /// the run is stopped.
    pub(super) fn submit(self: &Arc<Self>, sequence: u64, lines: Vec<Vec<u8>>) -> bool {
        if !self.control.admit(|| 2 * self.limit.now() + 64) {
            return false;
        }
        self.waiting.push(Line { sequence, lines });
        self.begin_on(&self.queue);
        true
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
        if let Some(Line { sequence, lines }) = self.waiting.pop() {
            let session = self;
            let seat = Seat { session, sequence };
            seat.session.run(sequence, lines);
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

    fn run(&self, sequence: u64, lines: Vec<Vec<u8>>) {
        let slot = self.slots.take();
        let given = Given {
            lines: &lines,
            sequence,
            slot: slot.number,
        };
        let words = self.template.words(given);
        let name = self.template.name(&words).display().to_string();
        let tag = self.tag.then(|| Template::arguments(&lines));
        let title = Title::new(sequence, name, slot.number, tag);
        if self.verbose && !self.control.is_stopped() {
            let typed = self.template.typed(given);
            self.output.print(&String::from_utf8_lossy(&typed));
        }
        match self.attempts(&title, &words) {
            Ok(Some(last)) => self.conclude(&title, lines, last),
            Ok(None) => self.put(sequence, None),
            Err((code, why)) => {
                self.stop(code, &title.says(&why));
                self.put(sequence, None);
            }
        }
    }

    /// Runs the job until an end of it counts. None: the run was stopped before the job began.
    fn attempts(&self, title: &Title, words: &[OsString]) -> Result<Option<Attempt>, Ours> {
        let mut last: Option<Attempt> = None;
        loop {
            let number = last.as_ref().map_or(1, |last| last.number + 1);
            let Some(launched) = self.launch_attempt(title, words, number)? else {
                // No further one: the end before it counts.
                return Ok(last);
            };
            // Gives back what its output takes.
            drop(last);
            let attempt = self.attempt(title, launched, number)?;
            if attempt.next != Next::Retry || self.control.is_stopped() {
                return Ok(Some(attempt));
            }
            last = Some(attempt);
        }
    }

    /// None: the run was stopped before, or this stops it and is no end of the job.
    fn launch_attempt(
        &self,
        title: &Title,
        words: &[OsString],
        number: u32,
    ) -> Result<Option<Launched>, Ours> {
        let launched = self.launch(title, words);
        let launched = launched.map_err(|error| failure(&error));
        if number == 1 {
            return launched;
        }
        match launched {
            Ok(Some(_)) => self.control.retried(),
            Ok(None) => {}
            Err((code, why)) => {
                self.stop(code, &title.says(&why));
                return Ok(None);
            }
        }
        launched
    }

    fn attempt(
        &self,
        title: &Title,
        (child, moment): Launched,
        number: u32,
    ) -> Result<Attempt, Ours> {
        let mut vigil = Vigil::new(self.timeout);
        let ((status, blocks), spent) = self.attend(title, child, &mut vigil)?;
        let end = match vigil.is_over() {
            true => JobEnd::TimedOut,
            false => self.end(title, status),
        };
        Ok(Attempt {
            start: moment.wall,
            runtime: moment.monotonic.elapsed(),
            spent,
            status,
            end,
            blocks,
            number,
            next: self.rules.after(end, number),
        })
    }

    /// How the job ended. One that the kernel has killed for want of memory has failed; others go
    /// on, but fewer at a time.
    fn end(&self, title: &Title, status: ExitStatus) -> JobEnd {
        if !is_kill(status) || !self.memory.has_killed() {
            return JobEnd::of(status);
        }
        self.limit.lower(self.control.running(), &self.queue);
        let why = "killed, as memory ran out; fewer jobs run at a time now";
        self.output.note(&title.says(why));
        JobEnd::NoMemory
    }

    /// Starts the process, waiting for memory for it if need be. None: the run was stopped before.
    fn launch(&self, title: &Title, words: &[OsString]) -> io::Result<Option<Launched>> {
        let sequence = title.sequence;
        let delay = self.delay.as_ref();
        let is_turn = delay.is_none_or(|delay| delay.wait(&self.control));
        if !is_turn || !self.wait_for_memory(sequence) {
            return Ok(None);
        }
        let started = self.start(title, words);
        match &started {
            Ok(Some((child, _))) => self.memory.started(sequence, child.id()),
            _ => self.memory.not_started(sequence),
        }
        started
    }

    /// False: the run was stopped before there was any.
    fn wait_for_memory(&self, sequence: u64) -> bool {
        let mut refused = false;
        while !self.control.is_stopped() {
            let seen = self.control.ends();
            match self.memory.admit(sequence) {
                Ok(()) => {
                    if refused {
                        self.limit.granted(&self.queue);
                    }
                    return true;
                }
                Err((pause, running)) => {
                    refused = true;
                    self.limit.refused(running, &self.queue);
                    self.control.wait_for_end(seen, pause);
                }
            }
        }
        false
    }

    /// Starts the process, waiting for room for it if need be. None: the run was stopped before.
    fn start(&self, title: &Title, words: &[OsString]) -> io::Result<Option<Launched>> {
        let (mut refused, mut relief) = (false, Relief::default());
        loop {
            self.output.wait_for_room_or(self.control.stop_event());
            if !self.control.start() {
                return Ok(None);
            }
            let (seen, moment) = (self.control.ends(), Moment::now());
            match self.launch_in_turn(title, words, refused) {
                Ok(child) => return Ok(Some((child, moment))),
                Err(error) => {
                    refused = true;
                    self.control.not_started();
                    if !is_shortage(&error) {
                        return Err(error);
                    }
                    // More workers that wait like this one would take what is left.
                    self.limit.lower(self.control.with_starting(), &self.queue);
                    let again = self.control.wait_for_relief(seen, &mut relief);
                    if !again && !self.control.is_stopped() {
                        return Err(error);
                    }
                    self.tell_of(&relief, &error);
                }
            }
        }
    }

    /// Says once why nothing new starts, if that takes long.
    fn tell_of(&self, relief: &Relief, error: &io::Error) {
        let mut has_told = self.has_told.lock().unwrap_or_else(PoisonError::into_inner);
        if relief.is_long() && !*has_told {
            let why = format!("cannot start another process: {error}; it is tried again");
            *has_told = self.output.note_at_once(&why);
        }
    }

    /// Those who were refused try one at a time: two that take half of what is left each would be
    /// refused again, both of them.
    fn launch_in_turn(
        &self,
        title: &Title,
        words: &[OsString],
        refused: bool,
    ) -> io::Result<Child> {
        let turn = || self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = refused.then(turn);
        self.launcher.start(words, title.sequence + 1, title.slot)
    }

    /// Follows a process from its start to its end.
    fn attend(
        &self,
        title: &Title,
        child: Child,
        vigil: &mut Vigil,
    ) -> Result<((ExitStatus, Blocks), Spent), Ours> {
        let (group, sequence) = (Pid::from_child(&child), title.sequence);
        self.control.started(sequence, group);
        let pid = child.id();
        let attached = cmwq::process::attach(pid);
        let mut job = ProcessJob::new(child, |to| self.sink(title, to));
        let age = self.age();
        let watched = job.watch(|| self.tend(title, group, vigil, age()));
        let mut first = false;
        let watched = watched.map_err(|lost| {
            let ours;
            (first, ours) = self.lost(lost);
            if !job.is_dead() {
                self.control.kill_job(sequence, Signal::TERM);
                vigil.has_been_terminated(age());
                job.watch_only(|| self.tend(title, group, vigil, age()));
            }
            ours
        });
        let spent = self.died(sequence, pid, vigil, age());
        drop(attached);
        let ended = watched.and(job.reap().map_err(|error| {
            let (is_first, ours) = self.lost(Lost::Unheld(error));
            first |= is_first;
            ours
        }));
        if let (true, Err((_, why))) = (first, &ended) {
            // May have to wait, so it is said when nothing else has to be done.
            self.output.error(&title.says(why));
        }
        Ok((ended?, spent))
    }

    /// The leader of a job, the process `pid`, is dead and not reaped: gives back what the job had.
    fn died(&self, sequence: u64, pid: u32, vigil: &Vigil, ran: Duration) -> Spent {
        if vigil.has_shown() {
            self.limit.shown_over(&self.queue);
        }
        let used = i32::try_from(pid).ok().and_then(usage::ended_child);
        let used = used.unwrap_or_default();
        let spent = Spent {
            ran: u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX),
            computed: used.cpu_ns(),
        };
        // In this order: no more are running than memory was found for, and who waits for an end
        // finds the memory given back.
        self.control.died(sequence);
        self.memory.ended(sequence, spent.ran, &used);
        self.control.has_ended();
        spent
    }

    fn sink(&self, title: &Title, to: To) -> Sink<'_> {
        match self.line_buffer {
            true => Sink::Lines(LineSink::new(&self.output, to, title.tag.clone())),
            false => Sink::Held(Spool::new(&self.held)),
        }
    }

    /// A clock that begins now and stands still while the run is suspended.
    fn age(&self) -> impl Fn() -> Duration {
        let began = Instant::now();
        let before = self.control.suspended_for();
        move || {
            let suspended = self.control.suspended_for() - before;
            began.elapsed().saturating_sub(suspended)
        }
    }

    /// Does what is due after `ran`, and says how long nothing else will be.
    fn tend(&self, title: &Title, group: Pid, vigil: &mut Vigil, ran: Duration) -> Duration {
        while let Some(due) = vigil.due(ran) {
            self.follow(title, group, due);
        }
        vigil.quiet_for(ran)
    }

    fn follow(&self, title: &Title, group: Pid, due: Due) {
        match due {
            Due::Shown => {
                self.limit.shown(&self.queue);
                self.control.has_more_room();
            }
            Due::Terminate => {
                self.control.kill_job(title.sequence, Signal::TERM);
                self.output.note_at_once(&title.says("timed out"));
            }
            Due::Kill => self.control.kill_job(title.sequence, Signal::KILL),
            Due::Look if was_stopped(group) => {
                let pid = group.as_raw_nonzero();
                let why =
                    format!("was stopped, the others go on; \"kill -CONT -{pid}\" continues it");
                self.output.note_at_once(&title.says(&why));
            }
            Due::Look => {}
        }
    }

    /// The end of a job's last attempt is the job's.
    fn conclude(&self, title: &Title, lines: Vec<Vec<u8>>, last: Attempt) {
        let first = match last.next {
            Next::Stop { code, terminate } => self.stop_by_job(code, terminate),
            Next::GoOn | Next::Retry => false,
        };
        let entry = Entry {
            sequence: title.sequence + 1,
            start: last.start.duration_since(UNIX_EPOCH).unwrap_or_default(),
            runtime: last.runtime,
            end: last.end,
            status: last.status,
            attempts: last.number,
            lines,
        };
        let blocks = last.blocks;
        self.put(title.sequence, Some(Finished { blocks, entry }));
        if first {
            let why = format!("{}; aborting", last.end.words());
            self.output.error(&title.says(&why));
        }
        self.account(last.end, last.spent);
    }

    /// True for the first that stops the run. After a signal to us it is that which decides what
    /// becomes of the jobs: how they end is its consequence.
    fn stop_by_job(&self, code: u8, terminate: bool) -> bool {
        let first = self.control.stop(code);
        let is_signalled = self.control.is_signalled();
        if terminate && !is_signalled {
            self.control.terminate();
        }
        first && !is_signalled
    }

    /// Hands the output over.
    fn put(&self, sequence: u64, finished: Option<Finished>) {
        if let Err(lost) = self.output.put(sequence, finished) {
            let (first, (_, why)) = self.lost(lost);
            if first {
                self.output.error(&why);
            }
        }
    }

    /// Stops the run for want of output, and tells what to say if that was the first cause. Where
    /// nobody reads ours any more, the jobs are ended.
    fn lost(&self, lost: Lost) -> (bool, Ours) {
        let is_read =
            !matches!(&lost, Lost::Unwritten(error) if error.kind() == io::ErrorKind::BrokenPipe);
        let why = match lost {
            Lost::Unheld(error) => format!("its output was lost: {error}"),
            Lost::Unlogged(error) | Lost::Unwritten(error) => error.to_string(),
        };
        let first = self.control.stop(OTHER_ERROR);
        if !is_read {
            self.control.terminate();
        }
        (first, (OTHER_ERROR, why))
    }

    fn account(&self, end: JobEnd, spent: Spent) {
        let completed = self.control.ended(end);
        let running = self.control.running();
        self.limit.ended(completed, running, spent, &self.queue);
    }
}

impl Title {
    /// Shortens the name of a job that is a whole script.
    fn new(sequence: u64, mut name: String, slot: usize, tag: Option<Vec<u8>>) -> Self {
        if let Some((at, _)) = name.char_indices().nth(LONGEST_NAME) {
            name.truncate(at);
            name.push_str("...");
        }
        Self {
            sequence,
            name,
            slot,
            tag,
        }
    }

    fn says(&self, what: &str) -> String {
        format!("job {}: {}: {what}", self.sequence + 1, self.name)
    }
}

/// Whether jobs may have this nice value; else says that they may not.
fn is_allowed(nice: i32, output: &Output) -> bool {
    let best = cmwq_os::limits::read().nice_best;
    if nice < best {
        output.note(&format!("nice {nice} is not allowed: jobs run at ours"));
    }
    nice >= best
}

/// Whether the process was stopped since this was asked last.
fn was_stopped(pid: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)))
}

/// Whether the job was killed, or a shell says so of what it ran.
fn is_kill(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGKILL) || status.code() == Some(128 + libc::SIGKILL)
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
