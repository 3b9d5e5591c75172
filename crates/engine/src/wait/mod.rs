//! Waiting for items: inside of one, and outside.

pub(crate) mod barrier;
pub(crate) mod graph;
pub(crate) mod latch;
pub(crate) mod place;
pub(crate) mod queue;
