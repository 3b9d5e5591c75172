//! What replaces the scheduler's hook: canaries and the tick, as others see them. Both only report.
//! The core of the pool that gets a report decides what follows. `README.md` in this folder has the
//! protocol.

pub(crate) mod bell;
pub(crate) mod board;
pub(crate) mod canaries;
pub(crate) mod tick;
pub(crate) mod watch;
