//! Counting semaphores: first come, first served.

use std::collections::VecDeque;

use crate::api::names::SemId;
use crate::api::report::SemStats;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::resources::add;
use crate::state::semaphore::Semaphore;
use crate::state::thread::Sleep;

impl Machine {
    /// A new semaphore, which may be taken `initial` times before it is posted.
    pub fn semaphore(&self, initial: u32) -> SemId {
        let new = Semaphore {
            value: initial,
            waiting: VecDeque::new(),
            brought: VecDeque::new(),
            stats: SemStats::default(),
        };
        SemId(add(&self.resources.semaphores, new))
    }

    fn with_semaphore<R>(&self, sem: SemId, look: impl FnOnce(&mut Semaphore) -> R) -> R {
        let mut table = self.resources.semaphores.borrow_mut();
        let found = table.get_mut(sem.0 as usize);
        look(found.unwrap_or_else(|| panic!("there is no semaphore {}", sem.0)))
    }

    /// How often a semaphore may be taken now.
    ///
    /// # Panics
    /// If there is no such semaphore.
    pub fn semaphore_value(&self, sem: SemId) -> u32 {
        self.with_semaphore(sem, |s| s.value)
    }

    /// What a semaphore has seen so far.
    ///
    /// # Panics
    /// If there is no such semaphore.
    pub fn semaphore_stats(&self, sem: SemId) -> SemStats {
        self.with_semaphore(sem, |s| s.stats)
    }

    /// Leaves a number at a semaphore, for whoever takes it. It is not posted by that.
    ///
    /// # Panics
    /// If there is no such semaphore.
    pub fn bring(&self, sem: SemId, number: u64) {
        self.with_semaphore(sem, |s| s.brought.push_back(number));
    }

    /// The first of the numbers that were left at a semaphore.
    ///
    /// # Panics
    /// If there is no such semaphore.
    pub fn take_brought(&self, sem: SemId) -> Option<u64> {
        self.with_semaphore(sem, |s| s.brought.pop_front())
    }

    pub(crate) fn take_semaphore(&self, id: ThreadId, sem: SemId) {
        if !self.with_semaphore(sem, |s| s.take(id)) {
            self.sleep(id, Sleep::Semaphore(sem));
        }
    }

    /// Adds one: the first of those who wait has it, else the next who asks.
    ///
    /// # Panics
    /// If there is no such semaphore.
    pub fn post(&self, sem: SemId) {
        let first = self.with_semaphore(sem, Semaphore::post);
        first.into_iter().for_each(|id| self.wake(id));
    }
}
