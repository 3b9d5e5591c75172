//! What a running process shows of its queues, and how its user changes them.
//!
//! The engine writes a [`Snapshot`] into a [`Page`] when somebody asks for it over a
//! [`control`] socket. `cmwq top` finds the page with [`find::of_process`]. A reader trusts nothing
//! that a page says: see [`read`]. Over the same socket a process tells what happens, event by
//! event, as long as somebody listens: see [`trace`].
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `wire`: bytes
//! 2. `snapshot`, `control`
//! 3. `page`, `trace`
//! 4. `find`
#![forbid(unsafe_code)]

pub mod control;
pub mod find;
mod page;
mod snapshot;
pub mod trace;
mod wire;

pub use cmwq_policy::stats::BUCKETS;
pub use page::{MAX_SNAPSHOT, NAME, Page, PageError, VERSION, read};
pub use snapshot::{Decision, Lately, Pool, Queue, Snapshot, WaitReason, Worker};
pub use wire::{MAX_TEXT, Malformed};
