//! CPU-intensive items: how they are noticed, and which of them are worth a report.
//!
//! The kernel looks at each scheduler tick (`wq_worker_tick`). An item that has used 10 ms of CPU
//! time since its worker last slept is CPU-intensive. It leaves `nr_running` of a per-CPU pool, so
//! that the items behind it start. A function that makes a habit of it is reported. Here the pool
//! decides what follows from a verdict; in a managed pool nothing but the report does.
//!
//! User space is not told when a worker sleeps, so the worker is sampled. Its CPU time is cheap to
//! read (a clock). The number of its voluntary switches is dear (a file of `/proc`), and is asked
//! for only when the CPU time makes it matter. An item is a hog if that number stays equal over so
//! much CPU time. Wall time never makes a hog.

use alloc::collections::BTreeMap;

use crate::probe::hit;
use crate::time::{MILLISECOND, Nanos};

/// CPU time without sleeping that makes an item CPU-intensive. The kernel's
/// `cpu_intensive_thresh_us` for a CPU of usual speed. (The kernel doubles it for a CPU half as
/// fast; we leave that to the user.)
pub const THRESHOLD: Nanos = 10 * MILLISECOND;
/// The kernel's `cpu_intensive_warning_thresh`: the first report of a function comes with its
/// fourth occurrence.
pub const WARNING_THRESH: u32 = 4;
/// Functions that are counted, the kernel's `WCI_MAX_ENTS`. Those that come later are not.
pub const MAX_FUNCTIONS: usize = 128;

/// What somebody saw of a worker that executes an item.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Tells this execution from the worker's others; any number that never repeats.
    pub item: u64,
    /// The worker's CPU time since its thread started.
    pub cpu: Nanos,
    /// It was seen to sleep.
    pub asleep: bool,
    /// How often it gave up its CPU since its thread started.
    pub switches: Switches,
}

/// The voluntary switches of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switches {
    /// Nobody has asked yet.
    NotRead,
    /// So many since it started.
    Count(u64),
    /// The system does not tell.
    Unknown,
}

/// What a sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sampled {
    /// Nothing.
    Fine,
    /// It depends on the worker's switches. Read them, then its CPU time again, in this order, and
    /// sample with both: then no sleep between two readings looks like none. Where the system does
    /// not tell, the item is taken for awake.
    AskSwitches,
    /// The item has had this much CPU time, at least the threshold, and did not sleep. Said once
    /// for each execution.
    Hog(Nanos),
}

/// The eye on one worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    item: u64,
    seen: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
enum Seen {
    /// Nothing of this item since it began, or slept.
    #[default]
    Nothing,
    /// Awake, at this CPU time. Its switches are not worth a question yet.
    Ran { cpu: Nanos },
    /// Awake, with these readings.
    Awake { cpu: Nanos, switches: u64 },
    /// A hog, and it was said.
    Hog,
}

impl Watch {
    /// Judges a sample. `threshold` is CPU time; 0 turns the watch off. Nobody asks for switches
    /// before the item has had `patience` of CPU time since its first sample: most end before.
    ///
    /// An item is found when it has had both in turn. One that slept in between is found after at
    /// most twice the threshold since then. The time between two samples adds to each.
    pub fn sampled(&mut self, sample: Sample, threshold: Nanos, patience: Nanos) -> Sampled {
        if self.item != sample.item {
            (self.item, self.seen) = (sample.item, Seen::Nothing);
        }
        match self.seen {
            Seen::Hog => Sampled::Fine,
            _ if threshold == 0 || sample.asleep => self.see(Seen::Nothing),
            Seen::Awake { cpu, switches } => {
                self.compare(sample, sample.cpu.saturating_sub(cpu), switches, threshold)
            }
            Seen::Nothing if patience > 0 => self.see(Seen::Ran { cpu: sample.cpu }),
            Seen::Ran { cpu } if sample.cpu.saturating_sub(cpu) < patience => Sampled::Fine,
            Seen::Nothing | Seen::Ran { .. } => self.begin(sample),
        }
    }

    fn compare(&mut self, sample: Sample, ran: Nanos, before: u64, threshold: Nanos) -> Sampled {
        match sample.switches {
            // It has slept; when, nobody knows.
            Switches::Count(switches) if switches != before => self.begin(sample),
            _ if ran < threshold => Sampled::Fine,
            Switches::NotRead => Sampled::AskSwitches,
            Switches::Count(_) | Switches::Unknown => {
                self.seen = Seen::Hog;
                Sampled::Hog(ran)
            }
        }
    }

    fn begin(&mut self, sample: Sample) -> Sampled {
        let switches = match sample.switches {
            Switches::NotRead => return Sampled::AskSwitches,
            Switches::Count(switches) => switches,
            Switches::Unknown => 0,
        };
        let cpu = sample.cpu;
        self.see(Seen::Awake { cpu, switches })
    }

    fn see(&mut self, seen: Seen) -> Sampled {
        self.seen = seen;
        Sampled::Fine
    }
}

