//! Looking at queues: how many items wait, and for what.

use cmwq_policy::contract::{self, QueueCounts};
use cmwq_policy::pool;

use super::Workqueue;

/// Why an item that is pending has not begun: the first thing that it needs and has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Waits {
    /// Its timer is armed.
    Timer,
    /// All slots of its queue's [`max_active`](Workqueue::max_active) are taken, or the queue is
    /// [frozen](crate::freezer).
    Limit,
    /// Older items of its ordered queue, whose attributes have changed since, come first.
    Plugged,
    /// An execution of it goes on: the next one begins when that has ended.
    Behind,
    /// As many workers run as there are CPUs for them.
    Cpu,
    /// More workers would only queue up at a lock: the next one is started a little later.
    Growth,
    /// A worker: one is on its way, or is being made, or cannot be made.
    Worker,
}

impl From<pool::Waits> for Waits {
    fn from(waits: pool::Waits) -> Self {
        match waits {
            pool::Waits::Timer => Waits::Timer,
            pool::Waits::Limit => Waits::Limit,
            pool::Waits::Plugged => Waits::Plugged,
            pool::Waits::Behind => Waits::Behind,
            pool::Waits::Cpu => Waits::Cpu,
            pool::Waits::Growth => Waits::Growth,
            pool::Waits::Worker => Waits::Worker,
        }
    }
}

/// How many items of a queue are where. Names are the kernel's. A snapshot: pools are looked at one by
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkqueueCounts {
    /// The limit, also while the queue is frozen; of a per-CPU queue: for each CPU.
    pub max_active: usize,
    /// What each NUMA node is granted of it at least.
    pub min_active: usize,
    /// Items that hold a slot: those that are executed, or need nothing but a worker, or wait for an
    /// execution of their own.
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
        let waits = pool::Waits::ALL.into_iter().map(|why| {
            let waiting = counts.waiting(why) as usize;
            (Waits::from(why), waiting)
        });
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
    /// How many of its items are where. Not for the hot path: it looks at each worker of the queue's pools,
    /// under their locks. All zero in a child of the process that made the queue.
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
        let queue = self.queue_ref();
        match queue.is_ours() {
            true => contract::counts(&queue.machine(), queue.this()).into(),
            false => WorkqueueCounts::default(),
        }
    }
}
