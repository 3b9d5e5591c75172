//! A semaphore: how often it may be taken, and who waits.

use std::collections::VecDeque;

use crate::api::report::SemStats;
use crate::cpu::ThreadId;

pub(crate) struct Semaphore {
    pub(crate) value: u32,
    pub(crate) waiting: VecDeque<ThreadId>,
    /// For those who take it.
    pub(crate) brought: VecDeque<u64>,
    pub(crate) stats: SemStats,
}

impl Semaphore {
    /// Takes it, or gets in line; false: it has to wait.
    pub(crate) fn take(&mut self, id: ThreadId) -> bool {
        // While somebody waits the value is 0: a post goes to the first of them.
        if let Some(left) = self.value.checked_sub(1) {
            self.value = left;
            self.stats.taken += 1;
            return true;
        }
        self.waiting.push_back(id);
        self.stats.waited += 1;
        let waiters = self.waiting.len() as u32;
        self.stats.max_waiters = self.stats.max_waiters.max(waiters);
        false
    }

    /// One more; who has it now, if somebody waited.
    pub(crate) fn post(&mut self) -> Option<ThreadId> {
        let first = self.waiting.pop_front();
        match first {
            Some(_) => self.stats.taken += 1,
            None => self.value = self.value.checked_add(1).expect("so many posts fit"),
        }
        first
    }
}
