//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `limit-cost`, `miri`,
//! `tsan` and `vm-test`.

pub mod bench;
pub mod limit_cost;
pub mod run_sets;
pub mod sanitize;
pub mod swarm;
pub mod tidy;
pub mod vm;
