//! Looking at workers from outside.

use std::time::Duration;

use cmwq_os::observe::tree::one_look;
use cmwq_os::{clock, inspect};
use cmwq_policy::contract::{self, Lookout};
use cmwq_policy::hog::{Sample, Switches};
use cmwq_policy::pool::{AskSwitches, Glance, Hog, Seen, SeenState};
use cmwq_policy::{CpuMask, WorkerId};

use super::{outgrow, stall};
use crate::engine::Real;
use crate::item::Header;
use crate::pool::Pool;
use crate::queue::pwq::{PwqRef, name_of};
use crate::report::{self, Report};
use crate::thresholds;
use crate::wait::this_worker::as_stranger;

impl Lookout for Real {
    fn pools(&self) -> impl Iterator<Item = u32> {
        self.0.pools().map(Pool::id)
    }

    fn at_a_glance(&self, pool: u32) -> Glance {
        self.pool(pool).at_a_glance()
    }

    fn take_asked(&self, pool: u32) -> bool {
        self.pool(pool).take_inspect_request()
    }

    /// The files are read with the pool let go.
    fn see(&self, pool: u32, worker: WorkerId, threads: u32) -> Option<SeenState> {
        self.pool(pool).slot(worker).look(threads)
    }

    fn watch_item(&self, pool: u32, seen: &Seen) {
        watch(
            self.pool(pool),
            seen.worker,
            seen.item,
            seen.state.is_asleep(),
        );
    }

    fn watch_worklist(&self, pool: u32) {
        let pool = self.pool(pool);
        stall::look(pool);
        outgrow::look_at_threads(pool);
    }
}

/// Looks at the workers of this pool that the core wants to be looked at.
pub(super) fn look(pool: &'static Pool) {
    one_look(|| contract::look(&Real(pool.engine()), pool.id()));
}

/// Tells the core of the reports that have come in, and arms their canaries again. The thread that
/// takes a report runs, so its CPU does not idle for want of the canary.
pub(super) fn handle_reports(pool: &'static Pool, receiver: Option<WorkerId>) {
    let mut cpus = CpuMask::EMPTY;
    for cpu in pool.take_reports() {
        let (_, inspect) = pool.with_inspect(clock::now(), |core, cx| core.cpu_idle(cx, receiver));
        if inspect {
            // Whoever took the report has an idle CPU to look with.
            look(pool);
        }
        cpus.insert(cpu);
    }
    pool.base().canaries().rearm(&cpus);
}

/// Looks at the CPU time of an item that is not new any more.
fn watch(pool: &'static Pool, worker: WorkerId, item: u32, asleep: bool) {
    let threshold = thresholds::cpu_intensive();
    let watched = threshold > 0
        && pool.with_workers(clock::now(), |core, cx| core.is_watched(cx, worker, item));
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
        let hog = pool.with_workers(clock::now(), |core, cx| {
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
    let Some(count) = pool.base().reports().hog(hog.func) else {
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
