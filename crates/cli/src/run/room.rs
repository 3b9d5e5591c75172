//! Room for the processes of jobs: reads what [`cmwq_admission::Room`] wants to know.

use super::tasks::count;
use cmwq_admission as admission;
use cmwq_os::clock;
use cmwq_os::limits::TaskLimits;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, TryLockError};

pub(super) struct Room {
    limits: TaskLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    policy: admission::Room,
    /// In nanoseconds: when the last reading is too old.
    next: u64,
}

impl Room {
    pub(super) fn new() -> Self {
        Self {
            limits: TaskLimits::read(),
            state: Mutex::default(),
        }
    }

    /// How many jobs there is room for, if it is time to look again. `running`: the first process
    /// of each job that runs, and the job's number.
    pub(super) fn look(&self, running: impl FnOnce() -> HashMap<i32, u64>) -> Option<u64> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Somebody else looks.
            Err(TryLockError::WouldBlock) => return None,
        };
        let begun = clock::now();
        if begun.0 < state.next {
            return None;
        }
        self.read(&mut state.policy, &running());
        let now = clock::now();
        state.next = now.0.saturating_add(state.policy.valid(now.since(begun)));
        Some(state.policy.ceiling())
    }

    /// The job has ended.
    pub(super) fn ended(&self, sequence: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.policy.ended(sequence);
    }

    fn read(&self, policy: &mut admission::Room, running: &HashMap<i32, u64>) {
        let jobs = running.len() as u64;
        if policy.has_plenty(self.limits.left(None), jobs) {
            return;
        }
        let census = count(running);
        let left = self.limits.left(Some(census.of_user));
        if !policy.has_plenty(left, jobs) {
            policy.counted(left, census.of_jobs);
        }
    }
}
