//! A limit of a queue. The queue has one for each NUMA node, which its pwqs there share (kernel
//! `wq_node_nr_active`). [`contract::limit`](crate::contract::limit) sets how large each is.
//!
//! One word says how many items hold a slot, how many may, and whether any wait for one. The pwqs
//! that wait are in a list in order, under a small lock of its own. While none waits, slots are
//! taken without that lock. Giving a slot back and joining the list are steps on the same word, so
//! the later of the two sees the other. The section "Slots" of `pool/README.md` has the proof.

use alloc::vec::Vec;
use core::fmt;

use crate::probe::broken;

/// One load of the limit's word. Every item takes two steps on it, so they are plain arithmetic:
/// `nr` is the low half, `max` is above it, `may_rise` and `waiting` are the two highest bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Limit(u64);

const WAITING: u64 = 1 << 63;
const MAY_RISE: u64 = 1 << 62;
/// Most that a limit can be.
pub const MAX_LIMIT: u32 = (1 << 30) - 1;

impl Limit {
    /// A limit of which nobody uses anything.
    ///
    /// # Panics
    /// If it is more than [`MAX_LIMIT`].
    pub fn new(max: u32) -> Self {
        Limit(0).with_max(max)
    }

    /// Items that hold a slot. May be more than `max` after the limit was lowered.
    pub fn nr(self) -> u32 {
        self.0 as u32
    }

    /// Items that may hold one; 0 while frozen.
    pub fn max(self) -> u32 {
        ((self.0 & !(WAITING | MAY_RISE)) >> 32) as u32
    }

    /// Somebody is in the list of those who wait. Changed only under the list's lock.
    pub fn waiting(self) -> bool {
        self.0 & WAITING != 0
    }

    /// Nobody has chosen it: it is raised where items would starve under it.
    pub fn may_rise(self) -> bool {
        self.0 & MAY_RISE != 0
    }

    /// As one word: that is how the engine keeps it.
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// The word's meaning.
    pub fn from_word(word: u64) -> Self {
        Limit(word)
    }

    /// The same with another limit.
    ///
    /// # Panics
    /// If it is more than [`MAX_LIMIT`].
    #[must_use]
    pub fn with_max(self, max: u32) -> Limit {
        assert!(max <= MAX_LIMIT, "a limit of {max}");
        Limit(self.0 & (WAITING | MAY_RISE | u64::from(u32::MAX)) | u64::from(max) << 32)
    }

    /// The same, and somebody waits, or nobody.
    #[must_use]
    pub fn with_waiting(self, waiting: bool) -> Limit {
        match waiting {
            true => Limit(self.0 | WAITING),
            false => Limit(self.0 & !WAITING),
        }
    }

    /// The same, and it may be raised, or not.
    #[must_use]
    pub fn with_may_rise(self, may: bool) -> Limit {
        match may {
            true => Limit(self.0 | MAY_RISE),
            false => Limit(self.0 & !MAY_RISE),
        }
    }

    /// Takes a slot, never past somebody who waits.
    #[must_use]
    pub fn try_take(self) -> Option<Limit> {
        let passes = !self.waiting() || broken!(WaitersOvertaken);
        passes.then(|| self.take_waiting()).flatten()
    }

    /// Takes a slot for the first of those who wait.
    #[must_use]
    pub fn take_waiting(self) -> Option<Limit> {
        let one_more = broken!(LimitOffByOne) && self.nr() == self.max();
        (self.nr() < self.max() || one_more).then_some(Limit(self.0 + 1))
    }

    /// Takes a slot, or says that somebody waits from now on.
    #[must_use]
    pub fn take_or_wait(self) -> Limit {
        let waits = self.waiting() || !broken!(WaitingUnsaid);
        self.try_take().unwrap_or(self.with_waiting(waits))
    }

    /// Whether no more slots are taken than there are: the limit may have been lowered.
    pub fn is_kept(self) -> bool {
        self.nr() <= self.max()
    }

    /// The part of each pwq where so many wait, rounded down.
    pub fn part(self, waiting: u32) -> u32 {
        self.max() / waiting.max(1)
    }

