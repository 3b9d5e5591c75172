//! A process from its start to its end.

use super::title::{Title, shown};
use super::{Ours, Session};
use crate::run::halt::Next;
use crate::run::long::LongJob;
use crate::run::output::{Blocks, LineSink, Lost, Spool, To};
use crate::run::process_job::{Body, ProcessJob, Sink, is_dead};
use crate::run::status::JobEnd;
use crate::run::vigil::{Due, Vigil};
use crate::whereabouts;
use cmwq_admission::Spent;
use cmwq_os::usage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

impl Session {
    /// Follows a process from its start to its end. It is not reaped yet, unless its output is
    /// lost.
    pub(super) fn attend(
        &self,
        title: &Title,
        child: Child,
        vigil: &mut Vigil,
    ) -> Result<(ExitStatus, Blocks, Spent, Body), Ours> {
        let (pid, sequence) = (child.id(), title.sequence);
        self.control.started(sequence, Pid::from_child(&child));
        let attached = cmwq::process::attach(pid);
        self.board.began(sequence, pid, &title.arguments);
        let mut job = ProcessJob::new(child, |to| self.sink(title, to));
        let age = self.age();
        let watched = self.watch(title, &mut job, vigil, &age);
        let spent = self.died(sequence, pid, vigil, age());
        drop(attached);
        let (ended, body) = job.end();
        let ended = watched.and(ended.map_err(|error| self.lost(Lost::Unheld(error))));
        match ended {
            Ok((status, blocks)) => Ok((status, blocks, spent, body)),
            Err((is_first, ours)) => {
                if is_first {
                    self.output.error(&title.says(&ours.1));
                }
                self.clear(title, body, Some(Signal::TERM), false);
                Err(ours)
            }
        }
    }

    /// Takes the job's output until its leader is dead. One whose output is lost is terminated. The
    /// error is what [`Session::lost`] says.
    fn watch(
        &self,
        title: &Title,
        job: &mut ProcessJob<'_>,
        vigil: &mut Vigil,
        age: &impl Fn() -> Duration,
    ) -> Result<(), (bool, Ours)> {
        let group = job.group();
        // Who reads our output may have kept us for longer than the job had.
        let watched = job.watch(|| match vigil.is_due(age()) && is_dead(group) {
            true => Duration::ZERO,
            false => self.tend(title, group, vigil, age()),
        });
        watched.map_err(|lost| {
            let lost = self.lost(lost);
            if !job.is_dead() {
                self.control.kill_job(title.sequence, Signal::TERM);
                vigil.has_been_terminated(age());
                job.watch_only(|| self.tend(title, group, vigil, age()));
            }
            lost
        })
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
        self.board.ended(sequence);
        self.memory.ended(sequence, spent.ran, &used);
        self.room.ended(sequence);
        self.control.has_ended();
        spent
    }

    fn sink(&self, title: &Title, to: To) -> Sink<'_> {
        match self.line_buffer {
            true => Sink::Lines(LineSink::new(&self.output, to, title.tag.clone())),
            false => Sink::Held(Spool::new(self.output.held())),
        }
    }

    /// A clock that begins now and stands still while the run is suspended.
    pub(super) fn age(&self) -> impl Fn() -> Duration {
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
            self.follow(title, vigil.attempt(), group, due, ran);
        }
        vigil.quiet_for(ran)
    }

    fn follow(&self, title: &Title, attempt: u32, group: Pid, due: Due, ran: Duration) {
        match due {
            Due::Shown => {
                self.mind_room();
                self.limit.shown(&self.queue);
                self.control.has_more_room();
            }
            Due::Terminate => {
                self.control.kill_job(title.sequence, Signal::TERM);
                let next = self.rules.after(JobEnd::TimedOut, attempt);
                let again = next == Next::Retry && !self.control.is_stopped();
                let words = self.rules.of_attempt(JobEnd::TimedOut, attempt, again);
                self.output.note_at_once(&title.says(&words));
            }
            Due::Kill => self.control.kill_job(title.sequence, Signal::KILL),
            Due::Look => {
                self.mind_room();
                self.look(title, group, ran);
            }
        }
    }

    fn look(&self, title: &Title, group: Pid, ran: Duration) {
        if let Some(signal) = was_stopped(group) {
            let why = of_stop(signal, group);
            self.output.note_at_once(&title.says(&why));
        }
        if let Some(times) = self.limit.is_long(ran) {
            self.name_long(title, group, ran, times);
        }
    }

    /// Says once which job runs so long, and what for. Nobody asks while it is not looked at.
    fn name_long(&self, title: &Title, group: Pid, ran: Duration, times: u64) {
        let describe = || LongJob {
            sequence: title.sequence + 1,
            arguments: shown(&title.arguments),
            ran_s: ran.as_secs(),
            times,
            doing: whereabouts::of(group.as_raw_pid().unsigned_abs()).doing,
        };
        let named = self.long.name(title.sequence, describe);
        if let Some(job) = named.filter(|_| self.is_watched) {
            self.output.note_at_once(&job.says());
        }
    }
}

/// By which signal the process was stopped, if it was since this was asked last.
fn was_stopped(pid: Pid) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid), options).ok()??.stopping_signal()
}

/// What to say of a job that this signal has stopped. One that the terminal stops would only be
/// stopped again.
fn of_stop(signal: i32, group: Pid) -> String {
    let pid = group.as_raw_nonzero();
    match signal {
        libc::SIGTTIN | libc::SIGTTOU => format!(
            "was stopped, as it wants the terminal, which no job gets; the others go on; \
             \"kill -KILL -{pid}\" ends it"
        ),
        _ => format!("was stopped, the others go on; \"kill -CONT -{pid}\" continues it"),
    }
}
