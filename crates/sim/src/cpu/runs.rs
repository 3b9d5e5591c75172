//! Who had which CPU when, for drawings.

use cmwq_policy::Time;

use super::Scheduler;
use super::thread::ThreadId;

/// A thread had a CPU without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The CPU.
    pub cpu: usize,
    /// The thread.
    pub thread: ThreadId,
    /// From when on.
    pub from: Time,
    /// Until when; later than `from`.
    pub to: Time,
}

/// The runs so far, by their ends, and of each CPU the last one.
pub(super) struct Runs {
    all: Vec<Run>,
    last: Vec<Option<usize>>,
}

impl Runs {
    fn add(&mut self, run: Run) {
        let last = self.last[run.cpu].map(|at| &mut self.all[at]);
        match last.filter(|last| last.thread == run.thread && last.to == run.from) {
            Some(last) => last.to = run.to,
            None => {
                self.last[run.cpu] = Some(self.all.len());
                self.all.push(run);
            }
        }
    }
}

impl Scheduler {
    /// From now on keeps who has which CPU when.
    pub fn keep_runs(&mut self) {
        let last = vec![None; self.cpus.len()];
        self.runs.get_or_insert(Runs {
            all: Vec::new(),
            last,
        });
    }

    /// Who had which CPU when, in the order in which they began, and then of the CPUs; nothing
    /// unless that [is kept](Self::keep_runs).
    pub fn runs(&mut self, now: Time) -> Vec<Run> {
        for cpu in 0..self.cpus.len() {
            self.note_run(now, cpu);
        }
        let mut runs = self
            .runs
            .as_ref()
            .map_or_else(Vec::new, |runs| runs.all.clone());
        runs.sort_by_key(|run| (run.from, run.cpu));
        runs
    }

    /// The CPU's current thread has had it until now.
    pub(super) fn note_run(&mut self, now: Time, cpu: usize) {
        let at = &mut self.cpus[cpu];
        let (Some(thread), Some(runs)) = (at.current, &mut self.runs) else {
            return;
        };
        let from = std::mem::replace(&mut at.given, now);
        if from < now {
            runs.add(Run {
                cpu,
                thread,
                from,
                to: now,
            });
        }
    }
}
