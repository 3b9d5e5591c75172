//! Spawned closures: items that run once and hand a value back.
//!
//! The value belongs to the handle. Whoever comes last drops what nobody asked for, the handle or
//! the runner, so nothing of a task is left when its scope has been told of its end. If the handle
//! is forgotten, so is the value.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

use cmwq_engine::error::QueueError;
use cmwq_engine::sync::{AtomicU32, SeqCst};
use cmwq_engine::{Awaits, Header, Latch, RawItem, RawPwq, RawQueue, Ref, Vtable, count_arc, user};

use crate::join_error::JoinError;
use crate::workqueue::Workqueue;

/// What a task holds: first the closure, then what came of it.
enum Stage<F, T> {
    Closure(F),
    Ended(thread::Result<T>),
    Refused(QueueError),
    Empty,
}

/// The header comes first, so that its address is the task's.
#[repr(C)]
pub(crate) struct Task<F, T> {
    header: Header,
    latch: Latch,
    stage: UnsafeCell<Stage<F, T>>,
    /// [`ENDED`] and [`DETACHED`]: who sets the second one drops what came of it.
    fate: AtomicU32,
    on_end: Option<OnEnd>,
}

/// The runner has left the stage.
const ENDED: u32 = 1;
/// Nobody will ask what came of it.
const DETACHED: u32 = 2;

/// Who is told that a task has ended or was cancelled, and which of his tasks it is.
pub(crate) struct OnEnd {
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) number: u64,
}

/// Who is told of tasks.
pub(crate) trait Observer: Send + Sync {
    /// Called once per task, when nothing of its closure is left, nor of its value if that is
    /// nobody's.
    fn ended(&self, number: u64);

    /// A task, or the destructor of its value, panicked. Before it `ended`, or before its handle is
    /// gone.
    fn panicked(&self);

    /// A joiner has taken its panic.
    fn panic_joined(&self);
}

// SAFETY: the stage is the runner's until ENDED is set, and its handle's after that; once DETACHED
// is set too it is that of whoever set the second one. Closure and value may be sent. The header's
// links belong to the holder of the pool's lock.
unsafe impl<F: Send, T: Send> Sync for Task<F, T> {}
// SAFETY: as above.
unsafe impl<F: Send, T: Send> Send for Task<F, T> {}

/// A task of any type.
///
/// # Safety
/// It begins with its header.
pub(crate) unsafe trait Headed {}

// SAFETY: laid out as in C, the header first.
unsafe impl<F, T> Headed for Task<F, T> {}

/// A task whose closure is not named: what its joiner and its scope need.
pub(crate) trait AnyTask<T>: Headed + Send + Sync {
    fn latch(&self) -> &Latch;

    /// For people.
    fn name(&self) -> &'static str;

    /// Takes what came of it.
    ///
    /// # Safety
    /// The latch is set, and the caller is the handle.
    unsafe fn take(&self) -> Result<T, JoinError>;

    /// Drops what came, or will come, of it.
    ///
    /// # Safety
    /// The caller is the handle, for the last time.
    unsafe fn detach(&self);
}

/// A task that can be taken off its queue.
pub(crate) trait Cancel: Headed + Send + Sync {
    /// It is off its queue before anybody has begun it: drops its closure.
    ///
    /// # Safety
    /// So it is.
    unsafe fn cancelled(&self);
}

impl<F: Send, T: Send> AnyTask<T> for Task<F, T> {
    fn latch(&self) -> &Latch {
        &self.latch
    }

    fn name(&self) -> &'static str {
        self.header.name()
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn take(&self) -> Result<T, JoinError> {
        // SAFETY: the latch is set, so the runner is done with the stage; the caller is alone.
        match unsafe { std::mem::replace(&mut *self.stage.get(), Stage::Empty) } {
            Stage::Ended(Ok(value)) => Ok(value),
            Stage::Ended(Err(payload)) => {
                self.tell(|observer| observer.panic_joined());
                Err(JoinError::Panicked(payload))
            }
            Stage::Refused(error) => Err(JoinError::Refused(error)),
            Stage::Closure(_) | Stage::Empty => Err(JoinError::Cancelled),
        }
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn detach(&self) {
        if self.fate.fetch_or(DETACHED, SeqCst) & ENDED != 0 {
            // SAFETY: the runner has left the stage, and the caller is the handle.
            unsafe { self.clear() };
        }
    }
}

impl<F: Send, T: Send> Cancel for Task<F, T> {
    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn cancelled(&self) {
        // SAFETY: nobody has begun it, so the stage is ours.
        unsafe { self.clear() };
        self.end();
    }
}

impl<F, T> Task<F, T> {
    /// Makes one that is not queued yet.
    pub(crate) fn new(func: F, on_end: Option<OnEnd>) -> Arc<Self>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        Arc::new(Task {
            header: Header::new(Of::<F, T>::VTABLE),
            latch: Latch::new(),
            stage: UnsafeCell::new(Stage::Closure(func)),
            fate: AtomicU32::new(0),
            on_end,
        })
    }

