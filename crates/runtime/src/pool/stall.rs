//! The watchdog: says once what a pool is at that does not move.

use std::time::Duration;

use cmwq_os::inspect;
use cmwq_policy::pool::{Busy, Stall};

use super::Pool;
use crate::item::Header;
use crate::pwq::PwqRef;
use crate::queue::name_of;
use crate::report::{self, Report, StalledWorker};
use crate::thresholds;

/// Reports the pool if its worklist has stood still for too long.
pub(crate) fn look(pool: &'static Pool) {
    // Names are taken under the lock, while the items keep their queues.
    let report = pool.with(|core, cx| {
        let stall = core.stalled(cx, thresholds::watchdog())?;
        Some(describe(pool, &stall))
    });
    let Some(Report::Stall {
        queue,
        item,
        stood,
        mut workers,
    }) = report
    else {
        return;
    };
    // This reads files, so the pool is let go.
    for worker in &mut workers {
        worker.place = inspect::where_is(worker.tid);
    }
    report::say(&Report::Stall {
        queue,
        item,
        stood,
        workers,
    });
}

fn describe(pool: &'static Pool, stall: &Stall<PwqRef>) -> Report {
    let workers = stall.workers.iter().map(|(id, busy)| {
        let slot = pool.slot(*id);
        let (queue, item) = names(busy);
        StalledWorker {
            tid: slot.tid(),
            queue,
            item,
            desc: slot.description(),
            place: String::new(),
        }
    });
    let (queue, item) = names(&stall.first);
    Report::Stall {
        queue,
        item,
        stood: Duration::from_nanos(stall.stood),
        workers: workers.collect(),
    }
}

fn names(busy: &Busy<PwqRef>) -> (String, &'static str) {
    (name_of(busy.pwq).to_owned(), Header::name_of(busy.key))
}
