//! Handles of queues.

use std::fmt;
use std::time::Duration;

use cmwq_engine::RawQueue;
use cmwq_engine::error::FlushError;
use cmwq_policy::Time;

/// A queue of work items. A handle: clones are the same queue, and dropping the last one waits
/// until everything queued has ended. Dropped inside one of its own items it does not wait; the
/// queue goes when that item, and what else is queued, has ended.
///
/// Threads belong to pools that all queues of the process share, so a queue costs no thread. It
/// takes about 900 bytes of memory, and up to a kilobyte more once threads have spawned at the same
/// time. A [per-CPU](crate::WorkqueueBuilder::percpu) queue takes about 520 more for each further
/// CPU that it is used on.
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
    #[inline]
    pub(crate) fn raw(&self) -> &RawQueue {
        &self.raw
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
    /// others are refused with [`QueueError::Draining`](crate::QueueError::Draining), and a delayed
    /// item whose time comes is dropped (kernel `drain_workqueue`, which drops and says true). If
    /// its items queue more than ten times in a chain, that is
    /// [reported](crate::Report::SlowDrain), as it might never end; it goes on draining. To end a
    /// queue, [`close`](Self::close) it.
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
    /// more; others are refused with [`QueueError::Closed`](crate::QueueError::Closed), for ever.
    /// Delayed items that are armed for it are disarmed. A frozen queue is thawed.
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
