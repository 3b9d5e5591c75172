//! Results on their way from items to their consumer.
//!
//! Items put their results into a common list. The consumer takes them from there. If the list is
//! empty, it leaves a latch, which whoever puts the next result sets.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;

use cmwq_engine::sync::Mutex;
use cmwq_engine::{Latch, user};

use crate::join_error::JoinError;

/// What came of an input, and its number.
pub(super) type Ended<T> = (u64, Result<T, JoinError>);

/// What the consumer shares with its items.
pub(super) struct Shared<T>(Mutex<List<T>>);

struct List<T> {
    ended: VecDeque<Ended<T>>,
    /// The consumer waits for the next one.
    waits: Option<Arc<Latch>>,
    /// The consumer is gone.
    closed: bool,
}

impl<T> Shared<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Shared(Mutex::new(List {
            ended: VecDeque::new(),
            waits: None,
            closed: false,
        })))
    }

    /// Hands a result over. It comes back if nobody wants it any more.
    fn put(&self, ended: Ended<T>) -> Option<Ended<T>> {
        let mut list = self.0.lock().expect("nobody panics with it");
        if list.closed {
            return Some(ended);
        }
        list.ended.push_back(ended);
        let waits = list.waits.take();
        drop(list);
        if let Some(latch) = waits {
            latch.set();
        }
        None
    }

    /// A result; or the latch that is set when there is one.
    pub(super) fn take(&self) -> Result<Ended<T>, Arc<Latch>> {
        let mut list = self.0.lock().expect("nobody panics with it");
        list.ended.pop_front().ok_or_else(|| {
            let latch = Arc::new(Latch::new());
            list.waits = Some(latch.clone());
            latch
        })
    }

    /// Nobody takes results any more. Those that are there are the caller's, to be dropped where
    /// nothing is locked.
    pub(super) fn close(&self) -> VecDeque<Ended<T>> {
        let mut list = self.0.lock().expect("nobody panics with it");
        list.closed = true;
        std::mem::take(&mut list.ended)
    }
}

/// An item's duty to say what came of it, also if it is dropped unrun.
pub(super) struct Ticket<T> {
    shared: Arc<Shared<T>>,
    number: u64,
    told: bool,
}

impl<T> Ticket<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, number: u64) -> Self {
        Ticket {
            shared,
            number,
            told: false,
        }
    }

    /// Runs the function, and says what came of it. A panic that nobody wants stays the item's.
    pub(super) fn run(mut self, func: impl FnOnce() -> T) {
        let result = user::call(func).map_err(JoinError::Panicked);
        self.told = true;
        if let Some((_, Err(JoinError::Panicked(payload)))) = self.shared.put((self.number, result))
        {
            resume_unwind(payload);
        }
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        if !self.told {
            self.shared.put((self.number, Err(JoinError::Cancelled)));
        }
    }
}
