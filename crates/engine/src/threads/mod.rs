//! The engine's threads: workers, rescuers, the tick, canaries, their keeper and relays. And
//! threads of the program that do a worker's work: claims.

mod canary;
pub(crate) mod claim;
mod keeper;
mod mask;
mod meter;
mod outgrow;
mod relay;
pub(crate) mod rescuer;
mod scan;
pub(crate) mod stall;
pub(crate) mod ticker;
mod worker;
