//! Queues by who holds them.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::contract::{self, Decision, QueueCounts};
use cmwq_policy::pwq::MAX_ACTIVE_RANGE;
use cmwq_policy::queue::Attrs;
use cmwq_policy::stacking::Stacking;
use cmwq_policy::stats::PwqStats;
use cmwq_policy::work::NotPended;
use cmwq_policy::{Nanos, Time};

use super::holders::{Holder, Holders};
use super::{Process, QueueSpec, RawItem};
use crate::error::{AttrsError, BuildError, FlushError, QueueError};
use crate::queue::Queue;
use crate::queue::pwq::{Pwq, PwqRef};
use crate::threads::{claim, rescuer};
use crate::wait::graph;

/// A queue. Clones are the same queue. Dropping the last one waits until everything that was
/// queued has ended (kernel `destroy_workqueue`). Inside one of its own items, and where that would
/// never end, it does not wait: whoever ends the last items tears the queue down. In a child of the
/// process that made it dropping does nothing.
pub struct RawQueue {
    owned: NonNull<Owned>,
}

/// A queue as the handle of one of its items has it. One more [`RawQueue`] for whoever drops the
/// last one; but threads that make and drop many of these do not wait for each other.
pub struct RawGuest {
    /// Counted as that.
    queue: ManuallyDrop<RawQueue>,
    holder: Holder,
}

/// The pool workqueue by which an item went to a pool. It means something together with its queue,
/// while that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPwq(pub(super) PwqRef);

// SAFETY: only an address, which is followed where its queue is kept.
unsafe impl Send for RawPwq {}
// SAFETY: as above.
unsafe impl Sync for RawPwq {}

impl RawPwq {
    /// As a pointer, for an atomic word.
    pub fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    /// What [`into_raw`](Self::into_raw) gave; `None` for null.
    pub fn from_raw(pwq: *mut ()) -> Option<Self> {
        NonNull::new(pwq.cast::<Pwq>()).map(RawPwq)
    }
}

/// What all who hold a queue share. Whoever is the last of them drops it.
struct Owned {
    holders: Holders,
    queue: Arc<Queue>,
}

// SAFETY: what is owned may be shared and sent, and is dropped by whoever is last.
unsafe impl Send for RawQueue {}
// SAFETY: as above.
unsafe impl Sync for RawQueue {}

impl RawQueue {
    #[inline]
    fn owned(&self) -> &Owned {
        // SAFETY: it is there while this holds it.
        unsafe { self.owned.as_ref() }
    }

    #[inline]
    fn holders(&self) -> *const Holders {
        &raw const self.owned().holders
    }

    /// The same queue, for the handle of an item.
    #[inline]
    pub fn guest(&self) -> RawGuest {
        let holder = self.owned().holders.guest_comes();
        let queue = ManuallyDrop::new(RawQueue { owned: self.owned });
        RawGuest { queue, holder }
    }

    /// # Safety
    /// Nobody is left who holds it.
    #[cold]
    unsafe fn drop_owned(&self) {
        // SAFETY: it was a box's, and is nobody's.
        drop(unsafe { Box::from_raw(self.owned.as_ptr()) });
    }
}

impl Clone for RawQueue {
    fn clone(&self) -> Self {
        self.owned().holders.owner_comes();
        RawQueue { owned: self.owned }
    }
}

impl Drop for RawQueue {
    fn drop(&mut self) {
        // SAFETY: this is an owner, and goes.
        let is_last = unsafe { Holders::owner_goes(self.holders()) };
        if is_last {
            // SAFETY: so the holders say.
            unsafe { self.drop_owned() };
        }
    }
}

impl Deref for RawGuest {
    type Target = RawQueue;

    fn deref(&self) -> &RawQueue {
        &self.queue
    }
}