    /// It could not be queued, and has ended with that.
    pub(crate) fn refuse(&self, error: QueueError) {
        // SAFETY: nobody runs it, and no handle looks before the latch is set.
        let unrun = unsafe { std::mem::replace(&mut *self.stage.get(), Stage::Refused(error)) };
        if !user::discard(unrun) {
            self.tell(|observer| observer.panicked());
        }
        self.end();
    }

    fn tell(&self, what: impl FnOnce(&dyn Observer)) {
        if let Some(on_end) = &self.on_end {
            what(&*on_end.observer);
        }
    }

    /// Drops what is in the stage.
    ///
    /// # Safety
    /// The stage is the caller's.
    unsafe fn clear(&self) {
        // SAFETY: says the caller.
        let stage = unsafe { std::mem::replace(&mut *self.stage.get(), Stage::Empty) };
        if !user::discard(stage) {
            self.tell(|observer| observer.panicked());
        }
    }

    /// The stage holds what came of it.
    fn end(&self) {
        if self.fate.fetch_or(ENDED, SeqCst) & DETACHED != 0 {
            // SAFETY: the handle has left the stage to us.
            unsafe { self.clear() };
        }
        // The latch last but for the scope, which may let go of what the closure borrowed.
        self.latch.set();
        self.tell(|observer| {
            observer.ended(self.on_end.as_ref().map_or(0, |on_end| on_end.number))
        });
    }
}

/// The task as the engine knows it, by a pointer to all of it: through that it is executed and
/// freed.
pub(crate) fn raw(task: &Arc<impl Headed + ?Sized>) -> RawItem {
    let header = Arc::as_ptr(task).cast::<Header>().cast_mut();
    let header = NonNull::new(header).expect("an Arc is not null");
    // SAFETY: it begins with its header; whoever calls this keeps the task while he uses what he
    // gets, and so does the reference that goes to the queue. Closure and value may be sent.
    unsafe { RawItem::new(header) }
}

/// Takes a task off its queue if no worker has begun it; its closure is dropped then. The queue's
/// reference goes with it: the caller has another one.
pub(crate) fn cancel(task: &Arc<impl Cancel + ?Sized>) {
    if raw(task).cancel() {
        // SAFETY: off the queue before anybody began it.
        unsafe { task.cancelled() };
    }
}

/// Makes a task and queues it; one that is refused has ended with that. Where it went comes with
/// it.
pub(crate) fn spawn<F, T>(queue: &RawQueue, func: F) -> (Arc<Task<F, T>>, Option<RawPwq>)
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let task = Task::new(func, None);
    let pwq = start(queue, &task);
    (task, pwq)
}

/// Queues a new task; where it went. One that is refused has ended with that.
pub(crate) fn start<F, T>(queue: &RawQueue, task: &Arc<Task<F, T>>) -> Option<RawPwq>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let refuse = |error| task.refuse(error);
    try_start(queue, task).map_err(refuse).ok()
}

/// As [`start`], where something is locked: follow with [`refuse`](Task::refuse) where nothing is.
pub(crate) fn try_start<F, T>(
    queue: &RawQueue,
    task: &Arc<Task<F, T>>,
) -> Result<RawPwq, QueueError>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let queued = task.clone();
    let pwq = queue.queue_new(raw(&queued))?;
    // The queue's from now on: `run` takes it.
    std::mem::forget(queued);
    Ok(pwq)
}

/// The functions of one type of task.
struct Of<F, T>(PhantomData<(F, T)>);

impl<F: FnOnce() -> T, T> Of<F, T> {
    const VTABLE: &'static Vtable = &Vtable {
        run: run::<F, T>,
        count: count::<F, T>,
        name: |_| std::any::type_name::<F>(),
    };
}

/// # Safety
/// `header` is that of a `Task<F, T>` in an `Arc`; `Dropped` gives back what `Taken` took.
unsafe fn count<F, T>(header: NonNull<Header>, what: Ref) {
    // SAFETY: the header comes first; the rest is said above.
    unsafe { count_arc(header.cast::<Task<F, T>>(), what) }
}

/// The task's function.
///
/// # Safety
/// `header` is that of a `Task<F, T>` in an `Arc`, with one reference given to this call.
unsafe fn run<F: FnOnce() -> T, T>(header: NonNull<Header>) {
    // SAFETY: the header comes first, the pointer is from Arc::into_raw of this very task, and
    // queueing left one reference to us.
    let task = unsafe { Arc::from_raw(header.cast::<Task<F, T>>().as_ptr()) };
    // SAFETY: the latch is not set, so the stage is the runner's, and a task runs once.
    let stage = unsafe { std::mem::replace(&mut *task.stage.get(), Stage::Empty) };
    let Stage::Closure(func) = stage else {
        unreachable!("a task runs once")
    };
    // What the closure captured is dropped inside: a panic there counts as its own.
    let result = user::call(func);
    if result.is_err() {
        task.tell(|observer| observer.panicked());
    }
    // SAFETY: as above.
    unsafe { *task.stage.get() = Stage::Ended(result) };
    task.end();
}

