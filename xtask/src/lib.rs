//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `soak`, `limit-cost`,
//! `item-cost`, `capi-cost`, `pictures`, `miri`, `tsan` and `vm-test`.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `bench`, `callgrind`, `cargo`, `sanitize`, `tidy`, `vm`
//! 2. `beside`: two programs beside each other
//! 3. `capi_cost`, `item_cost`, `limit_cost`, `pictures`, `run_sets`, `soak`, `swarm`: with a
//!    command of cargo, callgrind, or beside the benchmarks

pub mod bench;
mod beside;
mod callgrind;
pub mod capi_cost;
pub mod cargo;
pub mod item_cost;
pub mod limit_cost;
pub mod pictures;
pub mod run_sets;
pub mod sanitize;
pub mod soak;
pub mod swarm;
pub mod tidy;
pub mod vm;