impl Drop for RawGuest {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is it, and goes.
        let is_last = unsafe { Holders::goes(self.holders(), self.holder) };
        if is_last {
            // SAFETY: so the holders say.
            unsafe { self.drop_owned() };
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let queue = &self.queue;
        if !queue.is_ours() {
            // The parent's: its locks and items are not ours to touch.
            std::mem::forget(queue.clone());
            return;
        }
        queue.engine().forget_queue(queue.id());
        // It is thawed, too: nothing else would ever do that.
        begin_teardown(queue);
        // Inside one of its own items, or where waiting would never end, whoever ends the last
        // items finishes the teardown.
        if queue.is_current() || queue.wait_drained().is_err() {
            queue.orphan();
        }
    }
}

/// From now on a queue takes items of its own items only, and none that is armed.
fn begin_teardown(queue: &Queue) {
    queue.set_destroying();
    contract::cancel_timers(&queue.machine(), queue.this());
    contract::thaw(&queue.machine(), queue.this());
}

/// Making one, and what it is.
impl RawQueue {
    /// A new queue of this process (kernel `alloc_workqueue`).
    ///
    /// # Errors
    /// If the kind of queue does not have what is asked for, or there is no pool, or no thread for
    /// its rescuer.
    pub fn make(process: Process, name: &str, spec: &QueueSpec) -> Result<RawQueue, BuildError> {
        let (engine, made) = (process.engine(), spec.checked()?);
        let layout = engine.layout_version();
        let id = engine.next_queue_id();
        let rescuer = made.mem_reclaim.then(|| rescuer::start(engine, name));
        let rescuer = rescuer.transpose().map_err(BuildError::Rescuer)?;
        let is_per_cpu = made.kind.is_per_cpu();
        let parts = match is_per_cpu {
            true => 0,
            false => engine.with_layout(|layout| layout.nr_parts()),
        };
        let what = (made, spec.stacking, spec.sysfs);
        let queue = Queue::new(engine.base(), id, name, what, parts, rescuer);
        if !is_per_cpu {
            contract::first_pwq(&queue.machine(), queue.this())?;
        }
        engine.remember_queue(&queue);
        if engine.layout_version() != layout {
            // CPUs have changed in between, when nobody knew of this queue.
            let _ = contract::refit(&queue.machine(), queue.this());
        }
        let holders = Holders::new(engine.base().nr_cpus());
        let owned = NonNull::from(Box::leak(Box::new(Owned { holders, queue })));
        Ok(RawQueue { owned })
    }

    #[inline]
    pub(super) fn queue(&self) -> &Queue {
        &self.owned().queue
    }

    /// The process that made it, which may be a parent of this one: see [`is_ours`](Self::is_ours).
    pub fn process(&self) -> Process {
        Process::of(self.queue().engine())
    }

    /// Whether this is the process that made it, and not a forked child.
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.queue().is_ours()
    }

    /// The name it was made with.
    pub fn name(&self) -> &str {
        self.queue().name()
    }

    /// What waiters for its items do.
    pub fn stacking(&self) -> Stacking {
        self.queue().stacking()
    }

    /// How many of its items are where; `None` in a child of its process.
    pub fn counts(&self) -> Option<QueueCounts> {
        let queue = self.queue();
        queue
            .is_ours()
            .then(|| contract::counts(&queue.machine(), queue.this()))
    }

    /// What has become of its items since it was made; `None` in a child of its process.
    pub fn stats(&self) -> Option<PwqStats> {
        let queue = self.queue();
        queue
            .is_ours()
            .then(|| contract::stats(&queue.machine(), queue.this()))
    }

    /// Whether items wait because the limit is reached (kernel `workqueue_congested`), of a per-CPU
    /// queue: on this CPU, or the caller's own. A hint.
    pub fn is_congested(&self, cpu: Option<usize>) -> bool {
        let queue = self.queue();
        let known = cpu.is_none_or(|cpu| queue.has_cpu(cpu).is_ok());
        queue.is_ours() && known && contract::is_congested(&queue.machine(), queue.this(), cpu)
    }

    /// What holds for items that are queued on this CPU, which is one of so many, now: the
    /// process's CPUs are read again first. For comparing machines.
    #[doc(hidden)]
    pub fn decision(&self, cpu: usize, nr_cpus: usize) -> Decision {
        let queue = self.queue();
        queue.engine().refresh_cpus();
        contract::decision(&queue.machine(), queue.this(), cpu, nr_cpus)
    }
}

