//! CPUs that idle beside jobs that only seem to keep them busy.
//!
//! Looks say little of waits that are much shorter than a look, as those for a disk: whoever looks
//! takes a CPU itself, behind which those that would have left it idle queue up. How long CPUs have
//! idled in all tells what looks miss. While they do, though more jobs wait, more may run:
//!
//! | of the CPUs' time idled | then |
//! | --- | --- |
//! | more than 1/32, and 40 ms in all | twice as many more, at least as many as idled on average |
//! | less than 1/128 | half as many more |
//!
//! There are at most three more for each CPU. It begins with these, since nobody knows what the
//! jobs do. Once there are none and still no CPU idles, the margin of the looks shrinks as well.

use cmwq_policy::time::{MILLISECOND, Nanos, Time};

/// A window lasts at least so long, and longer where what idled may still be an accident.
const WINDOW: Nanos = 100 * MILLISECOND;
/// Idle time is told in ticks of 10 ms for each CPU: so much is no accident.
const SURE: u128 = 40 * MILLISECOND as u128;
/// One part of so many, idle, is too much.
const TOO_MUCH: u128 = 32;
/// And one of so many is nothing.
const NOTHING: u128 = 128;
/// The most jobs more for each CPU.
const MOST_PER_CPU: u64 = 3;

/// How many more jobs may run than looks say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    /// When the window began, and what the CPUs had idled then.
    since: Option<(Time, Nanos)>,
    /// As many jobs ran as were allowed. If none ever did, it is no wonder that CPUs idle.
    was_full: bool,
    more: u64,
    /// Windows in a row without idle time, when no more ran any longer.
    calm: u64,
}

impl Idle {
    /// Of `cpus` CPUs, which have idled for `idled` in all. `is_full`: as many jobs run as may.
    pub(crate) fn looked(&mut self, now: Time, idled: Nanos, cpus: u64, is_full: bool) {
        self.was_full |= is_full;
        let Some((since, before)) = self.since else {
            self.since = Some((now, idled));
            self.more = MOST_PER_CPU * cpus;
            return;
        };
        let passed = now.since(since);
        if passed < WINDOW {
            return;
        }
        let idle = u128::from(idled.saturating_sub(before));
        let all = u128::from(passed) * u128::from(cpus);
        if idle * TOO_MUCH > all && idle >= SURE {
            if self.was_full {
                self.calm = 0;
                // A CPU that has come back brings all of its past.
                let idled_cpus = idle.div_ceil(u128::from(passed)).min(u128::from(cpus)) as u64;
                self.more = (2 * self.more).clamp(idled_cpus, MOST_PER_CPU * cpus);
            }
        } else if idle * NOTHING < all {
            self.calm = match self.more {
                0 => self.calm.saturating_add(1),
                _ => 0,
            };
            self.more /= 2;
        } else if all < SURE * TOO_MUCH {
            return;
        }
        *self = Idle {
            since: Some((now, idled)),
            was_full: false,
            ..*self
        };
    }

    /// For so many windows no CPU has idled although no more ran.
    pub(crate) fn calm(&self) -> u64 {
        self.calm
    }

    /// So many more may run.
    pub(crate) fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUS: u64 = 4;

    /// What more may run after each of these windows, of whose time so many parts of 1,000 idled.
    fn after(windows: &[u64], is_full: bool) -> std::vec::Vec<u64> {
        let mut idle = Idle::default();
        let (mut now, mut idled) = (Time(77), 5);
        idle.looked(now, idled, CPUS, is_full);
        let window = |&parts: &u64| {
            for _ in 0..5 {
                now = now.after(WINDOW / 5);
                idled += CPUS * WINDOW / 5 * parts / 1000;
                idle.looked(now, idled, CPUS, is_full);
            }
            idle.more()
        };
        windows.iter().map(window).collect()
    }

    #[test]
    fn nothing_is_known_without_looks() {
        assert_eq!(Idle::default().more(), 0);
    }

    #[test]
    fn where_nothing_idles_it_is_soon_over() {
        assert_eq!(after(&[0, 0, 0, 0, 0], true), [6, 3, 1, 0, 0]);
    }

    #[test]
    fn where_cpus_idle_it_grows_and_stays_where_they_hardly_do() {
        let windows = [0, 0, 0, 0, 100, 20, 20, 100, 300, 100, 100, 10];
        let expected = [6, 3, 1, 0, 1, 1, 1, 2, 4, 8, 12, 12];
        assert_eq!(after(&windows, true), expected);
    }

    #[test]
    fn windows_without_idle_time_are_counted_when_no_more_run() {
        let mut idle = Idle::default();
        let (mut now, mut idled, mut seen) = (Time(0), 0, std::vec::Vec::new());
        for parts in [0, 0, 0, 0, 0, 0, 10, 0, 200, 0, 0] {
            idle.looked(now, idled, CPUS, true);
            seen.push(idle.calm());
            now = now.after(WINDOW);
            idled += CPUS * WINDOW / 1000 * parts;
        }
        idle.looked(now, idled, CPUS, true);
        // At first twelve more run, and one does after a fifth has idled.
        assert_eq!(seen, [0, 0, 0, 0, 0, 1, 2, 2, 3, 0, 0]);
        assert_eq!(idle.calm(), 1);
    }

    #[test]
    fn where_many_idle_at_once_it_grows_by_as_many() {
        assert_eq!(after(&[0, 0, 0, 0, 700], true), [6, 3, 1, 0, 3]);
    }

    #[test]
    fn a_tick_or_two_may_be_an_accident() {
        let windows = [0, 0, 0, 0, 40, 40, 40];
        assert_eq!(after(&windows, true), [6, 3, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn it_does_not_grow_where_fewer_run_than_may() {
        assert_eq!(after(&[0, 0, 0, 0, 500], false), [6, 3, 1, 0, 0]);
    }

    #[test]
    fn a_count_that_jumps_says_that_all_have_idled() {
        let mut idle = Idle::default();
        idle.looked(Time(0), 0, CPUS, true);
        idle.more = 0;
        idle.looked(Time(WINDOW), Nanos::MAX, CPUS, true);
        assert_eq!(idle.more(), CPUS);
    }

    #[test]
    fn a_count_that_goes_back_says_that_nothing_idled() {
        let mut idle = Idle::default();
        idle.looked(Time(0), 1000, CPUS, true);
        idle.looked(Time(WINDOW), 500, CPUS, true);
        assert_eq!(idle.more(), MOST_PER_CPU * CPUS / 2);
    }
}
