//! The helper, on a processor whose calling convention is known here.

mod bare;
mod child;
mod control;
mod kept;
mod parent;

pub(crate) use bare::{futex_wait, futex_wake};
pub use control::Body;
pub use parent::{Helper, leave_descriptors};

/// What the threads of a helper may call; canaries that are threads of the program call the same.
pub mod inside {
    pub use super::bare::{current_cpu, now, pin, yield_now};
}
