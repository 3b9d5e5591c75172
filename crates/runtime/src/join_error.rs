//! Why a spawned closure gave no value.

use std::any::Any;
use std::fmt;

use cmwq_engine::error::{QueueError, WouldDeadlock};

/// A spawned closure gave no value.
#[non_exhaustive]
pub enum JoinError {
    /// It panicked, with this payload.
    Panicked(Box<dyn Any + Send + 'static>),
    /// Waiting would never have ended. The closure stays queued and runs when somebody can.
    WouldDeadlock(WouldDeadlock),
    /// It was never queued.
    Refused(QueueError),
    /// It was taken off its queue before it began: by [`JoinHandle::cancel`], or because its scope
    /// could not wait for it.
    ///
    /// [`JoinHandle::cancel`]: crate::JoinHandle::cancel
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
            JoinError::Cancelled => f.write_str("the item was cancelled before it began"),
        }
    }
}

impl std::error::Error for JoinError {}

fn panic_message(payload: &(dyn Any + Send)) -> Option<&str> {
    let literal = payload.downcast_ref::<&'static str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}
