//! Handles of spawned closures.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use cmwq_engine::error::QueueError;
use cmwq_engine::{Awaits, RawGuest, RawPwq, RawQueue};

use crate::join_error::JoinError;
use crate::park;
use crate::system::system;
use crate::task::{self, AnyTask, Handle, Task};
use crate::workqueue::Workqueue;

/// The value of a spawned closure, once it is there.
///
/// [`join`](Self::join) waits for it. A handle is also a [`Future`]: `handle.await` gives what
/// `join` returns, in any async runtime, and blocks no thread. Awaiting sees no deadlock; only
/// `join` does.
///
/// Dropping the handle, while it is awaited or before, lets the closure run all the same. Its value
/// is dropped when it ends, by the worker. [Forgetting](std::mem::forget) a handle leaks the value.
///
/// A handle is also one of the [`Workqueue`]'s handles. So if it is the last one, dropping it waits
/// for all other items of the queue, as dropping the queue does.
///
/// ```
/// use std::time::Duration;
///
/// let slow = cmwq::spawn(|| std::thread::sleep(Duration::from_millis(20)));
/// match slow.join_timeout(Duration::from_millis(1)) {
///     Ok(result) => result?,
///     Err(slow) => slow.join()?, // the handle comes back
/// }
/// # Ok::<(), cmwq::JoinError>(())
/// ```
///
/// # Panics
/// Polling it again after it has given its value, or joining it then, panics.
#[must_use = "dropping it is fine, but says so nowhere: write handle.detach()"]
pub struct JoinHandle<T> {
    task: Handle<dyn AnyTask<T>, T>,
    queue: RawGuest,
    /// Where it was queued; `None` if it was refused.
    pwq: Option<RawPwq>,
}

// Nothing in it is pinned: the value comes out of another allocation.
impl<T> Unpin for JoinHandle<T> {}

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
    /// [`JoinError`]: it panicked, was refused or cancelled, or waiting would never have ended.
    ///
    /// ```
    /// let handle = cmwq::spawn(|| panic!("no such file"));
    /// assert!(handle.join().unwrap_err().is_panic());
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        self.task.join(&self.queue, self.pwq)
    }

    /// As [`join`](Self::join), at most for `timeout`: then the handle comes back, and the closure
    /// goes on. Never executes the closure on the calling thread.
    ///
    /// # Errors
    /// The handle itself, at the timeout.
    ///
    /// ```
    /// let handle = cmwq::spawn(|| 6 * 7);
    /// let result = handle.join_timeout(std::time::Duration::from_secs(60));
    /// assert_eq!(result.expect("a minute is enough")?, 42);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn join_timeout(self, timeout: Duration) -> Result<Result<T, JoinError>, Self> {
        if self.is_finished() {
            return Ok(self.join());
        }
        match Instant::now().checked_add(timeout) {
            // No clock gets there.
            None => Ok(self.join()),
            Some(at) if park::wait_until(at, |waker| self.await_end(waker)) => Ok(self.take()),
            Some(_) => Err(self),
        }
    }

    /// What [`join`](Self::join) returns if it need not wait.
    ///
    /// # Errors
    /// The handle itself, if the closure has not ended.
    ///
    /// ```
    /// let handle = cmwq::spawn(|| 6 * 7);
    /// // Something else to do meanwhile, and then:
    /// let answer = match handle.try_join() {
    ///     Ok(result) => result?,
    ///     Err(not_yet) => not_yet.join()?,
    /// };
    /// assert_eq!(answer, 42);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn try_join(self) -> Result<Result<T, JoinError>, Self> {
        match self.is_finished() {
            true => Ok(self.join()),
            false => Err(self),
        }
    }

    /// Takes the closure off its queue if no worker has begun it: true. It is dropped then, on the
    /// calling thread, and joining gives [`JoinError::Cancelled`]. One that has begun goes on.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("one").max_active(1).build()?;
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// let first = queue.spawn(move || drop(wait.recv()));
    /// let second = queue.spawn(|| unreachable!());
    /// assert!(second.cancel(), "the first one has the only slot");
    /// assert!(matches!(second.join(), Err(cmwq::JoinError::Cancelled)));
    /// drop(go);
    /// first.join()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) -> bool {
        self.queue.is_ours() && task::cancel(self.task.task())
    }

    /// Lets the closure run without anybody who asks for its value: as dropping the handle does.
    ///
    /// ```
    /// cmwq::spawn(|| println!("some time")).detach();
    /// # cmwq::system().flush()?;
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn detach(self) {}

    /// Whether [`join`](Self::join) would return at once.
    ///
    /// ```
    /// let (first, second) = (cmwq::spawn(|| 1), cmwq::spawn(|| 2));
    /// let (soon, late) = match first.is_finished() {
    ///     true => (first, second),
    ///     false => (second, first),
    /// };
    /// assert_eq!(soon.join()? + late.join()?, 3);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.task().latch().is_set() || !self.queue.is_ours()
    }

    /// The queue that it was spawned on.
    pub(crate) fn queue(&self) -> &RawQueue {
        &self.queue
    }

    /// Its end, as the protocols name it.
    pub(crate) fn awaits(&self) -> Awaits {
        Awaits::Item(task::raw(self.task.task()))
    }

    /// Where it was queued; `None` if it was refused.
    pub(crate) fn pwq(&self) -> Option<RawPwq> {
        self.pwq
    }

    /// True if `take` gives its value; else the waker is called then.
    pub(crate) fn await_end(&self, waker: &Waker) -> bool {
        // In a forked child it would be called in the parent.
        self.task.await_end(waker) || !self.queue.is_ours()
    }

    /// What came of it. In a forked child nothing comes of what the parent has queued, also if it
    /// had ended before: as for `join`.
    fn take(&self) -> Result<T, JoinError> {
        let is_lost = self.pwq.is_some() && !self.queue.is_ours();
        let ended = (!is_lost).then(|| self.task.take()).flatten();
        ended.unwrap_or(Err(JoinError::Refused(QueueError::Forked)))
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.await_end(context.waker()) {
            true => Poll::Ready(self.take()),
            false => Poll::Pending,
        }
    }
}

