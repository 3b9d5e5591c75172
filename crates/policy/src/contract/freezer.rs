//! All freezable queues of a process stand still (kernel `freeze_workqueues_begin`).

use super::Machine;
use super::queues::{freeze, is_active, thaw};

/// Whether the freezable queues of a process are frozen (kernel `workqueue_freezing`). It is beside
/// the list of its queues, behind the lock of that: so no queue is made, or goes, in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freezer {
    frozen: bool,
}

impl Freezer {
    /// From now on nothing of these queues, which are all that there are, becomes active: of those
    /// that are freezable.
    pub fn freeze<M: Machine>(&mut self, m: &M, queues: impl IntoIterator<Item = M::Queue>) {
        self.frozen = true;
        freezable(m, queues).for_each(|queue| freeze(m, queue));
    }

    /// They go on.
    pub fn thaw<M: Machine>(&mut self, m: &M, queues: impl IntoIterator<Item = M::Queue>) {
        self.frozen = false;
        freezable(m, queues).for_each(|queue| thaw(m, queue));
    }

    /// A queue is in the list from now on. It begins frozen if others are.
    pub fn adopt<M: Machine>(&self, m: &M, queue: M::Queue) {
        if self.frozen && is_freezable(m, queue) {
            freeze(m, queue);
        }
    }
}

/// Whether any of these queues is freezable and has items that hold slots: those that were begun
/// before.
pub fn is_freezing<M: Machine>(m: &M, queues: impl IntoIterator<Item = M::Queue>) -> bool {
    freezable(m, queues).any(|queue| is_active(m, queue))
}

fn freezable<M: Machine>(
    m: &M,
    queues: impl IntoIterator<Item = M::Queue>,
) -> impl Iterator<Item = M::Queue> {
    let queues = queues.into_iter();
    queues.filter(move |&queue| is_freezable(m, queue))
}

fn is_freezable<M: Machine>(m: &M, queue: M::Queue) -> bool {
    m.with_queue(queue, |q| q.made().freezable)
}