/// How often each function was CPU-intensive.
#[derive(Clone, Debug)]
pub struct Reports {
    /// The occurrence that is reported first, [`WARNING_THRESH`] unless changed; 0: none ever is.
    pub warning_thresh: u32,
    counts: BTreeMap<u64, u32>,
}

impl Default for Reports {
    fn default() -> Self {
        Reports {
            warning_thresh: WARNING_THRESH,
            counts: BTreeMap::new(),
        }
    }
}

impl Reports {
    /// An item of the function at this address was CPU-intensive. If that is to be reported: for
    /// the how-manieth time. Reports become rarer: with a threshold of 4 they come at 4, 5, 7, 11,
    /// 19, 35, 67.
    pub fn noted(&mut self, func: u64) -> Option<u32> {
        if self.counts.len() >= MAX_FUNCTIONS && !self.counts.contains_key(&func) {
            return None;
        }
        let count = self.counts.entry(func).or_default();
        *count = count.checked_add(1)?;
        let due = is_due(*count, self.warning_thresh);
        hit!(HogHeldBack if !due);
        due.then_some(*count)
    }

    /// How often the function was CPU-intensive, reported or not.
    pub fn count(&self, func: u64) -> u32 {
        self.counts.get(&func).copied().unwrap_or(0)
    }
}

