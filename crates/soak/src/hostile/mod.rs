//! Who else is hostile to the process: each kind a room of its own.

pub(crate) mod blind;
pub(crate) mod hook;
pub(crate) mod masks;
pub(crate) mod threads;
