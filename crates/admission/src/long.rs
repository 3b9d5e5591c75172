//! Which running job has run so much longer than the others that somebody may want to know.

use super::peaks::Peaks;
use cmwq_policy::time::{Nanos, SECOND};

/// Before this age no job is long, whatever the others do.
const LEAST: Nanos = 5 * SECOND;
/// This many times as long as nearly all others.
const TIMES: u64 = 20;
/// Jobs that have to end before one can be compared with them.
const ENOUGH: u64 = 8;

/// How long jobs have run.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    ended: Peaks,
    jobs: u64,
}

impl Runs {
    /// A job has ended and ran for so long.
    pub(super) fn add(&mut self, ran: Nanos) {
        self.ended.add(ran);
        self.jobs += 1;
    }

    /// How many times as long as 95 % of the ended jobs one has run that runs for `ran` by now, if
    /// that is a great deal longer.
    pub(super) fn is_long(&self, ran: Nanos) -> Option<u64> {
        let times = ran / self.ended.expected().max(1);
        let is_long = ran >= LEAST && self.jobs >= ENOUGH && times >= TIMES;
        is_long.then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(runs: &[Nanos]) -> Runs {
        let mut all = Runs::default();
        runs.iter().for_each(|&ran| all.add(ran));
        all
    }

    #[test]
    fn a_job_is_long_beside_others_that_are_short() {
        let second = after(&[SECOND; 100]);
        assert_eq!(second.is_long(19 * SECOND), None);
        let times = second.is_long(30 * SECOND);
        // A quantile may be rounded up.
        assert!(
            times.is_some_and(|times| (26..=30).contains(&times)),
            "{times:?}"
        );
        let short = after(&[SECOND / 1000; 100]);
        assert_eq!(short.is_long(4 * SECOND), None);
        assert!(short.is_long(5 * SECOND).is_some_and(|times| times > 4000));
    }

    #[test]
    fn a_night_s_list_of_long_jobs_has_none() {
        let long = after(&[3600 * SECOND; 100]);
        assert_eq!(long.is_long(7200 * SECOND), None);
        assert_eq!(after(&[SECOND; 7]).is_long(1000 * SECOND), None, "too few");
        assert_eq!(Runs::default().is_long(Nanos::MAX), None);
        let mixed: [Nanos; 20] = core::array::from_fn(|at| if at < 2 { 60 } else { 1 } * SECOND);
        assert_eq!(
            after(&mixed).is_long(120 * SECOND),
            None,
            "there are others such"
        );
    }
}
