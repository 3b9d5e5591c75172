//! How many jobs may run that the signals cannot see yet.

/// Jobs per CPU that may run before the first one has ended.
const START_PER_CPU: u64 = 4;
/// Further jobs that each completed one lets in.
const PER_COMPLETED: u64 = 2;

/// Slow start of processes: one that has just been forked leaves the CPU idle while it loads, so an
/// idle CPU says little about it. At most `4 x CPUs + 2 x completed` run at once.
pub fn slow_start(cpus: u32, completed: u64) -> u64 {
    let first = START_PER_CPU * u64::from(cpus.max(1));
    first.saturating_add(completed.saturating_mul(PER_COMPLETED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_with_what_has_completed() {
        assert_eq!(slow_start(2, 0), 8);
        assert_eq!(slow_start(2, 10), 28);
        assert_eq!(slow_start(0, 0), 4);
        assert_eq!(slow_start(2, u64::MAX), u64::MAX);
    }
}
