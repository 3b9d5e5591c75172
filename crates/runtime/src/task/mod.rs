//! Spawned closures: items that run once and hand a value back.
//!
//! The value belongs to the handle. Whoever comes last drops what nobody asked for, the handle or
//! the runner, so nothing of a task is left when its scope has been told of its end. If the handle
//! is forgotten, so is the value.

#[cfg(all(test, loom))]
mod loom_tests;
mod reference;
mod stage;

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::task::Waker;

use cmwq_engine::error::QueueError;
use cmwq_engine::{
    Awaits, Header, Latch, RawItem, RawPwq, RawQueue, Ref, Until, Vtable, user, worker,
};

use self::reference::{Head, Headed};
use self::stage::{Content, Held};
use crate::join_error::JoinError;

pub(crate) use self::reference::TaskRef;

/// Laid out as in C, so that it is found by its head.
#[repr(C)]
pub(crate) struct Task<F, T, O = ()> {
    head: Head,
    content: UnsafeCell<Content<F, T>>,
    observer: O,
}

/// Who is told of a task: `()` is nobody.
pub(crate) trait Observer: Send + Sync {
    /// Called once, when nothing of the closure is left, nor of its value if that is nobody's.
    fn ended(&self) {}

    /// The task, or the destructor of its value, panicked. Before it `ended`, or before its handle
    /// is gone.
    fn panicked(&self) {}

    /// The joiner has taken its panic.
    fn panic_joined(&self) {}
}

impl Observer for () {}

// SAFETY: the stage is the runner's until the latch is set, and its handle's after that; of one
// that is detached, that of whoever came last. Closure and value may be sent. The header's links
// belong to the holder of the pool's lock.
unsafe impl<F: Send, T: Send, O: Observer> Sync for Task<F, T, O> {}
// SAFETY: as above.
unsafe impl<F: Send, T: Send, O: Observer> Send for Task<F, T, O> {}

// SAFETY: laid out as in C, the head first.
unsafe impl<F, T, O> Headed for Task<F, T, O> {}

/// A task whose closure is not named: what its joiner and its scope need.
pub(crate) trait AnyTask<T>: Cancel {
    fn latch(&self) -> &Latch;

    /// For people.
    fn name(&self) -> &'static str;

    /// Takes what came of it.
    ///
    /// # Panics
    /// If it was taken before.
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

impl<F: Send, T: Send, O: Observer> AnyTask<T> for Task<F, T, O> {
    fn latch(&self) -> &Latch {
        &self.head.latch
    }

    fn name(&self) -> &'static str {
        self.head.header().name()
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn take(&self) -> Result<T, JoinError> {
        // SAFETY: it has ended, so the runner is done with the stage; the caller is alone.
        match unsafe { self.replace(Held::Taken) } {
            Held::Ended(Ok(value)) => Ok(value),
            Held::Ended(Err(payload)) => {
                self.observer.panic_joined();
                Err(JoinError::Panicked(payload))
            }
            Held::Refused(error) => Err(JoinError::Refused(error)),
            Held::Closure(_) | Held::Empty => Err(JoinError::Cancelled),
            Held::Taken => panic!("a handle was asked again for what it has given"),
        }
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn detach(&self) {
        if self.head.latch.leave() {
            // SAFETY: the runner has left the stage, and the caller is the handle.
            unsafe { self.clear() };
        }
    }
}

impl<F: Send, T: Send, O: Observer> Cancel for Task<F, T, O> {
    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn cancelled(&self) {
        // SAFETY: nobody has begun it, so the stage is ours.
        unsafe { self.clear() };
        self.end();
    }
}

impl<F, T, O> Task<F, T, O> {
    /// Puts something else into the stage; what was there.
    ///
    /// # Safety
    /// The stage is the caller's.
    unsafe fn replace(&self, with: Held<F, T>) -> Held<F, T> {
        let (stage, content) = with.pack();
        // SAFETY: says the caller, of both.
        let stage = unsafe { self.head.stage.get().replace(stage) };
        // SAFETY: as above.
        let content = unsafe { self.content.get().replace(content) };
        // SAFETY: they came together, and are gone from here.
        unsafe { Held::unpack(stage, content) }
    }
}

impl<F, T, O> Drop for Task<F, T, O> {
    fn drop(&mut self) {
        // SAFETY: nobody else is left.
        drop(unsafe { self.replace(Held::Empty) });
    }
}

impl<F, T, O: Observer> Task<F, T, O> {
    /// Makes one that is not queued yet: a reference for its handle, and one for its queue.
    pub(crate) fn pair(func: F, observer: O) -> (TaskRef<Self>, TaskRef<Self>)
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        TaskRef::pair(|| {
            let (stage, content) = Held::Closure(func).pack();
            let header = Header::new(Of::<F, T, O>::VTABLE);
            Task {
                head: Head::new(header, stage),
                content: UnsafeCell::new(content),
                observer,
            }
        })
    }