/// The one that may ask what came of a task.
pub(crate) struct Handle<A: AnyTask<T> + ?Sized, T> {
    task: Arc<A>,
    value: PhantomData<T>,
}

impl<A: AnyTask<T> + ?Sized, T> Handle<A, T> {
    /// Of a task that has none yet.
    pub(crate) fn new(task: Arc<A>) -> Self {
        Handle {
            task,
            value: PhantomData,
        }
    }

    pub(crate) fn task(&self) -> &Arc<A> {
        &self.task
    }

    /// Waits for the task, which was queued through this pwq of the queue, and takes what came of
    /// it.
    pub(crate) fn join(self, queue: &RawQueue, pwq: Option<RawPwq>) -> Result<T, JoinError> {
        wait_to_join(queue, pwq, &self.task)?;
        // SAFETY: the latch is set, and this is the handle.
        unsafe { self.task.take() }
    }
}

impl<A: AnyTask<T> + ?Sized, T> Drop for Handle<A, T> {
    fn drop(&mut self) {
        // SAFETY: this is the handle, for the last time.
        unsafe { self.task.detach() };
    }
}

/// The value of a closure that was spawned on a queue, once it is there. Dropping it lets the
/// closure run all the same: its value is dropped when it ends, by the worker.
/// [Forgetting](std::mem::forget) it leaks the value.
#[must_use = "dropping it is fine, but says so nowhere: write drop(handle)"]
pub struct JoinHandle<T> {
    task: Handle<dyn AnyTask<T>, T>,
    queue: Workqueue,
    /// Where it was queued; `None` if it was refused.
    pwq: Option<RawPwq>,
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the closure and returns its value. Inside an item the wait counts as a hint:
    /// another worker takes the CPU meanwhile. Of a queue with
    /// [`Stacking::Claim`](crate::Stacking::Claim) the calling thread may execute the closure
    /// itself.
    ///
    /// # Errors
    /// [`JoinError`]: it panicked, was refused, or waiting would never have ended.
    ///
    /// ```
    /// let handle = cmwq::system().spawn(|| panic!("no such file"));
    /// assert!(handle.join().unwrap_err().is_panic());
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        self.task.join(self.queue.raw(), self.pwq)
    }

    /// Whether [`join`](Self::join) would return at once.
    ///
    /// ```
    /// let handle = cmwq::system().spawn(|| 1);
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(handle.join()?, 1);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.task().latch().is_set()
    }
}

/// Executes a task of this queue on the calling thread, which would wait for it, if that may be.
pub(crate) fn claim(queue: &RawQueue, task: &Arc<impl Headed + ?Sized>) -> bool {
    queue.claim(raw(task))
}

/// Waits as a joiner, or executes the task. He may be in a forked child: there items of the parent
/// never run.
pub(crate) fn wait_to_join<T>(
    queue: &RawQueue,
    pwq: Option<RawPwq>,
    task: &Arc<impl AnyTask<T> + ?Sized>,
) -> Result<(), JoinError> {
    match pwq {
        // Refused: it has ended with that.
        None => Ok(()),
        // Also in a child that the claimed item has forked.
        Some(_) if queue.is_ours() && claim(queue, task) => Ok(()),
        Some(pwq) if queue.is_ours() => {
            let (latch, name) = (task.latch(), Some(task.name()));
            let awaits = [Awaits::Item(raw(task))];
            // SAFETY: the task, which the caller has, was queued through this pwq of the queue.
            let waited = unsafe { queue.wait_latch(Some(pwq), latch, name, &awaits) };
            waited.map_err(JoinError::WouldDeadlock)
        }
        Some(_) => Err(JoinError::Refused(QueueError::Forked)),
    }
}

impl Workqueue {
    /// Queues a closure, to run once. A panic in it becomes an error of
    /// [`join`](JoinHandle::join); the worker survives.
    ///
    /// ```
    /// let words = cmwq::system().spawn(|| "seven words are more than enough here".split(' ').count());
    /// assert_eq!(words.join()?, 7);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn spawn<F, T>(&self, func: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let task = Task::new(func, None);
        let handle = Handle::new(task.clone() as Arc<dyn AnyTask<T>>);
        let pwq = start(self.raw(), &task);
        JoinHandle {
            task: handle,
            queue: self.clone(),
            pwq,
        }
    }
}
