//! How items get onto queues. All calls say the same: true if the item was queued, false if it was
//! pending already, an error if it was refused.

use std::time::Duration;

use cmwq_engine::error::QueueError;
use cmwq_policy::Nanos;

use super::Workqueue;
use crate::work::Work;

impl Workqueue {
    /// Queues an item. `Ok(true)`: it will run. `Ok(false)`: it was pending, and will run once, as
    /// planned before.
    ///
    /// Either way the execution sees what the caller stored before. An item that is running and not
    /// pending is queued, and runs once more.
    ///
    /// # Errors
    /// The item was refused, and stays as it is:
    ///
    /// * [`Disabled`](QueueError::Disabled): see [`Work::disable`]; also while somebody is in
    ///   [`Work::cancel_sync`].
    /// * [`Draining`](QueueError::Draining), [`Closed`](QueueError::Closed): see
    ///   [`drain`](Self::drain) and [`close`](Self::close). Not if called by an item of the queue.
    /// * [`ShutDown`](QueueError::ShutDown): after [`shutdown`](crate::shutdown), unless called by
    ///   an item.
    /// * [`Forked`](QueueError::Forked): the queue belongs to a parent of this process.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| println!("once"));
    /// let queue = cmwq::system();
    /// assert_eq!(queue.queue(&work)?, true);
    /// queue.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queue<T>(&self, work: &Work<T>) -> Result<bool, QueueError> {
        self.raw().queue_item(None, work.raw())
    }

    /// As [`queue`](Self::queue), for this CPU: on a per-CPU or BH queue its pool runs the item, on
    /// the CPU itself if the process may use it. On other queues the item belongs to the pod of
    /// that CPU: a strict queue runs it there, others prefer workers there. Ordered queues ignore
    /// the CPU.
    ///
    /// # Errors
    /// As [`queue`](Self::queue), and [`QueueError::NoSuchCpu`].
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(cmwq::system_percpu().queue_on(0, &work)?, true);
    /// work.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queue_on<T>(&self, cpu: usize, work: &Work<T>) -> Result<bool, QueueError> {
        self.raw().queue_item(Some(cpu), work.raw())
    }

    /// As [`queue_on`](Self::queue_on), for the first CPU of this NUMA node that the process may
    /// use, or for the caller's own if that is of the node. A node without such CPUs means any CPU
    /// (kernel `queue_work_node`).
    ///
    /// # Errors
    /// As [`queue`](Self::queue).
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(cmwq::system().queue_on_node(0, &work)?, true);
    /// # work.flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn queue_on_node<T>(&self, node: usize, work: &Work<T>) -> Result<bool, QueueError> {
        self.raw().queue_item_node(node, work.raw())
    }

    /// As [`queue`](Self::queue), after `delay`; at once if that is zero (kernel
    /// `queue_delayed_work`). An item that is pending keeps its time.
    ///
    /// If the queue takes no more when its time comes (a drain, the shutdown), it is dropped and
    /// [reported](crate::Report::TimerDropped). That is done by cmwq's thread for timers: what its
    /// destructor does must not wait for items.
    ///
    /// # Errors
    /// As [`queue`](Self::queue).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(cmwq::system().queue_after(&work, Duration::from_secs(1))?, true);
    /// assert_eq!(cmwq::system().queue_after(&work, Duration::ZERO)?, false, "it is pending");
    /// assert!(work.cancel());
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn queue_after<T>(&self, work: &Work<T>, delay: Duration) -> Result<bool, QueueError> {
        self.raw().queue_delayed(None, work.raw(), nanos(delay))
    }

    /// As [`queue_after`](Self::queue_after), for this CPU.
    ///
    /// # Errors
    /// As [`queue_on`](Self::queue_on).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(cmwq::system().queue_after_on(0, &work, Duration::from_millis(1))?, true);
    /// # work.cancel_sync();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn queue_after_on<T>(
        &self,
        cpu: usize,
        work: &Work<T>,
        delay: Duration,
    ) -> Result<bool, QueueError> {
        self.raw()
            .queue_delayed(Some(cpu), work.raw(), nanos(delay))
    }

    /// Queues an item after `delay` from now, whatever was planned for it (kernel
    /// `mod_delayed_work`, which says the opposite: true if it was pending). `Ok(false)`: it was
    /// pending, and has another time now. `Ok(true)`: it was idle, or is running and will run
    /// again.
    ///
    /// # Errors
    /// As [`queue`](Self::queue).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(cmwq::system().modify(&work, Duration::from_secs(1))?, true);
    /// assert_eq!(cmwq::system().modify(&work, Duration::from_secs(2))?, false, "it was pending");
    /// assert!(work.cancel());
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn modify<T>(&self, work: &Work<T>, delay: Duration) -> Result<bool, QueueError> {
        self.modified(None, work, delay)
    }

    /// As [`modify`](Self::modify), for this CPU.
    ///
    /// # Errors
    /// As [`queue_on`](Self::queue_on).
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::Work::new(|| ());
    /// cmwq::system().modify_on(0, &work, Duration::ZERO)?;
    /// # work.cancel_sync();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn modify_on<T>(
        &self,
        cpu: usize,
        work: &Work<T>,
        delay: Duration,
    ) -> Result<bool, QueueError> {
        self.modified(Some(cpu), work, delay)
    }

    fn modified<T>(
        &self,
        cpu: Option<usize>,
        work: &Work<T>,
        delay: Duration,
    ) -> Result<bool, QueueError> {
        let was_pending = self.raw().mod_delayed(cpu, work.raw(), nanos(delay))?;
        Ok(!was_pending)
    }

    /// [Enables](Work::enable) an item and queues it (kernel `enable_and_queue_work`). What was
    /// refused while it was disabled is made up for so.
    ///
    /// # Errors
    /// [`QueueError::Disabled`] if it was disabled more than once: then one of these is taken back.
    /// If the queue refuses it, as [`queue`](Self::queue), it is enabled all the same.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// work.disable();
    /// assert_eq!(cmwq::system().enable_and_queue(&work)?, true);
    /// # work.flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn enable_and_queue<T>(&self, work: &Work<T>) -> Result<bool, QueueError> {
        match work.enable() {
            true => self.queue(work),
            false => Err(QueueError::Disabled),
        }
    }
}

fn nanos(delay: Duration) -> Nanos {
    u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)
}
