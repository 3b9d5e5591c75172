//! The items of the models, with the engine's headers.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use loom::cell::UnsafeCell;

use crate::item::{Header, Ref, Vtable, count_arc};

pub(super) fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: the model keeps its items until its end, and barriers as the engine does.
    unsafe { work.as_ref() }
}

/// Calls the function of an item, or of a barrier.
pub(super) fn run(work: NonNull<Header>) {
    let run = header(work).vtable().run;
    // SAFETY: the function that it was made with, called once for each queueing.
    unsafe { run(work) };
}

/// An item of a model.
#[repr(C)]
pub(in crate::loom_tests) struct Item {
    header: Header,
    /// Executions, in a cell that loom watches: they must be one after the other, each seeing what
    /// the one before it did.
    body: UnsafeCell<u32>,
    runs: AtomicU32,
    func: Box<dyn Fn(&Item)>,
}

// SAFETY: loom watches the cell; functions of the models use what may be shared.
unsafe impl Send for Item {}
// SAFETY: as above.
unsafe impl Sync for Item {}

static VTABLE: Vtable = Vtable {
    run: run_item,
    count: count_item,
    name: |_| "an item",
};

impl Item {
    pub(in crate::loom_tests) fn new(func: impl Fn(&Item) + 'static) -> Arc<Item> {
        Arc::new(Item {
            header: Header::new(&VTABLE),
            body: UnsafeCell::new(0),
            runs: AtomicU32::new(0),
            func: Box::new(func),
        })
    }

    pub(in crate::loom_tests) fn plain() -> Arc<Item> {
        Item::new(|_| ())
    }

    pub(in crate::loom_tests) fn work(&self) -> NonNull<Header> {
        NonNull::from(self).cast()
    }

    pub(in crate::loom_tests) fn runs(&self) -> u32 {
        self.runs.load(SeqCst)
    }

    /// Whoever may say that the item does not run: loom panics if it does, or if what it did cannot
    /// be seen yet.
    pub(in crate::loom_tests) fn use_body(&self) {
        // SAFETY: loom watches the cell.
        self.body.with_mut(|body| unsafe { *body += 1 });
    }

    pub(in crate::loom_tests) fn is_pending(&self) -> bool {
        self.header.word().is_pending()
    }
}

/// # Safety
/// `header` is that of an `Item` in an `Arc`, with one reference given to this call.
unsafe fn run_item(header: NonNull<Header>) {
    // SAFETY: the header comes first, and queueing left one reference to us.
    let item = unsafe { Arc::from_raw(header.cast::<Item>().as_ptr()) };
    item.use_body();
    item.runs.fetch_add(1, SeqCst);
    (item.func)(&item);
    item.use_body();
}

/// # Safety
/// `header` is that of an `Item` in an `Arc`; `Dropped` gives back what `Taken` took.
unsafe fn count_item(header: NonNull<Header>, what: Ref) {
    // SAFETY: the header comes first; the rest is said above.
    unsafe { count_arc(header.cast::<Item>(), what) }
}
