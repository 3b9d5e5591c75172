//! Spawned closures: items that run once and hand a value back.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

use cmwq_policy::contract;

use crate::claim;
use crate::engine::Engine;
use crate::error::{JoinError, QueueError, WouldDeadlock};
use crate::item::{Header, Ref, Vtable, count_arc};
use crate::latch::Latch;
use crate::machine::Real;
use crate::pool;
use crate::pwq::PwqRef;
use crate::queue::{Queue, Workqueue};

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
    /// Told when the task has ended or was cancelled, after the closure is gone.
    on_end: Option<Arc<dyn OnEnd>>,
}

/// Who is told that a task has ended.
pub(crate) trait OnEnd: Send + Sync {
    /// Called once per task, when nothing of its closure is left.
    fn ended(&self, panicked: bool);

    /// A joiner has taken its panic. May come before `ended` does.
    fn panic_joined(&self);
}

// SAFETY: the stage is the runner's until the latch is set, and the joiner's after it; closure and
// value may be sent. The header's links belong to the holder of the pool's lock.
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
    /// The latch is set, and nobody else takes.
    unsafe fn take(&self) -> Result<T, JoinError>;
}

/// A task that can be taken off its queue.
pub(crate) trait Cancel: Headed + Send + Sync {
    fn is_over(&self) -> bool;

    /// Takes it off the queue if no worker has begun it; its closure is dropped then.
    fn cancel(&self, engine: &'static Engine);

    /// Drops what came of it.
    ///
    /// # Safety
    /// It is over, and nobody joins it any more.
    unsafe fn clear(&self);
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
                self.on_end.iter().for_each(|on_end| on_end.panic_joined());
                Err(JoinError::Panicked(payload))
            }
            Stage::Refused(error) => Err(JoinError::Refused(error)),
            Stage::Closure(_) | Stage::Empty => Err(JoinError::Cancelled),
        }
    }
}

impl<F: Send, T: Send> Cancel for Task<F, T> {
    fn is_over(&self) -> bool {
        self.latch.is_set()
    }

    fn cancel(&self, engine: &'static Engine) {
        // The queue's reference goes with it: the caller has another one.
        if contract::cancel(&Real(engine), NonNull::from(&self.header)) {
            // SAFETY: off the queue before anybody began it, so the stage is ours.
            let stage = unsafe { std::mem::replace(&mut *self.stage.get(), Stage::Empty) };
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(stage)));
            self.end(dropped.is_err());
            // May be a value that panics when it is dropped as well.
            std::mem::forget(dropped);
        }
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn clear(&self) {
        // SAFETY: the runner is done with the stage, and the caller is alone.
        drop(unsafe { std::mem::replace(&mut *self.stage.get(), Stage::Empty) });
    }
}

impl<F, T> Task<F, T> {
    fn end(&self, panicked: bool) {
        // The latch last but for the scope, which may let go of what the closure borrowed.
        self.latch.set();
        if let Some(on_end) = &self.on_end {
            on_end.ended(panicked);
        }
    }
}

/// Makes a task and queues it; one that is refused has ended with that. Where it went comes with it.
pub(crate) fn spawn<F, T>(
    queue: &Queue,
    func: F,
    on_end: Option<Arc<dyn OnEnd>>,
) -> (Arc<Task<F, T>>, Option<PwqRef>)
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let task = Arc::new(Task {
        header: Header::new(Of::<F, T>::VTABLE),
        latch: Latch::new(),
        stage: UnsafeCell::new(Stage::Closure(func)),
        on_end,
    });
    match queue.admits() {
        Ok(()) => {
            let pended = task.header.step(|word| word.try_pend().ok());
            assert!(pended.is_ok(), "a new task is not pending");
            let item = Arc::into_raw(task.clone()).cast::<Header>();
            let item = NonNull::new(item.cast_mut()).expect("an Arc is not null");
            let pwq = contract::enqueue(&queue.machine(), queue.this(), None, item);
            (task, Some(pwq))
        }
        Err(error) => {
            // SAFETY: nobody else knows of the task yet.
            let unrun = unsafe { std::mem::replace(&mut *task.stage.get(), Stage::Refused(error)) };
            task.end(false);
            // Last: a panic in this is the caller's.
            drop(unrun);
            (task, None)
        }
    }
}

