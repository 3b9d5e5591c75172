//! What items leave behind in their worker's thread: another nice level, another CPU mask. It is
//! set right, or the worker ends (`cmwq_policy::leftovers`).

use cmwq_policy::leftovers::{Leftovers, Remedy, ThreadAttrs};
use cmwq_policy::{CpuMask, ItemReport, Nanos};

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
            let suspects = self.worker(id, |w| w.suspects.item_ended(self.now(), ran, 0));
            return suspects.is_some_and(|items| self.find_left(id, who.pool, items));
        }
        let suspects = self.worker(id, |w| w.suspects.item_ended(self.now(), Nanos::MAX, 0));
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
        let Some(left) = Leftovers::of(&own, &self.found(id)) else {
            return false;
        };
        let lost = !self.set_nice_right(id, &left);
        if let Some(mask) = left.cpumask {
            self.worker(id, |w| w.own_mask = Some(mask.own));
        }
        self.say_left(id, items, left, lost);
        lost
    }

    /// What the thread of a claim has, whose item is about to begin. Its mask only where nobody
    /// outside may have narrowed it.
    pub(crate) fn before_claim(&self, id: ThreadId) -> ThreadAttrs {
        let narrowed = self.frame(id, |f| f.worker.as_ref().is_some_and(|w| w.narrowed));
        let found = self.found(id);
        ThreadAttrs {
            cpumask: found.cpumask.filter(|_| !narrowed),
            ..found
        }
    }

    /// A claimed item is over, before which the thread had this: what it has left is taken back, as
    /// far as that is possible. The thread is not ours to end. Returns the mask that is still to be
    /// set: the thread may lose its CPU by that.
    pub(crate) fn tidy_claim(&self, id: ThreadId, own: &ThreadAttrs) -> Option<CpuMask> {
        let left = Leftovers::of(own, &self.found(id))?;
        self.set_nice_right(id, &left);
        let mask = left.cpumask.map(|mask| mask.own);
        self.say_left(id, 1, left, false);
        mask
    }

    fn found(&self, id: ThreadId) -> ThreadAttrs {
        ThreadAttrs {
            nice: self.nice(id),
            cpumask: Some(self.allowed(id)),
            sigmask: 0,
        }
    }

    /// False if that is not possible.
    fn set_nice_right(&self, id: ThreadId, what: &Leftovers) -> bool {
        let nice_best = self.options.nice_best;
        let may = what.remedy(i32::from(nice_best)) != Remedy::Retire;
        if let Some(nice) = what.nice.as_ref().filter(|_| may) {
            self.sched().set_nice(self.now(), id, nice.own as i8);
        }
        may
    }

    fn say_left(&self, id: ThreadId, items: u32, what: Leftovers, lost: bool) {
        self.process.left_behind.borrow_mut().push(LeftBehind {
            at: self.now(),
            thread: id,
            items,
            what,
            lost,
        });
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
