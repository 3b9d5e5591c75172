//! How fast something ended while so many of it were under way.
//!
//! Two searches look for the number that does best: [`growth`](crate::growth) for the workers of a
//! pool, and the admission of processes. They differ in what they try and when, and share how two
//! rates are compared.

use crate::time::{Nanos, SECOND};

/// Numbers that differ by no more than one part of so many are taken for the same.
const NEAR_PART: u64 = 8;
/// No machine ends more in 1000 s; a product with a number of workers does not overflow.
const MOST: u128 = 1 << 46;

/// A rate, and the number at which it was measured.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// So many were under way, in the mean.
    pub level: u64,
    /// So many ended in 1000 s.
    pub ended: u64,
}

impl Rate {
    /// `ended` in `took` ns, which count as 1 if they are none.
    pub fn new(level: u64, ended: u64, took: Nanos) -> Rate {
        let in_1000_s = u128::from(ended) * u128::from(1_000 * SECOND) / u128::from(took.max(1));
        Rate {
            level,
            ended: in_1000_s.min(MOST) as u64,
        }
    }

    /// Less by more than one part of `part`.
    pub fn is_slower_than(&self, other: &Rate, part: u64) -> bool {
        self.ended < other.ended - other.ended / part
    }

    /// About as many were under way.
    pub fn is_near(&self, other: &Rate) -> bool {
        self.level.abs_diff(other.level) <= other.level / NEAR_PART
    }
}
