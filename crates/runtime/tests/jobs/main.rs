//! Multithreaded jobs on real threads.

#[path = "../common/mod.rs"]
mod common;

mod cover;
mod ends;
mod helpers;
mod places;
mod rig;
mod tail;
