//! Looking at queues: how many items wait, and for what.

use cmwq_policy::contract::{Decision, QueueCounts};
pub use cmwq_policy::pool::Waits;
pub use cmwq_policy::stats::{Histogram, PwqStats as WorkqueueStats};

use super::Workqueue;

/// How many items of a queue are where. Names are the kernel's. A snapshot: pools are looked at one
/// by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkqueueCounts {
    /// The limit, also while the queue is frozen; of a per-CPU queue: for each CPU.
    pub max_active: usize,
    /// What each NUMA node is granted of it at least.
    pub min_active: usize,
    /// Items that hold a slot: those that are executed, or need nothing but a worker, or wait for
    /// an execution of their own.
    pub nr_active: usize,
    /// Items that are being executed.
    pub nr_executing: usize,
    /// Those that wait for a slot: items, and barriers of those who flush them.
    pub nr_inactive: usize,
    /// How many wait, for each reason for which any do.
    pub waits: Vec<(Waits, usize)>,
}

impl From<QueueCounts> for WorkqueueCounts {
    fn from(counts: QueueCounts) -> Self {
        let waits = Waits::ALL
            .into_iter()
            .map(|why| (why, counts.waiting(why) as usize));
        WorkqueueCounts {
            max_active: counts.max_active as usize,
            min_active: counts.min_active as usize,
            nr_active: counts.nr_active as usize,
            nr_executing: counts.nr_executing as usize,
            nr_inactive: counts.nr_inactive as usize,
            waits: waits.filter(|(_, waiting)| *waiting > 0).collect(),
        }
    }
}

impl WorkqueueCounts {
    /// How many wait for this reason.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("idle").build()?;
    /// assert_eq!(queue.counts().waiting(cmwq::Waits::Limit), 0);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn waiting(&self, why: Waits) -> usize {
        let found = self.waits.iter().find(|(of, _)| *of == why);
        found.map_or(0, |(_, waiting)| *waiting)
    }
}

impl Workqueue {
    /// What holds for items that are queued on this CPU, which is one of so many, now: the
    /// process's CPUs are read again first. For tests that compare this machine with a simulated
    /// one.
    #[doc(hidden)]
    pub fn decision(&self, cpu: usize, nr_cpus: usize) -> Decision {
        self.raw().decision(cpu, nr_cpus)
    }

    /// How many of its items are where. Not for the hot path: it looks at each worker of the
    /// queue's pools, under their locks. All zero in a child of the process that made the queue.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("slow").max_active(1).build()?;
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// let first = queue.spawn(move || drop(wait.recv()));
    /// let second = queue.spawn(|| ());
    /// let counts = queue.counts();
    /// assert_eq!((counts.nr_active, counts.nr_inactive), (1, 1));
    /// assert_eq!(counts.waiting(cmwq::Waits::Limit), 1);
    /// drop(go);
    /// first.join()?;
    /// second.join()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counts(&self) -> WorkqueueCounts {
        self.raw()
            .counts()
            .map_or_else(Default::default, Into::into)
    }

    /// What has become of its items since it was made. Always counted: no clock is read for it.
    /// Costs a look at each pool of the queue. All zero in a child of the process that made the
    /// queue.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("counted").build()?;
    /// queue.spawn(|| std::thread::sleep(std::time::Duration::from_millis(2))).join()?;
    /// queue.drain()?;
    /// let stats = queue.stats();
    /// assert_eq!((stats.started(), stats.completed()), (1, 1));
    /// assert!(stats.ran.percentile(50) >= Some(2_000_000), "nanoseconds");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> WorkqueueStats {
        self.raw().stats().unwrap_or_default()
    }
}
