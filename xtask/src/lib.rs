//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `limit-cost`, `miri` and `tsan`.

pub mod bench;
pub mod limit_cost;
pub mod sanitize;
pub mod swarm;
pub mod tidy;
