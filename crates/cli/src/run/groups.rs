//! The process groups of the running jobs, and what they are told.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::{BTreeMap, HashMap};

/// See the module. A plain value: `Control` has the lock.
#[derive(Default)]
pub(super) struct Groups {
    /// By job. Members have not been reaped, so that no number is somebody else's.
    running: BTreeMap<u64, Pid>,
    /// Processes that are being made and have no number yet.
    starting: usize,
    /// Jobs that have ended, of which what they have left is being ended.
    clearing: usize,
    /// What every job has been sent, and one that is just being started gets too.
    sent: Option<Signal>,
}

impl Groups {
    /// A process will be made; `started` or `not_started` follows.
    pub(super) fn start(&mut self) {
        self.starting += 1;
    }

    pub(super) fn not_started(&mut self) {
        self.starting -= 1;
    }

    pub(super) fn started(&mut self, sequence: u64, group: Pid) {
        self.starting -= 1;
        self.running.insert(sequence, group);
        // The run may have been told to end while this process was being made.
        if let Some(signal) = self.sent {
            tell(group, signal);
        }
    }

    /// The leader is dead but not reaped: from here on the group gets no signal from us.
    pub(super) fn died(&mut self, sequence: u64) {
        self.running.remove(&sequence);
    }

    /// How many run.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// How many run or will in a moment.
    pub(super) fn with_starting(&self) -> usize {
        self.running.len() + self.starting
    }

    /// The first process of each that runs, and the job's number.
    pub(super) fn leaders(&self) -> HashMap<i32, u64> {
        let running = self.running.iter();
        running
            .map(|(&sequence, group)| (group.as_raw_pid(), sequence))
            .collect()
    }

    /// How many run, will in a moment, or have left something that is being ended.
    pub(super) fn with_clearing(&self) -> usize {
        self.with_starting() + self.clearing
    }

    /// What a job has left is being ended, until this is undone.
    pub(super) fn clears(&mut self) {
        self.clearing += 1;
    }

    pub(super) fn is_clear(&mut self) {
        self.clearing -= 1;
    }

    pub(super) fn are_any_starting(&self) -> bool {
        self.starting > 0
    }

    /// Sends `signal` to one job.
    pub(super) fn tell(&self, sequence: u64, signal: Signal) {
        if let Some(&group) = self.running.get(&sequence) {
            tell(group, signal);
        }
    }

    /// Sends `signal`, which is to end them, to the jobs that run and to those that are just being
    /// started.
    pub(super) fn end_with(&mut self, signal: Signal) {
        self.sent = Some(signal);
        self.running.values().for_each(|&group| tell(group, signal));
    }

    /// Stops the jobs that run, or lets them go on.
    pub(super) fn send_all(&self, signal: Signal) {
        self.running.values().for_each(|&group| send(group, signal));
    }
}

/// Sends a signal that is to end a job. One that was stopped could not follow it.
fn tell(group: Pid, signal: Signal) {
    send(group, signal);
    send(group, Signal::CONT);
}

fn send(group: Pid, signal: Signal) {
    // Fails where every member is dead by now or has another user's rights: nothing to do then.
    let _ = kill_process_group(group, signal);
}
