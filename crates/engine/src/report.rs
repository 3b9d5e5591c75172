//! What people should hear of: items that keep a CPU, queues that stand still, misuse.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicPtr;
use std::time::Duration;

use cmwq_policy::hog;

use crate::sync::{Mutex, SeqCst};
use crate::user;

/// Something worth knowing. Said on the thread that noticed it, with no lock held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// An item has kept its CPU for at least the [threshold] without sleeping. Said at the 4th,
    /// 5th, 7th, 11th, 19th ... occurrence of its function (kernel `wq_cpu_intensive_report`). On a
    /// per-CPU queue it does not hold up others any more.
    ///
    /// [threshold]: crate::Process::set_cpu_intensive_threshold
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
    /// Items wait and no worker has taken one for the [threshold]. Said once, until there is
    /// progress. Where a pool has no worker and no thread can be made, it is said at once.
    ///
    /// [threshold]: crate::Process::set_watchdog_threshold
    Stall {
        /// The queue of the item that waits first.
        queue: String,
        /// The type name of its function.
        item: &'static str,
        /// Since how long it is the first.
        stood: Duration,
        /// What the workers do that could have taken it.
        workers: Vec<StalledWorker>,
        /// The last try to make a worker's thread has failed with this errno: no other worker can
        /// come.
        no_thread: Option<i32>,
    },
    /// Items wait for a slot, and for the [threshold] no item with a slot has ended (*thread
    /// starvation*). They may wait for each other: a chain of items that depend on each other needs
    /// a slot for each. This is reported once, until there is progress. It is not reported while
    /// one holder of a slot is only slow and no holder waits for an item in a call of this library.
    /// A slow holder computes, sleeps for a time, or waits for a file, a child or a peer.
    ///
    /// [threshold]: crate::Process::set_watchdog_threshold
    Starvation {
        /// The queue.
        queue: String,
        /// The type name of the function of the item that waits first.
        item: &'static str,
        /// Since how long nothing has moved.
        stood: Duration,
        /// Items that wait, and barriers of those who flush them.
        nr_inactive: usize,
        /// Items that hold the slots.
        nr_active: usize,
        /// Slots that there are.
        max_active: usize,
        /// Whose slots, if the queue has others as well.
        part: Option<LimitPart>,
        /// Whether the limit can be changed: that of an ordered queue cannot.
        settable: bool,
        /// What the items with a slot are at; of many, some.
        chain: Vec<StalledWorker>,
    },
    /// Items waited for a slot, and nothing moved, under a limit that the program has not set. The
    /// limit was doubled, and will be again. Said once for each queue. A program that wants another
    /// limit sets [`max_active`](crate::QueueSpec::max_active).
    LimitRaised {
        /// The queue.
        queue: String,
        /// `max_active` before.
        from: usize,
        /// And now.
        to: usize,
    },
    /// The same for the workers of a pool, which [`thread_limit`](crate::Options::thread_limit)
    /// would set. Said once for each pool.
    ThreadLimitRaised {
        /// Workers that it could have before.
        from: usize,
        /// And now.
        to: usize,
    },
    /// An item changed its thread's nice level, CPU mask or signal mask and left it so. The thread
    /// was set right, or has ended where it could not be.
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
    /// The time of a delayed item came while its queue was drained, or after `shutdown`: it was
    /// dropped.
    TimerDropped {
        /// The queue.
        queue: String,
    },
    /// A variable of the environment says nothing that is known; it counts for nothing.
    Environment {
        /// Its name.
        variable: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        expected: String,
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
    /// An item of a `mem_reclaim` queue waits for one that is not: no rescuer will help that
    /// (kernel `check_flush_dependency`). Said once.
    FlushDependency {
        /// The queue that waits.
        waiter: String,
        /// The queue that is waited for.
        awaited: String,
    },
}

/// A part of a queue's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitPart {
    /// That of a NUMA node.
    Node(usize),
    /// Of a per-CPU queue: that of a CPU.
    Cpu(usize),
}

impl fmt::Display for LimitPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitPart::Node(node) => write!(f, "node {node}"),
            LimitPart::Cpu(cpu) => write!(f, "CPU {cpu}"),
        }
    }
}

/// What an item waits for in a call: `join`, `flush` and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The queue.
    pub queue: String,
    /// The type name of the function of the item; `None`: more than one.
    pub item: Option<&'static str>,
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
    /// What the item [says of itself](crate::worker::describe).
    pub desc: Option<String>,
    /// What the item waits for, if it is in a call of this library that waits.
    pub awaits: Option<Awaited>,
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
            Report::Stall { .. } => self.fmt_stall(f),
            Report::Starvation { .. } => self.fmt_starvation(f),
            Report::LimitRaised { .. } | Report::ThreadLimitRaised { .. } => self.fmt_raised(f),
            Report::LeftBehind { .. } => self.fmt_left_behind(f),
            Report::SlowDrain { queue, looks } => write!(
                f,
                "queue \"{queue}\" is not drained after {looks} rounds: its items queue on"
            ),
            Report::Environment {
                variable,
                value,
                expected,
            } => write!(f, "{variable}={value} is ignored: it may be {expected}"),
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

