//! How a worker and its executions are named, the states of a worker with the legal moves between
//! them, and what a worker can wait for.

use core::fmt;

use crate::time::Time;

/// A worker of one pool. Numbers are reused after a worker has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One execution: this item of this worker of this pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Number of the pool.
    pub pool: u32,
    /// The worker.
    pub worker: WorkerId,
    /// Which of its items.
    pub seq: u32,
}

impl WorkerId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a worker is in its life. Legal moves: see [`State::may_become`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The number is free.
    Free,
    /// A thread was asked for.
    Creating,
    /// Parked; on the idle list since this time.
    Idle(Time),
    /// Chosen to run, off the idle list, counted as running, not there yet.
    Waking,
    /// Awake and between two items: choosing, or managing.
    Between,
    /// Executing an item.
    Executing,
    /// A guest that executes nothing, and counts for nothing: a rescuer between two items, or a
    /// waiter that is about to execute what it has claimed.
    Visiting,
    /// Told to end; never runs again.
    Retiring,
}

impl State {
    /// The table of legal moves.
    pub fn may_become(self, next: State) -> bool {
        use State::*;
        matches!(
            (self, next),
            (Free, Creating)
                | (Creating, Free | Between)
                | (Idle(_), Waking | Retiring)
                | (Waking, Between | Retiring)
                | (Between, Idle(_) | Executing | Retiring)
                | (Executing, Between)
                | (Free, Visiting)
                | (Visiting, Executing | Free)
                | (Executing, Visiting)
                | (Retiring, Free)
        )
    }
}

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait<P> {
    /// Some items that were queued through this pwq. Whoever ends the last one says `wait_over`.
    Items(P),
    /// Everything that was queued through it: over, or to be looked at again, at its next flush.
    Flush(P),
    /// Items of this pwq that have all begun. Such a wait never fails, but it may be what another
    /// one fails for: the items that have begun may wait themselves.
    Begun(P),
}

impl<P: Copy> Wait<P> {
    /// The pwq of what is waited for.
    pub fn pwq(self) -> P {
        match self {
            Wait::Items(pwq) | Wait::Flush(pwq) | Wait::Begun(pwq) => pwq,
        }
    }

    /// Whether the waiter can do something else if told that its wait would never end.
    pub fn may_fail(self) -> bool {
        !matches!(self, Wait::Begun(_))
    }
}
