//! A process of its own for pinned `SCHED_IDLE` threads, with next to no memory.
//!
//! The last thread of a process to die tears its memory down, at its own weight: with `SCHED_IDLE`
//! beside busy loops that takes minutes for a large heap. A forked helper has nothing to tear down,
//! and nobody waits for it.
//!
//! The helper keeps nothing of its parent: no descriptor (it is forked from a thread that has
//! none), no memory, no working directory. It has its own process group and no exit signal, so that
//! neither `kill(0)` nor `waitpid(-1)` find it; it blocks all signals. It ends with its parent: a
//! robust lock tells exit, `SIGKILL`, `exec` and `setuid`, and `PR_SET_PDEATHSIG` most of them once
//! more.

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
mod absent;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod present;

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
pub use absent::{Body, Helper, inside, leave_descriptors};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub use present::{Body, Helper, inside, leave_descriptors};
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
pub(crate) use present::{futex_wait, futex_wake};

/// The name of a helper's process and of its threads.
pub const NAME: &str = "cmwq/canary";
