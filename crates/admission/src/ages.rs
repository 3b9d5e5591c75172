//! What jobs have taken, by how long they ran.
//!
//! Of a list in which most jobs find nothing to do, the first ones to end are not those that take
//! memory. A job that has run for a second is compared with those that did so too.

use core::array;

use super::peaks::Peaks;
use cmwq_policy::time::{MILLISECOND, Nanos};

/// Class 0: below 4 ms; each further one is four times as long; the last: from 12 days on.
const CLASSES: usize = 16;

/// Peaks of ended jobs.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    /// Of jobs that ran at least as long as the class says: one that has ended is in several.
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
    /// A job has ended that ran for so long and took so many bytes.
    pub(super) fn add(&mut self, ran: Nanos, bytes: u64) {
        self.longest = self.longest.max(ran);
        for class in 0..=class(ran) {
            self.at_least[class].add(bytes);
            self.expected[class] = self.at_least[class].expected();
        }
    }

    /// Whether so few have ended that what is expected of a new job is only the largest of them.
    pub(super) fn are_few(&self) -> bool {
        self.at_least[0].are_few()
    }

    /// What a new job is expected to take at most.
    pub(super) fn expected(&self) -> u64 {
        self.expected[0]
    }

    /// And one that has run for so long, going by those that ran as long, or else by those that ran
    /// longest.
    pub(super) fn expected_at(&self, age: Nanos) -> u64 {
        let with_some = class(age).min(class(self.longest));
        self.expected[with_some]
    }

    /// Whether jobs have ended that one which has run for so long may be compared with.
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
