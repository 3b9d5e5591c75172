//! Reusable items.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_engine::error::{FlushError, WouldDeadlock};
use cmwq_engine::{Busy, Header, RawItem, Ref, Vtable, count_arc, user};
use cmwq_policy::pool::Waits;

/// The header comes first, so that its address is the item's.
#[repr(C)]
struct Inner<T, F: ?Sized> {
    header: Header,
    data: T,
    func: F,
}

type AnyFn<T> = dyn Fn(&Work<T>) + Send + Sync;

/// An item that can be queued again and again, at once or after a delay, with data of its own. A
/// handle: clones are the same item.
///
/// It is pending or not: queueing it while it is pending changes nothing. It never runs twice at
/// once, whichever threads and queues it is queued from and on, so what one execution does needs no
/// lock against the next; queued while it runs, it runs once more. It may queue itself. Queueing
/// allocates nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// let counter = cmwq::Work::with_data(AtomicU32::new(0), |work| {
///     work.data().fetch_add(1, SeqCst);
/// });
/// cmwq::system().queue(&counter)?;
/// counter.flush()?;
/// assert_eq!(counter.data().load(SeqCst), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # With a delay
///
/// After [`queue_after`](crate::Workqueue::queue_after) its timer is armed, and it is pending until
/// it begins (kernel `delayed_work`). Delays are of `CLOCK_MONOTONIC`: they do not pass while the
/// machine is suspended. The timers of all items are one thread's, which sleeps until the first of
/// them. Dropping a queue disarms what is armed for it.
///
/// ```
/// use std::time::Duration;
///
/// let flusher = cmwq::Work::new(|| println!("flush to disk"));
/// let queue = cmwq::system();
/// assert_eq!(queue.queue_after(&flusher, Duration::from_secs(30))?, true);
/// // Sooner, or later: the last word counts.
/// assert_eq!(queue.modify(&flusher, Duration::from_millis(5))?, false, "it was pending");
/// assert!(flusher.flush_now()?, "at once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # States
///
/// | state | `queue` | `flush` | `cancel` | `disable` | `enable` | [`busy`](Self::busy) |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | idle | true | false | false | false | true | |
/// | armed | false | false | true | true | true | pending |
/// | pending | false | waits, true | true | true | true | pending |
/// | running | true | waits, true | false | false | true | running |
/// | running and pending | false | waits for the pending one, true | true | true | true | both |
/// | disabled | error | false, or as running | false | false | true when the last disable is taken back | |
///
/// To enable an item that is not disabled is a mistake, and is
/// [reported](crate::Report::EnableUnderflow).
#[doc(alias = "DelayedWork")]
pub struct Work<T = ()> {
    inner: Arc<Inner<T, AnyFn<T>>>,
}

impl<T> Clone for Work<T> {
    fn clone(&self) -> Self {
        Work {
            inner: self.inner.clone(),
        }
    }
}

impl<T> fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("busy", &self.raw().busy())
            .finish_non_exhaustive()
    }
}

impl Work {
    /// An item that calls `func`. A panic in it ends that execution, is reported by the panic hook,
    /// and leaves the worker and the item usable.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| println!("again"));
    /// cmwq::system().queue(&work)?;
    /// # work.flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn new<F: Fn() + Send + Sync + 'static>(func: F) -> Self {
        Work::named::<F>((), move |_| func())
    }
}

impl<T: Send + Sync + 'static> Work<T> {
    /// An item with [data](Self::data). `func` gets the item itself, so it may queue itself again.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// let log = cmwq::Work::with_data(Mutex::new(vec![]), |log| {
    ///     log.data().lock().unwrap().push("ran");
    /// });
    /// cmwq::system().queue(&log)?;
    /// log.flush()?;
    /// assert_eq!(*log.data().lock().unwrap(), ["ran"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_data<F: Fn(&Work<T>) + Send + Sync + 'static>(data: T, func: F) -> Self {
        Work::named::<F>(data, func)
    }

    /// As [`with_data`](Self::with_data); reports say the name of the type `N`, the user's
    /// function.
    pub(crate) fn named<N: 'static>(
        data: T,
        func: impl Fn(&Work<T>) + Send + Sync + 'static,
    ) -> Self {
        Work {
            inner: new_inner::<T, _, N>(data, func),
        }
    }
}

impl<T> Work<T> {
    /// What it was made with; all handles and all executions see the same.
    ///
    /// ```
    /// let work = cmwq::Work::with_data("index", |work| println!("{}", work.data()));
    /// assert_eq!(*work.data(), "index");
    /// ```
    pub fn data(&self) -> &T {
        &self.inner.data
    }

    /// Whether it is queued and has not begun, or its timer is armed. A hint: it may change at any
    /// time.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(!work.is_pending());
    /// ```
    pub fn is_pending(&self) -> bool {
        self.raw().is_pending()
    }

    /// What it is doing.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(work.busy(), cmwq::Busy::default());
    /// ```
    pub fn busy(&self) -> Busy {
        self.raw().busy()
    }

