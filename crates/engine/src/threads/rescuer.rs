//! Rescuers: a queue's own thread, made with it, which runs its items while no worker can be made.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{sched, thread};
use cmwq_policy::{CpuMask, ItemReport, WorkerId, WorkerPool};

use super::mask::{is_items_mask, set_pool_mask};
use super::meter::Tidiness;
use super::worker::{Hands, say, with_hooks};
use crate::engine::{Engine, pool_of};
use crate::item::Header;
use crate::pool::Pool;
use crate::queue::mayday::{Maydays, Rescuer};
use crate::queue::pwq::{Items, PwqRef, name_of, unhold};

/// Nice value of rescuers, where permitted (kernel `RESCUER_NICE_LEVEL`).
const RESCUER_NICE_LEVEL: i32 = -20;

/// Makes the thread of a rescuer: later it may be too late.
pub(crate) fn start(engine: &'static Engine, name: &str) -> io::Result<Rescuer> {
    let maydays = Arc::new(Maydays::default());
    let of = maydays.clone();
    thread::spawn(&format!("cmwq/R-{name}"), engine.stack_size(), move || {
        let thread = Thread {
            engine,
            maydays: of,
        };
        with_hooks(engine.base(), || thread.run());
    })?;
    Ok(Rescuer::new(maydays))
}

struct Thread {
    engine: &'static Engine,
    maydays: Arc<Maydays>,
}

impl Thread {
    fn run(self) {
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        if sched::set_nice_self(RESCUER_NICE_LEVEL).is_err() {
            // Denied: it rescues all the same.
            let _ = sched::set_nice_self(self.engine.base_nice());
        }
        // An item that has forked and returns in the child ends this: see `Worker::run`.
        while self.engine.is_ours() {
            match self.maydays.next() {
                Some(pwq) => self.help(pwq),
                None if self.maydays.has_stopped() => return,
                None => self.maydays.park(),
            }
        }
    }

    fn help(&self, pwq: PwqRef) {
        match self.rescue(pool_of(pwq), pwq) {
            true => self.maydays.push(pwq),
            // In a child the queue stays: it is the parent's.
            false if !self.engine.is_ours() => {}
            false => unhold(pwq),
        }
    }

    /// Runs items of the queue in this pool. True if it is to come again.
    fn rescue(&self, pool: &'static Pool, pwq: PwqRef) -> bool {
        let Some(id) = pool.with(|core, cx| core.rescuer_attach(cx, pwq)) else {
            return false;
        };
        let mut rescue = Rescue::attach(pool, id);
        let (mut done, mut patient);
        done = 0;
        let mut ended = None;
        loop {
            patient = self.maydays.is_free();
            let next = pool.with(|core, cx| {
                if let Some(report) = ended.take() {
                    core.item_ended(cx, id, report);
                }
                core.rescuer_next(cx, id, done, patient)
            });
            let Some((work, pwq)) = next else { break };
            ended = Some(rescue.execute(work, pwq));
            if !self.engine.is_ours() {
                return false;
            }
            done += 1;
        }
        drop(rescue);
        let turn_over = WorkerPool::<Items>::is_turn_over(done, patient);
        pool.with(|core, cx| core.rescuer_detach(cx, id, turn_over))
    }
}

/// A rescuer's thread while it helps a pool.
struct Rescue {
    hands: Hands,
    tidiness: Tidiness,
    cpus_seen: u32,
}

impl Rescue {
    /// The calling thread is this worker of the pool from now on, until it is dropped.
    fn attach(pool: &'static Pool, id: WorkerId) -> Self {
        let slot = pool.make_slot(id);
        slot.rescues.store(true, SeqCst);
        let mut cpus_seen = 0;
        let given = set_pool_mask(slot, &mut cpus_seen);
        let mut tidiness = Tidiness::new();
        if let Some(given) = given {
            tidiness.follow_mask(given);
        }
        Rescue {
            hands: Hands::take(slot),
            tidiness,
            cpus_seen,
        }
    }

    fn execute(&mut self, work: NonNull<Header>, pwq: PwqRef) -> ItemReport {
        let report = self.hands.execute(work, pwq, None).report;
        let (slot, seen) = (self.hands.slot, &mut self.cpus_seen);
        if slot.pool.base().is_ours() {
            let is_items = |mask: &CpuMask| is_items_mask(slot, seen, mask);
            let found = self.tidiness.rescued_ended(is_items);
            found.map(|found| say(found, name_of(pwq)));
        }
        report
    }
}

impl Drop for Rescue {
    fn drop(&mut self) {
        self.hands.slot.rescues.store(false, SeqCst);
        self.hands.slot.thread_ends();
    }
}
