//! What can go wrong, by operation.

use std::fmt;
use std::io;

use cmwq_policy::pwq::MAX_ACTIVE_RANGE;
use cmwq_policy::queue::Refused;

/// A queue could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `max_active` is out of its range (`cmwq_policy::pwq::MAX_ACTIVE_RANGE`).
    MaxActive(usize),
    /// An attribute is out of range.
    Attrs(AttrsError),
    /// This kind of queue does not have that attribute.
    NotOfKind {
        /// The attribute.
        what: &'static str,
        /// The kind.
        kind: &'static str,
    },
    /// Two words of the builder that exclude each other.
    Contradiction {
        /// The one said first.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// The process's queues use more different attributes and pods than there may be pools (1000).
    TooManyPools,
    /// The thread of a `mem_reclaim` queue could not be made.
    Rescuer(io::Error),
    /// The system gave no memory to begin with.
    System(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Attrs(error) => error.fmt(f),
            BuildError::NotOfKind { what, kind } => {
                let article = if kind.starts_with(['o', 'u']) {
                    "an"
                } else {
                    "a"
                };
                write!(f, "{article} {kind} queue has no {what}")
            }
            BuildError::Contradiction { one, other } => {
                write!(f, "{one} and {other} contradict each other")
            }
            BuildError::Rescuer(error) => write!(f, "cannot make the rescuer's thread: {error}"),
            BuildError::MaxActive(n) => write!(f, "max_active {n} is not in {MAX_ACTIVE_RANGE:?}"),
            BuildError::TooManyPools => f.write_str("more than 1000 pools of different attributes"),
            BuildError::System(error) => write!(f, "cannot start: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::System(error) | BuildError::Rescuer(error) => Some(error),
            _ => None,
        }
    }
}

/// Attributes of a queue could not be had. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttrsError {
    /// Nice values go from -20 to 19.
    Nice(i32),
    /// CPU numbers go up to 1023.
    Cpu(usize),
    /// The machine has none of the CPUs.
    NoCpus,
    /// Per-CPU and BH queues have no attributes to change.
    PerCpu,
    /// There is no pool for them.
    NoPool(String),
    /// The queue belongs to the process that this one was forked from.
    Forked,
}

impl fmt::Display for AttrsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrsError::Nice(n) => write!(f, "nice value {n} is not in -20..=19"),
            AttrsError::Cpu(cpu) => write!(f, "there can be no CPU {cpu}"),
            AttrsError::NoCpus => f.write_str("the machine has none of these CPUs"),
            AttrsError::PerCpu => f.write_str("a per-CPU queue has no attributes to change"),
            AttrsError::NoPool(why) => f.write_str(why),
            AttrsError::Forked => QueueError::Forked.fmt(f),
        }
    }
}

impl std::error::Error for AttrsError {}

/// Options could not be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallError {
    /// A queue has been made already, perhaps by a library.
    InUse,
    /// Somebody has installed options already, perhaps a library.
    Installed,
    /// The thread limit is not in 1..=32768.
    ThreadLimit(usize),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::InUse => f.write_str("options come before the first queue"),
            InstallError::Installed => f.write_str("options have been installed already"),
            InstallError::ThreadLimit(n) => write!(f, "thread limit {n} is not in 1..=32768"),
        }
    }
}

impl std::error::Error for InstallError {}

/// Why an item was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue belongs to the process that this one was forked from.
    Forked,
    /// `cmwq::shutdown` was called; only running items may queue more.
    ShutDown,
    /// The queue is being drained; only its own items may queue more.
    Draining,
    /// The queue was closed, or its last handle is gone; only its own items may queue more.
    Closed,
    /// The item is disabled.
    Disabled,
    /// The machine has no such CPU.
    NoSuchCpu(usize),
}

impl From<Refused> for QueueError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Draining => QueueError::Draining,
            Refused::Destroying => QueueError::Closed,
            Refused::ShutDown => QueueError::ShutDown,
        }
    }
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::Forked => "the queue belongs to the process this one was forked from",
            QueueError::ShutDown => "cmwq is shut down in this process",
            QueueError::Draining => "the queue is being drained",
            QueueError::Closed => "the queue was closed, or its last handle is gone",
            QueueError::Disabled => "the item is disabled",
            QueueError::NoSuchCpu(cpu) => return write!(f, "the machine has no CPU {cpu}"),
        })
    }
}

impl std::error::Error for QueueError {}

/// The wait could never end. The items wait for each other in a circle. Or every worker that could
/// do the awaited items waits as well, and no other worker can come. Or all slots of the awaited
/// queue are held by items that wait for it, directly or through other queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WouldDeadlock {
    /// The queue whose item wanted to wait.
    pub waiter: String,
    /// The queue whose items it wanted to wait for.
    pub awaited: String,
}

impl fmt::Display for WouldDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WouldDeadlock { waiter, awaited } = self;
        write!(
            f,
            "an item of queue \"{waiter}\" would wait for ever for queue \"{awaited}\""
        )
    }
}

impl std::error::Error for WouldDeadlock {}

/// A flush did not wait, or not to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlushError {
    /// It would have waited for ever.
    WouldDeadlock(WouldDeadlock),
    /// The queue belongs to the process that this one was forked from.
    Forked,
}

impl fmt::Display for FlushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlushError::WouldDeadlock(error) => error.fmt(f),
            FlushError::Forked => QueueError::Forked.fmt(f),
        }
    }
}

impl std::error::Error for FlushError {}
