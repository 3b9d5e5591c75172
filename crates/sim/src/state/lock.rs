//! A lock: who has it, and who waits.

use std::collections::VecDeque;

use cmwq_policy::Time;

use crate::api::report::LockStats;
use crate::api::specs::LockSpec;
use crate::cpu::ThreadId;
use crate::events::EventKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Until this event, at the latest.
    Spins(EventKey),
    /// It has spun for long enough, and tries once more when it has a CPU.
    Spun,
    Sleeps,
    /// It was woken, and tries again when it has a CPU.
    Woken,
}

pub(crate) struct Waiter {
    pub(crate) thread: ThreadId,
    pub(crate) since: Time,
    pub(crate) doing: Doing,
}

pub(crate) struct Lock {
    pub(crate) spec: LockSpec,
    pub(crate) owner: Option<ThreadId>,
    /// Since when it has an owner.
    pub(crate) since: Time,
    /// In the order in which they came.
    pub(crate) waiters: VecDeque<Waiter>,
    /// Those who wait only until it is released.
    pub(crate) passers: Vec<Passer>,
    /// Waiters that have spun since then, and for which the owner has not paid yet.
    pub(crate) bounces: u64,
    pub(crate) stats: LockStats,
}

impl Lock {
    pub(crate) fn own(&mut self, now: Time, id: ThreadId) {
        if let Some(at) = self.position(id) {
            let waiter = self.waiters.remove(at).expect("it is there");
            self.stats.waited_ns += now.since(waiter.since);
        }
        self.owner = Some(id);
        self.since = now;
        self.stats.acquired += 1;
        self.bounces = self.spinners().count() as u64;
    }

    pub(crate) fn disown(&mut self, now: Time) {
        self.owner = None;
        self.stats.held_ns += now.since(self.since);
    }

    pub(crate) fn position(&self, id: ThreadId) -> Option<usize> {
        self.waiters.iter().position(|w| w.thread == id)
    }

    pub(crate) fn waiter(&mut self, id: ThreadId) -> &mut Waiter {
        let at = self.position(id).expect("it waits");
        &mut self.waiters[at]
    }

    /// Gets in line, if it does not wait already; true if it is new.
    pub(crate) fn line_up(&mut self, now: Time, id: ThreadId) -> bool {
        let is_new = self.position(id).is_none();
        if is_new {
            self.waiters.push_back(Waiter {
                thread: id,
                since: now,
                doing: Doing::Sleeps,
            });
            self.stats.contended += 1;
            let waiters = self.waiters.len() as u32;
            self.stats.max_waiters = self.stats.max_waiters.max(waiters);
        }
        is_new
    }

    pub(crate) fn spinners(&self) -> impl Iterator<Item = ThreadId> {
        let spins = |w: &&Waiter| matches!(w.doing, Doing::Spins(_));
        self.waiters.iter().filter(spins).map(|w| w.thread)
    }

    /// The first of those who do not spin, if it is still asleep.
    pub(crate) fn to_wake(&self) -> Option<ThreadId> {
        let asked = |w: &&Waiter| matches!(w.doing, Doing::Sleeps | Doing::Woken);
        let first = self.waiters.iter().find(asked)?;
        (first.doing == Doing::Sleeps).then_some(first.thread)
    }
}

/// A thread that waits for a lock to be released.
pub(crate) struct Passer {
    pub(crate) thread: ThreadId,
    pub(crate) since: Time,
    pub(crate) doing: Doing,
}
