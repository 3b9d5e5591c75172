//! Who may queue, and waiting for a queue: for one item of it, for all, for its end.

use std::sync::atomic::AtomicBool;

use cmwq_os::sched;
use cmwq_policy::contract::{self, PwqFlush, Target, Until};
use cmwq_policy::pool::Stuck;
use cmwq_policy::pwq::Drain;
use cmwq_policy::queue::{Caller, Refused};
use cmwq_policy::{Cx, Time, WorkerPool, queue, stacking};

use super::latch::Latch;
use super::this_worker;
use crate::engine::{Real, pool_of};
use crate::error::{FlushError, QueueError, WouldDeadlock};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::queue::pwq::Items;
use crate::queue::pwq::{PwqRef, name_of, queue_of};
use crate::report::{self, Report};
use crate::stay;
use crate::sync::SeqCst;

impl Queue {
    /// Whether the calling thread may queue an item now.
    #[inline]
    pub(crate) fn admits(&self) -> Result<(), QueueError> {
        if !self.is_ours() {
            return Err(QueueError::Forked);
        }
        self.admits_here().map_err(QueueError::from)
    }

    /// The same, in the process that made it.
    #[inline]
    pub(crate) fn admits_here(&self) -> Result<(), Refused> {
        self.intake().admits(|| match this_worker::current_pwq() {
            Some(pwq) if queue_of(pwq) == self.this() => Caller::SameQueue,
            Some(_) => Caller::Item,
            None => Caller::Outside,
        })
    }

    /// Whether there is such a CPU to ask for.
    pub(crate) fn has_cpu(&self, cpu: usize) -> Result<(), QueueError> {
        match cpu < self.base().nr_cpus() {
            true => Ok(()),
            false => Err(QueueError::NoSuchCpu(cpu)),
        }
    }

    /// Waits until `done`, which is about an item that was queued through this pwq of the queue: as
    /// a hint in a worker.
    pub(crate) fn wait(&self, pwq: PwqRef, done: impl Fn() -> bool) -> Result<(), WouldDeadlock> {
        match this_worker::current() {
            Some(worker) if worker.is_of(pool_of(pwq)) => worker
                .wait_for(pwq, done)
                .map_err(|Stuck| self.would_deadlock()),
            Some(worker) => worker
                .wait_elsewhere(done)
                .map_err(|Stuck| self.would_deadlock()),
            None => {
                self.wait_beside(pool_of(pwq), &done);
                self.wait_outside(done);
                Ok(())
            }
        }
    }

    /// The beginning of a wait of a thread that is no worker: on its CPU, if the item runs there.
    fn wait_beside(&self, pool: &Pool, done: impl Fn() -> bool) {
        let here = sched::current_cpu();
        if stacking::stays(self.stacking(), &pool.key().reach().allowed, here) {
            stay::wait(here, done, std::thread::park_timeout);
        }
    }

    /// Waits until `done`, for items of several pools.
    pub(crate) fn wait_elsewhere(&self, done: impl Fn() -> bool) -> Result<(), WouldDeadlock> {
        match this_worker::current() {
            Some(worker) => worker
                .wait_elsewhere(done)
                .map_err(|Stuck| self.would_deadlock()),
            None => {
                self.wait_outside(done);
                Ok(())
            }
        }
    }

    /// Waits until `done` for items that have all begun, which these are as far as they are known;
    /// of this pwq, if they are of one. The caller cannot do without: where they wait for its item,
    /// or for what only its worker could begin, they are told that this never ends.
    pub(crate) fn wait_begun(
        &self,
        pwq: Option<PwqRef>,
        targets: &[Target<Real>],
        done: impl Fn() -> bool,
    ) {
        let Some(worker) = this_worker::current() else {
            return self.wait_outside(done);
        };
        worker.bound_in_graph(targets, || match pwq {
            Some(pwq) if worker.is_of(pool_of(pwq)) => worker.wait_begun(pwq, &done),
            // Nobody tells it to give up.
            _ => while worker.wait_elsewhere(&done).is_err() {},
        });
    }

