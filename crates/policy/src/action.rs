//! What a pool asks for: actions that are carried out after its lock is dropped.

use alloc::vec::Vec;

use crate::worker::{Execution, WorkerId};

/// One thing to do after the pool's lock is dropped. Stays valid however late it is carried out:
/// whatever it needs was already marked in the pool when it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<P> {
    /// Wake this worker: it was idle and is now `Waking`, or it is to retire.
    Wake(WorkerId),
    /// The same, in the pod of this CPU, where an item waits: it was elsewhere before. The
    /// scheduler may move it on from there.
    WakeNear(WorkerId, u32),
    /// Create a thread for this worker. The thread begins by asking
    /// [`next`](crate::pool::WorkerPool::next); where none can be made,
    /// [`spawn_failed`](crate::pool::WorkerPool::spawn_failed) says so.
    Spawn(WorkerId),
    /// Look at the busy workers now: growth waits for what they wait for.
    Inspect,
    /// A flush colour of this pool workqueue is done: its flushers look again.
    Flushed(P),
    /// This pool workqueue has nothing in flight any more, and somebody waits for that.
    Drained(P),
    /// This orphaned pool workqueue has nothing in flight any more: let go of its queue, which
    /// [`hold`](crate::Store::hold) has kept.
    Released(P),
    /// This pool workqueue is not used any more and has nothing in flight. Held.
    Emptied(P),
    /// A slot is free, and it is the turn of this pool workqueue of another pool. Held.
    Activate(P),
    /// The queue of this pool workqueue is to be spread over a pool for each cache shard. Held.
    Spread(P),
    /// It is to have one pool again. Held.
    Gather(P),
    /// The execution that an item of that pool was deferred for has ended.
    Undefer {
        /// Number of the pool.
        pool: u32,
        /// The execution.
        execution: Execution,
    },
    /// No worker can be made for the items of this pool workqueue: its rescuer is to come. Held.
    Mayday(P),
    /// This worker waits for an item that nobody can start: its wait returns `WouldDeadlock`.
    FailWait(WorkerId),
}

/// Actions one call can push. The end of an item and the choice of the next one say the most. What
/// has ended is `Flushed`, `Drained` or `Released`, `Emptied`, and `Undefer`. Then come a turn
/// (`Activate`), a failed wait, one start, and `Spread`. Before that, what was dealt to a worker
/// and has ended may say `Flushed` and a turn. Maydays, and what one tick may start, stop when the
/// list is full. The rest follows with the next tick, and by the chain: each worker that begins an
/// item starts the next one. Only what was dealt to many workers, of many queues, may say more.
pub const MAX_ACTIONS: usize = 14;

/// A list of actions. Nothing is allocated for the usual number of them.
#[derive(Debug)]
pub struct Actions<P> {
    list: [Option<Action<P>>; MAX_ACTIONS],
    len: usize,
    more: Vec<Action<P>>,
}

impl<P: Copy> Default for Actions<P> {
    fn default() -> Self {
        Actions {
            list: [None; MAX_ACTIONS],
            len: 0,
            more: Vec::new(),
        }
    }
}

impl<P: Copy> Actions<P> {
    /// Room for this many more, for who can wait.
    pub fn room(&self) -> usize {
        MAX_ACTIONS - self.len
    }

    /// Appends an action.
    pub fn push(&mut self, action: Action<P>) {
        match self.list.get_mut(self.len) {
            Some(place) => {
                *place = Some(action);
                self.len += 1;
            }
            None => self.more.push(action),
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The actions in the order they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = Action<P>> + '_ {
        let list = self.list[..self.len].iter().flatten();
        list.chain(&self.more).copied()
    }
}
