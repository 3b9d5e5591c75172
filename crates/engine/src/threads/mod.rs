//! The engine's threads, and those of others that do the same: workers, rescuers, claims; the tick,
//! canaries, their keeper and relays.

mod canary;
pub(crate) mod claim;
mod keeper;
mod meter;
mod outgrow;
mod relay;
pub(crate) mod rescuer;
mod scan;
pub(crate) mod stall;
pub(crate) mod ticker;
mod worker;