    /// It could not be queued, and has ended with that.
    fn refuse(&self, error: QueueError) {
        // SAFETY: nobody runs it, and no handle looks before the latch is set.
        let unrun = unsafe { self.replace(Held::Refused(error)) };
        self.discard(unrun);
        self.end();
    }

    /// Drops what is in the stage.
    ///
    /// # Safety
    /// The stage is the caller's.
    unsafe fn clear(&self) {
        // SAFETY: says the caller.
        let held = unsafe { self.replace(Held::Empty) };
        self.discard(held);
    }

    /// Drops what was in the stage, or what nobody asks for.
    fn discard(&self, held: impl Sized) {
        if !user::discard(held) {
            self.observer.panicked();
        }
    }

    /// The stage holds what came of it.
    fn end(&self) {
        let end = self.head.latch.end();
        if end.is_left() {
            // SAFETY: the handle has left the stage to us.
            unsafe { self.clear() };
        }
        end.tell();
        // The scope last, which may let go of what the closure borrowed.
        self.observer.ended();
    }
}

/// The task as the engine knows it, by a pointer to all of it: through that it is executed and
/// freed.
pub(crate) fn raw(task: &TaskRef<impl Headed + ?Sized>) -> RawItem {
    // SAFETY: it begins with its header; whoever calls this keeps the task while he uses what he
    // gets, and so does the reference that goes to the queue. Closure and value may be sent.
    unsafe { RawItem::new(task.header()) }
}

/// Takes a task off its queue if no worker has begun it: true, and its closure is dropped then. The
/// queue's reference goes with it: the caller has another one.
pub(crate) fn cancel(task: &TaskRef<impl Cancel + ?Sized>) -> bool {
    let cancelled = raw(task).cancel();
    if cancelled {
        // SAFETY: off the queue before anybody began it.
        unsafe { task.cancelled() };
    }
    cancelled
}

/// Queues a new task by the reference that is the queue's, for this CPU if one is named; where it
/// went. One that is refused has ended with that.
pub(crate) fn start<F, T, O>(
    queue: &RawQueue,
    cpu: Option<usize>,
    task: TaskRef<Task<F, T, O>>,
) -> Option<RawPwq>
where
    F: FnOnce() -> T + Send,
    T: Send,
    O: Observer,
{
    // SAFETY: a new task, which others may take off its queue and nothing else.
    match unsafe { queue.queue_new(cpu, raw(&task)) } {
        Ok(pwq) => {
            // The queue's from now on: `run` takes it.
            std::mem::forget(task);
            Some(pwq)
        }
        Err(error) => {
            task.refuse(error);
            None
        }
    }
}

/// The functions of one type of task.
struct Of<F, T, O>(PhantomData<(F, T, O)>);

impl<F: FnOnce() -> T, T, O: Observer> Of<F, T, O> {
    const VTABLE: &'static Vtable = &Vtable {
        run: run::<F, T, O>,
        count: count::<F, T, O>,
        name: |_| std::any::type_name::<F>(),
    };
}

/// # Safety
/// `header` is that of a `Task<F, T, O>`, to which there is a reference; `Dropped` gives back what
/// `Taken` took.
unsafe fn count<F, T, O>(header: NonNull<Header>, what: Ref) {
    // SAFETY: says the caller.
    unsafe { TaskRef::<Task<F, T, O>>::count(header, what) }
}

