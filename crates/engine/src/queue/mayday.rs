//! Where a queue calls its rescuer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pwq::PwqRef;
use crate::park::Parker;
use crate::sync::{AtomicBool, Mutex, MutexGuard, SeqCst};

/// A queue's rescuer, as the queue knows it. Its thread ends when this is dropped, with the queue.
pub(crate) struct Rescuer(Arc<Maydays>);

/// What its thread and those who call it share.
#[derive(Default)]
pub(crate) struct Maydays {
    /// Where it is to help, each with a hold on the queue.
    list: Mutex<VecDeque<PwqRef>>,
    parker: Parker,
    stops: AtomicBool,
}

// SAFETY: the pwqs in the list are held.
unsafe impl Send for Maydays {}
// SAFETY: as above.
unsafe impl Sync for Maydays {}

impl Rescuer {
    /// A rescuer. Its thread listens to these calls.
    pub(crate) fn new(maydays: Arc<Maydays>) -> Self {
        Rescuer(maydays)
    }

    /// `Mayday` was said for this pwq, whose queue is held.
    pub(crate) fn call(&self, pwq: PwqRef) {
        self.0.push(pwq);
    }
}

impl Drop for Rescuer {
    fn drop(&mut self) {
        self.0.stops.store(true, SeqCst);
        self.0.parker.unpark();
    }
}

impl Maydays {
    pub(crate) fn push(&self, pwq: PwqRef) {
        self.lock().push_back(pwq);
        self.parker.unpark();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PwqRef>> {
        self.list.lock().expect("nobody panics with it")
    }

    pub(crate) fn next(&self) -> Option<PwqRef> {
        self.lock().pop_front()
    }

    /// Whether nobody else waits for the rescuer.
    pub(crate) fn is_free(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether the queue has gone.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stops.load(SeqCst)
    }

    /// Sleeps until somebody calls.
    pub(crate) fn park(&self) {
        self.parker.park(None);
    }
}
