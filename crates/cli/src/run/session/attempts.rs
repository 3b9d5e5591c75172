//! A job's attempts: each is one process, for which there has to be room.

use super::title::Title;
use super::{Attempt, Ours, Session};
use crate::run::halt::Next;
use crate::run::launch::{Call, failure, is_shortage};
use crate::run::process_job::Body;
use crate::run::status::JobEnd;
use crate::run::vigil::Vigil;
use cmwq_admission::Relief;
use rustix::process::Signal;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::PoisonError;
use std::time::{Instant, SystemTime};

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

/// A process, and when it was started.
type Launched = (Child, Moment);

impl Session {
    /// Runs the job until an end of it counts. None: the run was stopped before the job began.
    pub(super) fn attempts(&self, title: &Title, call: Call<'_>) -> Result<Option<Attempt>, Ours> {
        let mut last: Option<Attempt> = None;
        loop {
            let number = last.as_ref().map_or(1, |last| last.number + 1);
            let Some(launched) = self.launch_attempt(title, call, number)? else {
                // No further one: the end before it counts.
                return Ok(last);
            };
            // Gives back what its output takes.
            drop(last);
            let (attempt, body) = self.attempt(title, launched, number)?;
            let is_tried_again = attempt.next == Next::Retry && !self.control.is_stopped();
            let told = match attempt.end {
                JobEnd::TimedOut => Some(Signal::TERM),
                _ => self.control.ends_with(),
            };
            if is_tried_again || told.is_some() {
                self.clear(title, body, told, is_tried_again);
            }
            // A timeout was said at once; other ends are said only below a board of running jobs.
            let is_said = attempt.end != JobEnd::TimedOut && self.board.is_shown();
            if is_tried_again && is_said {
                let words = self.rules.of_attempt(attempt.end, number, true);
                self.output.note(&title.says(&words));
            }
            let pause = self.retry_delay.filter(|_| is_tried_again);
            let goes_on = is_tried_again && pause.is_none_or(|pause| self.control.rest(pause));
            if !goes_on {
                return Ok(Some(attempt));
            }
            last = Some(attempt);
        }
    }

    /// None: the run was stopped before, or this stops it and is no end of the job.
    fn launch_attempt(
        &self,
        title: &Title,
        call: Call<'_>,
        number: u32,
    ) -> Result<Option<Launched>, Ours> {
        let launched = self.launch(title, call);
        let launched = launched.map_err(|error| failure(&error));
        if number == 1 {
            return launched.inspect(|launched| {
                if launched.is_some() {
                    self.control.has_begun();
                }
            });
        }
        match launched {
            Ok(Some(_)) => self.control.retried(),
            Ok(None) => {}
            Err((code, why)) => {
                self.stop(code, &self.blames(title, code, &why));
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
    ) -> Result<(Attempt, Body), Ours> {
        let mut vigil = Vigil::new(self.timeout, number);
        let (status, blocks, spent, body) = self.attend(title, child, &mut vigil)?;
        let end = match vigil.is_over() {
            true => JobEnd::TimedOut,
            false => self.end(title, status),
        };
        let attempt = Attempt {
            start: moment.wall,
            runtime: moment.monotonic.elapsed(),
            spent,
            status,
            end,
            blocks,
            number,
            next: self.rules.after(end, number),
        };
        Ok((attempt, body))
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

    /// Starts the process, waiting for room for it if need be. None: the run was stopped before.
    ///
    /// Who was refused gives back what it had been granted: whoever it waits for may need that.
    fn launch(&self, title: &Title, call: Call<'_>) -> io::Result<Option<Launched>> {
        let sequence = title.sequence;
        let delay = self.delay.as_ref();
        let (mut refused, mut relief) = (false, Relief::default());
        while self.wait_for_room(sequence) {
            self.mind_room();
            if !delay.is_none_or(|delay| delay.wait(&self.control)) {
                self.memory.not_started(sequence);
                break;
            }
            let seen = self.control.ends();
            let started = self.start(title, call, refused);
            match &started {
                Ok(Some((child, _))) => self.memory.started(sequence, child.id()),
                Ok(None) | Err(_) => self.memory.not_started(sequence),
            }
            let error = match started {
                Err(error) if is_shortage(&error) => error,
                other => return other,
            };
            refused = true;
            // More workers that wait like this one would take what is left.
            self.limit.lower(self.control.with_starting(), &self.queue);
            let again = self.control.wait_for_relief(seen, &mut relief);
            if !again && !self.control.is_stopped() {
                return Err(error);
            }
            self.tell_of(&relief, &error);
        }
        Ok(None)
    }

    /// False: the run was stopped before there were descriptors and memory for the job.
    fn wait_for_room(&self, sequence: u64) -> bool {
        while self.wait_for_files(sequence) && self.wait_for_memory(sequence) {
            if self.output.held().has_room_for(sequence) {
                return true;
            }
            // Others have opened files while it waited for memory.
            self.memory.not_started(sequence);
        }
        false
    }

    /// False: the run was stopped before outputs that wait had left descriptors for this job.
    fn wait_for_files(&self, sequence: u64) -> bool {
        let held = self.output.held();
        self.control.wait_until(|| held.has_room_for(sequence))
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

    /// Starts the process once our output has room. None: the run was stopped before.
    fn start(&self, title: &Title, call: Call<'_>, refused: bool) -> io::Result<Option<Launched>> {
        self.output.wait_for_room_or(self.control.stop_event());
        if !self.control.start() {
            return Ok(None);
        }
        let moment = Moment::now();
        let child = self.launch_in_turn(title, call, refused);
        child
            .map(|child| Some((child, moment)))
            .inspect_err(|_| self.control.not_started())
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
    fn launch_in_turn(&self, title: &Title, call: Call<'_>, refused: bool) -> io::Result<Child> {
        let turn = || self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _turn = refused.then(turn);
        let start = || self.launcher.start(call, title.sequence + 1, title.slot);
        match self.has_blocks || self.control.with_starting() <= 1 {
            true => self.spare.help(start).map(|started| started.made),
            false => start(),
        }
    }
}

/// Whether the job was killed, or a shell says so of what it ran.
fn is_kill(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGKILL) || status.code() == Some(128 + libc::SIGKILL)
}
