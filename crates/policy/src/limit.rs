//! The limit of a queue over all its pwqs (kernel `wq_node_nr_active`, kernel-spec 2.10).
//!
//! One word says how many items hold a slot, how many may, and whether anybody waits for one; who
//! waits, and in which order, is a list under a small lock of its own. Slots are taken without that
//! lock while nobody waits. Whether somebody waits is in the same word as the count, so that of a
//! release and a joining one always sees the other: `README.md` in the folder `pool` has the proof.

use alloc::collections::VecDeque;

use crate::probe::broken;

/// One load of the limit's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Items that hold a slot. May be more than `max` after the limit was lowered.
    pub nr: u32,
    /// Items that may hold one; 0 while frozen.
    pub max: u32,
    /// Somebody is in the list of those who wait. Changed only under the list's lock.
    pub waiting: bool,
}

const WAITING: u64 = 1 << 63;

impl Limit {
    /// A limit of which nobody uses anything.
    pub fn new(max: u32) -> Self {
        Limit {
            nr: 0,
            max,
            waiting: false,
        }
    }

    /// As one word: that is how the runtime keeps it.
    pub fn to_word(self) -> u64 {
        assert!(self.max < 1 << 31, "a limit of {}", self.max);
        u64::from(self.nr) | u64::from(self.max) << 32 | if self.waiting { WAITING } else { 0 }
    }

    /// The word's meaning.
    pub fn from_word(word: u64) -> Self {
        Limit {
            nr: word as u32,
            max: ((word & !WAITING) >> 32) as u32,
            waiting: word & WAITING != 0,
        }
    }

    /// Takes a slot, never past somebody who waits.
    #[must_use]
    pub fn try_take(self) -> Option<Limit> {
        let passes = !self.waiting || broken!(WaitersOvertaken);
        passes.then(|| self.take_waiting()).flatten()
    }

    /// Takes a slot for the first of those who wait.
    #[must_use]
    pub fn take_waiting(self) -> Option<Limit> {
        let nr = self.nr + 1;
        let one_more = broken!(LimitOffByOne) && self.nr == self.max;
        (self.nr < self.max || one_more).then_some(Limit { nr, ..self })
    }

    /// Takes a slot, or says that somebody waits from now on.
    #[must_use]
    pub fn take_or_wait(self) -> Limit {
        self.try_take().unwrap_or(Limit {
            waiting: self.waiting || !broken!(WaitingUnsaid),
            ..self
        })
    }

    /// Gives a slot back.
    #[must_use]
    pub fn put(self) -> Limit {
        let nr = self.nr.checked_sub(1).expect("a slot was taken");
        Limit { nr, ..self }
    }
}

/// The pwqs that have items waiting for a slot, each once, served in turn.
#[derive(Debug)]
pub struct Waiters<P> {
    list: VecDeque<P>,
}

impl<P> Default for Waiters<P> {
    fn default() -> Self {
        Waiters {
            list: VecDeque::new(),
        }
    }
}

impl<P: Copy + Eq> Waiters<P> {
    /// Whose turn it is.
    pub fn first(&self) -> Option<P> {
        self.list.front().copied()
    }

    /// Joins at the end.
    pub fn join(&mut self, pwq: P) {
        self.list.push_back(pwq);
    }

    /// Leaves, wherever it is. True if nobody is left.
    pub fn leave(&mut self, pwq: P) -> bool {
        self.list.retain(|&p| p != pwq);
        self.list.is_empty()
    }

    /// The first one has had its turn and waits for another.
    pub fn rotate(&mut self) {
        self.list.rotate_left(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nobody_passes_those_who_wait() {
        let one = Limit::new(1).try_take().unwrap();
        assert_eq!(one.try_take(), None);
        let waited = one.take_or_wait();
        assert!(waited.waiting && waited.nr == 1);
        let free = waited.put();
        assert_eq!(free.try_take(), None);
        assert_eq!(free.take_waiting().unwrap().nr, 1);
    }

    #[test]
    fn a_slot_that_is_free_needs_no_waiting() {
        let limit = Limit::new(2).take_or_wait();
        assert_eq!((limit.nr, limit.waiting), (1, false));
    }

    #[test]
    fn nothing_is_taken_while_frozen() {
        assert_eq!(Limit::new(0).try_take(), None);
    }

    #[test]
    fn turns_go_round() {
        let mut waiters = Waiters::default();
        for pwq in 0..3 {
            waiters.join(pwq);
        }
        waiters.rotate();
        assert_eq!(waiters.first(), Some(1));
        assert!(!waiters.leave(1));
        assert_eq!(waiters.first(), Some(2));
        assert!(!waiters.leave(2));
        assert!(waiters.leave(0));
    }

    proptest! {
        #[test]
        fn the_word_keeps_everything(nr: u32, max in 0u32..1 << 31, waiting: bool) {
            let limit = Limit { nr, max, waiting };
            prop_assert_eq!(Limit::from_word(limit.to_word()), limit);
        }
    }
}
