//! Work items as the core's store sees them: intrusive headers that are embedded in whatever owns
//! them (a reusable `Work`, a spawned closure, later a C struct).
//!
//! Who may touch what of a header:
//!
//! | field | by whom |
//! | --- | --- |
//! | `word` | anybody, atomically; while PENDING only its owner changes what it says |
//! | `next`, `prev`, `home` | under the lock of the pool that the item is queued in |
//! | `vtable` | constant |

use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::ItemKey;
use cmwq_policy::work::WorkWord;

use crate::sync::{AtomicU64, Cell, SeqCst};

/// What an item's function is called with: its own header.
pub(crate) type WorkFn = unsafe fn(NonNull<Header>);

/// How many references an item has, of those who count them.
pub(crate) type RefFn = unsafe fn(NonNull<Header>, Ref);

/// What happens to a reference of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ref {
    Taken,
    Dropped,
}

/// What an item does. One constant for each type of item.
pub(crate) struct Vtable {
    /// Runs it; consumes the queue's reference.
    pub(crate) run: WorkFn,
    /// Counts a reference of the queue.
    pub(crate) count: RefFn,
    /// For people.
    pub(crate) name: fn() -> &'static str,
}

/// Counts a reference to something in an `Arc`.
///
/// # Safety
/// The pointer is from an `Arc` that is alive; `Dropped` gives back what `Taken` took.
pub(crate) unsafe fn count_arc<T>(item: NonNull<T>, what: Ref) {
    match what {
        // SAFETY: as above.
        Ref::Taken => unsafe { Arc::increment_strong_count(item.as_ptr()) },
        // SAFETY: as above.
        Ref::Dropped => unsafe { Arc::decrement_strong_count(item.as_ptr()) },
    }
}

/// The part of an item that queues and pools work with. 40 bytes.
#[repr(C)]
pub(crate) struct Header {
    word: AtomicU64,
    pub(crate) next: Cell<Option<NonNull<Header>>>,
    pub(crate) prev: Cell<Option<NonNull<Header>>>,
    /// The CPU that it was queued on.
    pub(crate) home: Cell<u32>,
    vtable: &'static Vtable,
}

impl Header {
    pub(crate) fn new(vtable: &'static Vtable) -> Self {
        Header {
            word: AtomicU64::new(WorkWord::NEW.0),
            next: Cell::new(None),
            prev: Cell::new(None),
            home: Cell::new(0),
            vtable,
        }
    }

    pub(crate) fn word(&self) -> WorkWord {
        WorkWord(self.word.load(SeqCst))
    }

    /// Applies a pure step: `Ok` with the word as it was, `Err` with the one that the step refused.
    ///
    /// A step that changes nothing writes the word too, as it found it, and nobody ever just stores
    /// to it: each read-modify-write passes on to the next what came before it, so that the last
    /// one before an execution has the stores of everybody who was refused (kernel
    /// `test_and_set_bit`, `set_work_pool_and_clear_pending`).
    pub(crate) fn step(
        &self,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let step = |word| step(WorkWord(word)).map(|next| next.0);
        let before = self.word.fetch_update(SeqCst, SeqCst, step);
        before.map(WorkWord).map_err(WorkWord)
    }

    /// Changes the word of an item that the caller owns.
    pub(crate) fn set_word(&self, next: WorkWord) {
        self.word.swap(next.0, SeqCst);
    }

    /// What identifies its executions.
    pub(crate) fn key(&self) -> ItemKey {
        ItemKey {
            addr: std::ptr::from_ref(self).addr() as u64,
            func: std::ptr::from_ref(self.vtable).expose_provenance() as u64,
        }
    }

    /// The name of the function that a key tells.
    pub(crate) fn name_of(key: ItemKey) -> &'static str {
        Header::name_of_func(key.func)
    }

    /// As it is in keys.
    pub(crate) fn name_of_func(func: u64) -> &'static str {
        let vtable = std::ptr::with_exposed_provenance::<Vtable>(func as usize);
        // SAFETY: keys come from headers, and their tables live for ever.
        (unsafe { &*vtable }.name)()
    }

    /// The name of its function, for people.
    pub(crate) fn name(&self) -> &'static str {
        (self.vtable.name)()
    }

    pub(crate) fn vtable(&self) -> &'static Vtable {
        self.vtable
    }
}
