//! What replaces the scheduler's hook: canaries and the tick, as far as others see them. Both only
//! report; what follows from a report is decided in the core of the pool it goes to. `README.md` in
//! this folder: the protocol.

pub(crate) mod bell;
pub(crate) mod board;
pub(crate) mod canaries;
pub(crate) mod tick;
pub(crate) mod watch;
