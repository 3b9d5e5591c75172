//! What can go wrong, by operation.

use std::any::Any;
use std::fmt;
use std::io;

/// A queue could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// Nice values go from -20 to 19.
    Nice(i32),
    /// `max_active` goes from 1 to 2048.
    MaxActive(usize),
    /// The process's queues use more different sets of attributes than there may be pools (256).
    TooManyPools,
    /// The system gave no memory to begin with.
    System(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Nice(n) => write!(f, "nice value {n} is not in -20..=19"),
            BuildError::MaxActive(n) => write!(f, "max_active {n} is not in 1..=2048"),
            BuildError::TooManyPools => f.write_str("more than 256 different sets of attributes"),
            BuildError::System(error) => write!(f, "cannot start: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::System(error) => Some(error),
            _ => None,
        }
    }
}

/// Options could not be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallError {
    /// A queue has been made already.
    InUse,
    /// The thread limit is not in 1..=32768.
    ThreadLimit(usize),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::InUse => f.write_str("options come before the first queue"),
            InstallError::ThreadLimit(n) => write!(f, "thread limit {n} is not in 1..=32768"),
        }
    }
}

impl std::error::Error for InstallError {}

/// An item was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue belongs to the process that this one was forked from.
    Forked,
    /// `cmwq::shutdown` was called; only running items may queue more.
    ShutDown,
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::Forked => "the queue belongs to the process this one was forked from",
            QueueError::ShutDown => "cmwq is shut down in this process",
        })
    }
}

impl std::error::Error for QueueError {}

/// The wait could never end: every worker that could do the awaited items waits as well, and no
/// other can come; or all slots of the awaited queue are held by items that wait for it, or for other
/// queues of which the same is true. Seen among queues of equal attributes only.
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

/// A spawned closure gave no value.
pub enum JoinError {
    /// It panicked, with this payload.
    Panicked(Box<dyn Any + Send + 'static>),
    /// Waiting would never have ended. The closure stays queued and runs when somebody can.
    WouldDeadlock(WouldDeadlock),
    /// It was never queued.
    Refused(QueueError),
    /// It was taken off its queue before it began, because its scope could not wait for it.
    Cancelled,
}

impl JoinError {
    /// Whether the closure panicked.
    ///
    /// ```
    /// let error = cmwq::system().spawn(|| panic!("gone")).join().unwrap_err();
    /// assert!(error.is_panic());
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// The panic's payload, for `std::panic::resume_unwind`; the error itself if it is another.
    ///
    /// ```
    /// let error = cmwq::system().spawn(|| panic!("gone")).join().unwrap_err();
    /// assert_eq!(*error.into_panic().unwrap().downcast::<&str>().unwrap(), "gone");
    /// ```
    pub fn into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self {
            JoinError::Panicked(payload) => Ok(payload),
            other => Err(other),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Panicked(_) => f.write_str("Panicked(..)"),
            JoinError::WouldDeadlock(error) => f.debug_tuple("WouldDeadlock").field(error).finish(),
            JoinError::Refused(error) => f.debug_tuple("Refused").field(error).finish(),
            JoinError::Cancelled => f.write_str("Cancelled"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Panicked(payload) => match panic_message(payload.as_ref()) {
                Some(message) => write!(f, "the item panicked: {message}"),
                None => f.write_str("the item panicked"),
            },
            JoinError::WouldDeadlock(error) => error.fmt(f),
            JoinError::Refused(error) => error.fmt(f),
            JoinError::Cancelled => f.write_str("the item was cancelled with its scope"),
        }
    }
}

impl std::error::Error for JoinError {}

fn panic_message(payload: &(dyn Any + Send)) -> Option<&str> {
    let literal = payload.downcast_ref::<&'static str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}