impl Workqueue {
    /// Queues a closure, to run once. A panic in it becomes an error of
    /// [`join`](JoinHandle::join); the worker survives. The closure's memory is one allocation.
    ///
    /// If the queue refuses the closure (closed, draining, shut down), it is dropped without having
    /// run, and only `join` says so: [`JoinError::Refused`]. Of a detached closure nobody is told.
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
        self.spawn_for(None, func)
    }

    /// As [`spawn`](Self::spawn), for this CPU, which means what it does for
    /// [`queue_on`](Self::queue_on). If the machine has no such CPU, joining gives
    /// [`JoinError::Refused`].
    ///
    /// ```
    /// let near = cmwq::system_percpu().spawn_on(0, || "on CPU 0, if the process may use it");
    /// assert!(near.join()?.starts_with("on CPU 0"));
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn spawn_on<F, T>(&self, cpu: usize, func: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_for(Some(cpu), func)
    }

    /// As [`spawn`](Self::spawn), for this NUMA node, which means what it does for
    /// [`queue_on_node`](Self::queue_on_node).
    ///
    /// ```
    /// let sum = cmwq::system().spawn_on_node(0, || (1..=10).sum::<u32>());
    /// assert_eq!(sum.join()?, 55);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn spawn_on_node<F, T>(&self, node: usize, func: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_for(self.raw().cpu_of_node(node), func)
    }

    fn spawn_for<F, T>(&self, cpu: Option<usize>, func: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (task, queued) = Task::pair(func, ());
        let pwq = task::start(self.raw(), cpu, queued);
        JoinHandle {
            task: Handle::new(task.any()),
            queue: self.raw().guest(),
            pwq,
        }
    }
}

/// Queues a closure on the [`system`] queue, to run once: as [`Workqueue::spawn`]. That queue is
/// managed, and all of the process share it. Make a queue of your own for a limit, an order, a nice
/// value, or to wait for all of its items.
///
/// ```
/// let file = cmwq::spawn(|| std::fs::read_to_string("/proc/self/comm"));
/// assert!(file.join()??.ends_with('\n'));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// At first use, as [`system`].
pub fn spawn<F, T>(func: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    system().spawn(func)
}
