//! The word of one canary, and the hand-over between those who arm it and the canary that parks.
//! The states and legal steps are `cmwq_policy::canary`; the proof is in `README.md`.

use cmwq_policy::canary::Canary;

use crate::sync::{AtomicU32, Futex, SeqCst, fence};

/// One canary's word.
#[derive(Debug)]
pub(crate) struct Bell {
    state: Futex,
}

impl Bell {
    /// Armed: a new canary looks once whether it is wanted.
    pub(crate) fn new() -> Self {
        Bell { state: Futex::new(Canary::Armed as u32) }
    }

    pub(crate) fn state(&self) -> Canary {
        Canary::from_word(self.state.word.load(SeqCst))
    }

    /// Arms it, whatever it was. The caller has published what it wants, and then a fence.
    pub(crate) fn arm(&self) {
        if self.state() == Canary::Armed {
            return;
        }
        let before = self.state.word.swap(Canary::Armed as u32, SeqCst);
        if Canary::from_word(before).needs_wake() {
            self.state.wake(1);
        }
    }

    /// Takes the right to one report; false if it was not armed.
    pub(crate) fn fire(&self) -> bool {
        let step = |word| Canary::from_word(word).fire().map(|next| next as u32);
        self.state.word.fetch_update(SeqCst, SeqCst, step).is_ok()
    }

    /// Sleeps until armed, unless something is wanted after all. `parked` counts the sleepers, so
    /// that a publisher who finds none need look no further.
    pub(crate) fn park(&self, parked: &AtomicU32, wanted: impl Fn() -> bool) {
        let before = self.state();
        let word = &self.state.word;
        let next = Canary::Parked as u32;
        parked.fetch_add(1, SeqCst);
        if word.compare_exchange(before as u32, next, SeqCst, SeqCst).is_ok() {
            // Partner: the publisher's fence between its `wants` and its look at `parked` and at
            // this word. One of the two sees the other.
            fence(SeqCst);
            if before == Canary::Armed && wanted() {
                let armed = Canary::Armed as u32;
                let _ = word.compare_exchange(next, armed, SeqCst, SeqCst);
            }
            while word.load(SeqCst) == next {
                self.state.wait(next, None);
            }
        }
        parked.fetch_sub(1, SeqCst);
    }
}
