//! Queues in memory: a name, a limit, attributes, a rescuer, routes to pools. They own no workers.
//!
//! | file | |
//! | --- | --- |
//! | `mod.rs` | a queue |
//! | `pwq.rs` | where it meets a pool, and both as the core of the pool sees them |
//! | `routes.rs` | where new items go |
//! | `mayday.rs` | how it calls its rescuer |

pub(crate) mod mayday;
pub(crate) mod pwq;
mod routes;

use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Weak};

use cmwq_policy::queue::{self, Intake, Made, QueueAttrs};
use cmwq_policy::stacking::Stacking;

use crate::base::Base;
use crate::limit::LimitCell;
use crate::sync::{AtomicU32, Mutex, MutexGuard, SeqCst};
use mayday::Rescuer;
use pwq::{Pwq, PwqRef};
use routes::Routes;

/// Bits of a queue's intake word.
const DRAINING: u32 = 1;
const DESTROYING: u32 = 2;
const ONE_AT_A_TIME: u32 = 4;

/// A queue in memory. Lives as long as a handle, a timer or an action refers to it.
pub(crate) struct Queue {
    base: &'static Base,
    /// Itself, as a pointer to the whole allocation. One made from a `&Queue` would cover less.
    /// This one may count references, and stays valid whatever references come and go.
    me: Weak<Queue>,
    id: u64,
    name: Arc<str>,
    /// As its core has it, to be read without the lock.
    made: Made,
    /// What its waiters do.
    stacking: Stacking,
    /// It can be changed from outside.
    sysfs: bool,
    intake: AtomicU32,
    core: Mutex<queue::Queue<PwqRef>>,
    routes: Routes,
    /// One limit per NUMA node, then one for pools that span nodes; a single one where there is one
    /// node. Each is a part of a pwq, and null until used. Empty in a per-CPU queue, where each pwq
    /// has its own.
    limits: Box<[AtomicPtr<LimitCell<PwqRef>>]>,
    rescuer: Option<Rescuer>,
}

// SAFETY: the pointers in it are to pwqs, which are only followed as `pwq.rs` says.
unsafe impl Send for Queue {}
// SAFETY: as above; what is not atomic is behind a lock.
unsafe impl Sync for Queue {}

/// A queue as the protocols name it.
pub(crate) type QueueRef = NonNull<Queue>;

impl Queue {
    /// A queue that nobody knows yet, without pwqs. `parts`: how many limits its pwqs share; 0 if
    /// each has its own.
    pub(crate) fn new(
        base: &'static Base,
        id: u64,
        name: &str,
        (made, stacking, sysfs): (QueueAttrs, Stacking, bool),
        parts: usize,
        rescuer: Option<Rescuer>,
    ) -> Arc<Queue> {
        let core = queue::Queue::new(made);
        let one = core.is_one_at_a_time();
        Arc::new_cyclic(|me| Queue {
            base,
            me: me.clone(),
            id,
            name: name.into(),
            made: made.into(),
            stacking,
            sysfs,
            intake: AtomicU32::new(if one { ONE_AT_A_TIME } else { 0 }),
            core: Mutex::new(core),
            routes: Routes::new(base.nr_cpus()),
            limits: (0..parts).map(|_| AtomicPtr::default()).collect(),
            rescuer,
        })
    }

    #[inline]
    pub(crate) fn base(&self) -> &'static Base {
        self.base
    }

    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Its name, to be kept for longer than the queue.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    #[inline]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(crate) fn made(&self) -> Made {
        self.made
    }

    pub(crate) fn stacking(&self) -> Stacking {
        self.stacking
    }

    /// Whether it can be changed from outside.
    pub(crate) fn is_sysfs(&self) -> bool {
        self.sysfs
    }

    pub(crate) fn rescuer(&self) -> Option<&Rescuer> {
        self.rescuer.as_ref()
    }

    pub(crate) fn lock_core(&self) -> MutexGuard<'_, queue::Queue<PwqRef>> {
        self.core.lock().expect("the core does not panic")
    }

    #[inline]
    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The limit that a new pwq of this node counts for. It is `own` if the pwq is the first there,
    /// or if each pwq has its own. Called under the queue's lock.
    pub(crate) fn shared_limit(
        &self,
        node: Option<u32>,
        own: NonNull<LimitCell<PwqRef>>,
    ) -> NonNull<LimitCell<PwqRef>> {
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
    #[inline]
    pub(crate) fn this(&self) -> QueueRef {
        NonNull::new(self.me.as_ptr().cast_mut()).expect("it is in an Arc")
    }

    /// Whether this is the process that made it, and not a forked child.
    #[inline]
    pub(crate) fn is_ours(&self) -> bool {
        self.base.is_ours()
    }

    #[inline]
    pub(crate) fn intake(&self) -> Intake {
        let intake = self.intake.load(SeqCst);
        Intake {
            draining: intake & DRAINING != 0,
            destroying: intake & DESTROYING != 0,
            closing: self.base.is_closing(),
        }
    }

    pub(crate) fn set_destroying(&self) {
        self.set_intake(DESTROYING, true);
    }

    pub(crate) fn set_draining(&self, set: bool) {
        self.set_intake(DRAINING, set);
    }

    /// Whether its limit is one item.
    #[inline]
    pub(crate) fn is_one_at_a_time(&self) -> bool {
        self.intake.load(SeqCst) & ONE_AT_A_TIME != 0
    }

    /// It is from now on, or not any more. The caller holds its core.
    pub(crate) fn set_one_at_a_time(&self, set: bool) {
        self.set_intake(ONE_AT_A_TIME, set);
    }

    fn set_intake(&self, bit: u32, set: bool) {
        match set {
            true => self.intake.fetch_or(bit, SeqCst),
            false => self.intake.fetch_and(!bit, SeqCst),
        };
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let core = self.core.get_mut().unwrap_or_else(|dead| dead.into_inner());
        for pwq in core.pwqs() {
            // SAFETY: nobody refers to the queue any more, so nobody to its pwqs.
            unsafe { Pwq::free(pwq) };
        }
    }
}