/// Items.
impl RawQueue {
    /// Queues an item (kernel `queue_work_on`), for this CPU if one is named. False if it was
    /// pending: then it stays as it is.
    ///
    /// # Errors
    /// If it is disabled, or the queue refuses.
    pub fn queue_item(&self, cpu: Option<usize>, item: RawItem) -> Result<bool, QueueError> {
        self.admits(cpu)?;
        let queue = self.queue();
        let m = queue.machine();
        was_pended(contract::queue(&m, queue.this(), cpu, item.header()))
    }

    /// As [`queue_item`](Self::queue_item), for the caller's CPU if it is of this NUMA node, else
    /// for the first one of the node that the process may use (kernel `queue_work_node`).
    ///
    /// # Errors
    /// As there.
    pub fn queue_item_node(&self, node: usize, item: RawItem) -> Result<bool, QueueError> {
        self.queue_item(self.cpu_of_node(node), item)
    }

    /// The CPU for what is queued for a node: the caller's, if it is of this NUMA node, else the
    /// first one of the node that the process may use. `None`: there is none.
    pub fn cpu_of_node(&self, node: usize) -> Option<usize> {
        // In a forked child the topology may be locked for ever.
        let engine = self.is_ours().then(|| self.queue().engine())?;
        engine.cpu_of_node(node)
    }

    /// Queues a new item, for this CPU if one is named. Where it went.
    ///
    /// # Errors
    /// If the queue refuses.
    ///
    /// # Panics
    /// If it is pending or disabled: it is not new.
    ///
    /// # Safety
    /// It was never queued nor disabled, and nobody else queues, delays or disables it before this
    /// returns.
    #[inline]
    pub unsafe fn queue_new(
        &self,
        cpu: Option<usize>,
        item: RawItem,
    ) -> Result<RawPwq, QueueError> {
        self.admits(cpu)?;
        let queue = self.queue();
        let m = queue.machine();
        assert!(m.pend_new(item.header()), "a new item is not pending");
        Ok(RawPwq(contract::enqueue(
            &m,
            queue.this(),
            cpu,
            item.header(),
        )))
    }

    /// Queues an item after `delay` (kernel `queue_delayed_work_on`).
    ///
    /// # Errors
    /// As [`queue_item`](Self::queue_item).
    pub fn queue_delayed(
        &self,
        cpu: Option<usize>,
        item: RawItem,
        delay: Nanos,
    ) -> Result<bool, QueueError> {
        self.admits(cpu)?;
        let (queue, item) = (self.queue(), item.header());
        let m = queue.machine();
        was_pended(contract::queue_delayed(&m, queue.this(), cpu, item, delay))
    }

    /// Queues an item after `delay` from now, whatever was planned for it (kernel
    /// `mod_delayed_work_on`). True if it was pending.
    ///
    /// # Errors
    /// If it is disabled, or the queue refuses. It stays as it is then.
    pub fn mod_delayed(
        &self,
        cpu: Option<usize>,
        item: RawItem,
        delay: Nanos,
    ) -> Result<bool, QueueError> {
        self.admits(cpu)?;
        let (queue, item) = (self.queue(), item.header());
        let m = queue.machine();
        contract::mod_delayed(&m, queue.this(), cpu, item, delay).ok_or(QueueError::Disabled)
    }

    /// Executes the item, which was queued through this queue, on the calling thread, which would
    /// wait for it, if the queue and the machine permit that. False: it is to be waited for.
    pub fn claim(&self, item: RawItem) -> bool {
        claim::claim(self.queue(), item.header())
    }

