//! What the core asks for.

use crate::worker::WorkerId;

/// One thing to do after the pool's lock is dropped. Stays valid however late it is carried out:
/// whatever it needs was already marked in the pool when it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<P> {
    /// Wake this worker: it was idle and is now `Waking`, or it is to retire.
    Wake(WorkerId),
    /// Create a thread for this worker; answer with `spawned` (by the thread itself) or
    /// `spawn_failed`.
    Spawn(WorkerId),
    /// Look at the busy workers now: growth waits for what they wait for.
    Inspect,
    /// A flush colour of this pool workqueue is done: its flushers look again.
    Flushed(P),
    /// This pool workqueue has nothing in flight any more, and somebody waits for that.
    Drained(P),
    /// This orphaned pool workqueue has nothing in flight any more: free its queue.
    Released(P),
    /// This worker waits for an item that nobody can start: its wait returns `WouldDeadlock`.
    FailWait(WorkerId),
}

/// Actions one call can push. `Flushed` and `Drained` of the ended item, one wake or spawn for the
/// next one, and what one tick may start; a tick that wants more starts the rest by the chain
/// (each worker that begins an item starts the next one).
pub const MAX_ACTIONS: usize = 8;

/// A fixed-capacity list of actions.
#[derive(Debug)]
pub struct Actions<P> {
    list: [Option<Action<P>>; MAX_ACTIONS],
    len: usize,
}

impl<P: Copy> Default for Actions<P> {
    fn default() -> Self {
        Actions {
            list: [None; MAX_ACTIONS],
            len: 0,
        }
    }
}

impl<P: Copy> Actions<P> {
    /// Room for this many more.
    pub fn room(&self) -> usize {
        MAX_ACTIONS - self.len
    }

    /// Appends an action.
    ///
    /// # Panics
    /// When full: every call of the core pushes at most [`MAX_ACTIONS`].
    pub fn push(&mut self, action: Action<P>) {
        assert!(
            self.room() > 0,
            "a call of the core pushed more than {MAX_ACTIONS} actions"
        );
        self.list[self.len] = Some(action);
        self.len += 1;
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The actions in the order they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = Action<P>> + '_ {
        self.list[..self.len].iter().flatten().copied()
    }
}
