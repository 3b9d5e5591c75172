//! A parker: one thread sleeps at it, any thread wakes it.
//!
//! A wake is kept and consumed once. One that comes before the thread parks makes the next park
//! return at once, and several before one park count as one. Nothing else is promised, so a thread
//! that parks asks its pool again after every return.

use crate::sync::{Futex, SeqCst};
use cmwq_policy::Nanos;

const EMPTY: u32 = 0;
const WOKEN: u32 = 1;
const ASLEEP: u32 = 2;

/// See the module's page. A `SHARED` one may be woken by another process that has the memory as
/// well.
#[derive(Debug)]
pub(crate) struct Parker<const SHARED: bool = false> {
    state: Futex<SHARED>,
}

impl<const SHARED: bool> Default for Parker<SHARED> {
    fn default() -> Self {
        Parker {
            state: Futex::new(EMPTY),
        }
    }
}

impl<const SHARED: bool> Parker<SHARED> {
    /// Sleeps until woken, or until `timeout` has passed; consumes the wake. Only one thread may
    /// park at one parker. May return early without a wake.
    pub(crate) fn park(&self, timeout: Option<Nanos>) {
        let word = &self.state.word;
        if word.compare_exchange(EMPTY, ASLEEP, SeqCst, SeqCst).is_ok() {
            self.state.wait(ASLEEP, timeout);
        }
        // Whatever ended the sleep: no wake survives, and nobody need wake us any more.
        word.swap(EMPTY, SeqCst);
    }

    /// Whether there is a wake: the next park returns at once.
    pub(crate) fn is_woken(&self) -> bool {
        self.state.word.load(SeqCst) == WOKEN
    }

    /// Leaves a wake, and wakes the thread if it sleeps.
    pub(crate) fn unpark(&self) {
        if self.state.word.swap(WOKEN, SeqCst) == ASLEEP {
            self.state.wake(1);
        }
    }
}