/// The functions of one type of task.
struct Of<F, T>(PhantomData<(F, T)>);

impl<F: FnOnce() -> T, T> Of<F, T> {
    const VTABLE: &'static Vtable = &Vtable {
        run: run::<F, T>,
        count: count::<F, T>,
        name: std::any::type_name::<F>,
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
    let result = catch_unwind(AssertUnwindSafe(func));
    let panicked = result.is_err();
    // SAFETY: as above.
    unsafe { *task.stage.get() = Stage::Ended(result) };
    task.end(panicked);
}

/// The value of a closure that was spawned on a queue, once it is there. Dropping it lets the closure
/// run all the same.
#[must_use = "dropping it is fine, but says so nowhere: write drop(handle)"]
pub struct JoinHandle<T> {
    task: Arc<dyn AnyTask<T>>,
    queue: Workqueue,
    /// Where it was queued; `None` if it was refused.
    pwq: Option<PwqRef>,
}

// SAFETY: the pwq is the queue's, which the handle keeps; a task may be shared.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the closure and returns its value. Inside an item the wait counts as a hint: another
    /// worker takes the CPU meanwhile. Of a queue with [`Stacking::Claim`](crate::Stacking::Claim) the calling
    /// thread may execute the closure itself.
    ///
    /// # Errors
    /// [`JoinError`]: it panicked, was refused, or waiting would never have ended.
    ///
    /// ```
    /// let handle = cmwq::system().spawn(|| panic!("no such file"));
    /// assert!(handle.join().unwrap_err().is_panic());
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        let (queue, task) = (self.queue.queue_ref(), &self.task);
        wait_to_join(queue, self.pwq, task)?;
        // SAFETY: the latch is set, and the handle, which is consumed, is the only taker.
        unsafe { self.task.take() }
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
        self.task.latch().is_set()
    }
}

/// Executes a task of this queue on the calling thread, which would wait for it, if that may be.
pub(crate) fn claim(queue: &Queue, task: &Arc<impl Headed + ?Sized>) -> bool {
    // To the whole task: it is executed through this pointer.
    let work = NonNull::new(Arc::as_ptr(task).cast::<Header>().cast_mut());
    claim::claim(queue, work.expect("an Arc is not null"))
}

/// Waits for a latch that an item will set which was queued through this pwq of the queue.
/// `item` is its name for people, if it is one.
pub(crate) fn wait(
    queue: &Queue,
    pwq: PwqRef,
    latch: &Latch,
    item: Option<&'static str>,
) -> Result<(), WouldDeadlock> {
    if latch.is_set() {
        return Ok(());
    }
    latch.announce();
    awaiting(queue, item, || queue.wait(pwq, || latch.is_set()))
}

/// Runs `wait`; if the caller is an item, people are told meanwhile what it waits for.
pub(crate) fn awaiting<R>(
    queue: &Queue,
    item: Option<&'static str>,
    wait: impl FnOnce() -> R,
) -> R {
    let Some(place) = pool::current() else {
        return wait();
    };
    place.awaiting((queue.shared_name(), item), wait)
}

/// Waits as a joiner, or executes the task. He may be in a forked child: there items of the parent never
/// run.
pub(crate) fn wait_to_join<T>(
    queue: &Queue,
    pwq: Option<PwqRef>,
    task: &Arc<impl AnyTask<T> + ?Sized>,
) -> Result<(), JoinError> {
    match pwq {
        // Refused: it has ended with that.
        None => Ok(()),
        // Also in a child that the claimed item has forked.
        Some(_) if queue.is_ours() && claim(queue, task) => Ok(()),
        Some(pwq) if queue.is_ours() => {
            let waited = wait(queue, pwq, task.latch(), Some(task.name()));
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
        let (task, pwq) = spawn(self.queue_ref(), func, None);
        JoinHandle {
            task,
            queue: self.clone(),
            pwq,
        }
    }
}
