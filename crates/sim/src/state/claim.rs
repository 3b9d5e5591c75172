//! An item that a thread executes itself instead of waiting for it.

use cmwq_policy::CpuMask;
use cmwq_policy::leftovers::ThreadAttrs;

use crate::api::names::WorkerRef;
use crate::random::Random;
use crate::state::worker::{Meter, Running};

/// What a thread executes as a guest, in the middle of what it did before.
pub(crate) struct Claimed {
    /// The guest that it stands for.
    pub(crate) who: WorkerRef,
    /// The item, or a barrier behind it.
    pub(crate) running: Running,
    pub(crate) meter: Meter,
    /// What the thread had when that began.
    pub(crate) own: ThreadAttrs,
    pub(crate) beneath: Beneath,
}

/// What goes on when the claim is over.
pub(crate) struct Beneath {
    /// What its program draws from.
    pub(crate) random: Random,
    pub(crate) confined: Option<Confined>,
}

/// A thread that may use fewer CPUs as long as the claim goes on.
#[derive(Clone, Copy)]
pub(crate) struct Confined {
    pub(crate) before: CpuMask,
    pub(crate) only: CpuMask,
}
