//! Queues: a name, a limit, attributes, a flush domain and a rescuer. They own no workers.
//!
//! | file | |
//! | --- | --- |
//! | `mod.rs` | a queue in memory, and waiting for it |
//! | `handle.rs` | [`Workqueue`]: what programs hold |
//! | `builder.rs` | [`WorkqueueBuilder`] |
//! | `inspect.rs` | how many items wait, and for what |
//! | `attrs.rs` | what can be changed later |
//! | `routes.rs` | where new items go |

mod attrs;
mod builder;
mod handle;
mod inspect;
mod routes;

pub use attrs::Attrs;
pub use builder::WorkqueueBuilder;
pub use handle::Workqueue;
pub use inspect::{Waits, WorkqueueCounts};
use routes::Routes;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::sync::{Arc, Weak};

use cmwq_os::sched;
use cmwq_policy::contract::{self, PwqFlush, Target};
use cmwq_policy::pool::Stuck;
use cmwq_policy::pwq::Drain;
use cmwq_policy::queue::{Caller, Gate, QueueAttrs, Refused};
use cmwq_policy::stacking::{self, Stacking};
use cmwq_policy::{Cx, Time, WorkerPool, queue};

use crate::engine::Engine;
use crate::error::{FlushError, QueueError, WouldDeadlock};
use crate::machine::Real;
use crate::pool::{self, Pool};
use crate::pwq::{Items, LimitCell, Pwq, PwqRef};
use crate::report::{self, Report};
use crate::rescuer::Rescuer;
use crate::sync::{AtomicU32, Mutex, SeqCst};
use crate::{stay, task};

/// Bits of a queue's gate word.
const DRAINING: u32 = 1;
const DESTROYING: u32 = 2;

/// A queue in memory. Lives as long as a handle, a timer or an action refers to it.
pub(crate) struct Queue {
    engine: &'static Engine,
    /// Itself: a pointer to the whole allocation, which one made from a `&Queue` is not. It may be used
    /// to count references, and it stays valid whatever references come and go.
    me: Weak<Queue>,
    id: u64,
    name: Arc<str>,
    made: QueueAttrs,
    /// What its waiters do.
    stacking: Stacking,
    gate: AtomicU32,
    core: Mutex<queue::Queue<PwqRef>>,
    routes: Routes,
    /// The limits of the nodes, and at the end that of pools which are in none; where there is only one
    /// node, all are in it. Parts of pwqs, null until there is one; of a per-CPU queue each has its own.
    limits: Box<[AtomicPtr<LimitCell>]>,
    rescuer: Option<Rescuer>,
}

// SAFETY: the pointers in it are to pwqs, which are only followed as `pwq.rs` says.
unsafe impl Send for Queue {}
// SAFETY: as above; what is not atomic is behind a lock.
unsafe impl Sync for Queue {}

/// A queue as the protocols name it.
pub(crate) type QueueRef = NonNull<Queue>;

impl Queue {
    pub(crate) fn engine(&self) -> &'static Engine {
        self.engine
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its name, to be kept for longer than the queue.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn made(&self) -> QueueAttrs {
        self.made
    }

    pub(crate) fn stacking(&self) -> Stacking {
        self.stacking
    }

    pub(crate) fn rescuer(&self) -> Option<&Rescuer> {
        self.rescuer.as_ref()
    }

