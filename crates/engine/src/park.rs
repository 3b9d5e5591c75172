//! A parking place: one thread sleeps at it, anybody wakes it.
//!
//! A wake is a token that is consumed once: one that comes before the thread parks makes the next
//! park return at once, several before one park count as one. Nothing else is promised, so
//! whoever parks asks its pool again after every return.

use crate::sync::{Futex, SeqCst};
use cmwq_policy::Nanos;

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;
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
    /// Sleeps until a token is there, or `timeout` has passed; takes the token. Only one thread
    /// may park at one place. May return early without a token.
    pub(crate) fn park(&self, timeout: Option<Nanos>) {
        let word = &self.state.word;
        if word.compare_exchange(EMPTY, ASLEEP, SeqCst, SeqCst).is_ok() {
            self.state.wait(ASLEEP, timeout);
        }
        // Whatever ended the sleep: no token survives, and nobody need wake us any more.
        word.swap(EMPTY, SeqCst);
    }

    /// Leaves a token and wakes the thread if it sleeps.
    pub(crate) fn unpark(&self) {
        if self.state.word.swap(TOKEN, SeqCst) == ASLEEP {
            self.state.wake(1);
        }
    }
}