/// The task's function.
///
/// # Safety
/// `header` is that of a `Task<F, T, O>`, with one reference given to this call.
unsafe fn run<F: FnOnce() -> T, T, O: Observer>(header: NonNull<Header>) {
    // SAFETY: queueing left one reference to us.
    let task = unsafe { TaskRef::<Task<F, T, O>>::from_header(header) };
    // SAFETY: the latch is not set, so the stage is the runner's, and a task runs once.
    let held = unsafe { task.replace(Held::Empty) };
    let Held::Closure(func) = held else {
        unreachable!("a task runs once")
    };
    // What the closure captured is dropped inside: a panic there counts as its own.
    let result = user::call(func);
    if result.is_err() {
        task.observer.panicked();
    }
    if task.is_last() {
        // Its handle is gone, so nobody asks what came of it.
        task.discard(result);
        task.observer.ended();
        return;
    }
    // SAFETY: as above.
    unsafe { task.replace(Held::Ended(result)) };
    task.end();
}

impl<F: Send, T: Send, O: Observer> TaskRef<Task<F, T, O>> {
    /// For its joiner.
    pub(crate) fn any<'a>(self) -> TaskRef<dyn AnyTask<T> + 'a>
    where
        Self: 'a,
    {
        // SAFETY: only the type changes.
        unsafe { self.unsize(|task| task as NonNull<dyn AnyTask<T> + 'a>) }
    }

    /// For who may take it off its queue.
    pub(crate) fn cancellable<'a>(self) -> TaskRef<dyn Cancel + 'a>
    where
        Self: 'a,
    {
        // SAFETY: only the type changes.
        unsafe { self.unsize(|task| task as NonNull<dyn Cancel + 'a>) }
    }
}

/// The one that may ask what came of a task.
pub(crate) struct Handle<A: AnyTask<T> + ?Sized, T> {
    task: TaskRef<A>,
    value: PhantomData<T>,
}

impl<A: AnyTask<T> + ?Sized, T> Handle<A, T> {
    /// Of a task that has none yet.
    pub(crate) fn new(task: TaskRef<A>) -> Self {
        Handle {
            task,
            value: PhantomData,
        }
    }

    pub(crate) fn task(&self) -> &TaskRef<A> {
        &self.task
    }

    /// Waits for the task, which was queued through this pwq of the queue, and takes what came of
    /// it.
    pub(crate) fn join(self, queue: &RawQueue, pwq: Option<RawPwq>) -> Result<T, JoinError> {
        wait_to_join(queue, pwq, &self.task)?;
        // SAFETY: the latch is set, and this is the handle.
        unsafe { self.task.take() }
    }

    /// True if the task has ended; else the waker is called when it ends.
    pub(crate) fn await_end(&self, waker: &Waker) -> bool {
        self.task.latch().await_set(waker)
    }

    /// What came of the task, if it has ended.
    pub(crate) fn take(&self) -> Option<Result<T, JoinError>> {
        let has_ended = self.task.latch().is_set();
        // SAFETY: this is the handle, and it has ended.
        has_ended.then(|| unsafe { self.task.take() })
    }
}

impl<A: AnyTask<T> + ?Sized, T> Drop for Handle<A, T> {
    fn drop(&mut self) {
        // SAFETY: this is the handle, for the last time.
        unsafe { self.task.detach() };
    }
}

/// Executes a task of this queue on the calling thread, which would wait for it, if that may be.
pub(crate) fn claim(queue: &RawQueue, task: &TaskRef<impl Headed + ?Sized>) -> bool {
    queue.claim(raw(task))
}

/// The ends of these, for who waits for any of them, if that is an item: only items wait for each
/// other in a circle.
pub(crate) fn known_to_wait(awaits: impl Iterator<Item = Awaits>) -> Vec<Awaits> {
    match worker::is_current() {
        true => awaits.collect(),
        false => Vec::new(),
    }
}

/// Waits as a joiner, or executes the task. He may be in a forked child: there items of the parent
/// never run.
pub(crate) fn wait_to_join<T>(
    queue: &RawQueue,
    pwq: Option<RawPwq>,
    task: &TaskRef<impl AnyTask<T> + ?Sized>,
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
            let waited = unsafe { queue.wait_latch(Some(pwq), latch, name, (Until::All, &awaits)) };
            waited.map_err(JoinError::WouldDeadlock)
        }
        Some(_) => Err(JoinError::Refused(QueueError::Forked)),
    }
}
