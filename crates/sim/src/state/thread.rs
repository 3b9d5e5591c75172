//! A thread, from the inside.

use crate::api::act::{Act, Answer};
use crate::api::names::{Execution, Latch, LockId, SemId, WorkerRef};
use crate::random::Random;
use crate::state::claim::Claimed;
use crate::state::pending::Pending;
use crate::state::worker::{Running, Worker};

/// What a thread sleeps for.
pub(crate) enum Sleep {
    Awake,
    /// Time, or a thread that is being created.
    Event,
    Latch(Latch),
    Lock(LockId),
    Semaphore(SemId),
    /// The program is asked again.
    Await,
    /// An idle worker: to be unparked.
    Parked,
    Call(Pending),
}

/// A thread, from the inside.
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) worker: Option<Worker>,
    /// Claims that it is in the middle of, the last one at the end.
    pub(crate) claims: Vec<Claimed>,
    /// What the program is to be told at its next question.
    pub(crate) answer: Option<Answer>,
    /// What it has said and not done yet.
    pub(crate) act: Option<Act>,
    pub(crate) sleep: Sleep,
    /// It was unparked while it did not park.
    pub(crate) token: bool,
    /// What its program draws from.
    pub(crate) random: Random,
}

impl Frame {
    /// As whom the thread acts: the guest of its last claim, or else the worker that it is.
    pub(crate) fn who(&self) -> Option<WorkerRef> {
        match self.claims.last() {
            Some(claimed) => Some(claimed.who),
            None => self.worker.as_ref()?.who,
        }
    }

    /// What it executes: of several, what it is in now.
    pub(crate) fn running(&self) -> Option<&Running> {
        match self.claims.last() {
            Some(claimed) => Some(&claimed.running),
            None => self.worker.as_ref()?.running.as_ref(),
        }
    }

    pub(crate) fn running_mut(&mut self) -> Option<&mut Running> {
        match self.claims.last_mut() {
            Some(claimed) => Some(&mut claimed.running),
            None => self.worker.as_mut()?.running.as_mut(),
        }
    }

    /// All that it executes, one in the middle of the other, the last one first.
    pub(crate) fn executions(&self) -> Vec<Execution> {
        let claims = self.claims.iter().rev();
        let claims = claims.map(|claimed| claimed.running.execution);
        let worker = self.worker.iter();
        let worker = worker.filter_map(|w| Some(w.running?.execution));
        claims.chain(worker).collect()
    }

    /// All that the thread stands for while it executes, the last one first.
    pub(crate) fn stack(&self) -> Vec<WorkerRef> {
        let claims = self.claims.iter().rev().map(|claimed| claimed.who);
        let worker = self.worker.iter();
        let worker = worker.filter_map(|w| w.running.and(w.who));
        claims.chain(worker).collect()
    }
}
