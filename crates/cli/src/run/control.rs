//! The state that reader, jobs and signals share: who runs, what has ended, whether to go on.

mod waits;

use super::groups::Groups;
use super::status::{JobEnd, RunEnd, RunStatus};
use super::tally::Tally;
use super::vigil::GRACE;
use crate::so_far::{Shown, SoFar};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, Signal};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From the end of the input to the first look at what runs, and the longest time between two: each
/// comes after twice as long as the one before, so that a long wait costs next to nothing.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const RAREST_LOOK: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Control {
    state: Mutex<State>,
    changed: Condvar,
    /// For who looks at the jobs.
    looker: Condvar,
    /// Readable once the run is stopped: for those who wait in poll.
    stop_event: OwnedFd,
    /// For other processes.
    shown: Shown,
}

#[derive(Default)]
struct State {
    /// Jobs that are queued or running.
    outstanding: usize,
    groups: Groups,
    /// Processes that ended.
    ends: u64,
    /// Jobs that have left.
    leaves: u64,
    tally: Tally,
    verdict: RunStatus,
    stopped: bool,
    /// How often the user has pressed Ctrl-C.
    interrupts: u32,
    /// What ends the trees of the jobs, as far as the run or somebody wants it.
    ends_with: Option<Signal>,
    /// `terminate` was called, and when those jobs are killed.
    terminated: bool,
    kill_at: Option<Instant>,
    /// Ctrl-Z: nothing starts.
    suspended: bool,
    /// Since when everything stands still, and how long it has before.
    suspended_since: Option<Instant>,
    suspended_for: Duration,
    /// Who looks at the jobs waits until one waits to begin.
    looker_rests: bool,
    /// Nobody is to look any more.
    looked_enough: bool,
}

/// See [`Control::clears`].
pub(super) struct Clearing<'a>(&'a Control);

impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        self.0.lock().groups.is_clear();
    }
}

impl State {
    /// Sends the signal to the jobs. What they leave gets it too, except after SIGKILL.
    fn end_with(&mut self, signal: Signal) {
        if self.ends_with != Some(Signal::KILL) {
            self.ends_with = Some(signal);
        }
        self.groups.end_with(signal);
    }

    /// After a stop of so long, which counts for no time limit.
    fn goes_on(&mut self, took: Duration) {
        self.suspended = false;
        self.suspended_since = None;
        self.suspended_for += took;
        self.kill_at = self.kill_at.map(|at| at + took);
        self.groups.send_all(Signal::CONT);
    }
}

