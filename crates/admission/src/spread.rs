//! A list that is dealt out to a few jobs.

/// Jobs for each of several slots: one that takes longer than the others then leaves no slot idle
/// for long.
const JOBS_PER_SLOT: u64 = 2;

/// How many lines each job gets, if `lines` of them are spread over jobs for so many slots.
pub fn lines_per_job(lines: u64, slots: u64) -> u64 {
    let jobs = match slots {
        0 | 1 => 1,
        _ => JOBS_PER_SLOT * slots,
    };
    lines.div_ceil(jobs).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_two_jobs_of_about_the_same_size() {
        assert_eq!(lines_per_job(10, 2), 3);
        assert_eq!(lines_per_job(100, 2), 25);
        assert_eq!(lines_per_job(3, 8), 1);
        assert_eq!(lines_per_job(0, 0), 1);
        assert_eq!(lines_per_job(7, 1), 7, "nobody idles beside it");
        for lines in 1..200_u64 {
            let jobs = lines.div_ceil(lines_per_job(lines, 4));
            assert!(jobs <= 8 && jobs >= lines.min(4), "{lines}: {jobs}");
        }
    }
}