impl Report {
    fn fmt_stall(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::Stall {
            queue,
            item,
            stood,
            workers,
            no_thread,
        } = self
        else {
            return Ok(());
        };
        write!(
            f,
            "{item} of queue \"{queue}\" has been the next item for {stood:?}"
        )?;
        if let Some(errno) = no_thread {
            let error = io::Error::from_raw_os_error(*errno);
            write!(f, "; no thread can be made: {error}")?;
        }
        workers.iter().try_for_each(|worker| write!(f, "{worker}"))
    }

    fn fmt_left_behind(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::LeftBehind {
            queue,
            items,
            what,
            retired,
        } = self
        else {
            return Ok(());
        };
        match queue.as_str() {
            "" => write!(f, "one of {items} items")?,
            queue => write!(f, "an item of queue \"{queue}\" (one of the last {items})")?,
        }
        let fate = match retired {
            true => "has ended",
            false => "was set right",
        };
        write!(f, " left its worker with {what}; the thread {fate}")
    }

    fn fmt_raised(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::LimitRaised { queue, from, to } => write!(
                f,
                "queue \"{queue}\": all {from} slots are held by items that stand still, and others wait. \
                 max_active, which the program has not set, is {to} now, and is doubled while nothing moves"
            ),
            Report::ThreadLimitRaised { from, to } => write!(
                f,
                "all {from} workers of a pool stand still, and items wait. Its thread limit, which the program \
                 has not set, is {to} now, and is doubled while nothing moves"
            ),
            _ => Ok(()),
        }
    }

    fn fmt_starvation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report::Starvation {
            queue,
            item,
            stood,
            nr_inactive,
            nr_active,
            max_active,
            part,
            settable,
            chain,
        } = self
        else {
            return Ok(());
        };
        let of = part.map_or(String::new(), |part| format!(" of {part}"));
        let links = nr_active + 1;
        write!(
            f,
            "queue \"{queue}\": {nr_inactive} wait for one of {max_active} slots{of}, {item} first, and \
             nothing has moved for {stood:?}. If the {nr_active} active ones wait for them: "
        )?;
        match (settable, part) {
            (false, _) => write!(f, "what they wait for belongs on another queue")?,
            (true, Some(LimitPart::Node(_))) => write!(
                f,
                "raise max_active or min_active, a chain of {links} or more items needs a slot for each"
            )?,
            (true, _) => write!(
                f,
                "raise max_active, a chain of {links} or more items needs a slot for each"
            )?,
        }
        chain.iter().try_for_each(|worker| write!(f, "{worker}"))
    }
}

impl fmt::Display for StalledWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StalledWorker {
            tid,
            queue,
            item,
            desc,
            awaits,
            place,
        } = self;
        write!(f, "\n  thread {tid} executes {item} of queue \"{queue}\"")?;
        if let Some(desc) = desc {
            write!(f, " ({desc})")?;
        }
        match awaits {
            Some(Awaited {
                queue,
                item: Some(item),
            }) => write!(f, ", and waits for {item} of queue \"{queue}\"")?,
            Some(Awaited { queue, item: None }) => {
                write!(f, ", and waits for items of queue \"{queue}\"")?;
            }
            None => {}
        }
        write!(f, "; it {place}")
    }
}

type Hook = Box<dyn Fn(&Report) + Send + Sync>;

/// Null, or leaked: any thread may be in the middle of a call, and a forked child finds no lock
/// that somebody held.
static HOOK: AtomicPtr<Hook> = AtomicPtr::new(std::ptr::null_mut());

/// From now on reports go to `hook`, instead of one line each to the standard error output. Without
/// one [`Report::CpuIntensive`] is not said. It is called on the thread that has found something,
/// with nothing locked, and never dropped.
pub fn set_hook(hook: impl Fn(&Report) + Send + Sync + 'static) {
    let hook: Box<Hook> = Box::new(Box::new(hook));
    HOOK.store(Box::into_raw(hook), SeqCst);
}

pub(crate) fn say(report: &Report) {
    // Whoever noticed may be a thread that everybody needs.
    #[cfg(feature = "tracing")]
    user::run(|| tracing::warn!(target: "cmwq", "{report}"));
    // SAFETY: null or leaked.
    match unsafe { HOOK.load(SeqCst).as_ref() } {
        Some(hook) => drop(user::run(|| hook(report))),
        None if matches!(report, Report::CpuIntensive { .. }) => {}
        None => cmwq_os::stderr::say(&format!("cmwq: {report}\n")),
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
