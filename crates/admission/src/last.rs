//! The last jobs begin together, where the CPU time of all fits into the waiting of one.

use cmwq_policy::time::Nanos;

use crate::{Admission, Spent};

/// Jobs that waited for at least half of the longest wait expected, and what they computed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiters {
    jobs: u64,
    computed: Nanos,
}

impl Waiters {
    /// A job has ended that waited so long, where the longest wait expected is `longest`.
    pub(super) fn ended(&mut self, waited: Nanos, longest: Nanos, computed: Nanos) {
        if waited >= longest / 2 {
            self.jobs += 1;
            self.computed = self.computed.saturating_add(computed);
        }
    }

    fn mean(&self) -> Nanos {
        self.computed / self.jobs.max(1)
    }
}

impl Admission {
    /// Whether the `left` last jobs all start now, beside `running` others, though no CPU idles.
    ///
    /// They do if their total CPU time fits into the longest job's expected wait, on all CPUs.
    /// Ended jobs tell both, and those that sleep now count in the former. A job that waited for an
    /// idle CPU would end last, alone on an idle machine.
    ///
    /// * The total leaves out what long waiters compute before they wait: the others have their
    ///   turns in that time. The part is at most what an average job computes beyond it.
    /// * Jobs must wait longer than they compute, since their waits include those for a CPU.
    /// * At most three times as many start as run, because most may compute first.
    pub fn is_last_round(&self, running: u64, left: u64) -> bool {
        let Spent { ran, computed } = self.spent;
        let mostly_wait = ran.saturating_sub(computed) > computed;
        let turns = self.waiters.mean();
        let each = self.computed_by_each(turns);
        let turns = turns.min(each.saturating_sub(turns));
        let computes = u128::from(left) * u128::from(each - turns);
        let waits = u128::from(self.waits.expected()) * u128::from(self.cpus);
        mostly_wait
            && computes <= waits
            && left <= running.saturating_mul(3)
            && running.saturating_add(left) <= self.room_for_last()
    }

    /// What a job computes. Those that wait end late, so among the ended ones they are too few:
    /// who sleeps now counts as one that computes what waiters do.
    fn computed_by_each(&self, turns: Nanos) -> Nanos {
        let asleep = self.sleepers.saturating_mul(turns);
        let jobs = self.completed.saturating_add(self.sleepers);
        self.spent.computed.saturating_add(asleep) / jobs.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::found;
    use cmwq_policy::time::{MILLISECOND, Time};

    #[test]
    fn the_last_round_does_not_wait_for_those_that_compute() {
        let mut jobs = waiting(100);
        jobs.looked(Time(0), found(3, 0));
        assert_eq!(jobs.limit(), 3);
        assert!(jobs.is_last_round(20, 18));
    }

    /// 100 have ended that waited for 90 ms each and computed for 10.
    fn waiting(most: u64) -> Admission {
        let mut jobs = Admission::new(Time(0), 2, most);
        jobs.completed(100);
        let spent = Spent {
            ran: 100 * MILLISECOND,
            computed: 10 * MILLISECOND,
        };
        (0..100).for_each(|n| jobs.ended(Time(n * 5 * MILLISECOND), 20, spent));
        jobs
    }

    #[test]
    fn the_last_jobs_start_while_their_waiting_covers_their_computing() {
        assert!(waiting(100).is_last_round(20, 18), "180 ms on two CPUs");
        assert!(!waiting(100).is_last_round(20, 19));
        assert!(
            !waiting(37).is_last_round(20, 18),
            "but no more than may run"
        );
    }

    /// Three of four wait for 400 ms and compute for 5, one computes for 65: 20 ms each.
    #[test]
    fn who_computes_little_before_it_waits_soon_does() {
        let mut jobs = Admission::new(Time(0), 2, 1000);
        jobs.completed(100);
        let job = |ran, computed| Spent {
            ran: ran * MILLISECOND,
            computed: computed * MILLISECOND,
        };
        for n in 0..100 {
            let spent = if n % 4 == 0 { job(65, 65) } else { job(405, 5) };
            jobs.ended(Time(n * 5 * MILLISECOND), 60, spent);
        }
        let most = (1..200).filter(|&left| jobs.is_last_round(60, left)).max();
        // All that is computed in less than 400 ms on two CPUs, without 5 ms of each, in which the
        // waiting ones have their turn. What is expected is up to an eighth more.
        let (exactly, eighth) = (2 * 400 / (20 - 5), 2 * 450 / (20 - 5));
        assert!(
            most.is_some_and(|most| (exactly..=eighth).contains(&most)),
            "{most:?}"
        );
    }

    #[test]
    fn at_most_three_times_as_many_start_as_run() {
        let jobs = waiting(1000);
        assert!(jobs.is_last_round(6, 18) && !jobs.is_last_round(5, 16));
    }

    /// One of five computes for 60 ms, the others for 5 and wait for 500. All of the former have
    /// ended, and half of the latter.
    #[test]
    fn those_that_sleep_still_count_as_well() {
        let mut jobs = Admission::new(Time(0), 2, 1000);
        jobs.completed(60);
        let job = |ran, computed| Spent {
            ran: ran * MILLISECOND,
            computed: computed * MILLISECOND,
        };
        for n in 0..60 {
            let spent = if n % 3 == 0 { job(60, 60) } else { job(505, 5) };
            jobs.ended(Time(n * 5 * MILLISECOND), 60, spent);
        }
        let most = |jobs: &Admission| (1..200).filter(|&left| jobs.is_last_round(60, left)).max();
        let before = most(&jobs);
        (0..40).for_each(|_| jobs.shown());
        jobs.looked(Time(0), found(100, 40));
        // 16 ms each instead of 23.
        assert!(most(&jobs) > before.map(|most| most * 5 / 4), "{before:?}");
    }

    #[test]
    fn jobs_that_only_compute_have_no_last_round() {
        let mut jobs = Admission::new(Time(0), 2, 100);
        assert!(!jobs.is_last_round(2, 1), "nothing is known");
        for ran in [100, 180] {
            let computed = 120;
            jobs.ended(Time(0), 2, Spent { ran, computed });
            assert!(!jobs.is_last_round(2, 1), "{ran}");
        }
    }
}
