//! Latches: closed, and once opened open for ever.

use crate::api::names::Latch;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::latch::LatchState;
use crate::state::thread::Sleep;

impl Machine {
    /// A new latch, closed.
    pub fn latch(&self) -> Latch {
        let mut latches = self.latches.borrow_mut();
        latches.push(LatchState::default());
        Latch(latches.len() as u32 - 1)
    }

    fn with_latch<R>(&self, latch: Latch, look: impl FnOnce(&mut LatchState) -> R) -> R {
        look(&mut self.latches.borrow_mut()[latch.0 as usize])
    }

    /// Whether a latch is open.
    pub fn is_open(&self, latch: Latch) -> bool {
        self.with_latch(latch, |g| g.open)
    }

    /// Opens a latch: who waits for it wakes up.
    pub fn open(&self, latch: Latch) {
        self.with_latch(latch, |g| g.open = true);
        for id in self.with_latch(latch, |g| std::mem::take(&mut g.waiting)) {
            self.wake(id);
        }
        for id in self.with_latch(latch, |g| std::mem::take(&mut g.spinning)) {
            self.sched().stop_spin(self.now(), id);
        }
        // Calls that wait for a barrier ask whether its latch is open.
        self.progress();
    }

    pub(crate) fn wait_at(&self, id: ThreadId, latch: Latch) {
        self.with_latch(latch, |g| g.waiting.push(id));
        self.sleep(id, Sleep::Latch(latch));
    }

    pub(crate) fn spin_at(&self, id: ThreadId, latch: Latch) {
        self.with_latch(latch, |g| g.spinning.push(id));
        self.sched().spin(id);
    }
}
