//! A thread, from the inside.

use crate::api::act::{Act, Answer};
use crate::api::names::{Latch, LockId, SemId};
use crate::random::Random;
use crate::state::pending::Pending;
use crate::state::worker::Worker;

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
