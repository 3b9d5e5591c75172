//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `soak`, `limit-cost`,
//! `miri`, `tsan` and `vm-test`.

pub mod bench;
pub mod cargo;
pub mod limit_cost;
pub mod run_sets;
pub mod sanitize;
pub mod soak;
pub mod swarm;
pub mod tidy;
pub mod vm;