    fn wait_outside(&self, done: impl Fn() -> bool) {
        while !done() {
            std::thread::park();
        }
    }

    /// Waits for a latch that an item will set which was queued through this pwq of the queue.
    /// `item` is its name for people, if it is one. `targets`: what has to end `until` it is set,
    /// as far as it is known, which the caller keeps.
    pub(crate) fn wait_latch(
        &self,
        pwq: PwqRef,
        latch: &Latch,
        item: Option<&'static str>,
        (until, targets): (Until, &[Target<Real>]),
    ) -> Result<(), WouldDeadlock> {
        if latch.is_set() {
            return Ok(());
        }
        latch.announce();
        let wait = || self.wait(pwq, || latch.is_set());
        self.awaiting(item, || self.in_graph(until, targets, wait))?
    }

    /// Runs `wait`, for the end of these, unless they wait for the calling item.
    pub(crate) fn in_graph<R>(
        &self,
        until: Until,
        targets: &[Target<Real>],
        wait: impl FnOnce() -> R,
    ) -> Result<R, WouldDeadlock> {
        match this_worker::current() {
            Some(worker) => worker
                .in_graph(until, targets, wait)
                .map_err(|Stuck| self.would_deadlock()),
            None => Ok(wait()),
        }
    }

    /// Runs `wait`; if the caller is an item, people are told meanwhile what it waits for.
    pub(crate) fn awaiting<R>(&self, item: Option<&'static str>, wait: impl FnOnce() -> R) -> R {
        match this_worker::current() {
            Some(worker) => worker.awaiting((self.shared_name(), item), wait),
            None => wait(),
        }
    }

    /// The error for a wait of the calling worker's item for items of this queue.
    pub(crate) fn would_deadlock(&self) -> WouldDeadlock {
        let waiter =
            this_worker::current_pwq().map_or_else(String::new, |pwq| name_of(pwq).to_owned());
        WouldDeadlock {
            waiter,
            awaited: self.name().to_owned(),
        }
    }

    /// Says once if an item of a queue with a rescuer waits for this queue, which has none. Where
    /// no worker can be made, such an item waits for ever (kernel `check_flush_dependency`).
    pub(crate) fn check_dependency(&self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        let Some(pwq) = this_worker::current_pwq().filter(|_| self.rescuer().is_none()) else {
            return;
        };
        // SAFETY: the queue of the item that is being executed.
        let waiter = unsafe { queue_of(pwq).as_ref() };
        if waiter.rescuer().is_some() && !SAID.swap(true, SeqCst) {
            report::say(&Report::FlushDependency {
                waiter: waiter.name().to_owned(),
                awaited: self.name().to_owned(),
            });
        }
    }

    /// Whether the calling thread executes an item of this queue.
    pub(crate) fn is_current(&self) -> bool {
        this_worker::current_pwq().is_some_and(|pwq| queue_of(pwq) == self.this())
    }

    /// Whether the calling item would wait for itself if it waited for this queue. It would wait
    /// for this very execution, or for its next one, which is pending here and begins when this one
    /// has ended.
    fn waits_for_itself(&self) -> bool {
        let next = this_worker::current().and_then(|worker| worker.requeued_to());
        self.is_current() || next == Some(self.id())
    }

    pub(crate) fn flush(&self) -> Result<(), FlushError> {
        if !self.is_ours() {
            return Err(FlushError::Forked);
        }
        if self.waits_for_itself() {
            return Err(FlushError::WouldDeadlock(self.would_deadlock()));
        }
        self.wait_flushed(None)
            .map_err(|Stuck| FlushError::WouldDeadlock(self.would_deadlock()))
            .map(drop)
    }

    /// Waits until everything queued so far has ended; false at the deadline.
    fn wait_flushed(&self, deadline: Option<Time>) -> Result<bool, Stuck> {
        self.check_dependency();
        self.awaiting(None, || self.flush_parts(deadline))
    }

