//! Barriers: items that stand behind another item and say when it has ended (kernel `wq_barrier`).

use std::ptr::NonNull;
use std::sync::Arc;

use super::latch::Latch;
use crate::item::{Header, Ref, Vtable};

/// The header comes first, so that its address is the barrier's.
#[repr(C)]
pub(crate) struct Barrier {
    header: Header,
    latch: Latch,
}

static VTABLE: Vtable = Vtable {
    run,
    count,
    name: |_| "barrier",
};

impl Barrier {
    pub(crate) fn new() -> Arc<Barrier> {
        Arc::new(Barrier {
            header: Header::new(&VTABLE),
            latch: Latch::new(),
        })
    }

    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// As the protocols name it.
    pub(crate) fn work(self: &Arc<Self>) -> NonNull<Header> {
        let barrier = NonNull::new(Arc::as_ptr(self).cast_mut());
        barrier.expect("an Arc is not null").cast()
    }
}

/// # Safety
/// `header` is that of a `Barrier` in an `Arc`, with one reference given to this call.
unsafe fn run(header: NonNull<Header>) {
    // SAFETY: the header comes first, and flushing left one reference to us.
    let barrier = unsafe { Arc::from_raw(header.cast::<Barrier>().as_ptr()) };
    barrier.latch.set();
}

/// # Safety
/// `header` is that of a `Barrier` in an `Arc`; `Dropped` gives back what `Taken` took.
unsafe fn count(header: NonNull<Header>, what: Ref) {
    // SAFETY: the header comes first; the rest is said above.
    unsafe { crate::item::count_arc(header.cast::<Barrier>(), what) }
}
