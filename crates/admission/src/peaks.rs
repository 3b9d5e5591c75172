//! What jobs of one kind have taken, and what the next one will therefore need at most.
//!
//! The words here speak of memory, in bytes. Time, in nanoseconds, is told in the same way.

/// Steps between two powers of two. A quantile is at most an eighth too large, never too small.
const STEPS: u32 = 8;
const BUCKETS: usize = 64 * STEPS as usize;
/// A quantile of fewer sizes means little: the largest stands for it.
const FEW: u32 = 20;
/// When this many sizes are counted, all counts are halved: jobs of an hour ago say less than
/// recent ones.
const MANY: u32 = 1024;
/// The percentage of jobs that take no more than is expected of one.
const PERCENT: u32 = 95;

/// Peaks of ended jobs, in bytes: how many were about as large as each other.
#[derive(Clone, Debug)]
pub(super) struct Peaks {
    counts: [u32; BUCKETS],
    total: u32,
    /// Of the first few.
    largest: u64,
}

impl Default for Peaks {
    fn default() -> Self {
        Peaks {
            counts: [0; BUCKETS],
            total: 0,
            largest: 0,
        }
    }
}

impl Peaks {
    /// A job has ended, and took `bytes`.
    pub(super) fn add(&mut self, bytes: u64) {
        self.counts[bucket(bytes)] += 1;
        self.total += 1;
        self.largest = self.largest.max(bytes);
        if self.total >= MANY {
            self.forget_half();
        }
    }

    /// Whether too few jobs have ended: [`expected`](Self::expected) is only the largest of them.
    pub(super) fn are_few(&self) -> bool {
        self.total < FEW
    }

    /// What the next job is expected to take at most: the 95 % quantile, rounded up by no more than
    /// an eighth. While only a few have ended, the largest; 0 before any has.
    pub(super) fn expected(&self) -> u64 {
        if self.are_few() {
            return self.largest;
        }
        let enough = (self.total * PERCENT).div_ceil(100);
        let mut sum = 0;
        let covers = |count: &u32| {
            sum += count;
            sum >= enough
        };
        let found = self.counts.iter().position(covers);
        upper(found.expect("all together are enough"))
    }

    fn forget_half(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
        self.total = self.counts.iter().sum();
    }
}

/// The step that a size belongs to.
fn bucket(bytes: u64) -> usize {
    let power = bytes.max(1).ilog2();
    let within = match power {
        0..=2 => (bytes << 3 >> power) & 7,
        _ => (bytes >> (power - 3)) & 7,
    };
    (power * STEPS + within as u32) as usize
}

/// The largest size of a step.
fn upper(bucket: usize) -> u64 {
    let (power, within) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    let steps = u128::from(u64::from(STEPS) + within + 1) << power;
    u64::try_from(steps.div_ceil(u128::from(STEPS)) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_large_job_of_many_does_not_count() {
        let mut peaks = Peaks::default();
        assert_eq!(peaks.expected(), 0);
        peaks.add(5_000);
        peaks.add(300);
        assert_eq!(peaks.expected(), 5_000, "of two it does");
        (0..100).for_each(|_| peaks.add(300));
        assert!((300..=340).contains(&peaks.expected()));
    }

    #[test]
    fn what_jobs_took_long_ago_is_forgotten() {
        let mut peaks = Peaks::default();
        (0..10_000).for_each(|_| peaks.add(1 << 30));
        (0..15_000).for_each(|_| peaks.add(1 << 20));
        assert!(peaks.expected() < 2 << 20);
    }

    proptest! {
        #[test]
        fn a_size_lies_in_its_step(bytes in prop_oneof![0_u64..100, any::<u64>()]) {
            let largest = upper(bucket(bytes));
            prop_assert!(largest >= bytes);
            prop_assert!(largest - bytes <= bytes / 8 + 1, "{bytes} {largest}");
        }

        #[test]
        fn nearly_all_take_no_more(sizes in prop::collection::vec(0_u64..1 << 40, 1..400)) {
            let mut peaks = Peaks::default();
            sizes.iter().for_each(|&bytes| peaks.add(bytes));
            let more = sizes.iter().filter(|&&bytes| bytes > peaks.expected()).count();
            prop_assert!(more * 20 <= sizes.len());
        }
    }
}