    /// Why it has not begun; `None` if it is not pending. A hint: it may change at any time.
    ///
    /// ```
    /// use std::time::Duration;
    /// let work = cmwq::Work::new(|| ());
    /// assert_eq!(work.waits(), None);
    /// cmwq::system().queue_after(&work, Duration::from_secs(60))?;
    /// assert_eq!(work.waits(), Some(cmwq::Waits::Timer));
    /// # work.cancel();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn waits(&self) -> Option<Waits> {
        self.raw().waits()
    }

    /// Takes it off its queue, or disarms its timer. True if it was pending: then that instance
    /// does not run. An execution that has begun goes on.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(!work.cancel(), "it was not pending");
    /// ```
    pub fn cancel(&self) -> bool {
        self.raw().cancel()
    }

    /// As [`cancel`](Self::cancel), and waits for an execution that has begun. Whoever queues it
    /// meanwhile, itself included, is refused with [`Disabled`](crate::QueueError::Disabled); so
    /// when this returns it neither runs nor is pending, unless somebody queued it after that. True
    /// if it was pending.
    ///
    /// # Errors
    /// [`WouldDeadlock`] if it is called by the item itself, or by one that it waits for. It is
    /// cancelled then, and goes on.
    ///
    /// ```
    /// let work = cmwq::Work::with_data((), |work| {
    ///     // Again and again, until it is refused: then it has been cancelled.
    ///     let _ = cmwq::system().queue(work);
    /// });
    /// cmwq::system().queue(&work)?;
    /// work.cancel_sync()?;
    /// assert_eq!(work.busy(), cmwq::Busy::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_sync(&self) -> Result<bool, WouldDeadlock> {
        self.raw().cancel_sync()
    }

    /// Waits until the last queued instance has ended: the pending one, or else the one that runs.
    /// Instances queued later are not waited for. True if there was something to wait for. Does not
    /// wait for an armed timer: [`flush_now`](Self::flush_now) does not either, and queues it.
    ///
    /// # Errors
    /// [`FlushError::WouldDeadlock`] if it is called by the item itself or by one that it waits
    /// for, or where nobody could ever do what is waited for.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(!work.flush()?, "there was nothing to wait for");
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn flush(&self) -> Result<bool, FlushError> {
        self.raw().flush()
    }

    /// If its timer is armed, queues it at once; then waits for it as [`flush`](Self::flush) does
    /// (kernel `flush_delayed_work`). True if it was armed, or if there was something to wait for.
    /// An armed item that its queue does not take from this caller any more is dropped and
    /// reported, as when its time comes.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(!work.flush_now()?, "there was nothing to wait for");
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn flush_now(&self) -> Result<bool, FlushError> {
        self.raw().flush_delayed()
    }

    /// Cancels it, and refuses to queue it until it is [enabled](Self::enable) as often as it was
    /// disabled: at most 65,535 times, more are reported and not counted. True if it was pending.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| unreachable!());
    /// work.disable();
    /// assert_eq!(cmwq::system().queue(&work), Err(cmwq::QueueError::Disabled));
    /// assert!(work.enable());
    /// ```
    pub fn disable(&self) -> bool {
        self.raw().disable()
    }

    /// As [`disable`](Self::disable), and waits for an execution that has begun.
    ///
    /// # Errors
    /// [`WouldDeadlock`] as [`cancel_sync`](Self::cancel_sync); it is disabled all the same.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// cmwq::system().queue(&work)?;
    /// work.disable_sync()?;
    /// assert_eq!(work.busy(), cmwq::Busy::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn disable_sync(&self) -> Result<bool, WouldDeadlock> {
        self.raw().disable_sync()
    }

    /// Takes one disable back. True if it can be queued now; what was refused meanwhile is not
    /// queued. Where it was not disabled that is reported, and nothing changes.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// work.disable();
    /// work.disable();
    /// assert!(!work.enable());
    /// assert!(work.enable());
    /// ```
    pub fn enable(&self) -> bool {
        self.raw().enable()
    }

    /// Whether the calling thread executes this item.
    ///
    /// ```
    /// let work = cmwq::Work::with_data((), |work| assert!(work.is_current()));
    /// assert!(!work.is_current());
    /// cmwq::system().queue(&work)?;
    /// # work.flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn is_current(&self) -> bool {
        self.raw().is_current()
    }

    /// As the engine knows it.
    pub(crate) fn raw(&self) -> RawItem {
        let item = Arc::as_ptr(&self.inner).cast::<Header>().cast_mut();
        let header = NonNull::new(item).expect("an Arc is not null");
        // SAFETY: the header comes first, the item is there as long as a handle is, and its table
        // counts the references of queues. Closure and data may be used on any thread.
        unsafe { RawItem::new(header) }
    }
}

fn new_inner<T, F, N>(data: T, func: F) -> Arc<Inner<T, AnyFn<T>>>
where
    T: Send + Sync + 'static,
    F: Fn(&Work<T>) + Send + Sync + 'static,
    N: 'static,
{
    Arc::new(Inner {
        header: Header::new(Of::<T, F, N>::VTABLE),
        data,
        func,
    })
}

/// The functions of one type of item, and the type that it is named after.
struct Of<T, F, N>(PhantomData<(T, F, N)>);

impl<T, F, N> Of<T, F, N>
where
    T: Send + Sync + 'static,
    F: Fn(&Work<T>) + Send + Sync + 'static,
    N: 'static,
{
    const VTABLE: &'static Vtable = &Vtable {
        run: Self::run,
        count: Self::count,
        name: |_| std::any::type_name::<N>(),
    };

    /// # Safety
    /// `header` is that of an `Inner<T, F>` in an `Arc`, with one reference given to this call.
    unsafe fn run(header: NonNull<Header>) {
        // SAFETY: the header comes first, and queueing left one reference to us.
        let inner = unsafe { Arc::from_raw(header.cast::<Inner<T, F>>().as_ptr()) };
        let work: Work<T> = Work { inner };
        // The closure is called through a shared reference and may be called again: that a panic
        // may have left what it captured in the middle of a change is its owner's affair, as with a
        // thread.
        user::run(|| (work.inner.func)(&work));
    }

    /// # Safety
    /// `header` is that of an `Inner<T, F>` in an `Arc`; `Dropped` gives back what `Taken` took.
    unsafe fn count(header: NonNull<Header>, what: Ref) {
        // SAFETY: the header comes first; the rest is said above.
        unsafe { count_arc(header.cast::<Inner<T, F>>(), what) }
    }
}
