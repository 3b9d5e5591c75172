//! The chores of the project: `cargo xtask tidy`, `bench`, `miri` and `tsan`.

pub mod bench;
pub mod sanitize;
pub mod tidy;
