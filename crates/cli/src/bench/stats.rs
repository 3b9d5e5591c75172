//! Percentiles and the sweep line.

/// The `percent`th percentile by nearest rank; 0 of nothing. Sorts `values`.
pub(super) fn percentile(values: &mut [u64], percent: usize) -> u64 {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100);
    rank.checked_sub(1).map_or(0, |index| values[index])
}

/// The middle one of at least one; of an even number the upper middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The largest number of intervals `(from, to)` that hold one moment. An interval that ends where
/// another begins does not overlap it.
pub(super) fn peak_overlap(intervals: &[(u64, u64)]) -> usize {
    let begins = intervals.iter().map(|&(from, _)| (from, 1));
    let ends = intervals.iter().map(|&(_, to)| (to, -1));
    let mut events: Vec<(u64, isize)> = begins.chain(ends).collect();
    events.sort_unstable();
    let mut depth = 0;
    let mut peak = 0;
    for (_, change) in events {
        depth += change;
        peak = peak.max(depth);
    }
    peak as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut hundred, 50), 50);
        assert_eq!(percentile(&mut hundred, 99), 99);
        assert_eq!(percentile(&mut hundred, 100), 100);
        assert_eq!(percentile(&mut [3, 1, 2], 50), 2);
        assert_eq!(percentile(&mut [7], 99), 7);
        assert_eq!(percentile(&mut [], 99), 0);
    }

    #[test]
    fn overlap_counts_the_deepest_moment() {
        assert_eq!(peak_overlap(&[]), 0);
        assert_eq!(peak_overlap(&[(0, 10), (10, 20)]), 1);
        assert_eq!(peak_overlap(&[(0, 10), (9, 20), (9, 11), (30, 40)]), 3);
    }
}
