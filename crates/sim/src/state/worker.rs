//! What makes a thread a worker, and what that measures of its items.

use cmwq_policy::leftovers::Suspects;
use cmwq_policy::sampling::{self, Beginnings};
use cmwq_policy::{ItemReport, Nanos, Time};

use crate::api::names::{Execution, PwqId, QueueId, WorkerRef};
use crate::cpu::ThreadStats;
use crate::state::pending::Awaited;

/// The part of a thread that makes it a worker.
pub(crate) struct Worker {
    /// The worker that it is; of a rescuer: while it is in a pool.
    pub(crate) who: Option<WorkerRef>,
    pub(crate) rescuer: Option<Rescuer>,
    pub(crate) running: Option<Running>,
    /// What it has to say of the item it has just ended.
    pub(crate) ended: Option<ItemReport>,
    /// It has yielded, at this time.
    pub(crate) yielded: Option<Time>,
    /// It came for the pool's lock at this time, has it, and is presumed to hold it for so long.
    pub(crate) has_lock: Option<(Time, Nanos)>,
    /// It has parked: reports may have come for it.
    pub(crate) parked: bool,
    /// A report has narrowed its mask to the CPU that it was about.
    pub(crate) narrowed: bool,
    /// An item has left another one behind: this one is set before the worker is of use again.
    pub(crate) own_mask: Option<cmwq_policy::CpuMask>,
    /// The nice level that it should have.
    pub(crate) nice: i32,
    /// Items that may have left something behind in its thread.
    pub(crate) suspects: Suspects,
    /// The last one has, and its thread is not fit for another one.
    pub(crate) lost: bool,
    pub(crate) meter: Meter,
}

/// What makes a worker a rescuer.
#[derive(Clone, Copy)]
pub(crate) struct Rescuer {
    pub(crate) queue: QueueId,
    /// For whom it is where it is.
    pub(crate) pwq: Option<PwqId>,
    /// Items it has run there.
    pub(crate) done: u32,
}

/// An execution of an item that goes on.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    pub(crate) execution: Execution,
    pub(crate) pwq: PwqId,
    /// Hints that the item has begun.
    pub(crate) hints: u32,
    /// Its pool was told that it sleeps.
    pub(crate) told: bool,
    /// Items of its own pool that it waits for.
    pub(crate) awaits: Awaited,
    /// That will never be.
    pub(crate) failed: bool,
}

/// What a worker measures of its own items. When: `cmwq_policy::sampling`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Meter {
    /// What the thread had had at the last look, and when that was.
    pub(crate) used: ThreadStats,
    pub(crate) looked: Time,
    pub(crate) begun: Time,
    pub(crate) beginnings: Beginnings,
}

impl Worker {
    pub(crate) fn new(
        who: Option<WorkerRef>,
        rescuer: Option<Rescuer>,
        nice: i8,
        now: Time,
    ) -> Worker {
        Worker {
            who,
            rescuer,
            running: None,
            ended: None,
            yielded: None,
            has_lock: None,
            parked: false,
            narrowed: false,
            own_mask: None,
            nice: nice.into(),
            suspects: Suspects::default(),
            lost: false,
            meter: Meter {
                looked: now,
                ..Meter::default()
            },
        }
    }

    pub(crate) fn rescuer(queue: QueueId, nice: i8, now: Time) -> Worker {
        let rescuer = Rescuer {
            queue,
            pwq: None,
            done: 0,
        };
        Worker::new(None, Some(rescuer), nice, now)
    }

    /// What it has to say of the item that it has just ended.
    pub(crate) fn take_report(&mut self) -> Option<ItemReport> {
        self.ended.take()
    }
}

impl Running {
    pub(crate) fn new(execution: Execution, pwq: PwqId) -> Running {
        Running {
            execution,
            pwq,
            hints: 0,
            told: false,
            awaits: None,
            failed: false,
        }
    }
}

impl Meter {
    /// Of a thread that has had so much before.
    pub(crate) fn from(now: Time, used: ThreadStats) -> Meter {
        Meter {
            used,
            looked: now,
            begun: now,
            ..Meter::default()
        }
    }

    pub(crate) fn end(&mut self, now: Time, used: ThreadStats) -> ItemReport {
        match sampling::ask_switches(now.since(self.begun)) {
            true => self.look(now, used),
            false => ItemReport {
                ran: Some(now.since(self.begun)),
                ..ItemReport::default()
            },
        }
    }

    /// Whether the thread has slept since the last look, and if not, how long it had no CPU.
    pub(crate) fn look(&mut self, now: Time, used: ThreadStats) -> ItemReport {
        let before = std::mem::replace(&mut self.used, used);
        let passed = now.since(std::mem::replace(&mut self.looked, now));
        let slept = used.voluntary_switches != before.voluntary_switches;
        ItemReport {
            slept: Some(slept),
            waited: (!slept).then(|| passed - (used.cpu_ns - before.cpu_ns)),
            ..ItemReport::default()
        }
    }
}
