//! Waiting for what others give back.

use super::{Control, State};
use cmwq_admission::Relief;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

impl Control {
    /// The system had no room for another process: waits until one of ours ends (one that ended
    /// after `seen` counts), or for a while. False: give up, or the run is stopped.
    pub(in crate::run) fn wait_for_relief(&self, seen: u64, relief: &mut Relief) -> bool {
        let pause = Duration::from_nanos(relief.pause());
        let state = self.wait_while(pause, |state| !state.stopped && state.ends == seen);
        if state.stopped || state.ends != seen {
            relief.has_ended();
            return !state.stopped;
        }
        relief.goes_on(state.groups.len() as u64)
    }

    /// Waits until a process ends (one that ended after `seen` counts) or the run is stopped, at
    /// most this long.
    pub(in crate::run) fn wait_for_end(&self, seen: u64, most: Duration) {
        let _over = self.wait_while(most, |state| !state.stopped && state.ends == seen);
    }

    /// Waits for so long. False: the run is stopped.
    pub(in crate::run) fn rest(&self, time: Duration) -> bool {
        !self.wait_while(time, |state| !state.stopped).stopped
    }

    /// No descriptor was left for what a job has written: waits as
    /// [`wait_for_relief`](Self::wait_for_relief) does, but also where the run is stopped, as what
    /// has ended is kept.
    pub(in crate::run) fn wait_to_keep(&self, seen: u64, relief: &mut Relief) -> bool {
        let pause = Duration::from_nanos(relief.pause());
        let waits = |state: &mut State| state.ends == seen;
        let state = self.wait_while(pause, waits);
        if state.ends != seen {
            relief.has_ended();
            return true;
        }
        relief.goes_on(state.groups.len() as u64)
    }

    /// How many jobs have left, for `wait_for_leave`, and whether only one has not.
    pub(in crate::run) fn leaves(&self) -> (u64, bool) {
        let state = self.lock();
        (state.leaves, state.outstanding <= 1)
    }

    /// Waits until a job leaves (one that left after `seen` counts), at most this long. False: the
    /// run is stopped.
    pub(in crate::run) fn wait_for_leave(&self, seen: u64, most: Duration) -> bool {
        !self
            .wait_while(most, |state| !state.stopped && state.leaves == seen)
            .stopped
    }

    fn wait_while(
        &self,
        most: Duration,
        waits: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.lock(), most, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
