//! Jobs that only compute need no more of them than there are CPUs.
//!
//! An idle CPU says that a job may start, and sometimes says it too early: the running jobs load
//! from disk, wait for their first pages, or stand together on another CPU for a moment. Each such
//! moment would let one more in, and those that compute then take the caches from each other. So
//! the running jobs are looked at now and then, and the CPUs' worth of jobs may run beside those
//! that sleep:
//!
//! ```text
//! ceiling = asleep + CPUs + margin
//! ```
//!
//! How many sleep changes from moment to moment. If each of `n` jobs sleeps independently, the
//! number has the variance `asleep x awake / n`. The margin is twice the root of that, so that the
//! CPUs hardly ever run out of jobs. Where they never do it shrinks, by one root after each 100 ms:
//! jobs that wait for a CPU take the caches from those that have one. Jobs that only compute have
//! no margin. While a look finds CPUs without a job, twice as many as sleep may run. Where CPUs
//! idle that looks find busy, more run than these: see `idle.rs`.
//!
//! A look also tells early which jobs sleep, long before the first has ended; and which of them
//! sleep again and again, as those do that try to lock a file.

use alloc::collections::BTreeMap;

use cmwq_policy::time::{MILLISECOND, Nanos, Time};

use crate::allowance::Allowance;
use crate::idle::Idle;
use crate::seen::Seen;
use crate::watched::Watched;

/// Between two looks.
const EVERY: Nanos = 15 * MILLISECOND;
/// Means are counted in parts of this size, and forget this part of themselves with each look.
const ONE: u64 = 256;
const FORGETS: u64 = 8;
/// The margin, in standard deviations, at most.
const DEVIATIONS: u64 = 2;

/// What looks say of how many may run.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// So many jobs keep the CPUs busy, if anything is known.
    pub ceiling: u64,
    /// So many sleep, and have done nothing else for a while.
    pub sleepers: u64,
    /// So many run.
    pub running: u64,
    /// Of these, so many have been looked at often enough to tell whether they try again.
    pub known: u64,
    /// So many sleep and try again, and have the same file open.
    pub retrying: u64,
}

/// What looks have shown.
#[derive(Clone, Debug)]
pub struct Crowd {
    cpus: u64,
    /// Jobs that want no CPU, and threads that a job wants CPUs for if it wants any. Means, in
    /// parts of `ONE`. `None`: nobody has looked.
    asleep: Option<u64>,
    threads: u64,
    /// Those that slept at the last look, and not for a disk: who loads computes in a moment. Twice
    /// as many where that left CPUs idle.
    asleep_now: u64,
    idle: Idle,
    jobs: BTreeMap<u64, Watched>,
    /// When the last look was.
    last: Time,
    allowance: Allowance,
}

impl Crowd {
    /// Nothing is known of the jobs yet.
    pub fn new(cpus: u32) -> Self {
        Crowd {
            cpus: u64::from(cpus.max(1)),
            asleep: None,
            threads: ONE,
            asleep_now: 0,
            idle: Idle::default(),
            jobs: BTreeMap::new(),
            last: Time(0),
            allowance: Allowance::default(),
        }
    }

    /// These CPUs, which may run jobs, have idled for `idled` since some moment, all together, and
    /// `running` jobs run. [`looked`](Self::looked) follows. Not called where nobody can tell. It
    /// says nothing where a quota is for fewer CPUs: then they idle whatever runs.
    pub fn idled(&mut self, now: Time, cpus: u64, idled: Nanos, running: u64) {
        if cpus <= self.cpus {
            let is_full = running >= self.ceiling();
            self.idle.looked(now, idled, cpus, is_full);
            self.allowance.idled(idled);
        }
    }

    /// Takes in one look at all jobs that run. Without any it says nothing.
    pub fn looked(&mut self, now: Time, jobs: impl IntoIterator<Item = Seen>) {
        let (mut all, mut awake, mut threads, mut loading) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut known = BTreeMap::new();
        for seen in jobs {
            all += 1;
            awake += u64::from(seen.runnable > 0);
            threads += seen.runnable;
            loading += u64::from(seen.runnable == 0 && seen.loads);
            let before = self.jobs.get(&seen.job).copied().unwrap_or_default();
            known.insert(seen.job, before.looked(now, seen));
        }
        if all == 0 {
            return;
        }
        (self.jobs, self.last) = (known, now);
        let asleep = (all - awake) * ONE;
        self.asleep = Some(mean(self.asleep.unwrap_or(asleep), asleep));
        let has_room = awake + loading < self.cpus;
        // Nobody knows how many more of them it takes to fill the CPUs.
        let more = if has_room { 2 } else { 1 };
        self.asleep_now = more * (asleep - loading * ONE);
        if let Some(each) = (threads * ONE).checked_div(awake) {
            self.threads = mean(self.threads, each);
        }
    }

