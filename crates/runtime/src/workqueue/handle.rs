//! Handles of queues.

use std::fmt;
use std::time::Duration;

use cmwq_engine::RawQueue;
use cmwq_engine::error::{FlushError, NotQueued, QueueError};
use cmwq_policy::Time;

use crate::work::{EnqueueError, Work};

/// A queue of work items. A handle: clones are the same queue, and dropping the last one waits
/// until everything queued has ended. Dropped inside one of its own items it does not wait; the
/// queue goes when that item, and what else is queued, has ended.
///
/// Threads belong to pools that all queues of the process share, so a queue costs a few hundred
/// bytes and no thread.
///
/// ```
/// let queue = cmwq::Workqueue::builder("thumbnails").max_active(8).build()?;
/// let sum = queue.spawn(|| (1..=10).sum::<u32>());
/// assert_eq!(sum.join()?, 55);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Workqueue {
    raw: RawQueue,
}

impl fmt::Debug for Workqueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workqueue")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Workqueue {
    /// As the engine knows it.
    pub(crate) fn raw(&self) -> &RawQueue {
        &self.raw
    }

    /// Queues an item; false if it was already pending, or was [refused](Self::try_queue).
    ///
    /// If it returns true, what the caller stored before is seen by the execution. If it returns
    /// false because the item was pending, the pending execution has not begun, so it sees it too.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| println!("once"));
    /// let queue = cmwq::system();
    /// assert!(queue.queue(&work));
    /// queue.flush()?;
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn queue<T: Send + Sync + 'static>(&self, work: &Work<T>) -> bool {
        self.try_queue(work).unwrap_or(false)
    }

    /// As [`queue`](Self::queue), and says why an item was refused.
    ///
    /// # Errors
    /// [`QueueError::Forked`] in a child of the process that made the queue;
    /// [`QueueError::ShutDown`] after [`shutdown`](crate::shutdown), unless called by an item.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(cmwq::system().try_queue(&work)?);
    /// # cmwq::system().flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn try_queue<T: Send + Sync + 'static>(&self, work: &Work<T>) -> Result<bool, QueueError> {
        was_queued(self.raw.queue_item(None, work.raw()))
    }

    /// As [`try_queue`](Self::try_queue), for this CPU: on a per-CPU or BH queue its pool runs the
    /// item, on the CPU itself if the process may use it. On other queues the item belongs to the
    /// pod of that CPU: a strict queue runs it there, others prefer workers there. Ordered queues
    /// ignore the CPU.
    ///
    /// # Errors
    /// Those of `try_queue`, and [`QueueError::NoSuchCpu`].
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(cmwq::system_percpu().queue_on(0, &work)?);
    /// work.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queue_on<T: Send + Sync + 'static>(
        &self,
        cpu: usize,
        work: &Work<T>,
    ) -> Result<bool, QueueError> {
        was_queued(self.raw.queue_item(Some(cpu), work.raw()))
    }

    /// As [`queue_on`](Self::queue_on), for the first CPU of this NUMA node that the process may
    /// use, or for the caller's own if that is of the node. A node without such CPUs means any CPU
    /// (kernel `queue_work_node`).
    ///
    /// # Errors
    /// Those of `try_queue`.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(cmwq::system().queue_on_node(0, &work)?);
    /// # work.flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn queue_on_node<T: Send + Sync + 'static>(
        &self,
        node: usize,
        work: &Work<T>,
    ) -> Result<bool, QueueError> {
        was_queued(self.raw.queue_item_node(node, work.raw()))
    }

    /// Queues an item and gives the reference to the queue; hands it back with the reason if it was
    /// not queued (`rust/kernel/workqueue.rs` of Linux, `Queue::enqueue`).
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// work.disable();
    /// let refused = cmwq::system().enqueue(work).unwrap_err();
    /// assert_eq!(refused.reason, cmwq::NotQueued::Disabled);
    /// let work = refused.work;
    /// # let _ = work;
    /// ```
    pub fn enqueue<T: Send + Sync + 'static>(&self, work: Work<T>) -> Result<(), EnqueueError<T>> {
        let queued = self.raw.queue_item(None, work.raw());
        queued.map_err(|reason| EnqueueError { work, reason })
    }

    /// Enables an item, and queues it if it is not disabled otherwise: true then (kernel
    /// `enable_and_queue_work`). What was refused while it was disabled is made up for so.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// work.disable();
    /// assert!(cmwq::system().enable_and_queue(&work));
    /// # work.flush();
    /// ```
    pub fn enable_and_queue<T: Send + Sync + 'static>(&self, work: &Work<T>) -> bool {
        let enabled = work.enable();
        if enabled {
            self.queue(work);
        }
        enabled
    }

    /// Waits until everything queued before this call has ended. Items queued meanwhile are not
    /// waited for, so it ends however fast others queue.
    ///
    /// # Errors
    /// [`FlushError::WouldDeadlock`] inside an item of this very queue, or where nobody could ever
    /// do what is waited for; [`FlushError::Forked`] in a child process.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("log").build()?;
    /// for n in 0..3 {
    ///     drop(queue.spawn(move || println!("{n}")));
    /// }
    /// queue.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<(), FlushError> {
        self.raw.flush()
    }

    /// Waits until nothing is queued or running, what its items queue on itself included. Meanwhile
    /// others are refused with [`QueueError::Draining`], and a delayed item whose time comes is
    /// dropped (kernel `drain_workqueue`, which drops and says true). If its items queue more
    /// than ten times in a chain, that is [reported](crate::Report::SlowDrain), as it might never
    /// end; it goes on draining. To end a queue, [`close`](Self::close) it.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("log").build()?;
    /// drop(queue.spawn(|| println!("last words")));
    /// queue.drain()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&self) -> Result<(), FlushError> {
        self.raw.drain(None).map(drop)
    }

    /// As [`drain`](Self::drain), at most for `timeout`: false if items were left, which go on.
    /// Inside an item it has no deadline.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// use std::time::Duration;
    /// let queue = cmwq::Workqueue::builder("loop").build()?;
    /// assert!(queue.drain_timeout(Duration::from_secs(1))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain_timeout(&self, timeout: Duration) -> Result<bool, FlushError> {
        self.raw.drain(Some(deadline(timeout)))
    }

    /// Closes the queue and waits until everything queued in it has ended: what dropping the last
    /// handle does, by any handle, and with an answer. From now on only its own items may queue
    /// more; others are refused with [`QueueError::Destroying`], for ever. Delayed items that are
    /// armed for it are disarmed. A frozen queue is thawed.
    ///
    /// The queues of [`system`](crate::system) and its like are shared by the whole process: do not
    /// close them.
    ///
    /// # Errors
    /// As [`flush`](Self::flush): inside one of its own items it does not wait. The queue is closed
    /// all the same, but in a child process.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("log").build()?;
    /// let clone = queue.clone();
    /// queue.spawn(|| println!("last words")).detach();
    /// queue.close()?;
    /// assert!(clone.spawn(|| ()).join().is_err(), "it takes no more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) -> Result<(), FlushError> {
        self.raw.close(None).map(drop)
    }

    /// As [`close`](Self::close), waiting at most for `timeout`: false if items were left, which go
    /// on. [`counts`](Self::counts) then tells how many. Call it again, or `close`, to wait longer.
    /// Dropping the last handle waits as well, unless you [forget](std::mem::forget) it.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// use std::time::Duration;
    /// let queue = cmwq::Workqueue::builder("log").build()?;
    /// assert!(queue.close_timeout(Duration::from_secs(60))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close_timeout(&self, timeout: Duration) -> Result<bool, FlushError> {
        self.raw.close(Some(deadline(timeout)))
    }

    /// Whether items wait because the limit is reached (kernel `workqueue_congested`), of a per-CPU
    /// queue: on this CPU, or the caller's own. A hint: it may change at any time.
    ///
    /// ```
    /// assert!(!cmwq::system().is_congested(None));
    /// ```
    pub fn is_congested(&self, cpu: Option<usize>) -> bool {
        self.raw.is_congested(cpu)
    }

    /// The name it was built with.
    ///
    /// ```
    /// assert_eq!(cmwq::system().name(), "system");
    /// ```
    pub fn name(&self) -> &str {
        self.raw.name()
    }
}

impl From<RawQueue> for Workqueue {
    fn from(raw: RawQueue) -> Self {
        Workqueue { raw }
    }
}

fn deadline(timeout: Duration) -> Time {
    let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    cmwq_os::clock::now().after(nanos)
}

/// False if it was pending, or is disabled.
pub(crate) fn was_queued(queued: Result<(), NotQueued>) -> Result<bool, QueueError> {
    match queued {
        Err(NotQueued::Refused(error)) => Err(error),
        queued => Ok(queued.is_ok()),
    }
}
