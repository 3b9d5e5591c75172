//! Flush colours: who waits for which items, without a list of them.
//!
//! Every item is counted under the colour that was current when it was queued. A flush closes the
//! current colour and waits until that colour and all older ones have nothing in flight. Items
//! queued later have a newer colour, so a flush ends however fast others queue (kernel
//! `flush_workqueue_prep_pwqs`). Numbers here only grow; an item keeps the number modulo
//! [`NR_COLOURS`].

use crate::probe::{broken, hit};

/// Colours that can be told apart in an item's state word (kernel `WORK_NR_COLORS`).
pub const NR_COLOURS: u64 = 16;

/// In-flight counts per colour.
#[derive(Debug, Default)]
pub struct Colours {
    /// The colour new items get.
    work: u64,
    /// The oldest colour that may still have items in flight.
    flush: u64,
    in_flight: [u32; NR_COLOURS as usize],
    total: u64,
}

/// What a flusher has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flush {
    /// Nothing was in flight.
    Done,
    /// Wait until this ticket [is done](Colours::is_done).
    Wait(u64),
    /// All colours are being flushed: wait until one is done and ask again.
    Full,
}

impl Colours {
    /// Counts an item in and returns its colour.
    #[inline]
    pub fn queued(&mut self) -> u8 {
        let colour = self.work % NR_COLOURS;
        self.in_flight[colour as usize] += 1;
        self.total += 1;
        colour as u8
    }

    /// Counts an item in, and then out the one that has made room for it. The colour of the new
    /// one; true if a flusher may be done now.
    #[inline]
    pub fn queued_for(&mut self, ended: u8) -> (u8, bool) {
        // Mostly both have the current colour, and nothing changes.
        match u64::from(ended) == self.work % NR_COLOURS {
            true => (ended, false),
            false => (self.queued(), self.ended(ended)),
        }
    }

    /// Counts a barrier in, with the colour of the item that it stands behind.
    pub fn queued_as(&mut self, colour: u8) {
        self.in_flight[usize::from(colour)] += 1;
        self.total += 1;
    }

    /// Counts an item out; true if a flusher may be done now.
    #[inline]
    pub fn ended(&mut self, colour: u8) -> bool {
        let count = &mut self.in_flight[usize::from(colour)];
        *count = count
            .checked_sub(1)
            .expect("an item of this colour was in flight");
        self.total -= 1;
        *count == 0 && self.advance()
    }

    /// Starts a flush of everything counted in so far.
    pub fn begin_flush(&mut self) -> Flush {
        if self.total == 0 {
            return Flush::Done;
        }
        if self.work > self.flush && self.in_flight[(self.work % NR_COLOURS) as usize] == 0 {
            // Nothing was queued since the last flush began: it waits for the same items. So do all
            // who find the ring full (kernel: overflowed flushers share the colour they get).
            return Flush::Wait(self.work - 1);
        }
        if self.work + 1 - self.flush == NR_COLOURS {
            hit!(FlushFull);
            return Flush::Full;
        }
        let ticket = self.work;
        self.work += 1;
        let done = self.advance() && self.is_done(ticket);
        assert!(!done, "something was in flight");
        Flush::Wait(ticket)
    }

    /// Whether everything up to this ticket has ended.
    pub fn is_done(&self, ticket: u64) -> bool {
        self.flush > ticket || (broken!(FlushEarly) && self.flush == ticket)
    }

    /// Whether a flush may wait for an item in flight.
    pub fn is_flushing(&self) -> bool {
        self.flush < self.work
    }

    /// Whether a flush with this ticket waits for an item in flight of this colour; one without
    /// waits for all.
    pub fn covers(&self, ticket: Option<u64>, colour: u8) -> bool {
        let behind = (u64::from(colour) + NR_COLOURS - self.flush % NR_COLOURS) % NR_COLOURS;
        ticket.is_none_or(|ticket| self.flush + behind <= ticket)
    }

    /// Items in flight, of any colour.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Moves the oldest colour past those that have nothing in flight; true if it moved.
    fn advance(&mut self) -> bool {
        let before = self.flush;
        while self.flush < self.work && self.in_flight[(self.flush % NR_COLOURS) as usize] == 0 {
            self.flush += 1;
        }
        self.flush != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_flush_waits_for_older_items_only() {
        let mut colours = Colours::default();
        assert_eq!(colours.begin_flush(), Flush::Done);
        let old = colours.queued();
        let Flush::Wait(ticket) = colours.begin_flush() else {
            panic!()
        };
        let new = colours.queued();
        assert_ne!(old, new);
        assert!(!colours.ended(new));
        assert!(!colours.is_done(ticket) && colours.is_flushing());
        assert!(colours.ended(old));
        assert!(colours.is_done(ticket) && !colours.is_flushing());
    }

    #[test]
    fn a_full_ring_asks_again_after_one_colour_is_done() {
        let mut colours = Colours::default();
        let items: Vec<u8> = (0..NR_COLOURS - 1)
            .map(|_| {
                let colour = colours.queued();
                assert!(matches!(colours.begin_flush(), Flush::Wait(_)));
                colour
            })
            .collect();
        colours.queued();
        assert_eq!(colours.begin_flush(), Flush::Full);
        assert!(colours.ended(items[0]));
        assert!(matches!(colours.begin_flush(), Flush::Wait(_)));
    }

    /// All who found the ring full get the colour that comes free, as in the kernel.
    #[test]
    fn flushes_with_nothing_queued_in_between_share_a_colour() {
        let mut colours = Colours::default();
        let item = colours.queued();
        let Flush::Wait(first) = colours.begin_flush() else {
            panic!()
        };
        for _ in 0..2 * NR_COLOURS {
            assert_eq!(colours.begin_flush(), Flush::Wait(first));
        }
        colours.ended(item);
        assert!(colours.is_done(first));
    }

    proptest! {
        /// A ticket is done exactly when every item queued before it has ended, and not earlier.
        #[test]
        fn tickets_are_exact(ops in proptest::collection::vec((0..4u8, any::<u16>()), 0..200)) {
            let mut colours = Colours::default();
            let mut live: Vec<(u64, u8)> = Vec::new();
            let mut tickets: Vec<(u64, u64)> = Vec::new();
            for (clock, (op, pick)) in ops.into_iter().enumerate() {
                let clock = clock as u64;
                match op {
                    0 => live.push((clock, colours.queued())),
                    1 if !live.is_empty() => {
                        let (_, colour) = live.remove(usize::from(pick) % live.len());
                        colours.ended(colour);
                    }
                    3 if !live.is_empty() => {
                        let (_, ended) = live.remove(usize::from(pick) % live.len());
                        live.push((clock, colours.queued_for(ended).0));
                    }
                    2 => if let Flush::Wait(ticket) = colours.begin_flush() {
                        tickets.push((clock, ticket));
                    },
                    _ => {}
                }
                for &(at, ticket) in &tickets {
                    let pending = live.iter().any(|&(queued, _)| queued < at);
                    prop_assert_eq!(colours.is_done(ticket), !pending);
                }
                prop_assert_eq!(colours.total(), live.len() as u64);
            }
        }
    }
}