    /// How many jobs may run, if anything is known.
    fn ceiling(&self) -> u64 {
        let Some(mean) = self.asleep else {
            return u64::MAX;
        };
        // Those that sleep now leave their CPUs now, however few did before.
        let asleep = mean.max(self.asleep_now);
        let awake = (self.cpus * ONE * ONE / self.threads.max(ONE)).max(ONE);
        let variance = u128::from(asleep) * u128::from(awake) / u128::from(asleep + awake);
        // The root of `x` parts is that of `x * ONE`, in parts.
        let deviation = (variance * u128::from(ONE)).isqrt() as u64;
        let deviations = DEVIATIONS.saturating_sub(self.idle.calm());
        let all = asleep + awake + deviations * deviation;
        ((all + ONE / 2) / ONE).max(1) + self.idle.more()
    }

    /// What is known after the last look.
    pub fn found(&self) -> Found {
        let count = |is: &dyn Fn(&Watched) -> bool| {
            let found = self.jobs.values().filter(|job| is(job));
            found.count() as u64
        };
        Found {
            ceiling: self.ceiling(),
            sleepers: count(&|job| job.is_sleeper(self.last)),
            running: self.jobs.len() as u64,
            known: count(&Watched::is_known),
            retrying: self.retrying(),
        }
    }

    /// How many try again that have the same file, the one that most of them have.
    fn retrying(&self) -> u64 {
        let mut tried = BTreeMap::<u64, u64>::new();
        for file in self.jobs.values().filter_map(Watched::tries) {
            *tried.entry(file).or_default() += 1;
        }
        tried.into_values().max().unwrap_or(0)
    }

    /// How long a look is used that is over `now` and took so much CPU time.
    pub fn valid(&mut self, now: Time, took: Nanos) -> Nanos {
        EVERY.max(self.allowance.took(now, took))
    }
}