impl Control {
    pub(super) fn new() -> io::Result<Self> {
        let stop_event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            looker: Condvar::new(),
            stop_event,
            shown: Shown::new(),
        })
    }

    /// Waits until fewer than `room()` jobs are queued or running, and counts one more. False:
    /// the run is stopped, nothing was counted.
    pub(super) fn admit(&self, room: impl Fn() -> usize) -> bool {
        let mut state = self.lock();
        while !state.stopped && state.outstanding >= room() {
            state = self.wait(state);
        }
        if state.stopped {
            return false;
        }
        state.outstanding += 1;
        state.tally.submitted += 1;
        if std::mem::take(&mut state.looker_rests) {
            self.looker.notify_all();
        }
        true
    }

    /// Waits until `is_so`, which is asked again when there is more room or a process ends. False:
    /// the run is stopped.
    pub(super) fn wait_until(&self, is_so: impl Fn() -> bool) -> bool {
        let waits = |state: &mut State| !state.stopped && !is_so();
        let waited = self.changed.wait_while(self.lock(), waits);
        !waited.unwrap_or_else(PoisonError::into_inner).stopped
    }

    /// Who waits in `admit` or `wait_until` may look again.
    pub(super) fn has_more_room(&self) {
        // Whoever has seen too little room holds this until it waits.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Waits for so long, and then until a job waits to begin. False: it is over.
    pub(super) fn wait_to_look(&self, pause: Duration) -> bool {
        let goes_on = |state: &State| !state.stopped && !state.looked_enough;
        let waited = self
            .looker
            .wait_timeout_while(self.lock(), pause, |state| goes_on(state));
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let rests = |state: &mut State| {
            state.looker_rests = state.outstanding <= state.groups.with_starting();
            state.looker_rests && goes_on(state)
        };
        let waited = self.looker.wait_while(state, rests);
        goes_on(&waited.unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends `wait_to_look`.
    pub(super) fn look_no_more(&self) {
        self.lock().looked_enough = true;
        self.looker.notify_all();
    }

    /// Undoes one `admit`.
    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.outstanding -= 1;
        state.leaves += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// There are no more lines; `--resume` left `skipped` of them out.
    pub(super) fn input_ended(&self, skipped: u64) {
        let mut state = self.lock();
        state.tally.is_all = true;
        state.tally.skipped = skipped;
        self.show(&state);
    }

    /// The run was stopped before all lines were jobs: so many were left, or even more.
    pub(super) fn left_over(&self, left: u64, is_all: bool) {
        let mut state = self.lock();
        state.tally.left = left;
        state.tally.is_left_unknown = !is_all;
    }

    /// The first process of a job was started.
    pub(super) fn has_begun(&self) {
        self.lock().tally.begun += 1;
    }

    /// Waits until every admitted job has left. Meanwhile kills what was terminated and does not
    /// end, and calls `look` now and then, ever more rarely.
    pub(super) fn wait_until_all_left(&self, look: impl Fn()) {
        let (mut gap, mut look_at) = (FIRST_LOOK, Instant::now() + FIRST_LOOK);
        let mut state = self.lock();
        while state.outstanding > 0 {
            let now = Instant::now();
            // After Ctrl-Z, who has been suspended puts it off.
            let kill_at = state.kill_at.filter(|_| !state.suspended);
            if kill_at.is_some_and(|at| at <= now) {
                state.kill_at = None;
                state.groups.end_with(Signal::KILL);
            }
            if look_at <= now {
                look();
                gap = (gap * 2).min(RAREST_LOOK);
                look_at = now + gap;
            }
            let kill_at = kill_at.filter(|&at| at > now);
            let until = kill_at.map_or(look_at, |at| at.min(look_at));
            let waited = self.changed.wait_timeout(state, until - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A process will be made, unless this gives false: the run is stopped. Waits while the run
    /// is suspended. `started` or `not_started` follows.
    pub(super) fn start(&self) -> bool {
        let mut state = self.lock();
        while state.suspended && !state.stopped {
            state = self.wait(state);
        }
        if !state.stopped {
            state.groups.start();
        }
        !state.stopped
    }

    /// No process was made.
    pub(super) fn not_started(&self) {
        let mut state = self.lock();
        state.groups.not_started();
        self.tell_suspender(&state);
    }

    /// The job `sequence` runs as process group `group`.
    pub(super) fn started(&self, sequence: u64, group: Pid) {
        let mut state = self.lock();
        state.groups.started(sequence, group);
        state.tally.peak_jobs = state.tally.peak_jobs.max(state.groups.len());
        self.show(&state);
        self.tell_suspender(&state);
    }

    fn show(&self, state: &State) {
        let Tally {
            jobs,
            failed,
            submitted,
            is_all,
            skipped,
            ..
        } = state.tally;
        self.shown.show(&SoFar {
            jobs,
            failed,
            running: state.groups.len(),
            submitted,
            is_all,
            skipped,
        });
    }

    fn tell_suspender(&self, state: &State) {
        if state.suspended {
            self.changed.notify_all();
        }
    }

    /// The leader of the job `sequence` is dead but not reaped: from here on its group gets no
    /// signal from us. `has_ended` follows.
    pub(super) fn died(&self, sequence: u64) {
        self.lock().groups.died(sequence);
    }

    /// What a dead job had is given back: who waits for an end may look.
    pub(super) fn has_ended(&self) {
        self.lock().ends += 1;
        self.changed.notify_all();
    }

    /// A job is tried again.
    pub(super) fn retried(&self) {
        self.lock().tally.retries += 1;
    }

    /// Counts a job that ended; returns how many have, this one included.
    pub(super) fn ended(&self, end: JobEnd) -> u64 {
        self.count(|state| {
            if end != JobEnd::Succeeded {
                state.tally.failed += 1;
                state.verdict.job_failed();
            }
        })
    }

    /// The same of one that the run has told to end: that it did says nothing of it.
    pub(super) fn ended_as_told(&self) -> u64 {
        self.count(|state| state.tally.terminated += 1)
    }

    fn count(&self, of_its_sort: impl FnOnce(&mut State)) -> u64 {
        let mut state = self.lock();
        state.tally.jobs += 1;
        of_its_sort(&mut state);
        self.show(&state);
        state.tally.jobs
    }

    /// Starts nothing more; the run ends with status `code`. True for the first who says so.
    pub(super) fn stop(&self, code: u8) -> bool {
        let mut state = self.lock();
        let first = state.verdict.stopped(code);
        self.stop_locked(&mut state);
        first
    }

    /// The run ends with status `code`, but what was admitted still runs.
    pub(super) fn fail(&self, code: u8) {
        self.lock().verdict.failed(code);
    }

    /// Sends `signal`, which is to end it, to the job `sequence`.
    pub(super) fn kill_job(&self, sequence: u64, signal: Signal) {
        self.lock().groups.tell(sequence, signal);
    }

    /// Ends the jobs that run and those that are just being started: SIGTERM, and SIGKILL where
    /// that has not helped in some seconds. Once. The run is [stopped](Self::stop) before, or the
    /// first of these ends would be taken for what has stopped it.
    pub(super) fn terminate(&self) {
        let mut state = self.lock();
        debug_assert!(state.stopped, "jobs are ended for a cause");
        if std::mem::replace(&mut state.terminated, true) {
            return;
        }
        state.end_with(Signal::TERM);
        state.kill_at = Some(Instant::now() + GRACE);
        self.changed.notify_all();
    }

    /// We got `signal`: starts nothing more and passes it on.
    pub(super) fn signalled(&self, signal: Signal) {
        let mut state = self.lock();
        state.verdict.signalled(signal.as_raw());
        self.stop_locked(&mut state);
        state.end_with(signal);
    }

    /// Ctrl-C. The first one starts nothing more, the second one terminates the jobs, a later one
    /// kills them. Gives the number of this one and how many jobs run, are being started, or have
    /// left something that is being ended.
    pub(super) fn interrupted(&self) -> (u32, usize) {
        let mut state = self.lock();
        state.verdict.signalled(Signal::INT.as_raw());
        self.stop_locked(&mut state);
        state.interrupts += 1;
        match state.interrupts {
            1 => {}
            2 => state.end_with(Signal::TERM),
            _ => state.end_with(Signal::KILL),
        }
        (state.interrupts, state.groups.with_clearing())
    }

    /// With which signal what belongs to the jobs that have been told to end is ended.
    pub(super) fn ends_with(&self) -> Option<Signal> {
        self.lock().ends_with
    }

    /// What a job has left is being ended, while this lives.
    pub(super) fn clears(&self) -> Clearing<'_> {
        self.lock().groups.clears();
        Clearing(self)
    }

    /// Ctrl-Z: stops the jobs, then calls `stop_us`; when that returns, all go on. A process that
    /// is just being made is waited for, so that none runs on while we cannot see it.
    pub(super) fn suspend(&self, stop_us: impl FnOnce()) {
        let mut state = self.lock();
        state.suspended = true;
        while state.groups.are_any_starting() {
            state = self.wait(state);
        }
        state.groups.send_all(Signal::STOP);
        let since = Instant::now();
        state.suspended_since = Some(since);
        drop(state);
        stop_us();
        self.lock().goes_on(since.elapsed());
        self.changed.notify_all();
    }

    /// How long the run has been suspended so far.
    pub(super) fn suspended_for(&self) -> Duration {
        let state = self.lock();
        // Who was stopped in the middle of something may ask before `suspend` goes on.
        let this_time = state.suspended_since.map(|since| since.elapsed());
        state.suspended_for + this_time.unwrap_or_default()
    }

    fn stop_locked(&self, state: &mut State) {
        state.stopped = true;
        // Cannot fail: the counter is far from its end.
        let _ = rustix::io::write(&self.stop_event, &1_u64.to_ne_bytes());
        self.changed.notify_all();
        self.looker.notify_all();
    }

    /// Whether a signal to us stopped the run: what jobs do then is its consequence.
    pub(super) fn is_signalled(&self) -> bool {
        matches!(self.end(), RunEnd::Signal(_))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// A descriptor that is readable once the run is stopped.
    pub(super) fn stop_event(&self) -> BorrowedFd<'_> {
        self.stop_event.as_fd()
    }

    /// How many processes have ended, for `wait_for_relief`.
    pub(super) fn ends(&self) -> u64 {
        self.lock().ends
    }

    /// How many processes run.
    pub(super) fn running(&self) -> usize {
        self.lock().groups.len()
    }

    /// The first process of each job that runs, and the job's number.
    pub(super) fn leaders(&self) -> HashMap<i32, u64> {
        self.lock().groups.leaders()
    }

    /// How many run or will in a moment.
    pub(super) fn with_starting(&self) -> usize {
        self.lock().groups.with_starting()
    }

    /// How many jobs are queued or running, once no others come.
    pub(super) fn last_ones(&self) -> Option<usize> {
        let state = self.lock();
        state.tally.is_all.then_some(state.outstanding)
    }

    pub(super) fn tally(&self) -> Tally {
        let state = self.lock();
        Tally {
            running: state.groups.len(),
            ..state.tally
        }
    }

    /// How our process is to end.
    pub(super) fn end(&self) -> RunEnd {
        self.lock().verdict.end()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