    /// Whether a pwq that holds so many slots passes one on to its own next item, though so many
    /// pwqs wait, with itself: while it holds its part and an eighth at most, and one more if the
    /// parts leave some over. Those would go from one to the next for ever otherwise. Of a limit
    /// that was lowered some slots are given back and not used again.
    pub fn is_in_part(self, held: u32, waiting: u32) -> bool {
        let part = self.part(waiting);
        let is_left_over = part > 0 && !self.max().is_multiple_of(waiting.max(1));
        self.is_kept() && held <= part + u32::from(is_left_over) + part / 8
    }

    /// Gives so many slots back.
    #[must_use]
    pub fn put(self, count: u32) -> Limit {
        assert!(self.nr() >= count, "slots were taken");
        Limit(self.0 - u64::from(count))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = if self.waiting() { ", waited for" } else { "" };
        write!(f, "{} of {}{waiting}", self.nr(), self.max())
    }
}

/// The pwqs that have items waiting for a slot, each once, served in turn.
#[derive(Debug)]
pub struct Waiters<P> {
    /// No ring: each of many pwqs has one of these, and few wait.
    list: Vec<P>,
}

impl<P> Default for Waiters<P> {
    fn default() -> Self {
        Waiters { list: Vec::new() }
    }
}

impl<P> Waiters<P> {
    /// How many wait.
    pub fn nr(&self) -> u32 {
        self.list.len() as u32
    }
}

impl<P: Copy + Eq> Waiters<P> {
    /// Whose turn it is.
    pub fn first(&self) -> Option<P> {
        self.list.first().copied()
    }

    /// Joins at the end.
    pub fn join(&mut self, pwq: P) {
        self.list.push(pwq);
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
        assert!(waited.waiting() && waited.nr() == 1);
        let free = waited.put(1);
        assert_eq!(free.try_take(), None);
        assert_eq!(free.take_waiting().unwrap().nr(), 1);
    }

    #[test]
    fn a_slot_that_is_free_needs_no_waiting() {
        let limit = Limit::new(2).take_or_wait();
        assert_eq!((limit.nr(), limit.waiting()), (1, false));
    }

    #[test]
    fn nothing_is_taken_while_frozen() {
        assert_eq!(Limit::new(0).try_take(), None);
    }

    #[test]
    fn each_of_those_who_wait_keeps_its_part() {
        let limit = |nr, max| {
            (0..nr)
                .fold(Limit::new(nr), |l, _| l.try_take().unwrap())
                .with_max(max)
        };
        let full = limit(8, 8);
        assert!(
            full.is_in_part(8, 1) && full.is_in_part(8, 0),
            "nobody else waits"
        );
        assert!(full.is_in_part(4, 2) && !full.is_in_part(5, 2));
        assert_eq!([full.part(0), full.part(3), full.part(9)], [8, 2, 0]);
        assert!(
            full.is_in_part(3, 3) && !full.is_in_part(4, 3),
            "two are left over"
        );
        let few = limit(1, 1);
        assert!(few.is_in_part(1, 1) && !few.is_in_part(1, 2));
        let many = limit(64, 64);
        assert!(many.is_in_part(36, 2) && !many.is_in_part(37, 2));
        let lowered = limit(8, 4);
        assert!(!lowered.is_in_part(1, 1));
    }

    #[test]
    fn turns_go_round() {
        let mut waiters = Waiters::default();
        for pwq in 0..3 {
            waiters.join(pwq);
        }
        waiters.rotate();
        assert_eq!((waiters.first(), waiters.nr()), (Some(1), 3));
        assert!(!waiters.leave(1));
        assert_eq!(waiters.first(), Some(2));
        assert!(!waiters.leave(2));
        assert!(waiters.leave(0));
    }

    proptest! {
        #[test]
        fn the_word_keeps_everything(
            nr in 0u32..1000, max in 0..=MAX_LIMIT, waiting: bool, may_rise: bool,
        ) {
            let taken = (0..nr).fold(Limit::new(nr), |limit, _| limit.try_take().unwrap());
            let limit = Limit::from_word(taken.with_may_rise(may_rise).with_max(max).with_waiting(waiting).to_word());
            prop_assert_eq!(limit.may_rise(), may_rise);
            prop_assert_eq!((limit.nr(), limit.max(), limit.waiting()), (nr, max, waiting));
            prop_assert_eq!(limit.take_waiting().is_some(), nr < max);
            prop_assert_eq!(limit.try_take().is_some(), nr < max && !waiting);
        }
    }
}
