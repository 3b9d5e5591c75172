//! The statistics of a pool workqueue, kept small.
//!
//! A queue has a pool workqueue in each pool that it uses, and each of these has two histograms.
//! Most of their buckets stay empty, and few ever hold many items. So a bucket has 16 bits in
//! place. Each time these come round, a *carry* is counted in a list. The list has one entry for
//! each bucket that ever came round. So it is allocated anew, under the pool's lock, at most 80
//! times.
//!
//! No count is lost: an entry has 56 bits for carries, which is more than a [`Histogram`] can show.

use alloc::boxed::Box;

use crate::stats::{BUCKETS, Histogram, PwqStats, bucket};
use crate::time::Nanos;

/// Bits of a count that lie in place.
const IN_PLACE: u32 = u16::BITS;

/// Which of the two histograms. The value is where its buckets begin.
#[derive(Clone, Copy)]
enum Of {
    Waited = 0,
    Ran = BUCKETS as isize,
}

/// How often the count of one bucket has come round.
#[derive(Clone, Copy, Debug)]
struct Carry(u64);

impl Carry {
    /// Bits that name the bucket; the others count.
    const BUCKET: u32 = 8;

    /// The first one of this bucket.
    fn first(at: usize) -> Self {
        Carry(at as u64).once_more()
    }

    fn at(self) -> usize {
        (self.0 & ((1 << Self::BUCKET) - 1)) as usize
    }

    fn times(self) -> u64 {
        self.0 >> Self::BUCKET
    }

    fn once_more(self) -> Self {
        Carry(self.0 + (1 << Self::BUCKET))
    }
}

const _: () = assert!(2 * BUCKETS <= 1 << Carry::BUCKET);

/// What [`PwqStats`] says, in a third of its room.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The low bits of the buckets of both histograms.
    low: [u16; 2 * BUCKETS],
    /// Buckets that have come round, each once. Most pool workqueues have none.
    carried: Box<[Carry]>,
    waited_ns: u64,
    ran_ns: u64,
    /// As in [`PwqStats`], and so the others.
    pub(crate) cpu_intensive: u64,
    pub(crate) cm_wakeup: u64,
    pub(crate) mayday: u64,
    pub(crate) rescued: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            low: [0; 2 * BUCKETS],
            carried: Box::default(),
            waited_ns: 0,
            ran_ns: 0,
            cpu_intensive: 0,
            cm_wakeup: 0,
            mayday: 0,
            rescued: 0,
        }
    }
}

impl Tally {
    /// Counts an item that begins after this wait.
    #[inline]
    pub(crate) fn note_waited(&mut self, waited: Nanos) {
        self.note(Of::Waited, waited);
        // 584 years of waiting come round; an addition that panics would be worse.
        self.waited_ns = self.waited_ns.wrapping_add(waited);
    }

    /// Counts an execution that took so long.
    #[inline]
    pub(crate) fn note_ran(&mut self, ran: Nanos) {
        self.note(Of::Ran, ran);
        self.ran_ns = self.ran_ns.wrapping_add(ran);
    }

    #[inline]
    fn note(&mut self, of: Of, time: Nanos) {
        let at = of as usize + bucket(time);
        let low = &mut self.low[at];
        *low = low.wrapping_add(1);
        if *low == 0 {
            self.carry(at);
        }
    }

    /// The bucket has come round: one of its 65,536 items gets here. The first time it allocates,
    /// under the pool's lock, as other lists do that grow there.
    #[cold]
    fn carry(&mut self, at: usize) {
        match self.carried.iter_mut().find(|carry| carry.at() == at) {
            Some(carry) => *carry = carry.once_more(),
            None => {
                let known = self.carried.iter().copied();
                self.carried = known.chain([Carry::first(at)]).collect();
            }
        }
    }

    fn histogram(&self, of: Of) -> Histogram {
        let first = of as usize;
        let mut counts: [u64; BUCKETS] = core::array::from_fn(|n| self.low[first + n].into());
        for carry in &self.carried {
            if let Some(count) = carry
                .at()
                .checked_sub(first)
                .and_then(|n| counts.get_mut(n))
            {
                *count += carry.times() << IN_PLACE;
            }
        }
        Histogram(counts)
    }

    /// Everything, in full width.
    pub(crate) fn stats(&self) -> PwqStats {
        PwqStats {
            waited: self.histogram(Of::Waited),
            ran: self.histogram(Of::Ran),
            waited_ns: self.waited_ns,
            ran_ns: self.ran_ns,
            cpu_intensive: self.cpu_intensive,
            cm_wakeup: self.cm_wakeup,
            mayday: self.mayday,
            rescued: self.rescued,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;
    use proptest::prelude::*;

    #[test]
    fn sums_are_those_of_the_times() {
        let mut tally = Tally::default();
        [3, SECOND]
            .into_iter()
            .for_each(|time| tally.note_waited(time));
        tally.note_ran(7);
        let stats = tally.stats();
        let both = [stats, stats].into_iter().sum::<PwqStats>();
        assert_eq!((both.waited_ns, both.ran_ns), (2 * (SECOND + 3), 14));
        assert_eq!((both.started(), both.completed()), (4, 2));
    }

    #[test]
    fn a_bucket_that_comes_round_is_counted_on() {
        let round = 1 << IN_PLACE;
        let mut tally = Tally::default();
        (0..3 * round + 5).for_each(|_| tally.note_waited(1000));
        (0..round).for_each(|_| tally.note_ran(1000));
        (0..round - 1).for_each(|_| tally.note_ran(0));
        assert_eq!(tally.carried.len(), 2, "one for each bucket");
        let stats = tally.stats();
        assert_eq!(
            (stats.waited.0[10], stats.started()),
            (3 * round + 5, 3 * round + 5)
        );
        assert_eq!((stats.ran.0[10], stats.ran.0[0]), (round, round - 1));
    }

    #[test]
    fn more_than_32_bits_are_right() {
        let mut tally = Tally::default();
        tally.low[BUCKETS + 3] = u16::MAX;
        tally.carried = [Carry((1 << 40) << Carry::BUCKET | (BUCKETS as u64 + 3))].into();
        tally.note_ran(4);
        assert_eq!(tally.stats().ran.0[3], ((1 << 40) + 1) << IN_PLACE);
        assert_eq!(tally.stats().waited, Histogram::default());
    }

    proptest! {
        /// Whatever is counted comes out as a wide histogram has it, from wherever it began.
        #[test]
        fn it_counts_as_wide_histograms_do(
            began in proptest::collection::vec(
                (0..2 * BUCKETS, u16::MAX - 3..=u16::MAX, 0..3u64), 0..8),
            times in proptest::collection::vec((any::<bool>(), 0..64u32), 0..200),
        ) {
            let mut tally = Tally::default();
            for (at, low, rounds) in began {
                tally.low[at] = low;
                (0..rounds).for_each(|_| tally.carry(at));
            }
            let mut wide = tally.stats();
            for (waits, log) in times {
                let time = 1 << log;
                match waits {
                    true => (tally.note_waited(time), wide.waited.note(time)),
                    false => (tally.note_ran(time), wide.ran.note(time)),
                };
            }
            let found = tally.stats();
            prop_assert_eq!((found.waited, found.ran), (wide.waited, wide.ran));
        }
    }
}