fn is_due(count: u32, thresh: u32) -> bool {
    thresh > 0 && count >= thresh && (count - thresh + 1).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MS: Nanos = MILLISECOND;

    /// A worker's item, its CPU time in ms and its switches.
    fn sample(item: u64, cpu_ms: u64, switches: impl Into<Option<u64>>) -> Sample {
        let switches = switches.into().map_or(Switches::NotRead, Switches::Count);
        Sample {
            item,
            cpu: cpu_ms * MS,
            asleep: false,
            switches,
        }
    }

    fn asleep(item: u64, cpu_ms: u64) -> Sample {
        Sample {
            asleep: true,
            ..sample(item, cpu_ms, None)
        }
    }

    #[test]
    fn ten_milliseconds_of_cpu_without_sleep_make_a_hog_once() {
        let mut watch = Watch::default();
        let mut see = |s| watch.sampled(s, THRESHOLD, 0);
        assert_eq!(see(sample(1, 5, None)), Sampled::AskSwitches, "the base");
        assert_eq!(see(sample(1, 5, 40)), Sampled::Fine);
        assert_eq!(see(sample(1, 14, None)), Sampled::Fine, "9 ms");
        assert_eq!(see(sample(1, 15, None)), Sampled::AskSwitches);
        assert_eq!(see(sample(1, 15, 40)), Sampled::Hog(10 * MS));
        assert_eq!(see(sample(1, 99, None)), Sampled::Fine, "said once");
        assert_eq!(see(sample(2, 99, None)), Sampled::AskSwitches, "another");
    }

    #[test]
    fn with_patience_nobody_asks_before_the_item_has_run_for_a_while() {
        let mut watch = Watch::default();
        let mut see = |s| watch.sampled(s, THRESHOLD, 3 * MS);
        assert_eq!(see(sample(1, 5, None)), Sampled::Fine);
        assert_eq!(see(sample(1, 7, None)), Sampled::Fine, "2 ms");
        assert_eq!(see(asleep(1, 7)), Sampled::Fine);
        assert_eq!(see(sample(1, 7, None)), Sampled::Fine, "it begins anew");
        assert_eq!(see(sample(1, 10, None)), Sampled::AskSwitches, "the base");
        assert_eq!(see(sample(1, 10, 40)), Sampled::Fine);
        assert_eq!(see(sample(1, 20, 40)), Sampled::Hog(10 * MS));
    }

    #[test]
    fn who_sleeps_begins_anew() {
        let mut watch = Watch::default();
        let mut see = |s| watch.sampled(s, THRESHOLD, 0);
        assert_eq!(see(sample(1, 0, 40)), Sampled::Fine);
        assert_eq!(see(sample(1, 12, 41)), Sampled::Fine, "it has slept");
        assert_eq!(see(sample(1, 21, None)), Sampled::Fine, "9 ms since then");
        assert_eq!(see(asleep(1, 21)), Sampled::Fine);
        let woken = see(sample(1, 21, None));
        assert_eq!(woken, Sampled::AskSwitches, "a new base");
        assert_eq!(see(sample(1, 22, 42)), Sampled::Fine);
        assert_eq!(see(sample(1, 31, 42)), Sampled::Fine, "9 ms since then");
        assert_eq!(see(sample(1, 33, 42)), Sampled::Hog(11 * MS));
    }

    #[test]
    fn cpu_time_of_an_earlier_item_does_not_count() {
        let mut watch = Watch::default();
        assert_eq!(watch.sampled(sample(1, 0, 40), THRESHOLD, 0), Sampled::Fine);
        assert_eq!(
            watch.sampled(sample(2, 50, 40), THRESHOLD, 0),
            Sampled::Fine
        );
        assert_eq!(
            watch.sampled(sample(2, 59, 40), THRESHOLD, 0),
            Sampled::Fine
        );
    }

    #[test]
    fn a_question_without_an_answer_is_asked_again() {
        let mut watch = Watch::default();
        for cpu in [0, 20, 40] {
            let verdict = watch.sampled(sample(1, cpu, None), THRESHOLD, 0);
            assert_eq!(verdict, Sampled::AskSwitches);
        }
    }

    #[test]
    fn where_the_system_does_not_tell_cpu_time_decides() {
        let mut watch = Watch::default();
        let mut see = |cpu, asleep| {
            let switches = Switches::Unknown;
            let sample = sample(1, cpu, None);
            let sample = Sample {
                asleep,
                switches,
                ..sample
            };
            watch.sampled(sample, THRESHOLD, 0)
        };
        assert_eq!([see(0, false), see(9, false)], [Sampled::Fine; 2]);
        assert_eq!([see(10, true), see(11, false)], [Sampled::Fine; 2]);
        assert_eq!(see(21, false), Sampled::Hog(10 * MS));
    }

    #[test]
    fn a_threshold_of_zero_is_off_and_what_passed_meanwhile_does_not_count() {
        let mut watch = Watch::default();
        assert_eq!(watch.sampled(sample(1, 0, 40), THRESHOLD, 0), Sampled::Fine);
        for cpu in [0, 5_000] {
            assert_eq!(watch.sampled(sample(1, cpu, None), 0, 0), Sampled::Fine);
        }
        let again = watch.sampled(sample(1, 5_000, 40), THRESHOLD, 0);
        assert_eq!(again, Sampled::Fine);
    }

    /// A stretch of an item: how much CPU time it takes, and whether it then sleeps.
    fn stretch() -> impl Strategy<Value = (Nanos, bool)> {
        (1..40 * MS / 10, prop::bool::weighted(0.1))
    }

    proptest! {
        /// Sampled after each stretch, whether or not the samples see the sleeps themselves. An
        /// item that is called a hog had the CPU that long since it last slept. One that has had it
        /// twice as long and a little has been called one.
        #[test]
        fn hogs_are_found_and_nobody_else(
            stretches in prop::collection::vec(stretch(), 1..60),
            sees_sleep: bool,
            patience in 0..THRESHOLD / 2,
        ) {
            let mut watch = Watch::default();
            let (mut cpu, mut slept_at, mut switches, mut found) = (0, 0, 0, false);
            let period = 4 * MS;
            for (ran, sleeps) in stretches {
                cpu += ran;
                if sleeps {
                    (slept_at, switches) = (cpu, switches + 1);
                }
                let asleep = sleeps && sees_sleep;
                let seen = Sample { item: 1, cpu, asleep, switches: Switches::NotRead };
                let mut verdict = watch.sampled(seen, THRESHOLD, patience);
                if verdict == Sampled::AskSwitches {
                    let switches = Switches::Count(switches);
                    verdict = watch.sampled(Sample { switches, ..seen }, THRESHOLD, patience);
                }
                if let Sampled::Hog(had) = verdict {
                    prop_assert!(!found && had >= THRESHOLD && cpu - slept_at >= had);
                    found = true;
                }
                prop_assert!(found || cpu - slept_at < 2 * (THRESHOLD + period));
            }
        }
    }

    fn reported(reports: &mut Reports, func: u64, times: u32) -> Vec<u32> {
        (0..times).filter_map(|_| reports.noted(func)).collect()
    }

    #[test]
    fn reports_become_rarer() {
        let mut reports = Reports::default();
        assert_eq!(reported(&mut reports, 0x10, 130), [4, 5, 7, 11, 19, 35, 67]);
        assert_eq!(reports.count(0x10), 130);
        assert_eq!(reported(&mut reports, 0x20, 5), [4, 5], "each on its own");
        reports.warning_thresh = 1;
        assert_eq!(reported(&mut reports, 0x30, 9), [1, 2, 4, 8]);
    }

    #[test]
    fn a_warning_threshold_of_zero_counts_and_never_reports() {
        let mut reports = Reports {
            warning_thresh: 0,
            ..Reports::default()
        };
        assert_eq!(reported(&mut reports, 0x10, 100), []);
        assert_eq!(reports.count(0x10), 100);
    }

    #[test]
    fn a_full_table_goes_on_counting_what_it_has() {
        let mut reports = Reports::default();
        for func in 0..MAX_FUNCTIONS as u64 {
            assert_eq!(reports.noted(func), None);
        }
        assert_eq!(reported(&mut reports, 9999, 10), []);
        assert_eq!(reports.count(9999), 0);
        assert_eq!(reported(&mut reports, 5, 4), [4, 5]);
    }

    #[test]
    fn a_count_at_its_end_stays_there() {
        let mut reports = Reports::default();
        reports.counts.insert(1, u32::MAX - 1);
        reports.warning_thresh = u32::MAX;
        assert_eq!(reports.noted(1), Some(u32::MAX));
        assert_eq!(reports.noted(1), None);
    }
}
