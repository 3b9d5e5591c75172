//! Many seeds on all CPUs, and what they came across.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::faults::FAULT_KINDS;
use crate::plan::{Feature, Plan};
use crate::run::{Outcome, run};

/// What many seeds came across.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Seeds done.
    pub seeds: u64,
    /// Events checked.
    pub events: u64,
    /// Events of the seed that had the fewest.
    pub fewest: u64,
    /// Items begun.
    pub started: u64,
    /// Of those, begun by who joined them.
    pub claimed: u64,
    /// Seeds with such.
    pub claiming: u64,
    /// See [`FAULTS`](crate::faults::FAULTS).
    pub faults: [u64; FAULT_KINDS],
    /// Seeds with each feature.
    pub features: Vec<u64>,
    /// Seeds that failed, and how; in order.
    pub failed: Vec<(u64, String)>,
}

impl Totals {
    fn add(&mut self, plan: &Plan, outcome: &Outcome) {
        self.fewest = match self.seeds {
            0 => outcome.events,
            _ => self.fewest.min(outcome.events),
        };
        self.seeds += 1;
        self.events += outcome.events;
        self.started += outcome.started;
        self.claimed += outcome.claimed;
        self.claiming += u64::from(outcome.claimed > 0);
        for (sum, n) in self.faults.iter_mut().zip(outcome.faults) {
            *sum += n;
        }
        self.features.resize(Feature::ALL.len(), 0);
        for (sum, feature) in self.features.iter_mut().zip(Feature::ALL.iter().copied()) {
            *sum += u64::from(plan.has(feature));
        }
        let failed = outcome.violation.as_ref();
        self.failed
            .extend(failed.map(|v| (plan.seed, v.to_string())));
    }
}

/// Runs these seeds on so many threads; ends early after so many failures.
pub fn swarm(seeds: std::ops::Range<u64>, threads: usize, most: usize) -> Totals {
    let next = AtomicU64::new(seeds.start);
    let enough = AtomicBool::new(false);
    let totals = Mutex::new(Totals::default());
    let work = || {
        // Relaxed, both: they hand out numbers; what a seed finds goes through the mutex.
        while !enough.load(Ordering::Relaxed) {
            // Relaxed: see above.
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let plan = Plan::of(seed);
            let outcome = run(&plan, false);
            let mut totals = totals.lock().expect("runs do not panic");
            totals.add(&plan, &outcome);
            // Relaxed: see above.
            enough.store(totals.failed.len() >= most, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut totals = totals.into_inner().expect("runs do not panic");
    totals.failed.sort();
    totals
}
