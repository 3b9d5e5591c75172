//! Errors of the engine as negative numbers, which C programs know.

use std::ffi::c_int;
use std::io;

use cmwq_engine::error::{
    AttrsError, BuildError, FlushError, InstallError, QueueError, WouldDeadlock,
};

/// NULL, or a value out of its range.
pub(crate) const EINVAL: c_int = -libc::EINVAL;
/// The object belongs to the process that this one was forked from.
pub(crate) const ECHILD: c_int = -libc::ECHILD;
/// A wait that would never end.
const EDEADLK: c_int = -libc::EDEADLK;
/// There is no memory, or no pool.
pub(crate) const ENOMEM: c_int = -libc::ENOMEM;
/// The queue was destroyed, or cmwq was shut down.
pub(crate) const ESHUTDOWN: c_int = -libc::ESHUTDOWN;
/// The item is disabled, or the job was cancelled.
pub(crate) const ECANCELED: c_int = -libc::ECANCELED;

/// An error as its number.
pub(crate) trait Errno {
    fn errno(&self) -> c_int;
}

impl Errno for QueueError {
    fn errno(&self) -> c_int {
        match self {
            QueueError::Forked => ECHILD,
            QueueError::ShutDown | QueueError::Closed => ESHUTDOWN,
            QueueError::Draining => -libc::EBUSY,
            QueueError::NoSuchCpu(_) => -libc::ENODEV,
            QueueError::Disabled => ECANCELED,
            _ => EINVAL,
        }
    }
}

impl Errno for WouldDeadlock {
    fn errno(&self) -> c_int {
        EDEADLK
    }
}

impl Errno for FlushError {
    fn errno(&self) -> c_int {
        match self {
            FlushError::Forked => ECHILD,
            _ => EDEADLK,
        }
    }
}

impl Errno for AttrsError {
    fn errno(&self) -> c_int {
        match self {
            AttrsError::NoPool(_) => ENOMEM,
            AttrsError::Forked => ECHILD,
            _ => EINVAL,
        }
    }
}

impl Errno for BuildError {
    fn errno(&self) -> c_int {
        match self {
            BuildError::TooManyPools => ENOMEM,
            BuildError::Rescuer(error) | BuildError::System(error) => error.errno(),
            BuildError::Attrs(error) => error.errno(),
            _ => EINVAL,
        }
    }
}

impl Errno for InstallError {
    fn errno(&self) -> c_int {
        match self {
            InstallError::InUse | InstallError::Installed => -libc::EBUSY,
            _ => EINVAL,
        }
    }
}

impl Errno for io::Error {
    fn errno(&self) -> c_int {
        self.raw_os_error().map_or(ENOMEM, |errno| -errno)
    }
}

/// 0, or the number of the error.
pub(crate) fn of<E: Errno>(done: Result<(), E>) -> c_int {
    done.map_or_else(|error| error.errno(), |()| 0)
}

/// 1 for true, 0 for false, or the number of the error.
pub(crate) fn of_bool<E: Errno>(answer: Result<bool, E>) -> c_int {
    answer.map_or_else(|error| error.errno(), c_int::from)
}
