//! What items leave behind in their worker's thread: another nice level, another CPU mask. It is
//! set right, or the worker ends (`cmwq_policy::leftovers`).

use cmwq_policy::leftovers::{Leftovers, Remedy, ThreadAttrs};
use cmwq_policy::{ItemReport, Nanos};

use crate::api::names::{PoolId, WorkerRef};
use crate::api::report::LeftBehind;
use crate::cpu::ThreadId;
use crate::machine::Machine;

impl Machine {
    /// What items have left behind so far.
    pub fn left_behind(&self) -> Vec<LeftBehind> {
        self.process.left_behind.borrow().clone()
    }

    /// A worker has ended an item that took `ran`; whether its thread is not fit for another one.
    pub(crate) fn tidy_up(&self, id: ThreadId, ran: Nanos) -> bool {
        let Some(who) = self.worker_of(id) else {
            return false;
        };
        if !self.is_rescuer(id) {
            let suspects = self.worker(id, |w| w.suspects.item_ended(ran, 0));
            return suspects.is_some_and(|items| self.find_left(id, who.pool, items));
        }
        let suspects = self.worker(id, |w| w.suspects.item_ended(Nanos::MAX, 0));
        let lost = suspects.is_some_and(|items| self.find_left(id, who.pool, items));
        if lost {
            // It is needed just when no other thread can be made.
            let nice = self.nice(id);
            self.worker(id, |w| w.nice = nice);
        }
        false
    }

    /// A worker is about to park, or to make a thread, which has what its maker has.
    pub(crate) fn is_lost(&self, id: ThreadId, who: WorkerRef) -> bool {
        let suspects = self.worker(id, |w| w.suspects.before_leaving());
        suspects.is_some_and(|items| self.find_left(id, who.pool, items))
    }

    fn nice(&self, id: ThreadId) -> i32 {
        self.sched().nice(id).into()
    }

    fn find_left(&self, id: ThreadId, pool: PoolId, items: u32) -> bool {
        let (nice, narrowed) = self.worker(id, |w| (w.nice, w.narrowed));
        let own = ThreadAttrs {
            nice,
            // A report has narrowed it: nobody else can be blamed.
            cpumask: (!narrowed).then(|| self.pool_cpus(pool)),
            sigmask: 0,
        };
        let found = ThreadAttrs {
            nice: self.nice(id),
            cpumask: Some(self.allowed(id)),
            sigmask: 0,
        };
        Leftovers::of(&own, &found).is_some_and(|left| self.set_right(id, items, left))
    }

    fn set_right(&self, id: ThreadId, items: u32, what: Leftovers) -> bool {
        let nice_best = self.options.nice_best;
        let lost = what.remedy(i32::from(nice_best)) == Remedy::Retire;
        if let Some(nice) = what.nice.filter(|_| !lost) {
            self.sched().set_nice(self.now(), id, nice.own as i8);
        }
        if let Some(mask) = what.cpumask {
            self.worker(id, |w| w.own_mask = Some(mask.own));
        }
        self.process.left_behind.borrow_mut().push(LeftBehind {
            at: self.now(),
            thread: id,
            items,
            what,
            lost,
        });
        lost
    }

    /// The mask that was to be set right is. The thread may lose its CPU by that: it is the last
    /// thing that it does before it sleeps, or after.
    pub(crate) fn put_back(&self, id: ThreadId) {
        let mask = self.worker(id, |w| w.own_mask.take());
        mask.into_iter().for_each(|mask| self.pin(id, mask));
    }

    /// The worker's thread, unfit for another item, ends.
    pub(crate) fn give_up(&self, id: ThreadId, who: WorkerRef, ended: Option<ItemReport>) {
        self.pool(who.pool).forget(who.id, id);
        self.in_pool(who.pool, |core, cx| {
            if let Some(report) = ended {
                core.item_ended(cx, who.id, report);
            }
            core.give_up(cx, who.id);
        });
        self.exit_worker(id);
    }
}
