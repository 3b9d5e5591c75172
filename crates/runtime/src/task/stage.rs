//! What a task holds: in the room that the larger of its closure and its value takes.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::thread;

use cmwq_engine::error::QueueError;

/// What a task holds: first the closure, then what came of it.
pub(super) enum Held<F, T> {
    Closure(F),
    Ended(thread::Result<T>),
    Refused(QueueError),
    /// Nothing came of it: it was cancelled, or is in the middle of its execution.
    Empty,
    /// The handle has what came of it.
    Taken,
}

/// Which of that it is, [`Held::Ended`] with a value or with the payload of a panic.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Closure,
    Value,
    Panicked,
    Refused,
    Empty,
    Taken,
}

/// The rest of it. Dropping this drops nothing of what is held.
pub(super) union Content<F, T> {
    closure: ManuallyDrop<F>,
    value: ManuallyDrop<T>,
    payload: ManuallyDrop<Box<dyn Any + Send>>,
    refusal: QueueError,
    nothing: (),
}

impl<F, T> Held<F, T> {
    /// In its two parts.
    pub(super) fn pack(self) -> (Stage, Content<F, T>) {
        match self {
            Held::Closure(func) => {
                let closure = ManuallyDrop::new(func);
                (Stage::Closure, Content { closure })
            }
            Held::Ended(Ok(value)) => {
                let value = ManuallyDrop::new(value);
                (Stage::Value, Content { value })
            }
            Held::Ended(Err(payload)) => {
                let payload = ManuallyDrop::new(payload);
                (Stage::Panicked, Content { payload })
            }
            Held::Refused(refusal) => (Stage::Refused, Content { refusal }),
            Held::Empty => (Stage::Empty, Content { nothing: () }),
            Held::Taken => (Stage::Taken, Content { nothing: () }),
        }
    }

    /// From the two parts.
    ///
    /// # Safety
    /// They are of one [`pack`](Self::pack), and used once.
    pub(super) unsafe fn unpack(stage: Stage, content: Content<F, T>) -> Self {
        match stage {
            Stage::Closure => {
                // SAFETY: the stage says so.
                let closure = unsafe { content.closure };
                Held::Closure(ManuallyDrop::into_inner(closure))
            }
            Stage::Value => {
                // SAFETY: the stage says so.
                let value = unsafe { content.value };
                Held::Ended(Ok(ManuallyDrop::into_inner(value)))
            }
            Stage::Panicked => {
                // SAFETY: the stage says so.
                let payload = unsafe { content.payload };
                Held::Ended(Err(ManuallyDrop::into_inner(payload)))
            }
            // SAFETY: the stage says so.
            Stage::Refused => Held::Refused(unsafe { content.refusal }),
            Stage::Empty => Held::Empty,
            Stage::Taken => Held::Taken,
        }
    }
}
