//! Work items as the core's store sees them: intrusive headers that are embedded in whatever owns
//! them (a reusable `Work`, a spawned closure, a C struct).
//!
//! Who may touch what of a header:
//!
//! | field | by whom |
//! | --- | --- |
//! | `word` | anybody, atomically; while PENDING only its owner changes what it says |
//! | `next`, `prev`, `home`, `stamp` | under the lock of the pool that the item is queued in |
//! | `vtable`, `func` | constant |
//!
//! # Identity
//!
//! Two executions of one item never overlap. An item is identified by its address *and* its
//! function, as in the kernel (`find_worker_executing_work`). So an execution may free the memory
//! of its item, and a new item with another function at the same address need not wait for it. The
//! function is `func`. Where that is null it is the table, which then serves one function only.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

use cmwq_policy::ItemKey;
use cmwq_policy::work::WorkWord;

use crate::sync::{AtomicU64, Cell, Relaxed, SeqCst};

/// What an item's function is called with: its own header. It consumes the queue's reference, and
/// does not unwind.
pub type WorkFn = unsafe fn(NonNull<Header>);

/// How many references an item has, of those who count them.
pub type RefFn = unsafe fn(NonNull<Header>, Ref);

/// What happens to a reference of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// There is one more.
    Taken,
    /// One is given back.
    Dropped,
}

/// What an item does: one constant for each type of item.
#[derive(Debug)]
pub struct Vtable {
    /// Runs it.
    pub run: WorkFn,
    /// Counts a reference of the queue.
    pub count: RefFn,
    /// The name of its function, for people; called with the header's `func`.
    pub name: fn(*const ()) -> &'static str,
}

/// Counts a reference to something in an `Arc`.
///
/// # Safety
/// The pointer is from an `Arc` that is alive; `Dropped` gives back what `Taken` took.
pub unsafe fn count_arc<T>(item: NonNull<T>, what: Ref) {
    match what {
        // SAFETY: as above.
        Ref::Taken => unsafe { Arc::increment_strong_count(item.as_ptr()) },
        // SAFETY: as above.
        Ref::Dropped => unsafe { Arc::decrement_strong_count(item.as_ptr()) },
    }
}

/// The part of an item that queues and pools work with. 48 bytes, laid out as in C:
///
/// | offset | field | of a new item |
/// | --- | --- | --- |
/// | 0 | `word`, 64 bits | [`Header::NEW_WORD`]: `0xffff_0000_0000_0000` |
/// | 8 | `next`, a pointer | null |
/// | 16 | `prev`, a pointer | null |
/// | 24 | `home`, 32 bits, and 32 of padding, which is written to | 0 |
/// | 32 | `vtable`, a pointer | to the [`Vtable`] |
/// | 40 | `func`, a pointer | null, or what [`with_func`](Header::with_func) is called with |
///
/// A word of 0 is not a new item's: it names the pool with the number 0 as the item's last one.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    word: AtomicU64,
    pub(crate) next: Cell<Option<NonNull<Header>>>,
    pub(crate) prev: Cell<Option<NonNull<Header>>>,
    /// The CPU that it was queued on.
    pub(crate) home: Cell<u32>,
    /// When it was queued. In C this is padding.
    pub(crate) stamp: Cell<u32>,
    vtable: &'static Vtable,
    func: *const (),
}

// As the documents promise.
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(
    Header::NEW_WORD == 0xffff_0000_0000_0000
        && size_of::<Header>() == 48
        && std::mem::offset_of!(Header, next) == 8
        && std::mem::offset_of!(Header, home) == 24
        && std::mem::offset_of!(Header, func) == 40
);

// SAFETY: the word is atomic, and whoever holds the lock of the pool that the item is queued in is
// the only one at the links. Of `func` only the address is used.
unsafe impl Sync for Header {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Header {}

/// Tells the names of functions that are no [`Vtable`]'s; null: nobody does.
static NAMES: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// In keys: the function is not a table, and the address stands above this bit.
const IS_FUNC: u64 = 1;

impl Header {
    /// The word of an item that was never queued: in no pool, not pending, not disabled.
    pub const NEW_WORD: u64 = WorkWord::NEW.0;

    /// Of an item that nobody has queued. The table's `run` is its one function.
    #[cfg(not(loom))]
    pub const fn new(vtable: &'static Vtable) -> Self {
        Self::with_func(vtable, std::ptr::null())
    }

    /// The same, of one whose table serves several functions, of which this is the one that it
    /// calls. It tells items apart, and is what [`Vtable::name`] is called with.
    #[cfg(not(loom))]
    pub const fn with_func(vtable: &'static Vtable, func: *const ()) -> Self {
        Header {
            word: AtomicU64::new(Self::NEW_WORD),
            next: Cell::new(None),
            prev: Cell::new(None),
            home: Cell::new(0),
            stamp: Cell::new(0),
            vtable,
            func,
        }
    }

    /// As above; loom's atomics are no constants.
    #[cfg(loom)]
    pub fn new(vtable: &'static Vtable) -> Self {
        Header {
            word: AtomicU64::new(Self::NEW_WORD),
            next: Cell::new(None),
            prev: Cell::new(None),
            home: Cell::new(0),
            stamp: Cell::new(0),
            vtable,
            func: std::ptr::null(),
        }
    }

