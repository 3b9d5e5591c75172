//! The word of one canary, and the hand-over between those who arm it and the canary that parks.
//! The states and legal steps are `cmwq_policy::canary`; the proof is in `README.md`.

use cmwq_policy::canary::Canary;

use crate::sync::{AtomicU32, Futex, SeqCst, fence};

/// One canary's word.
#[derive(Debug)]
pub(crate) struct Bell {
    state: Futex<true>,
}

impl Bell {
    /// Parked, and not counted: no canary has it.
    pub(crate) fn new() -> Self {
        Bell {
            state: Futex::new(Canary::Parked as u32),
        }
    }

    /// It is to have a canary: armed, as a new one looks once whether it is wanted.
    pub(crate) fn hang(&self) {
        self.state.word.store(Canary::Armed as u32, SeqCst);
    }

    pub(crate) fn state(&self) -> Canary {
        Canary::from_word(self.state.word.load(SeqCst))
    }

    /// Arms it, whatever it was. The caller has published what it wants, and then a fence.
    pub(crate) fn arm(&self, off_duty: &AtomicU32) {
        if self.state() == Canary::Armed {
            return;
        }
        let before = Canary::from_word(self.state.word.swap(Canary::Armed as u32, SeqCst));
        if before != Canary::Armed {
            off_duty.fetch_sub(1, SeqCst);
        }
        if before.needs_wake() {
            self.state.wake(1);
        }
    }

    /// Takes the right to one report; false if it was not armed. Only the canary calls it, and
    /// looks after it who is to have the report.
    pub(crate) fn fire(&self, off_duty: &AtomicU32) -> bool {
        self.disarm(Canary::Fired, off_duty)
    }

    /// Sleeps until armed, unless it is armed and something is wanted after all.
    pub(crate) fn park(&self, off_duty: &AtomicU32, wanted: impl Fn() -> bool) {
        if self.disarm(Canary::Parked, off_duty) {
            if wanted() {
                self.arm(off_duty);
            }
        } else {
            // Fails if it is being armed at this moment.
            let _ = self.step(Canary::Fired, Canary::Parked);
        }
        while self.state() == Canary::Parked {
            self.state.wait(Canary::Parked as u32, None);
        }
    }

    /// From armed to a state in which it says nothing. `off_duty` counts the canaries in such
    /// states, never one too few, so that a publisher who finds none need look no further.
    fn disarm(&self, next: Canary, off_duty: &AtomicU32) -> bool {
        off_duty.fetch_add(1, SeqCst);
        let was_armed = self.step(Canary::Armed, next);
        if was_armed {
            // Partner: the publisher's fence between its `wants` and its look at `off_duty` and at
            // this word. Either it sees that this canary is not armed, or the canary, which looks
            // after this, sees what it wants.
            fence(SeqCst);
        } else {
            off_duty.fetch_sub(1, SeqCst);
        }
        was_armed
    }

    fn step(&self, from: Canary, to: Canary) -> bool {
        let word = &self.state.word;
        word.compare_exchange(from as u32, to as u32, SeqCst, SeqCst)
            .is_ok()
    }
}
