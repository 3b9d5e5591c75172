//! Waiting for items: inside of one, and outside.

pub(crate) mod barrier;
pub(crate) mod graph;
pub(crate) mod latch;
pub(crate) mod queue;
pub(crate) mod this_worker;
