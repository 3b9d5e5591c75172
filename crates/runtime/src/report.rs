//! What people should hear of: items that keep a CPU, queues that stand still, misuse.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use cmwq_policy::hog;

/// Something worth knowing. Said on the thread that noticed it, with no lock held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// An item has kept its CPU for at least the [threshold](crate::set_cpu_intensive_threshold) without
    /// sleeping. Said at the 4th, 5th, 7th, 11th, 19th ... occurrence of its function (kernel
    /// `wq_cpu_intensive_report`). On a per-CPU queue it does not hold up others any more.
    CpuIntensive {
        /// Its queue.
        queue: String,
        /// The type name of its function.
        item: &'static str,
        /// CPU time that it was seen to use.
        cpu: Duration,
        /// How often this function was found so.
        count: u32,
    },
    /// Items wait and no worker has taken one for the [threshold](crate::set_watchdog_threshold). Said
    /// once, until there is progress.
    Stall {
        /// The queue of the item that waits first.
        queue: String,
        /// The type name of its function.
        item: &'static str,
        /// Since how long it is the first.
        stood: Duration,
        /// What the workers do that could have taken it.
        workers: Vec<StalledWorker>,
    },
    /// An item changed its thread's nice level, CPU mask or signal mask and left it so. The thread was set
    /// right, or has ended where it could not be.
    LeftBehind {
        /// Its queue; empty if several short items come into question.
        queue: String,
        /// One of the last so many items of the worker did it.
        items: u32,
        /// What was found.
        what: String,
        /// The thread has ended.
        retired: bool,
    },
    /// A queue is being drained and its items go on queueing: said at the 10th round, and at each
    /// hundredth up to 1000.
    SlowDrain {
        /// The queue.
        queue: String,
        /// Rounds so far.
        looks: u32,
    },
    /// The time of a delayed item came while its queue was drained, or after `shutdown`: it was dropped.
    TimerDropped {
        /// The queue.
        queue: String,
    },
    /// An item was enabled that was not disabled. Nothing has changed.
    EnableUnderflow {
        /// The type name of its function.
        item: &'static str,
    },
    /// An item was disabled more often than can be counted; this one was not.
    DisableOverflow {
        /// The type name of its function.
        item: &'static str,
    },
    /// An item of a `mem_reclaim` queue waits for one that is not: no rescuer will help that (kernel
    /// `check_flush_dependency`). Said once.
    FlushDependency {
        /// The queue that waits.
        waiter: String,
        /// The queue that is waited for.
        awaited: String,
    },
}

/// A worker of a pool that stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalledWorker {
    /// Its thread.
    pub tid: i32,
    /// The queue of its item.
    pub queue: String,
    /// The type name of the item's function.
    pub item: &'static str,
    /// What the item [says of itself](crate::set_worker_desc).
    pub desc: Option<String>,
    /// Where the thread is: its kernel stack where readable, else its system call.
    pub place: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::CpuIntensive {
                queue,
                item,
                cpu,
                count,
            } => write!(
                f,
                "{item} of queue \"{queue}\" kept a CPU for {cpu:?}, {count} times so far"
            ),
            Report::Stall {
                queue,
                item,
                stood,
                workers,
            } => {
                write!(
                    f,
                    "{item} of queue \"{queue}\" has been the next item for {stood:?}"
                )?;
                workers.iter().try_for_each(|worker| write!(f, "{worker}"))
            }
            Report::LeftBehind {
                queue,
                items,
                what,
                retired,
            } => {
                match queue.as_str() {
                    "" => write!(f, "one of {items} items")?,
                    queue => write!(f, "an item of queue \"{queue}\" (one of the last {items})")?,
                }
                let fate = if *retired {
                    "has ended"
                } else {
                    "was set right"
                };
                write!(f, " left its worker with {what}; the thread {fate}")
            }
            Report::SlowDrain { queue, looks } => write!(
                f,
                "queue \"{queue}\" is not drained after {looks} rounds: its items queue on"
            ),
            Report::TimerDropped { queue } => write!(
                f,
                "a delayed item was dropped when its time came: queue \"{queue}\" takes no more"
            ),
            Report::EnableUnderflow { item } => {
                write!(f, "{item} was enabled but is not disabled")
            }
            Report::DisableOverflow { item } => {
                write!(f, "{item} is disabled 65535 times: one more does not count")
            }
            Report::FlushDependency { waiter, awaited } => write!(
                f,
                "queue \"{waiter}\", which has a rescuer, waits for queue \"{awaited}\", which has none"
            ),
        }
    }
}

impl fmt::Display for StalledWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StalledWorker {
            tid,
            queue,
            item,
            desc,
            place,
        } = self;
        write!(f, "\n  thread {tid} executes {item} of queue \"{queue}\"")?;
        if let Some(desc) = desc {
            write!(f, " ({desc})")?;
        }
        write!(f, "; it {place}")
    }
}

type Hook = dyn Fn(&Report) + Send + Sync;

static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// From now on reports go to `hook`, instead of one line each to the standard error output. Without a hook,
/// [`Report::CpuIntensive`] is not said at all: on other than per-CPU queues that is no fault.
///
/// ```
/// cmwq::set_report_hook(|report| eprintln!("my log: {report}"));
/// ```
pub fn set_report_hook(hook: impl Fn(&Report) + Send + Sync + 'static) {
    let hook: Arc<Hook> = Arc::new(hook);
    *HOOK.write().unwrap_or_else(PoisonError::into_inner) = Some(hook);
}

pub(crate) fn say(report: &Report) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "cmwq", "{report}");
    let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
    match hook {
        // Whoever noticed may be a thread that everybody needs.
        Some(hook) => drop(catch_unwind(AssertUnwindSafe(|| hook(report)))),
        None if matches!(report, Report::CpuIntensive { .. }) => {}
        // A closed standard error is no reason to panic.
        None => drop(std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("cmwq: {report}\n"),
        )),
    }
}

/// What was reported before. Of one process.
pub(crate) struct Reports {
    hogs: Mutex<hog::Reports>,
}

impl Reports {
    pub(crate) fn new() -> Self {
        Reports {
            hogs: Mutex::default(),
        }
    }

    /// A function was found CPU-intensive; how often by now, if that is to be said.
    pub(crate) fn hog(&self, func: u64) -> Option<u32> {
        self.hogs.lock().expect("nobody panics with it").noted(func)
    }
}