    /// The function that it was made with; null: its table has one.
    pub fn func(&self) -> *const () {
        self.func
    }

    /// From now on `names` tells the name of each function that some item was made
    /// [with](Self::with_func), whose item may be gone.
    pub fn set_names(names: fn(func: usize) -> &'static str) {
        NAMES.store(names as *mut (), SeqCst);
    }

    #[inline]
    pub(crate) fn word(&self) -> WorkWord {
        WorkWord(self.word.load(SeqCst))
    }

    /// Applies a pure step: `Ok` with the word as it was, `Err` with the one that the step refused.
    ///
    /// A step that changes nothing writes the word too, as it found it, and only
    /// [`set_new_word`](Self::set_new_word) just stores to it. So all steps form one chain of
    /// read-modify-writes, and each sees what was stored before the earlier ones. An execution
    /// begins with a step. It sees what everybody stored who was refused before (kernel
    /// `test_and_set_bit`, `set_work_pool_and_clear_pending`).
    #[inline]
    pub(crate) fn step(
        &self,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let step = |word| step(WorkWord(word)).map(|next| next.0);
        let before = self.word.fetch_update(SeqCst, SeqCst, step);
        before.map(WorkWord).map_err(WorkWord)
    }

    /// Changes the word of an item that was never queued. Who knows it may look, or take a step
    /// that changes nothing, as to take it off a queue does: nobody was refused before.
    #[inline]
    pub(crate) fn set_new_word(&self, next: WorkWord) {
        // Relaxed: whoever finds the item in its pool has come to it by a later step, and who knows
        // it already is told of its queueing by who queues it.
        self.word.store(next.0, Relaxed);
    }

    /// Changes the word of an item that the caller owns.
    #[inline]
    pub(crate) fn set_word(&self, next: WorkWord) {
        self.word.swap(next.0, SeqCst);
    }

    /// Whether it has not been in any pool of this process, in which `nowhere` stands for none.
    #[inline]
    pub(crate) fn is_new(&self, nowhere: u32) -> bool {
        // A word that was ever changed names a pool, or that it was in none.
        self.word().pool().is_none_or(|pool| pool == nowhere)
    }

    /// What identifies its executions.
    #[inline]
    pub(crate) fn key(&self) -> ItemKey {
        let func = match self.func.is_null() {
            true => std::ptr::from_ref(self.vtable).expose_provenance() as u64,
            false => (self.func.addr() as u64) << 1 | IS_FUNC,
        };
        ItemKey {
            addr: std::ptr::from_ref(self).addr() as u64,
            func,
        }
    }

    /// The name of the function that a key tells.
    pub(crate) fn name_of(key: ItemKey) -> &'static str {
        Header::name_of_func(key.func)
    }

    /// The address of the function that an item of this key was made [with](Self::with_func).
    pub(crate) fn func_of(key: ItemKey) -> Option<usize> {
        (key.func & IS_FUNC != 0).then_some((key.func >> 1) as usize)
    }

    /// As it is in keys.
    pub(crate) fn name_of_func(func: u64) -> &'static str {
        if func & IS_FUNC != 0 {
            return name_of_foreign((func >> 1) as usize);
        }
        let vtable = std::ptr::with_exposed_provenance::<Vtable>(func as usize);
        // SAFETY: keys come from headers, and their tables live for ever.
        (unsafe { &*vtable }.name)(std::ptr::null())
    }

    /// The name of its function, for people.
    pub fn name(&self) -> &'static str {
        (self.vtable.name)(self.func)
    }

    #[inline]
    pub(crate) fn vtable(&self) -> &'static Vtable {
        self.vtable
    }
}

fn name_of_foreign(func: usize) -> &'static str {
    let names = NAMES.load(SeqCst);
    if names.is_null() {
        return "?";
    }
    // SAFETY: only `set_names` stores here, and such functions.
    let names = unsafe { std::mem::transmute::<*mut (), fn(usize) -> &'static str>(names) };
    names(func)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    static TABLE: Vtable = Vtable {
        run: |_| (),
        count: |_, _| (),
        name: |func| if func.is_null() { "one" } else { "several" },
    };

    #[test]
    fn an_item_is_its_address_and_its_function() {
        // Two that do the same may be one function in an optimised build.
        fn first() {
            std::hint::black_box(1);
        }
        fn second() {
            std::hint::black_box(2);
        }
        let func = |func: fn()| Header::with_func(&TABLE, func as *const ());
        let (one, first, second) = (Header::new(&TABLE), func(first), func(second));
        assert_eq!((one.name(), first.name()), ("one", "several"));
        assert_ne!(one.key().func, first.key().func);
        assert_ne!(first.key().func, second.key().func);
        assert_eq!(Header::name_of(one.key()), "one");
    }

    #[test]
    fn names_of_functions_are_asked_of_whoever_knows_them() {
        fn known() {}
        let item = Header::with_func(&TABLE, known as *const ());
        assert_eq!(Header::name_of(item.key()), "?");
        Header::set_names(|func| {
            if func == known as *const () as usize {
                "known"
            } else {
                "?"
            }
        });
        assert_eq!(Header::name_of(item.key()), "known");
    }
}
