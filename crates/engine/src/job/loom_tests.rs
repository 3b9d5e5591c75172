//! Who does which unit of a job, tried in every order that the memory model allows: `README.md`.
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq-engine --lib loom`.

use std::sync::Arc;

use cmwq_policy::job::{Asker, Chunks, Core, Cut, Fronts as _, Part, Shape, Speed, Steps};
use loom::cell::UnsafeCell;
use loom::thread;

use super::fronts::Fronts;
use crate::sync::{AtomicBool, Mutex, SeqCst};

/// With the preemptions that the known faults need, and some more.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.max_branches = 10_000;
    builder.check(run);
}

/// Units of a job; loom fails if two threads are at one of them at once.
struct Units(Vec<UnsafeCell<u32>>);

impl Units {
    fn new(units: usize) -> Self {
        Units((0..units).map(|_| UnsafeCell::new(0)).collect())
    }

    fn do_them(&self, from: u64, to: u64) {
        for unit in &self.0[from as usize..to as usize] {
            // SAFETY: what is being tested: nobody else is at it.
            unit.with_mut(|count| unsafe { *count += 1 });
        }
    }

    fn each_was_done_once(&self) {
        assert!((0..self.0.len() as u64).all(|unit| self.count(unit) == 1));
    }

    fn count(&self, unit: u64) -> u32 {
        // SAFETY: all threads have ended.
        self.0[unit as usize].with(|count| unsafe { *count })
    }
}

/// Two threads claim the rest of a chunk while its owner goes through it: one of them has it,
/// exactly from where the owner has to stop.
///
/// Fails if the owner stores the front instead of comparing it, and if a claimer closes what is
/// closed.
#[test]
fn the_rest_of_a_chunk_has_one_owner() {
    const UNITS: u64 = 3;
    model(|| {
        let fronts = Arc::new(Fronts::new(1));
        let units = Arc::new(Units::new(UNITS as usize));
        fronts.open(0);
        let claimers = [(); 2].map(|()| {
            let (fronts, units) = (fronts.clone(), units.clone());
            thread::spawn(move || {
                let begun = fronts.close(0);
                begun
                    .into_iter()
                    .for_each(|begun| units.do_them(begun, UNITS));
                begun.is_some()
            })
        });
        let mut at = 0;
        while at < UNITS && fronts.advance(0, at, at + 1) {
            units.do_them(at, at + 1);
            at += 1;
        }
        let claimed = claimers.map(|claimer| claimer.join().unwrap());
        assert_eq!(claimed.iter().filter(|claimed| **claimed).count(), 1);
        units.each_was_done_once();
    });
}

struct Job {
    core: Mutex<Core>,
    fronts: Fronts,
    units: Units,
    /// The step that begins with it fails.
    fails: Option<u64>,
    /// No step begins.
    stop: AtomicBool,
}

const CUT: (u64, u64) = (1, 1);

impl Job {
    /// As if it had eight times as much: one thread takes all there is as one chunk.
    fn of(units: u64, fails: Option<u64>) -> Self {
        let shape = Shape {
            size: 8 * units,
            cut: Cut::new(CUT.0, CUT.1),
            max_threads: 2,
            cpus: 2,
        };
        let parts = vec![Part {
            node: None,
            units: 0..units,
        }];
        Job {
            core: Mutex::new(Core::new(&shape, 2, Chunks::Kernel, parts, fails.is_some())),
            fronts: Fronts::new(2),
            units: Units::new(units as usize),
            fails,
            stop: AtomicBool::new(false),
        }
    }

    /// Takes chunks and goes through them, as a thread of a job does (`Run::work`).
    fn work(&self, thread: usize) {
        loop {
            let asker = Asker {
                thread,
                node: None,
                pace: Some(Speed::new()),
            };
            let taken = self.core.lock().unwrap().next(asker, &self.fronts);
            let Some(taken) = taken else { return };
            let mut steps = Steps::new(Cut::new(CUT.0, CUT.1), &taken);
            while let Some(to) = steps.next(Speed::new()) {
                let from = steps.begun();
                if self.stop.load(SeqCst) || !self.fronts.advance(thread, from, to) {
                    break;
                }
                let (first, end) = (taken.units.start + from, taken.units.start + to);
                // A step that fails has changed something as well.
                self.units.do_them(first, end);
                if self.fails == Some(first) {
                    self.core.lock().unwrap().fail(thread, from);
                    return self.stop.store(true, SeqCst);
                }
                steps.begin(to);
            }
            let mut core = self.core.lock().unwrap();
            core.settle(thread, steps.begun());
        }
    }

    /// Two threads do it.
    fn run(self) -> Arc<Job> {
        let job = Arc::new(self);
        let helper = job.clone();
        let helper = thread::spawn(move || helper.work(1));
        job.work(0);
        helper.join().unwrap();
        job
    }
}

/// The whole of it, with the real core: chunks are taken, claimed and taken again, the words used
/// again; nothing is lost or done twice, and nobody is left in the loop.
///
/// Fails if a claim forgets what had begun, and as the one above for a front that is stored.
#[test]
fn two_threads_share_a_job() {
    const UNITS: u64 = 4;
    model(|| {
        let job = Job::of(UNITS, None).run();
        job.units.each_was_done_once();
        assert_eq!(job.core.lock().unwrap().completed(), UNITS);
    });
}

/// A step fails, and what it had is given to nobody: each unit is tried once at most, and what is
/// to be undone is what was completed.
///
/// Fails if the thread settles its chunk, and says only then that something has failed.
#[test]
fn what_failed_is_given_to_nobody() {
    const UNITS: u64 = 4;
    model(|| {
        for fails in [1, 2] {
            let job = Job::of(UNITS, Some(fails)).run();
            let core = job.core.lock().unwrap();
            let done: Vec<u64> = core.done().unwrap().ranges().flatten().collect();
            for unit in 0..UNITS {
                let tried = job.units.count(unit);
                let completed = done.contains(&unit);
                assert_eq!(tried, u32::from(completed || unit == fails));
            }
        }
    });
}
