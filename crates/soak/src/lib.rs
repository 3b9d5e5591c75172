//! Hostile but safe programs at random against the public API of cmwq, on real threads.
//!
//! A parent ([`parent`]) starts one process for each seed. The seed determines what that process is
//! ([`plan`]): who else is hostile to it (`hostile`) and which rooms it has (`rooms`), each a
//! kind of program that is played again and again. Books are kept beside all that ([`books`]): the
//! process ends with an error as soon as they do not agree, and its parent kills it when nothing
//! goes on.
//!
//! `docs/contributing/testing.md` says how to use it.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `rng`, `books`, `states`, `protocol`
//! 2. `plan`: what a seed draws
//! 3. `world`: the queues
//! 4. `value`
//! 5. `hostile`
//! 6. `rooms`
//! 7. `ends`
//! 8. `child`, `parent`: the two kinds of process

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
