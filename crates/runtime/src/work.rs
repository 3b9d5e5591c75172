//! Reusable items.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::item::Header;
use crate::queue::Queue;

/// The header comes first, so that its address is the item's.
#[repr(C)]
struct Inner<F: ?Sized> {
    header: Header,
    func: F,
}

/// An item that can be queued again and again. A handle: clones are the same item.
///
/// It is pending or not: queueing it while it is pending changes nothing. It never runs twice at
/// once, so what one execution does needs no lock against the next; queued while it runs, it runs
/// once more. Queueing allocates nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// static RUNS: AtomicU32 = AtomicU32::new(0);
///
/// let work = cmwq::Work::new(|| {
///     RUNS.fetch_add(1, SeqCst);
/// });
/// cmwq::system().queue(&work);
/// cmwq::system().flush()?;
/// assert_eq!(RUNS.load(SeqCst), 1);
/// # Ok::<(), cmwq::FlushError>(())
/// ```
#[derive(Clone)]
pub struct Work {
    inner: Arc<Inner<dyn Fn() + Send + Sync>>,
}

// SAFETY: the closure is Send and Sync; of the header, the word is atomic and the links belong to
// whoever holds the lock of the pool that the item is queued in.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("word", &self.inner.header.word())
            .finish()
    }
}

impl Work {
    /// An item that calls `func`. A panic in it ends that execution, is reported by the panic hook,
    /// and leaves the worker and the item usable.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| println!("again"));
    /// cmwq::system().queue(&work);
    /// # cmwq::system().flush();
    /// ```
    pub fn new(func: impl Fn() + Send + Sync + 'static) -> Self {
        Work {
            inner: Arc::new(new_inner(func)),
        }
    }

    /// Whether it is queued and has not begun. A hint: it may change at any time.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(!work.is_pending());
    /// ```
    pub fn is_pending(&self) -> bool {
        self.inner.header.word().is_pending()
    }

    /// Queues it, unless it is pending. The queue keeps a reference until it runs.
    pub(crate) fn queue_on(&self, queue: &Queue) -> bool {
        if !self.inner.header.try_pend() {
            return false;
        }
        let item = Arc::into_raw(self.inner.clone()).cast::<Header>();
        queue.push(NonNull::new(item.cast_mut()).expect("an Arc is not null"));
        true
    }
}

fn new_inner<F: Fn() + Send + Sync + 'static>(func: F) -> Inner<F> {
    Inner {
        header: Header::new(run::<F>),
        func,
    }
}

/// The item's function.
///
/// # Safety
/// `header` is that of an `Inner<F>` in an `Arc`, with one reference given to this call.
unsafe fn run<F: Fn() + Send + Sync + 'static>(header: NonNull<Header>) {
    // SAFETY: the header comes first, the pointer is from Arc::into_raw of this very item, and
    // queueing left one reference to us.
    let inner = unsafe { Arc::from_raw(header.cast::<Inner<F>>().as_ptr()) };
    // The closure is called through a shared reference and may be called again: that a panic may
    // have left what it captured in the middle of a change is its owner's affair, as with a thread.
    let _ = catch_unwind(AssertUnwindSafe(|| (inner.func)()));
}