    #[inline]
    fn admits(&self, cpu: Option<usize>) -> Result<(), QueueError> {
        self.queue().admits()?;
        cpu.map_or(Ok(()), |cpu| self.queue().has_cpu(cpu))
    }
}

/// All of its items.
impl RawQueue {
    /// Waits until everything queued before this call has ended (kernel `flush_workqueue`).
    ///
    /// # Errors
    /// Inside an item of this very queue, or where nobody could ever do what is waited for; in a
    /// child process.
    pub fn flush(&self) -> Result<(), FlushError> {
        self.queue().flush()
    }

    /// Waits until nothing is queued or running, what its items queue on itself included; others
    /// are refused meanwhile (kernel `drain_workqueue`). False at the deadline, which a worker does
    /// not have.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn drain(&self, deadline: Option<Time>) -> Result<bool, FlushError> {
        self.queue().drain(deadline)
    }
}

/// Its end.
impl RawQueue {
    /// Refuses all but its own items for ever, disarms what is armed for it, and waits as
    /// [`drain`](Self::drain) does: what dropping the last handle does, by any of them. A frozen
    /// queue is thawed.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). It is closed all the same, but for a child process.
    pub fn close(&self, deadline: Option<Time>) -> Result<bool, FlushError> {
        let queue = self.queue();
        if !queue.is_ours() {
            return Err(FlushError::Forked);
        }
        begin_teardown(queue);
        queue.drain(deadline)
    }
}

/// What can be changed.
impl RawQueue {
    /// The attributes as they are now.
    pub fn attrs(&self) -> Attrs {
        self.queue().lock_core().attrs()
    }

    /// Changes the attributes, all at once (kernel `apply_workqueue_attrs`).
    ///
    /// # Errors
    /// If they cannot be had; nothing is changed then.
    pub fn apply_attrs(&self, attrs: Attrs) -> Result<(), AttrsError> {
        let queue = self.queue();
        if !queue.is_ours() {
            return Err(AttrsError::Forked);
        }
        match contract::apply_attrs(&queue.machine(), queue.this(), attrs) {
            Ok(true) => {
                graph::relieve(queue.engine());
                Ok(())
            }
            Ok(false) => Err(AttrsError::PerCpu),
            Err(no_pool) => Err(AttrsError::NoPool(no_pool.to_string())),
        }
    }

    /// The limit, also while the queue is frozen.
    pub fn max_active(&self) -> u32 {
        self.queue().lock_core().max_active()
    }

    /// Changes the limit, which is clamped to its range. False, and nothing changes, for kinds that
    /// are their own limit.
    pub fn set_max_active(&self, max_active: usize) -> bool {
        let queue = self.queue();
        let max_active = max_active.min(*MAX_ACTIVE_RANGE.end() as usize) as u32;
        self.change(|| contract::set_max_active(&queue.machine(), queue.this(), max_active))
    }

    /// What each NUMA node is granted of the limit at least.
    pub fn min_active(&self) -> u32 {
        self.queue().lock_core().min_active()
    }

    /// Changes that; clamped to the limit. False, and nothing changes, for kinds whose limit is not
    /// shared by nodes.
    pub fn set_min_active(&self, min_active: usize) -> bool {
        let queue = self.queue();
        let min_active = u32::try_from(min_active).unwrap_or(u32::MAX);
        self.change(|| contract::set_min_active(&queue.machine(), queue.this(), min_active))
    }

    fn change(&self, change: impl FnOnce() -> bool) -> bool {
        let changed = self.queue().is_ours() && change();
        if changed {
            graph::relieve(self.queue().engine());
        }
        changed
    }
}

/// False if it was pending.
fn was_pended(pended: Result<(), NotPended>) -> Result<bool, QueueError> {
    match pended {
        Ok(()) => Ok(true),
        Err(NotPended::Pending) => Ok(false),
        Err(NotPended::Disabled) => Err(QueueError::Disabled),
    }
}
