//! An execution that waits, and what it waits for.

use super::{Machine, PwqFlush, PwqOf, WorkOf};
use crate::worker::WorkerId;

/// An execution: that of a worker, a rescuer or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Number of its pool.
    pub pool: u32,
    /// Its number there.
    pub worker: WorkerId,
}

/// Which of the things that an execution waits for have to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of them.
    All,
    /// One of them, whichever.
    Any,
}

/// What an execution waits for. Items and barriers stay in memory while it is in the graph.
#[derive(Debug)]
pub enum Target<M: Machine> {
    /// This item, which runs once.
    Item(WorkOf<M>),
    /// This barrier, which was put behind that item.
    Barrier {
        /// It sets whoever waits free.
        barrier: WorkOf<M>,
        /// Its last instance at that time is what is waited for.
        item: WorkOf<M>,
    },
    /// This flush.
    Flush(PwqFlush<PwqOf<M>>),
    /// All items of this group, also those that join it while it is waited for.
    Group(M::Group),
}

impl<M: Machine> Clone for Target<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Target<M> {}
