//! The chores of the project: `cargo xtask tidy`, `bench`, `swarm`, `miri` and `tsan`.

pub mod bench;
pub mod sanitize;
pub mod swarm;
pub mod tidy;
