//! Items with a timer.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use cmwq_engine::error::{FlushError, QueueError};
use cmwq_policy::Nanos;

use crate::work::Work;
use crate::workqueue::{Workqueue, was_queued};

/// An item that is queued after a delay (kernel `delayed_work`). A handle: clones are the same
/// item.
///
/// While its timer is armed it is pending. Delays are of `CLOCK_MONOTONIC`: they do not pass while
/// the machine is suspended. The timers of all items are one thread's, which sleeps until the first
/// of them. Dropping a queue disarms what is armed for it.
///
/// It [derefs](Deref) to its [`Work`]: [`cancel`](Work::cancel),
/// [`cancel_sync`](Work::cancel_sync), [`disable`](Work::disable), [`busy`](Work::busy) and the
/// others know of its timer, but for [`Work::flush`], which does not wait for it.
///
/// ```
/// use std::time::Duration;
/// let flusher = cmwq::DelayedWork::new(|| println!("flush to disk"));
/// let queue = cmwq::system();
/// assert!(queue.queue_after(&flusher, Duration::from_secs(30)));
/// // Sooner, or later: the last word counts.
/// assert!(queue.modify(&flusher, Duration::from_millis(5)), "it was pending");
/// assert!(flusher.flush_now()?, "at once");
/// # Ok::<(), cmwq::FlushError>(())
/// ```
pub struct DelayedWork<T = ()> {
    work: Work<T>,
}

impl<T> Clone for DelayedWork<T> {
    fn clone(&self) -> Self {
        DelayedWork {
            work: self.work.clone(),
        }
    }
}

impl<T> Deref for DelayedWork<T> {
    type Target = Work<T>;

    fn deref(&self) -> &Work<T> {
        &self.work
    }
}

impl<T> fmt::Debug for DelayedWork<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayedWork")
            .field("work", &self.work)
            .finish()
    }
}

impl DelayedWork {
    /// An item that calls `func`.
    ///
    /// ```
    /// let tick = cmwq::DelayedWork::new(|| println!("tick"));
    /// # let _ = tick;
    /// ```
    pub fn new<F: Fn() + Send + Sync + 'static>(func: F) -> Self {
        DelayedWork {
            work: Work::new(func),
        }
    }
}

impl<T: Send + Sync + 'static> DelayedWork<T> {
    /// An item with data, which `func` gets with the item itself: it may arm itself again.
    ///
    /// ```
    /// use std::time::Duration;
    /// let heartbeat = cmwq::DelayedWork::with_data(0, |heartbeat| {
    ///     cmwq::system().queue_after(heartbeat, Duration::from_secs(1));
    /// });
    /// cmwq::system().queue_after(&heartbeat, Duration::ZERO);
    /// heartbeat.cancel_sync()?;
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn with_data<F: Fn(&DelayedWork<T>) + Send + Sync + 'static>(data: T, func: F) -> Self {
        let call = move |work: &Work<T>| func(&DelayedWork { work: work.clone() });
        DelayedWork {
            work: Work::named::<F>(data, call),
        }
    }

    /// If its timer is armed, queues it at once; then waits for it as [`Work::flush`] does (kernel
    /// `flush_delayed_work`). True if it was armed, or if there was something to wait for. An armed
    /// item that its queue does not take from this caller any more is dropped and reported, as when
    /// its time comes.
    ///
    /// # Errors
    /// As [`Work::flush`].
    ///
    /// ```
    /// let work = cmwq::DelayedWork::new(|| ());
    /// assert!(!work.flush_now()?, "there was nothing to wait for");
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn flush_now(&self) -> Result<bool, FlushError> {
        self.work.raw().flush_delayed()
    }
}

impl Workqueue {
    /// Queues an item after `delay`, at once if that is zero. False if it was pending, which stays
    /// as it is; or disabled, or [refused](Self::try_queue).
    ///
    /// If the queue takes no more when its time comes (a drain, the shutdown), it is dropped and
    /// reported. That is done by cmwq's thread for timers: what its destructor does must not wait
    /// for items.
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::DelayedWork::new(|| ());
    /// assert!(cmwq::system().queue_after(&work, Duration::from_secs(1)));
    /// assert!(!cmwq::system().queue_after(&work, Duration::ZERO), "it is pending");
    /// assert!(work.cancel());
    /// ```
    pub fn queue_after<T: Send + Sync + 'static>(
        &self,
        work: &DelayedWork<T>,
        delay: Duration,
    ) -> bool {
        self.try_queue_after(None, work, delay).unwrap_or(false)
    }

    /// As [`queue_after`](Self::queue_after), for this CPU, and says why an item was refused. `cpu`
    /// is as for [`queue_on`](Self::queue_on).
    ///
    /// # Errors
    /// As [`try_queue`](Self::try_queue) and [`queue_on`](Self::queue_on). An item that is armed
    /// and whose time comes while the queue is drained is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::DelayedWork::new(|| ());
    /// assert!(cmwq::system().try_queue_after(Some(0), &work, Duration::from_millis(1))?);
    /// # work.cancel_sync();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn try_queue_after<T: Send + Sync + 'static>(
        &self,
        cpu: Option<usize>,
        work: &DelayedWork<T>,
        delay: Duration,
    ) -> Result<bool, QueueError> {
        was_queued(self.raw().queue_delayed(cpu, work.work.raw(), nanos(delay)))
    }

    /// Queues an item after `delay` from now, whatever was planned for it (kernel
    /// `mod_delayed_work`). **True if it was pending**; false if it was idle, or is running: then
    /// it will run again. A disabled item stays as it is; so does one that is
    /// [refused](Self::try_queue).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::DelayedWork::new(|| ());
    /// assert!(!cmwq::system().modify(&work, Duration::from_secs(1)), "it was idle");
    /// assert!(cmwq::system().modify(&work, Duration::from_secs(2)));
    /// assert!(work.cancel());
    /// ```
    pub fn modify<T: Send + Sync + 'static>(&self, work: &DelayedWork<T>, delay: Duration) -> bool {
        self.try_modify(None, work, delay).unwrap_or(false)
    }

    /// As [`modify`](Self::modify), for this CPU, and says why an item was refused.
    ///
    /// # Errors
    /// As [`try_queue_after`](Self::try_queue_after).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::DelayedWork::new(|| ());
    /// cmwq::system().try_modify(Some(0), &work, Duration::ZERO)?;
    /// # work.cancel_sync();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn try_modify<T: Send + Sync + 'static>(
        &self,
        cpu: Option<usize>,
        work: &DelayedWork<T>,
        delay: Duration,
    ) -> Result<bool, QueueError> {
        self.raw().mod_delayed(cpu, work.work.raw(), nanos(delay))
    }
}

fn nanos(delay: Duration) -> Nanos {
    u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)
}
