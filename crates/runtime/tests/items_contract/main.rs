//! Items on real threads, in every state: what the calls return, that none ever runs twice at once,
//! and what flush, cancel, disable, timers, drain and drop promise. By order, gates and counters,
//! not by the clock.

#[path = "../common/mod.rs"]
mod common;
mod kit;

mod cancelling;
mod deferred;
mod delayed;
mod disabling;
mod draining;
mod flushing;
mod itself;
mod life;
mod modify;
mod reentrancy;
mod states;
