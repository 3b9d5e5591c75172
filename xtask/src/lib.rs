//! The chores of the project: `cargo xtask tidy` and `cargo xtask bench`.

pub mod bench;
pub mod tidy;
