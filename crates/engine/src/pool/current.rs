//! The worker that the calling thread is, for all who ask for each item.

use std::cell::Cell;

use cmwq_policy::ItemKey;

use super::{Pool, Slot};
use crate::queue::pwq::PwqRef;

/// The worker that the current thread is.
#[derive(Clone, Copy)]
pub(crate) struct Current {
    pub(crate) slot: &'static Slot,
    /// The item that it executes, and the pwq that this was queued through.
    pub(crate) item: Option<(PwqRef, ItemKey)>,
}

thread_local! {
    // Constant and without a destructor, so that it can be used at any moment of a thread's life.
    pub(crate) static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// The worker that the calling thread is, and its item, if it executes one of this pool: it will
/// say that it has ended that.
#[inline]
pub(crate) fn executes_for(pool: &'static Pool) -> Option<(&'static Slot, ItemKey)> {
    let current = CURRENT.get().filter(|current| current.slot.pool == pool)?;
    current.item.map(|(_, key)| (current.slot, key))
}
