//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `soak`, `limit-cost`,
//! `miri`, `tsan` and `vm-test`.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `bench`, `cargo`, `limit_cost`, `sanitize`, `tidy`, `vm`
//! 2. `run_sets`, `soak`, `swarm`: with a command of cargo, or beside the benchmarks

pub mod bench;
pub mod cargo;
pub mod limit_cost;
pub mod run_sets;
pub mod sanitize;
pub mod soak;
pub mod swarm;
pub mod tidy;
pub mod vm;
