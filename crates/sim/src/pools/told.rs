//! What a pool is told of the threads of its workers, and what a look at them shows.

use cmwq_policy::pool::SeenState;

use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::thread::Sleep;

impl Machine {
    /// Whether a pool is told of this sleep of an item. In user space a worker that waits in a call
    /// knows that it does.
    pub(crate) fn is_told(&self, sleep: &Sleep) -> bool {
        self.user_signals().is_none() || matches!(sleep, Sleep::Call(_))
    }

    /// What a look at this thread says, where it cannot see it.
    pub(crate) fn unseen(&self, id: ThreadId) -> Option<SeenState> {
        let user = self.user_signals()?;
        let fails = self.signals.happens(user.unseen);
        self.signals.count(|stats| stats.unseen += u64::from(fails));
        let told = user.cpu_told.then(|| self.thread_stats(id).cpu_ns);
        fails.then_some(SeenState::Unknown(told))
    }

    /// Whether pools hear of hints; who is told exactly needs none.
    pub(crate) fn hears_hints(&self, begins: bool) -> bool {
        let hears = self.user_signals().is_some_and(|user| user.hints);
        let counts = u64::from(hears && begins);
        self.signals.count(|stats| stats.hints += counts);
        hears
    }

    pub(crate) fn seen(&self, thread: ThreadId) -> SeenState {
        self.frame(thread, |f| match f.sleep {
            Sleep::Awake => SeenState::Runnable,
            Sleep::Latch(latch) => SeenState::Asleep(Some(u64::from(latch.0))),
            Sleep::Lock(lock) => SeenState::Asleep(Some(lock.address())),
            Sleep::Semaphore(sem) => SeenState::Asleep(Some(sem.address())),
            _ => SeenState::Asleep(None),
        })
    }
}
