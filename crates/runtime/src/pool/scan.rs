//! Looking at workers from outside.

use std::time::Duration;

use cmwq_os::inspect;
use cmwq_policy::WorkerId;
use cmwq_policy::hog::{Sample, Switches};
use cmwq_policy::pool::{AskSwitches, Hog, MAX_SCAN, Seen};

use super::Pool;
use super::slot::as_stranger;
use crate::item::Header;
use crate::pwq::PwqRef;
use crate::queue::name_of;
use crate::report::{self, Report};
use crate::thresholds;

/// Looks at the workers that the core wants to be looked at. The files are read with the pool
/// let go. True if a worker was missing.
pub(crate) fn look(pool: &'static Pool) -> bool {
    let plan = pool.with(|core, _| core.plan_scan());
    let mut seen = Vec::with_capacity(MAX_SCAN);
    let mut runnable = 0;
    let mut complete = true;
    for (worker, item) in plan.iter() {
        if runnable >= plan.enough {
            complete = false;
            break;
        }
        let Some(state) = pool.slot(worker).look(plan.threads) else {
            continue;
        };
        runnable += state.running();
        watch(pool, worker, item, state.is_asleep());
        seen.push(Seen {
            worker,
            item,
            state,
        });
    }
    pool.with(|core, cx| core.scanned(cx, &seen, complete))
}

/// Looks at the CPU time of an item that is not new any more.
fn watch(pool: &'static Pool, worker: WorkerId, item: u32, asleep: bool) {
    let threshold = thresholds::cpu_intensive();
    let watched = threshold > 0 && pool.with(|core, cx| core.is_watched(cx, worker, item));
    if !watched {
        return;
    }
    let tid = pool.slot(worker).tid();
    let mut switches = Switches::NotRead;
    for _ in 0..2 {
        let Some(cpu) = inspect::thread_cpu(tid) else {
            return;
        };
        let sample = Sample {
            item: u64::from(item),
            cpu,
            asleep,
            switches,
        };
        let hog = pool.with(|core, cx| {
            let hog = core.watched(cx, worker, item, sample, threshold);
            // The name is taken under the lock, while the item keeps its queue.
            hog.map(|hog| hog.map(|hog| (hog, name_of(hog.pwq).to_owned())))
        });
        match hog {
            Ok(None) => return,
            Ok(Some((hog, queue))) => return say(pool, hog, queue),
            Err(AskSwitches) => {
                let count = inspect::voluntary_switches(tid);
                switches = count.map_or(Switches::Unknown, Switches::Count);
            }
        }
    }
}

fn say(pool: &'static Pool, hog: Hog<PwqRef>, queue: String) {
    let Some(count) = pool.engine().reports().hog(hog.func) else {
        return;
    };
    let report = Report::CpuIntensive {
        queue,
        item: Header::name_of_func(hog.func),
        cpu: Duration::from_nanos(hog.cpu),
        count,
    };
    // A worker that has just been woken may be the one that looks.
    as_stranger(|| report::say(&report));
}