    fn flush_parts(&self, deadline: Option<Time>) -> Result<bool, Stuck> {
        for mut part in contract::begin_flush(&self.machine(), self.this()) {
            let PwqFlush { pwq, .. } = part;
            let target = Target::Flush(part);
            let step = |core: &mut WorkerPool<Items>, cx: &mut Cx<Items>| {
                contract::flush_step(core, cx, &mut part)
            };
            if !self.wait_in_graph(target, deadline, || wait_moves(pwq, deadline, step))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until nothing is in flight, what its items queue on itself included; others are
    /// refused. False at the deadline.
    pub(crate) fn drain(&self, deadline: Option<Time>) -> Result<bool, FlushError> {
        if !self.is_ours() {
            return Err(FlushError::Forked);
        }
        if self.waits_for_itself() {
            return Err(FlushError::WouldDeadlock(self.would_deadlock()));
        }
        self.count_drainer(true);
        let drained = self.drain_rounds(deadline);
        self.count_drainer(false);
        drained.map_err(|Stuck| FlushError::WouldDeadlock(self.would_deadlock()))
    }

    fn count_drainer(&self, comes: bool) {
        let mut core = self.lock_core();
        self.set_draining(core.count_drainer(comes));
    }

    /// Flushes until there is nothing left.
    fn drain_rounds(&self, deadline: Option<Time>) -> Result<bool, Stuck> {
        let mut looks = 0;
        loop {
            if !self.wait_flushed(deadline)? {
                return Ok(false);
            }
            if contract::is_drained(&self.machine(), self.this()) {
                return Ok(true);
            }
            looks += 1;
            if queue::drain_warns(looks) {
                report::say(&Report::SlowDrain {
                    queue: self.name().to_owned(),
                    looks,
                });
            }
            if deadline.is_some_and(|at| cmwq_os::clock::now() >= at) {
                return Ok(false);
            }
        }
    }

    /// Runs a wait for this, unless that waits for the calling item. With a deadline it ends in any
    /// case.
    fn wait_in_graph(
        &self,
        target: Target<Real>,
        deadline: Option<Time>,
        wait: impl FnOnce() -> Result<bool, Stuck>,
    ) -> Result<bool, Stuck> {
        match this_worker::current().filter(|_| deadline.is_none()) {
            Some(worker) => worker.in_graph(Until::All, &[target], wait)?,
            None => wait(),
        }
    }

    /// Waits until nothing is in flight in any of its pools.
    pub(crate) fn wait_drained(&self) -> Result<(), Stuck> {
        while !contract::is_drained(&self.machine(), self.this()) {
            // The lock is not held in the loop: it takes the ends of retired ones to move on.
            let pwqs = self.lock_core().pwqs();
            for pwq in pwqs {
                let part = PwqFlush::of_all(pwq, pool_of(pwq).id());
                let drained = |core: &mut WorkerPool<Items>, cx: &mut Cx<Items>| {
                    core.begin_drain(cx, pwq, Drain::Awaited)
                };
                let wait = || wait_moves(pwq, None, drained);
                self.wait_in_graph(Target::Flush(part), None, wait)?;
            }
        }
        Ok(())
    }

    /// Leaves the queue to whoever ends the last items.
    pub(crate) fn orphan(&self) {
        let mut core = self.lock_core();
        core.orphan();
        let pwqs: Vec<PwqRef> = core.pwqs();
        drop(core);
        for pwq in pwqs {
            pool_of(pwq).with(|core, cx| core.begin_drain(cx, pwq, Drain::Orphaned));
        }
    }
}

/// Waits until `done`, which is asked each time that a flush or drain of `pwq` moves on. False at
/// the deadline, which a worker does not have.
fn wait_moves(
    pwq: PwqRef,
    deadline: Option<Time>,
    done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
) -> Result<bool, Stuck> {
    let pool = pool_of(pwq);
    match this_worker::current() {
        Some(worker) => worker.wait_flush(pool, pwq, deadline, done),
        None => Ok(pool.wait_progress(deadline, done)),
    }
}
