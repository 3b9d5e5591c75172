//! The state that reader, jobs and signals share: who runs, what has ended, whether to go on.

use super::status::{JobEnd, Verdict};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tries to start a process when the system has no room for one and none of ours will make room.
const LONELY_TRIES: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Numbers for the summary.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Jobs that ended.
    pub(super) jobs: u64,
    /// Of these, those that did not exit with status 0.
    pub(super) failed: u64,
    /// The most that ran at one time.
    pub(super) peak_jobs: usize,
}

/// See the module.
pub(super) struct Control {
    state: Mutex<State>,
    changed: Condvar,
    /// Readable once the run is stopped: for those who wait in poll.
    stop_event: OwnedFd,
}

#[derive(Default)]
struct State {
    /// Lines that are queued or running.
    outstanding: usize,
    /// Process groups by line. Members have not been reaped, so that no number is somebody else's.
    running: BTreeMap<u64, Pid>,
    /// Processes that ended.
    ends: u64,
    tally: Tally,
    verdict: Verdict,
    stopped: bool,
    /// What every running job is sent, and one that is just being started gets too.
    kill_with: Option<Signal>,
}

impl Control {
    pub(super) fn new() -> io::Result<Self> {
        let stop_event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            stop_event,
        })
    }

    /// Waits until fewer than `room()` lines are queued or running, and counts one more. False:
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
        true
    }

    /// Undoes one `admit`.
    pub(super) fn leave(&self) {
        self.lock().outstanding -= 1;
        self.changed.notify_all();
    }

    /// Waits until every admitted line has left.
    pub(super) fn wait_until_all_left(&self) {
        let mut state = self.lock();
        while state.outstanding > 0 {
            state = self.wait(state);
        }
    }

    /// The job of line `sequence` runs as process group `group`.
    pub(super) fn started(&self, sequence: u64, group: Pid) {
        let mut state = self.lock();
        state.running.insert(sequence, group);
        state.tally.peak_jobs = state.tally.peak_jobs.max(state.running.len());
        // The run may have been told to end while this process was being made.
        if let Some(signal) = state.kill_with {
            send(group, signal);
        }
    }

    /// The leader of the job of line `sequence` is dead but not reaped: from here on its group
    /// gets no signal from us.
    pub(super) fn died(&self, sequence: u64) {
        let mut state = self.lock();
        state.running.remove(&sequence);
        state.ends += 1;
        self.changed.notify_all();
    }

    /// Counts a job that ended; returns how many have, this one included.
    pub(super) fn ended(&self, end: JobEnd) -> u64 {
        let mut state = self.lock();
        state.tally.jobs += 1;
        if end != JobEnd::Succeeded {
            state.tally.failed += 1;
            state.verdict.job_failed();
        }
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
        self.lock().verdict.stopped(code);
    }

    /// Sends `signal` to the job of line `sequence`.
    pub(super) fn kill_job(&self, sequence: u64, signal: Signal) {
        if let Some(&group) = self.lock().running.get(&sequence) {
            send(group, signal);
        }
    }

    /// Sends `signal` to the jobs that run and to those that are just being started.
    pub(super) fn kill_jobs(&self, signal: Signal) {
        let mut state = self.lock();
        state.kill_with = Some(signal);
        state
            .running
            .values()
            .for_each(|&group| send(group, signal));
    }

    /// We got `signal`: starts nothing more and passes it on.
    pub(super) fn signalled(&self, signal: Signal) {
        {
            let mut state = self.lock();
            state.verdict.signalled(signal.as_raw());
            self.stop_locked(&mut state);
        }
        self.kill_jobs(signal);
    }

    fn stop_locked(&self, state: &mut State) {
        state.stopped = true;
        // Cannot fail: the counter is far from its end.
        let _ = rustix::io::write(&self.stop_event, &1_u64.to_ne_bytes());
        self.changed.notify_all();
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

    /// The system had no room for another process: waits until one of ours ends (one that ended
    /// after `seen` counts), or, where none runs, a growing while. False: give up, because of too
    /// many tries alone or because the run is stopped.
    pub(super) fn wait_for_relief(&self, seen: u64, lonely_tries: &mut u32) -> bool {
        let mut state = self.lock();
        while !state.stopped && state.ends == seen && !state.running.is_empty() {
            state = self.wait(state);
        }
        if state.stopped || state.ends != seen {
            return !state.stopped;
        }
        *lonely_tries += 1;
        let pause = FIRST_PAUSE * 2_u32.pow((*lonely_tries).min(LONELY_TRIES));
        let _pause = self.changed.wait_timeout(state, pause);
        *lonely_tries < LONELY_TRIES
    }

    /// How many processes run.
    pub(super) fn running(&self) -> usize {
        self.lock().running.len()
    }

    pub(super) fn tally(&self) -> Tally {
        self.lock().tally
    }

    pub(super) fn exit_code(&self) -> u8 {
        self.lock().verdict.code()
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

fn send(group: Pid, signal: Signal) {
    // Fails where every member is dead by now or has another user's rights: nothing to do then.
    let _ = kill_process_group(group, signal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn admission_waits_for_room_and_ends_at_a_stop() {
        let control = Arc::new(Control::new().unwrap());
        assert!(control.admit(|| 1));
        let waiting = std::thread::spawn({
            let control = Arc::clone(&control);
            move || (control.admit(|| 1), control.admit(|| 1))
        });
        control.leave();
        while control.lock().outstanding == 0 {
            std::thread::yield_now();
        }
        assert!(control.stop(1));
        assert_eq!(waiting.join().unwrap(), (true, false));
        assert!(!control.stop(2));
        assert_eq!(control.exit_code(), 1);
    }

    #[test]
    fn relief_is_an_end_seen_late_too() {
        let control = Control::new().unwrap();
        let mut tries = 0;
        control.lock().ends = 1;
        assert!(control.wait_for_relief(0, &mut tries));
        assert_eq!(tries, 0);
    }

    #[test]
    fn alone_it_gives_up_after_some_tries() {
        let control = Control::new().unwrap();
        let mut tries = LONELY_TRIES - 2;
        assert!(control.wait_for_relief(0, &mut tries));
        assert!(!control.wait_for_relief(0, &mut tries));
    }

    #[test]
    fn tally_counts_ends_and_failures() {
        let control = Control::new().unwrap();
        assert_eq!(control.ended(JobEnd::Succeeded), 1);
        assert_eq!(control.ended(JobEnd::Killed(9)), 2);
        assert_eq!(
            control.tally(),
            Tally {
                jobs: 2,
                failed: 1,
                peak_jobs: 0
            }
        );
    }
}
