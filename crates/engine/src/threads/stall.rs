//! The watchdog. It says once what a pool that does not move is doing, and which queue's items wait
//! for slots in vain.

use std::time::Duration;

use cmwq_os::{clock, inspect};
use cmwq_policy::contract::{self, Starvation, Witness};
use cmwq_policy::pool::{Executed, Holder, HolderIs, Stall};
use cmwq_policy::queue::Kind;
use cmwq_policy::{Cx, Nanos, Time, WorkerId, WorkerPool};

use crate::engine::Real;
use crate::item::Header;
use crate::pool::Pool;
use crate::queue::pwq::{Items, PwqRef, name_of, queue_of, unhold};
use crate::report::{self, LimitPart, Report, StalledWorker};
use crate::thresholds;

/// Reports the pool if its worklist has stood still for too long.
pub(crate) fn look(pool: &'static Pool) {
    look_by(pool, |core, cx| core.stalled(cx, thresholds::watchdog()));
}

/// The same after a thread could not be made for it, which nobody need wait for.
pub(super) fn look_at_failure(pool: &'static Pool) {
    look_by(pool, |core, cx| {
        core.stalled_without_thread(cx, thresholds::watchdog())
    });
}

fn look_by(
    pool: &'static Pool,
    stalled: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> Option<Stall<PwqRef>>,
) {
    // Names are taken under the lock, while the items keep their queues.
    let report = pool.with_workers(clock::now(), |core, cx| {
        let stall = stalled(core, cx)?;
        Some(describe(pool, &stall))
    });
    report.into_iter().for_each(say);
}

/// Says it, with the places where the threads are. This reads files, so no pool is held.
fn say(mut report: Report) {
    if let Report::Stall { workers, .. } | Report::Starvation { chain: workers, .. } = &mut report {
        for worker in workers {
            worker.place = inspect::where_is(worker.tid);
        }
    }
    report::say(&report);
}

fn describe(pool: &'static Pool, stall: &Stall<PwqRef>) -> Report {
    let workers = stall.workers.iter();
    let (queue, item) = names(&stall.first);
    Report::Stall {
        queue,
        item,
        stood: Duration::from_nanos(stall.stood),
        workers: workers.map(|(id, busy)| worker(pool, *id, busy)).collect(),
        no_thread: pool.base().no_thread(),
    }
}

/// What a worker is at, but for the place.
pub(crate) fn worker(pool: &'static Pool, id: WorkerId, busy: &Executed<PwqRef>) -> StalledWorker {
    let slot = pool.slot(id);
    let (queue, item) = names(busy);
    StalledWorker {
        tid: slot.tid(),
        queue,
        item,
        desc: slot.description(),
        awaits: slot.awaits(),
        place: String::new(),
    }
}

fn names(busy: &Executed<PwqRef>) -> (String, &'static str) {
    (name_of(busy.pwq).to_owned(), Header::name_of(busy.key))
}

/// Reports the queues of which items of this pool have waited for slots for too long. When there
/// may be something to say again.
pub(crate) fn look_at_slots(pool: &'static Pool, threshold: Nanos) -> Time {
    let mut cursor = 0;
    let mut next = || {
        pool.with_workers(clock::now(), |core, cx| {
            core.next_starving(cx, &mut cursor, threshold)
        })
    };
    while let Some(pwq) = next() {
        let m = Real(pool.engine());
        if let Some(found) = contract::starving(&m, queue_of(pwq), pwq, threshold, &m) {
            say(starvation(pool, pwq, found));
        }
        unhold(pwq);
    }
    pool.with_workers(clock::now(), |core, cx| core.starvation_due(cx, threshold))
}

impl Witness<PwqRef> for Real {
    type Told = StalledWorker;

    fn tell(&self, holder: &Holder<PwqRef>) -> StalledWorker {
        let pool = self.0.pool(holder.pool).expect("the pool exists");
        worker(pool, holder.worker, &holder.item)
    }

    fn awaits_item(&self, told: &StalledWorker) -> bool {
        told.awaits.is_some()
    }

    fn look(&self, told: &StalledWorker) -> HolderIs {
        match inspect::goes_on_alone(told.tid) {
            true => HolderIs::Slow,
            false => HolderIs::AwaitsThread,
        }
    }
}

fn starvation(pool: &Pool, pwq: PwqRef, found: Starvation<StalledWorker>) -> Report {
    // SAFETY: the queue is held.
    let kind = unsafe { queue_of(pwq).as_ref() }.made().kind;
    let node = found.node.map(|node| LimitPart::Node(node as usize));
    Report::Starvation {
        queue: name_of(pwq).to_owned(),
        item: Header::name_of(found.first),
        stood: Duration::from_nanos(found.stood),
        nr_inactive: found.nr_inactive,
        nr_active: found.nr_active as usize,
        max_active: found.max_active as usize,
        part: pool.key().cpu().map(LimitPart::Cpu).or(node),
        settable: !matches!(kind, Kind::Ordered | Kind::Bh),
        chain: found.holders,
    }
}
