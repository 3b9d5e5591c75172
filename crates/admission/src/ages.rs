//! What jobs have taken, by how long they ran.
//!
//! If most jobs of a list find nothing to do, the first ones to end are not those that take memory.
//! So a job that has run for a second is compared with jobs that ran as long.

use core::array;

use super::peaks::Peaks;
use cmwq_policy::time::{MILLISECOND, Nanos};

/// Class 0 is below 4 ms. Each further one reaches four times as far; the last begins at 12 days.
const CLASSES: usize = 16;

/// Peaks of ended jobs.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    /// For each class, the jobs that ran at least that long. A job is in several classes.
    at_least: [Peaks; CLASSES],
    /// What each of them expects.
    expected: [u64; CLASSES],
    longest: Nanos,
}

impl Default for Ages {
    fn default() -> Self {
        Ages {
            at_least: array::from_fn(|_| Peaks::default()),
            expected: [0; CLASSES],
            longest: 0,
        }
    }
}

impl Ages {
    /// A job has ended. It ran for `ran` and took `bytes`.
    pub(super) fn add(&mut self, ran: Nanos, bytes: u64) {
        self.longest = self.longest.max(ran);
        for class in 0..=class(ran) {
            self.at_least[class].add(bytes);
            self.expected[class] = self.at_least[class].expected();
        }
    }

    /// Whether too few have ended to expect more of a new job than the largest of them.
    pub(super) fn are_few(&self) -> bool {
        self.at_least[0].are_few()
    }

    /// What a new job is expected to take at most.
    pub(super) fn expected(&self) -> u64 {
        self.expected[0]
    }

    /// What a job of this age is expected to take at most, going by jobs that ran as long. If there
    /// are none, those that ran longest count.
    pub(super) fn expected_at(&self, age: Nanos) -> u64 {
        let with_some = class(age).min(class(self.longest));
        self.expected[with_some]
    }

    /// Whether an ended job ran as long as this, so that one of this age may be compared with it.
    pub(super) fn knows(&self, age: Nanos) -> bool {
        age <= self.longest
    }
}

fn class(ran: Nanos) -> usize {
    let times = (ran / MILLISECOND).max(1);
    (times.ilog2() as usize / 2).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_policy::time::SECOND;

    #[test]
    fn short_jobs_say_nothing_of_long_ones() {
        let mut ages = Ages::default();
        (0..100).for_each(|_| ages.add(2 * MILLISECOND, 1_000));
        assert!(ages.knows(2 * MILLISECOND) && !ages.knows(3 * MILLISECOND));
        ages.add(SECOND, 50_000);
        assert!(ages.expected() < 2_000);
        assert_eq!(ages.expected_at(5 * MILLISECOND), 50_000);
        assert_eq!(ages.expected_at(100 * SECOND), 50_000);
    }

    #[test]
    fn classes_are_four_times_as_long_as_the_one_before() {
        let millis = [0, 3, 4, 15, 16, 64, 1_024, u64::MAX / MILLISECOND];
        let classes = millis.map(|ms| class(ms * MILLISECOND));
        assert_eq!(classes, [0, 0, 1, 1, 2, 3, 5, 15]);
    }
}
