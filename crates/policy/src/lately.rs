//! Which functions have had CPU time lately.
//!
//! Whoever looks at a slow program asks for the item that held the others up. Between two such
//! items nobody executes one, and sums since the beginning do not tell what happens now. So the
//! CPU time of items that have ended is summed by function, over some seconds.

use alloc::vec::Vec;

use crate::time::{Nanos, SECOND, Time};

/// Sums are over two periods of this length: the last whole one, and the one that goes on.
pub const PERIOD: Nanos = 5 * SECOND;
/// Functions that are kept. A further one takes the place of the one with the least CPU time.
pub const MOST: usize = 32;

/// Whose items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whose {
    /// The function, as in the keys of items.
    pub func: u64,
    /// The number of the queue.
    pub queue: u64,
    /// The index of the pool.
    pub pool: u32,
}

/// What items have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Had {
    /// How many have ended.
    pub items: u64,
    /// Their CPU time within the two periods, in nanoseconds.
    pub cpu: Nanos,
    /// The CPU time of the item that had most, in nanoseconds; not cut at the periods.
    pub most: Nanos,
}

impl Had {
    /// Of both.
    #[must_use]
    pub fn and(self, other: Had) -> Had {
        Had {
            items: self.items.saturating_add(other.items),
            cpu: self.cpu.saturating_add(other.cpu),
            most: self.most.max(other.most),
        }
    }
}

/// The functions whose items have had most CPU time lately.
#[derive(Clone, Debug, Default)]
pub struct Lately {
    /// The number of the period that goes on.
    period: u64,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    whose: Whose,
    now: Had,
    last: Had,
}

impl Entry {
    fn had(&self) -> Had {
        self.now.and(self.last)
    }
}

/// How much time the sums are of, at this time: one period, and what has passed of the next.
pub fn span(now: Time) -> Nanos {
    PERIOD + now.0 % PERIOD
}

impl Lately {
    /// An item has ended at this time and has had so much CPU time.
    pub fn note(&mut self, at: Time, whose: Whose, cpu: Nanos) {
        self.advance(at);
        let entry = self.entry(whose);
        // One that took long had a part of its time in the period before.
        let now = cpu.min(at.0 % PERIOD);
        let ended = Had {
            items: 1,
            cpu: now,
            most: cpu,
        };
        entry.now = entry.now.and(ended);
        let before = (cpu - now).min(PERIOD);
        entry.last.cpu = entry.last.cpu.saturating_add(before);
    }

    /// What items have had in the two periods, in no order.
    pub fn at(&mut self, now: Time) -> impl Iterator<Item = (Whose, Had)> + '_ {
        self.advance(now);
        self.entries.iter().map(|entry| (entry.whose, entry.had()))
    }

    /// A time of an earlier period is taken for one of this period: threads are not equally fast.
    fn advance(&mut self, at: Time) {
        let period = at.0 / PERIOD;
        if period <= self.period {
            return;
        }
        let is_next = period == self.period + 1;
        for entry in &mut self.entries {
            let last = core::mem::take(&mut entry.now);
            entry.last = if is_next { last } else { Had::default() };
        }
        self.entries.retain(|entry| entry.last.items > 0);
        self.period = period;
    }

    fn entry(&mut self, whose: Whose) -> &mut Entry {
        let place = self.entries.iter().position(|entry| entry.whose == whose);
        let place = place.unwrap_or_else(|| self.make_room(whose));
        &mut self.entries[place]
    }

    fn make_room(&mut self, whose: Whose) -> usize {
        let new = Entry {
            whose,
            now: Had::default(),
            last: Had::default(),
        };
        if self.entries.len() < MOST {
            self.entries.push(new);
            return self.entries.len() - 1;
        }
        let cpu = |place: &usize| self.entries[*place].had().cpu;
        let least = (0..MOST).min_by_key(cpu).expect("there are some");
        self.entries[least] = new;
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MS: Nanos = MILLISECOND;

    fn whose(func: u64) -> Whose {
        Whose {
            func,
            queue: 1,
            pool: 0,
        }
    }

    fn had(lately: &mut Lately, now: Time, func: u64) -> Had {
        let mut all = lately.at(now);
        all.find(|(of, _)| *of == whose(func))
            .map_or(Had::default(), |(_, had)| had)
    }

    #[test]
    fn what_has_ended_lately_is_summed_and_then_forgotten() {
        let mut lately = Lately::default();
        let at = |periods, ms| Time(periods * PERIOD + ms * MS);
        lately.note(at(3, 900), whose(1), 300 * MS);
        lately.note(at(3, 950), whose(2), MS);
        lately.note(at(4, 400), whose(1), 200 * MS);
        let both = Had {
            items: 2,
            cpu: 500 * MS,
            most: 300 * MS,
        };
        assert_eq!(had(&mut lately, at(4, 500), 1), both);
        assert_eq!(had(&mut lately, at(4, 500), 2).cpu, MS);
        let later = had(&mut lately, at(5, 0), 1);
        assert_eq!((later.items, later.cpu), (1, 200 * MS));
        assert_eq!(had(&mut lately, at(5, 0), 2), Had::default());
        assert_eq!(lately.at(at(6, 0)).count(), 0);
    }

    #[test]
    fn an_item_counts_for_no_more_time_than_has_passed() {
        let mut lately = Lately::default();
        let now = Time(10 * PERIOD + 7 * MS);
        lately.note(now, whose(1), 100 * PERIOD);
        let had = had(&mut lately, now, 1);
        assert_eq!((had.cpu, had.most), (span(now), 100 * PERIOD));
    }

    #[test]
    fn after_a_pause_nothing_is_left() {
        let mut lately = Lately::default();
        lately.note(Time(PERIOD), whose(1), MS);
        assert_eq!(lately.at(Time(9 * PERIOD)).count(), 0);
        // A thread that is late does not bring the old period back.
        lately.note(Time(8 * PERIOD), whose(2), MS);
        assert_eq!(lately.at(Time(9 * PERIOD)).count(), 1);
    }

    #[test]
    fn the_heaviest_stay_where_there_are_too_many() {
        let mut lately = Lately::default();
        let now = Time(PERIOD + PERIOD / 2);
        lately.note(now, whose(0), 900 * MS);
        for func in 1..1000 {
            lately.note(now, whose(func), MS);
        }
        assert_eq!(lately.at(now).count(), MOST);
        assert_eq!(had(&mut lately, now, 0).cpu, 900 * MS);
        assert_eq!(had(&mut lately, now, 999).items, 1, "the latest is there");
    }

    proptest! {
        /// With few functions the sums are those of all items that ended in the two periods.
        #[test]
        fn sums_are_those_of_the_two_periods(
            items in prop::collection::vec((0..PERIOD, 1..5_u64, 1..50 * MS), 1..60),
        ) {
            let (mut lately, mut at) = (Lately::default(), PERIOD);
            let mut ended = Vec::new();
            for (pause, func, cpu) in items {
                at += pause / 4 + cpu;
                lately.note(Time(at), whose(func), cpu);
                ended.push((at, func, cpu));
            }
            let first = (at / PERIOD - 1) * PERIOD;
            for func in 1..5 {
                let of = |(end, by, _): &&(u64, u64, u64)| *end >= first && *by == func;
                let within = ended.iter().filter(of);
                let (items, cpu) = within.fold((0, 0), |(items, sum), (end, _, cpu)| {
                    (items + 1, sum + cpu.min(&(end - first)))
                });
                let had = had(&mut lately, Time(at), func);
                prop_assert_eq!((had.items, had.cpu), (items, cpu));
            }
        }
    }
}
