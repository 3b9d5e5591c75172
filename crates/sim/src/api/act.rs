//! One thing that a program does, and what a call has answered.

use cmwq_policy::Nanos;

use crate::api::call::Call;
use crate::api::names::{DataId, DeviceId, ItemId, Latch, LockId, QueueId, SemId};

/// One thing that a program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Burns so many nanoseconds of CPU time.
    Burn(Nanos),
    /// Burns CPU time until the latch opens.
    SpinUntil(Latch),
    /// Sleeps for so many nanoseconds.
    Sleep(Nanos),
    /// Sleeps until the latch opens; not at all if it is open.
    Wait(Latch),
    /// Sleeps, and is asked again, without an answer, after everything that happens and when so
    /// many nanoseconds have passed, until it answers otherwise. When it says so again, that is not
    /// counted anew.
    Await(Nanos),
    /// Says that what follows will block (`cmwq::blocking` begins), or that this is over. Nests.
    /// Only tells something to pools that are not told exactly who sleeps.
    Hint(bool),
    /// Calls the workqueue interface; the next question brings the answer. May sleep.
    Call(Call),
    /// Takes the lock; waits while another one has it.
    ///
    /// # Panics
    /// If the thread has it already.
    Lock(LockId),
    /// Releases the lock.
    ///
    /// # Panics
    /// If the thread does not have it.
    Unlock(LockId),
    /// Waits while another one has the lock, and does not take it. All who wait so go on at once
    /// when it is released: readers with short sections beside writers.
    ///
    /// # Panics
    /// If the thread has it.
    Pass(LockId),
    /// Takes one off the semaphore; sleeps while there is none, first come, first served.
    Take(SemId),
    /// Adds one to the semaphore.
    Post(SemId),
    /// Sleeps until the device has served a request of so many bytes.
    Io(DeviceId, u64),
    /// Makes the same request, and goes on; that happens when it is done.
    Submit(DeviceId, u64, Completion),
    /// Burns what it takes for so many bytes of the data to come from the CPU that touched it last,
    /// by `Costs::refill`.
    Touch(DataId, u64),
    /// Lets all others that wait for its CPU go first.
    Yield,
    /// Is over: the thread ends, the item's function returns.
    End,
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Void,
    /// Yes or no.
    Bool(bool),
    /// A number: a count, or 0 or a negative error code.
    Number(i64),
    /// A word.
    Text(String),
}

impl Answer {
    /// Whether a call was refused, or given up, because its wait would never have ended.
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Answer::Text(why) if why.starts_with("deadlock"))
    }
}

/// What happens when a submitted request is done: in an interrupt, on the CPU that submitted it, or
/// on the first one in use when that one is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Nothing.
    Nothing,
    /// The semaphore is posted.
    Post(SemId),
    /// The same, and the number is what [`Machine::take_brought`](crate::Machine::take_brought)
    /// finds there.
    Bring(SemId, u64),
    /// The item is queued, unless it is pending or the queue refuses it.
    Queue {
        /// The queue.
        queue: QueueId,
        /// The item.
        item: ItemId,
    },
}