/// The old mean with a new value in it.
fn mean(before: u64, new: u64) -> u64 {
    (before * (FORGETS - 1) + new).div_ceil(FORGETS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Nap;
    use std::vec::Vec;

    /// `asleep` jobs that sleep, and some that are awake with so many threads each.
    fn jobs(asleep: u64, awake: u64, threads: u64) -> Vec<Seen> {
        let job = |job| Seen {
            job,
            runnable: if job < asleep { 0 } else { threads },
            loads: false,
            naps: None,
        };
        (0..asleep + awake).map(job).collect()
    }

    /// After many looks at the same.
    fn ceiling(cpus: u32, asleep: u64, awake: u64, threads: u64) -> u64 {
        let mut crowd = Crowd::new(cpus);
        for n in 0..100 {
            crowd.looked(Time(n * EVERY), jobs(asleep, awake, threads));
        }
        crowd.ceiling()
    }

    #[test]
    fn jobs_that_compute_are_as_many_as_the_cpus() {
        for cpus in [1, 2, 8, 64] {
            assert_eq!(ceiling(cpus, 0, 40, 1), u64::from(cpus));
        }
    }

    #[test]
    fn jobs_with_many_threads_are_fewer() {
        assert_eq!(ceiling(8, 0, 8, 4), 2);
        assert_eq!(ceiling(2, 0, 8, 4), 1, "one may always run");
    }

    #[test]
    fn more_may_run_than_sleep() {
        for cpus in [1, 2, 8, 64] {
            for asleep in [1, 5, 30, 1000] {
                let ceiling = ceiling(cpus, asleep, 0, 1);
                let least = asleep + u64::from(cpus) + u64::from(asleep > 1);
                assert!((least..=3 * least).contains(&ceiling), "{ceiling}");
            }
        }
    }

    #[test]
    fn more_run_where_cpus_idle_all_the_same() {
        let mut crowd = Crowd::new(2);
        let mut seen = Vec::new();
        for n in 0..140 {
            let now = Time(n * EVERY);
            // A tenth of their time, in the middle.
            let idled = n.clamp(40, 110) * 2 * EVERY / 10;
            crowd.idled(now, 2, idled, 30);
            crowd.looked(now, jobs(0, 30, 1));
            seen.push(crowd.ceiling());
        }
        assert_eq!(
            (seen[0], seen[39], seen[110], seen[139]),
            (8, 2, 8, 2),
            "{seen:?}"
        );
    }

    #[test]
    fn the_margin_shrinks_where_no_cpu_idles_and_is_back_once_one_does() {
        let mut crowd = Crowd::new(2);
        let ceilings = (0..200).map(|n| {
            let now = Time(n * EVERY);
            let idled = n.clamp(100, 120) * 2 * EVERY / 3;
            crowd.idled(now, 2, idled, 30);
            crowd.looked(now, jobs(8, 22, 1));
            crowd.ceiling()
        });
        let seen: Vec<u64> = ceilings.collect();
        let least = seen[50..100].iter().min();
        assert_eq!(least, Some(&10), "as many as sleep, and as CPUs: {seen:?}");
        assert!(seen[115] > 12, "{seen:?}");
        assert_eq!(seen[199], 10, "{seen:?}");
    }

    #[test]
    fn cpus_that_a_quota_forbids_say_nothing() {
        let mut crowd = Crowd::new(2);
        for n in 0..100 {
            let now = Time(n * EVERY);
            crowd.idled(now, 4, n * 2 * EVERY, 30);
            crowd.looked(now, jobs(0, 30, 1));
            assert_eq!(crowd.ceiling(), 2);
        }
    }

    #[test]
    fn nothing_is_known_before_a_look() {
        let mut crowd = Crowd::new(2);
        assert_eq!(crowd.ceiling(), u64::MAX);
        crowd.looked(Time(0), []);
        assert_eq!(crowd.ceiling(), u64::MAX, "of no jobs");
    }

    #[test]
    fn a_list_that_begins_to_sleep_is_let_in_at_the_next_look() {
        let mut crowd = Crowd::new(2);
        (0..100).for_each(|n| crowd.looked(Time(n), jobs(0, 2, 1)));
        let mut running = crowd.ceiling();
        for n in 0..10 {
            crowd.looked(Time(1000 + n), jobs(running, 0, 1));
            assert!(crowd.ceiling() > running + 2);
            running = crowd.ceiling();
        }
        assert!(running > 60, "{running}");
    }

    #[test]
    fn who_loads_from_a_disk_is_about_to_compute() {
        let mut crowd = Crowd::new(2);
        (0..100).for_each(|n| crowd.looked(Time(n), jobs(0, 2, 1)));
        let loading = |mut seen: Vec<Seen>| {
            seen.iter_mut().for_each(|seen| seen.loads = true);
            seen
        };
        crowd.looked(Time(100), loading(jobs(2, 0, 1)));
        assert!(crowd.ceiling() <= 4, "{}", crowd.ceiling());
        (0..100).for_each(|n| crowd.looked(Time(n), loading(jobs(30, 2, 1))));
        let if_all_do = "jobs that wait for disks all the time wait";
        assert!(crowd.ceiling() > 32, "{if_all_do}");
    }

    #[test]
    fn who_sleeps_all_the_time_is_a_sleeper() {
        let mut crowd = Crowd::new(2);
        let seen = |job, runnable, loads| Seen {
            job,
            runnable,
            loads,
            naps: None,
        };
        for n in 0..=2 {
            assert_eq!(crowd.found().sleepers, 0);
            let all = [seen(0, 0, false), seen(1, n % 2, false), seen(2, 0, true)];
            crowd.looked(Time(n * EVERY), all);
        }
        assert_eq!(crowd.found().sleepers, 1, "not who wakes up, nor who loads");
        crowd.looked(Time(3 * EVERY), [seen(0, 1, false)]);
        assert_eq!(crowd.found().sleepers, 0);
    }

    /// A job that sleeps for a time, after so many others.
    fn napping(job: u64, wakes: u64, file: Option<u64>) -> Seen {
        Seen {
            job,
            runnable: 0,
            loads: false,
            naps: Some(Nap { wakes, file }),
        }
    }

    #[test]
    fn who_sleeps_and_tries_again_beside_another_at_its_file_is_retrying() {
        const FILE: Option<u64> = Some(77);
        let mut crowd = Crowd::new(2);
        for n in 0..10 {
            let works = Seen {
                runnable: u64::from(n % 3 > 0),
                ..napping(4, n, FILE)
            };
            let waits = Seen {
                naps: None,
                ..napping(5, n, FILE)
            };
            // It may be open only now and then.
            let file = FILE.filter(|_| n % 3 == 0);
            let all = [
                napping(0, n, file),
                napping(1, n, file),
                napping(2, n, None),
                napping(3, 1, FILE),
                works,
                waits,
                napping(6, n, Some(78)),
            ];
            crowd.looked(Time(n * EVERY), all);
            let expected = if n >= 2 { 2 } else { 0 };
            assert_eq!(crowd.found().retrying, expected, "{n}");
        }
        let others = "one has no file, one sleeps once, one waits for something else";
        assert_eq!(crowd.found().sleepers, 3, "{others}");
    }
}