    pub(crate) fn core(&self) -> &Mutex<queue::Queue<PwqRef>> {
        &self.core
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The limit that a new pwq of this node counts for: `own`, if it is the first one or each has its own.
    /// Called under the queue's lock.
    pub(crate) fn shared_limit(
        &self,
        node: Option<u32>,
        own: NonNull<LimitCell>,
    ) -> NonNull<LimitCell> {
        let Some(last) = self.limits.len().checked_sub(1) else {
            return own;
        };
        let limit = &self.limits[node.map_or(last, |node| node as usize)];
        NonNull::new(limit.load(SeqCst)).unwrap_or_else(|| {
            limit.store(own.as_ptr(), SeqCst);
            own
        })
    }

    /// As the protocols name it.
    pub(crate) fn this(&self) -> QueueRef {
        NonNull::new(self.me.as_ptr().cast_mut()).expect("it is in an Arc")
    }

    pub(crate) fn machine(&self) -> Real {
        Real(self.engine)
    }

    /// Whether this is the process that made it, and not a forked child.
    pub(crate) fn is_ours(&self) -> bool {
        self.engine.is_ours()
    }

    pub(crate) fn gate(&self) -> Gate {
        let gate = self.gate.load(SeqCst);
        Gate {
            draining: gate & DRAINING != 0,
            destroying: gate & DESTROYING != 0,
            closing: self.engine.is_closing(),
        }
    }

    fn set_gate(&self, bit: u32, set: bool) {
        match set {
            true => self.gate.fetch_or(bit, SeqCst),
            false => self.gate.fetch_and(!bit, SeqCst),
        };
    }

    /// Whether the calling thread may queue an item now.
    pub(crate) fn admits(&self) -> Result<(), QueueError> {
        if !self.is_ours() {
            return Err(QueueError::Forked);
        }
        self.admits_here().map_err(QueueError::from)
    }

    /// The same, in the process that made it.
    pub(crate) fn admits_here(&self) -> Result<(), Refused> {
        let caller = match pool::current_pwq() {
            Some(pwq) if queue_of(pwq) == self.this() => Caller::SameQueue,
            Some(_) => Caller::Item,
            None => Caller::Outside,
        };
        self.gate().admits(caller)
    }

    /// Whether there is such a CPU to ask for.
    pub(crate) fn has_cpu(&self, cpu: usize) -> Result<(), QueueError> {
        match cpu < self.engine.nr_cpus() {
            true => Ok(()),
            false => Err(QueueError::NoSuchCpu(cpu)),
        }
    }

    /// Waits until `done`, which is about an item that was queued through this pwq of the queue: as a
    /// hint in a worker.
    pub(crate) fn wait(&self, pwq: PwqRef, done: impl Fn() -> bool) -> Result<(), WouldDeadlock> {
        match pool::current() {
            Some(place) if place.is_of(pool_of(pwq)) => place
                .wait_for(pwq, done)
                .map_err(|Stuck| self.would_deadlock()),
            Some(place) => place
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
        if stacking::stays(self.stacking, &pool.key().reach().allowed, here) {
            stay::wait(here, done, std::thread::park_timeout);
        }
    }

    /// Waits until `done`, for items of several pools.
    pub(crate) fn wait_elsewhere(&self, done: impl Fn() -> bool) -> Result<(), WouldDeadlock> {
        match pool::current() {
            Some(place) => place
                .wait_elsewhere(done)
                .map_err(|Stuck| self.would_deadlock()),
            None => {
                self.wait_outside(done);
                Ok(())
            }
        }
    }

    /// Waits until `done` for items that have all begun, which these are as far as they are known; of this
    /// pwq, if they are of one. The caller cannot do without: where they wait for its item, or for what only
    /// its worker could begin, they are told that this never ends.
    pub(crate) fn wait_begun(
        &self,
        pwq: Option<PwqRef>,
        targets: &[Target<Real>],
        done: impl Fn() -> bool,
    ) {
        let Some(place) = pool::current() else {
            return self.wait_outside(done);
        };
        place.bound_in_graph(targets, || match pwq {
            Some(pwq) if place.is_of(pool_of(pwq)) => place.wait_begun(pwq, &done),
            // Nobody tells it to give up.
            _ => while place.wait_elsewhere(&done).is_err() {},
        });
    }

    fn wait_outside(&self, done: impl Fn() -> bool) {
        while !done() {
            std::thread::park();
        }
    }

    /// The error for a wait of the calling worker's item for items of this queue.
    pub(crate) fn would_deadlock(&self) -> WouldDeadlock {
        let waiter = pool::current_pwq().map_or_else(String::new, |pwq| name_of(pwq).to_owned());
        WouldDeadlock {
            waiter,
            awaited: self.name().to_owned(),
        }
    }

    /// Says once if an item of a queue with a rescuer waits for this one, which has none: where no
    /// worker can be made it waits for ever (kernel `check_flush_dependency`).
    pub(crate) fn check_dependency(&self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        let Some(pwq) = pool::current_pwq().filter(|_| self.rescuer.is_none()) else {
            return;
        };
        // SAFETY: the queue of the item that is being executed.
        let waiter = unsafe { queue_of(pwq).as_ref() };
        if waiter.rescuer.is_some() && !SAID.swap(true, SeqCst) {
            report::say(&Report::FlushDependency {
                waiter: waiter.name().to_owned(),
                awaited: self.name().to_owned(),
            });
        }
    }

    /// Whether the calling thread executes an item of this queue.
    fn is_current(&self) -> bool {
        pool::current_pwq().is_some_and(|pwq| queue_of(pwq) == self.this())
    }

    /// Whether the calling item, waiting for this queue, would wait for itself: for this very execution,
    /// or for its next one, which is pending here and begins when this one has ended.
    fn waits_for_itself(&self) -> bool {
        let next = pool::current().and_then(|place| place.requeued_to());
        self.is_current() || next == Some(self.id)
    }

    fn flush(&self) -> Result<(), FlushError> {
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
        task::awaiting(self, None, || self.flush_parts(deadline))
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

    /// Waits until nothing is in flight, what its items queue on itself included; others are refused.
    /// False at the deadline.
    fn drain(&self, deadline: Option<Time>) -> Result<bool, FlushError> {
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
        self.set_gate(DRAINING, core.count_drainer(comes));
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

    /// Runs a wait for this, unless that waits for the calling item. With a deadline it ends in any case.
    fn wait_in_graph(
        &self,
        target: Target<Real>,
        deadline: Option<Time>,
        wait: impl FnOnce() -> Result<bool, Stuck>,
    ) -> Result<bool, Stuck> {
        match pool::current().filter(|_| deadline.is_none()) {
            Some(place) => place.in_graph(&[target], wait)?,
            None => wait(),
        }
    }

    /// Waits until nothing is in flight in any of its pools.
    fn wait_drained(&self) -> Result<(), Stuck> {
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

    fn lock_core(&self) -> crate::sync::MutexGuard<'_, queue::Queue<PwqRef>> {
        self.core.lock().expect("the core does not panic")
    }

    /// Leaves the queue to whoever ends the last items.
    pub(crate) fn orphan(&self) {
        let mut core = self.lock_core();
        core.orphan();
        let pwqs: Vec<PwqRef> = core.all_pwqs().collect();
        drop(core);
        for pwq in pwqs {
            pool_of(pwq).with(|core, cx| core.begin_drain(cx, pwq, Drain::Orphaned));
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let core = self.core.get_mut().unwrap_or_else(|dead| dead.into_inner());
        for pwq in core.all_pwqs() {
            // SAFETY: nobody refers to the queue any more, so nobody to its pwqs.
            unsafe { Pwq::free(pwq) };
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
    match pool::current() {
        Some(place) => place.wait_flush(pool, pwq, deadline, done),
        None => Ok(pool.wait_progress(deadline, done)),
    }
}

fn pool_of(pwq: PwqRef) -> &'static crate::pool::Pool {
    // SAFETY: of a queue that the caller keeps.
    unsafe { pwq.as_ref() }.pool()
}

/// The queue of a pwq that the caller keeps, or whose item is being executed.
pub(crate) fn queue_of(pwq: PwqRef) -> QueueRef {
    // SAFETY: as the page of `pwq.rs` says.
    unsafe { pwq.as_ref() }.queue()
}

pub(crate) fn name_of<'a>(pwq: PwqRef) -> &'a str {
    // SAFETY: as above; the queue outlives its pwqs.
    unsafe { queue_of(pwq).as_ref() }.name()
}
