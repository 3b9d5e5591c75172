//! Hostile but safe programs at random against the public API of cmwq, on real threads.
//!
//! A parent ([`parent`]) starts one process for each seed. The seed determines what that process is
//! ([`plan`]): who else is hostile to it ([`hostile`]) and which rooms it has ([`rooms`]), each a kind
//! of program that is played again and again. Books are kept beside all that ([`books`]): the process
//! ends with an error as soon as they do not agree, and its parent kills it when nothing goes on.
//!
//! `docs/contributing/testing.md` says how to use it.

pub mod books;
pub mod child;
mod ends;
mod hostile;
pub mod parent;
pub mod plan;
mod protocol;
mod rng;
pub mod rooms;
mod states;
mod value;
mod world;
