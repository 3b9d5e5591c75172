//! What the tick notices beside missing workers: items that keep their CPU, worklists that stand
//! still.

use cmwq_policy::hog::Sample;
use cmwq_policy::pool::{AskSwitches, Seen, SeenState};
use cmwq_policy::{Nanos, Time};

use crate::machine::Machine;
use crate::pools::Pool;
use crate::program::{PoolId, QueueId};

/// Something that a user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Time,
    /// Of which pool.
    pub pool: PoolId,
    /// Of which queue: of the item that keeps the CPU, or of the first of the worklist.
    pub queue: QueueId,
    /// What.
    pub what: Trouble,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Items of a function keep their CPU for long without sleeping.
    Hog {
        /// The function.
        func: u64,
        /// How often that was seen so far.
        count: u32,
    },
    /// The first item of the worklist has been the first for so many nanoseconds.
    Stall(Nanos),
}

impl Machine {
    /// Items that use so much CPU time without sleeping stop counting in per-CPU pools, and are
    /// reported; 0: never.
    pub fn set_hog_threshold(&self, threshold: Nanos) {
        self.hog_threshold.set(threshold);
    }

    /// That threshold.
    pub fn hog_threshold(&self) -> Nanos {
        self.hog_threshold.get()
    }

    /// What a user would have been told so far.
    pub fn reports(&self) -> Vec<Report> {
        self.reports.borrow().clone()
    }

    /// A worker was looked at: does its item keep the CPU?
    pub(crate) fn watch(&self, pool: &Pool, seen: &Seen) {
        let Some(thread) = pool.thread(seen.worker) else {
            return;
        };
        let stats = self.thread_stats(thread);
        let threshold = self.hog_threshold.get();
        let verdict = |switches| {
            let sample = Sample {
                item: u64::from(seen.item),
                cpu: stats.cpu_ns,
                asleep: seen.state != SeenState::Runnable,
                switches,
            };
            self.in_pool(pool.id, |core, cx| {
                core.watched(cx, seen.worker, seen.item, sample, threshold)
            })
        };
        // Voluntary switches are only looked up where it asks for them.
        let hog = verdict(None).or_else(|AskSwitches| verdict(Some(stats.voluntary_switches)));
        if let Ok(Some(hog)) = hog {
            let queue = self.items.borrow().queue_of(hog.pwq);
            let count = self.hogs.borrow_mut().noted(hog.func);
            let func = hog.func;
            let what = count.map(|count| Trouble::Hog { func, count });
            what.into_iter()
                .for_each(|what| self.report(pool, queue, what));
        }
    }

    /// Does the worklist stand still?
    pub(crate) fn watch_worklist(&self, pool: &Pool) {
        let threshold = cmwq_policy::watchdog::THRESHOLD;
        let stall = self.in_pool(pool.id, |core, cx| core.stalled(cx, threshold));
        if let Some(stall) = stall {
            let queue = self.items.borrow().queue_of(stall.first.pwq);
            self.report(pool, queue, Trouble::Stall(stall.stood));
        }
    }

    fn report(&self, pool: &Pool, queue: QueueId, what: Trouble) {
        self.reports.borrow_mut().push(Report {
            at: self.now(),
            pool: pool.id,
            queue,
            what,
        });
    }
}
