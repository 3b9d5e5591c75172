//! Which units were completed: what an undo is called for.

use alloc::collections::BTreeMap;
use core::ops::Range;

/// Ranges that were completed, each unit once; neighbours are one.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Ends by beginnings.
    ranges: BTreeMap<u64, u64>,
}

impl Done {
    /// Adds a range that shares no unit with those that are there; an empty one is nothing.
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let end = self.ranges.remove(&range.end).unwrap_or(range.end);
        match self.ranges.range_mut(..range.start).next_back() {
            Some((_, before)) if *before == range.start => *before = end,
            _ => drop(self.ranges.insert(range.start, end)),
        }
    }

    /// The ranges, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }

    /// Units in all of them.
    pub fn units(&self) -> u64 {
        self.ranges().map(|range| range.end - range.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn neighbours_are_one() {
        let mut done = Done::default();
        for range in [0..10, 20..30, 40..50, 30..40, 5..5, 10..20] {
            done.add(range);
        }
        assert_eq!(done.ranges().count(), 1);
        assert_eq!(done.units(), 50);
    }

    proptest! {
        #[test]
        fn it_holds_what_was_added(order in Just((0u64..40).collect::<Vec<_>>()).prop_shuffle(), skip in 0usize..40) {
            let mut done = Done::default();
            for unit in &order[skip..] {
                done.add(*unit..unit + 1);
            }
            let mut units: Vec<u64> = order[skip..].to_vec();
            units.sort_unstable();
            prop_assert_eq!(done.ranges().flatten().collect::<Vec<_>>(), units);
            prop_assert_eq!(done.units(), 40 - skip as u64);
            // As few ranges as can be.
            let ranges: Vec<_> = done.ranges().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
