//! Queues: a name, a limit, attributes and a flush domain. They own no threads.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::colours::Flush;
use cmwq_policy::pool::Stuck;
use cmwq_policy::pwq::{DFL_ACTIVE, Drain, MAX_ACTIVE_RANGE};
use cmwq_policy::{Cx, WorkerPool};

use crate::engine::{self, Engine};
use crate::error::{BuildError, FlushError, QueueError, WouldDeadlock};
use crate::item::{Header, Items, Pwq, PwqRef};
use crate::pool::{Pool, worker};
use crate::work::Work;

/// What a queue is made of. The pwq comes first, so that its address is the queue's.
#[repr(C)]
pub(crate) struct Queue {
    pwq: Pwq,
    pool: &'static Pool,
    name: Box<str>,
}

impl Queue {
    pub(crate) fn pool(&self) -> &'static Pool {
        self.pool
    }

    pub(crate) fn pwq(&self) -> PwqRef {
        // From the whole queue, so that the queue may be found again from its pwq.
        NonNull::from(self).cast()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn engine(&self) -> &'static Engine {
        self.pool.engine()
    }

    /// Whether this is the process that made it, and not a forked child.
    pub(crate) fn is_ours(&self) -> bool {
        self.engine().is_ours()
    }

    /// Whether an item may be queued now.
    pub(crate) fn admits(&self) -> Result<(), QueueError> {
        if !self.is_ours() {
            return Err(QueueError::Forked);
        }
        let from_item = worker::current().is_some();
        match self.engine().is_closing() && !from_item {
            true => Err(QueueError::ShutDown),
            false => Ok(()),
        }
    }

    /// Queues an item that the caller has marked pending. The header stays in place until its
    /// function is called.
    pub(crate) fn push(&self, work: NonNull<Header>) {
        self.pool.with(|core, cx| core.queue(cx, work, self.pwq()));
    }

    /// Waits until `done`, which is about items of this queue: as a hint in a worker.
    pub(crate) fn wait(&self, done: impl Fn() -> bool) -> Result<(), WouldDeadlock> {
        match worker::current() {
            Some(place) if place.pool() == self.pool => place
                .wait_for(self.pwq(), done)
                .map_err(|Stuck| self.would_deadlock()),
            Some(place) => {
                place.wait_elsewhere(done);
                Ok(())
            }
            None => {
                self.wait_outside(done);
                Ok(())
            }
        }
    }

    /// Waits until `done` for items that have all begun.
    pub(crate) fn wait_begun(&self, done: impl Fn() -> bool) {
        match worker::current() {
            Some(place) => place.wait_elsewhere(done),
            None => self.wait_outside(done),
        }
    }

    fn wait_outside(&self, done: impl Fn() -> bool) {
        while !done() {
            self.park_outside();
        }
    }

    /// Parks a thread that is no worker. If not even the tick's thread could be made yet, this
    /// thread is the one that tries again.
    fn park_outside(&self) {
        let tick = self.engine().tick();
        match tick.ensure(self.engine()) {
            true => std::thread::park(),
            false => {
                std::thread::park_timeout(std::time::Duration::from_secs(1));
                tick.kick(self.engine());
            }
        }
    }

    /// The error for a wait of the calling worker's item for items of this queue.
    pub(crate) fn would_deadlock(&self) -> WouldDeadlock {
        let waiter = worker::current_pwq().map_or_else(String::new, |pwq| name_of(pwq).to_owned());
        WouldDeadlock {
            waiter,
            awaited: self.name().to_owned(),
        }
    }

    fn flush(&self) -> Result<(), FlushError> {
        if !self.is_ours() {
            return Err(FlushError::Forked);
        }
        if worker::current_pwq() == Some(self.pwq()) {
            // It would wait for the very item that flushes.
            return Err(FlushError::WouldDeadlock(self.would_deadlock()));
        }
        let (pwq, mut ticket) = (self.pwq(), None);
        self.wait_moves(|core, cx| flushed(core, cx, pwq, &mut ticket))
            .map_err(|Stuck| FlushError::WouldDeadlock(self.would_deadlock()))
    }

    /// Waits until nothing is in flight.
    fn drain(&self) -> Result<(), Stuck> {
        let pwq = self.pwq();
        self.wait_moves(|core, cx| core.begin_drain(cx, pwq, Drain::Awaited))
    }

    /// Waits until `done`, which is asked each time that a flush or drain moves on.
    fn wait_moves(
        &self,
        done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<(), Stuck> {
        match worker::current() {
            Some(place) => place.wait_flush(self.pool, self.pwq(), done),
            None => {
                self.pool.wait_progress(None, done);
                Ok(())
            }
        }
    }

    /// Leaves the queue to whoever ends its last item.
    fn orphan(&self) {
        let pwq = self.pwq();
        if self
            .pool
            .with(|core, cx| core.begin_drain(cx, pwq, Drain::Orphaned))
        {
            release(pwq);
        }
    }
}

/// One look of a flusher: takes its ticket first, then asks whether it is done.
fn flushed(
    core: &mut WorkerPool<Items>,
    cx: &mut Cx<Items>,
    pwq: PwqRef,
    ticket: &mut Option<u64>,
) -> bool {
    if ticket.is_none() {
        match core.begin_flush(cx, pwq) {
            Flush::Done => return true,
            Flush::Full => return false,
            Flush::Wait(new) => *ticket = Some(new),
        }
    }
    core.is_flushed(cx, pwq, ticket.expect("taken above"))
}

fn name_of<'a>(pwq: PwqRef) -> &'a str {
    // SAFETY: the pwq of an item that is being executed; its queue is freed later than that. The
    // pointer was made from the whole queue.
    unsafe { pwq.cast::<Queue>().as_ref() }.name()
}

/// Frees an orphaned queue of which nothing is in flight any more.
pub(crate) fn release(pwq: PwqRef) {
    // SAFETY: the core says `Released` once, when the last item of a queue without handles has
    // ended; the pointer was made from the whole boxed queue.
    drop(unsafe { Box::from_raw(pwq.cast::<Queue>().as_ptr()) });
}

/// The one owner behind all handles of a queue.
struct Handle {
    queue: NonNull<Queue>,
}

// SAFETY: a queue may be used from any thread; its core is behind the pool's lock.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn queue(&self) -> &Queue {
        // SAFETY: the queue lives at least as long as its handle.
        unsafe { self.queue.as_ref() }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let queue = self.queue();
        if !queue.is_ours() {
            // The parent's: its locks and items are not ours to touch.
            return;
        }
        // Inside one of its own items, or where waiting would never end, whoever ends the last item
        // finishes the teardown.
        let inside = worker::current_pwq() == Some(queue.pwq());
        match inside || queue.drain().is_err() {
            true => queue.orphan(),
            false => release(queue.pwq()),
        }
    }
}

/// A queue of work items. A handle: clones are the same queue, and dropping the last one waits until
/// everything queued has ended. Dropped inside one of its own items it does not wait; the queue goes
/// when that item, and what else is queued, has ended.
///
/// Threads belong to pools that all queues of the process share, so a queue costs a few hundred bytes
/// and no thread.
///
/// ```
/// let queue = cmwq::Workqueue::builder("thumbnails").max_active(8).build()?;
/// let sum = queue.spawn(|| (1..=10).sum::<u32>());
/// assert_eq!(sum.join()?, 55);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Workqueue {
    handle: Arc<Handle>,
}

impl fmt::Debug for Workqueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workqueue")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Workqueue {
    /// Starts building a queue. The name is for people: it need not be unique.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("commit").max_active(1).nice(5).build()?;
    /// assert_eq!(queue.name(), "commit");
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn builder(name: &str) -> WorkqueueBuilder {
        WorkqueueBuilder {
            name: name.into(),
            max_active: None,
            nice: 0,
        }
    }

    pub(crate) fn queue_ref(&self) -> &Queue {
        self.handle.queue()
    }

    /// Queues an item; false if it was already pending, or was [refused](Self::try_queue).
    ///
    /// If it returns true, what the caller stored before is seen by the execution. If it returns
    /// false because the item was pending, the pending execution has not begun, so it sees it too.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| println!("once"));
    /// let queue = cmwq::system();
    /// assert!(queue.queue(&work));
    /// queue.flush()?;
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn queue(&self, work: &Work) -> bool {
        self.try_queue(work).unwrap_or(false)
    }

    /// As [`queue`](Self::queue), and says why an item was refused.
    ///
    /// # Errors
    /// [`QueueError::Forked`] in a child of the process that made the queue;
    /// [`QueueError::ShutDown`] after [`shutdown`](crate::shutdown), unless called by an item.
    ///
    /// ```
    /// let work = cmwq::Work::new(|| ());
    /// assert!(cmwq::system().try_queue(&work)?);
    /// # cmwq::system().flush();
    /// # Ok::<(), cmwq::QueueError>(())
    /// ```
    pub fn try_queue(&self, work: &Work) -> Result<bool, QueueError> {
        let queue = self.queue_ref();
        queue.admits()?;
        Ok(work.queue_on(queue))
    }

    /// Waits until everything queued before this call has ended. Items queued meanwhile are not
    /// waited for, so it ends however fast others queue.
    ///
    /// # Errors
    /// [`FlushError::WouldDeadlock`] inside an item of this very queue, or where nobody could ever
    /// do what is waited for; [`FlushError::Forked`] in a child process.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("log").build()?;
    /// for n in 0..3 {
    ///     drop(queue.spawn(move || println!("{n}")));
    /// }
    /// queue.flush()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<(), FlushError> {
        self.queue_ref().flush()
    }

    /// Changes how many items may be active at once; clamped to 1..=2048. Raising it starts waiting
    /// items at once, in their order. Lowering it lets active ones end.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("download").max_active(2).build()?;
    /// queue.set_max_active(16);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn set_max_active(&self, max_active: usize) {
        let queue = self.queue_ref();
        if queue.is_ours() {
            let max_active = max_active.min(*MAX_ACTIVE_RANGE.end() as usize) as u32;
            queue
                .pool
                .with(|core, cx| core.set_max_active(cx, queue.pwq(), max_active));
        }
    }

    /// The name it was built with.
    ///
    /// ```
    /// assert_eq!(cmwq::system().name(), "system");
    /// ```
    pub fn name(&self) -> &str {
        self.queue_ref().name()
    }
}

/// What a queue is to be like.
///
/// ```
/// let background = cmwq::Workqueue::builder("index").nice(19).build()?;
/// # Ok::<(), cmwq::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a queue is made by build()"]
pub struct WorkqueueBuilder {
    name: Box<str>,
    max_active: Option<usize>,
    nice: i32,
}

impl WorkqueueBuilder {
    /// How many items may be active at once, 1 to 2048; 1024 unless set. A limit, not a number of
    /// threads: it is for what items use beside CPUs, such as memory or connections.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("connections").max_active(8).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn max_active(mut self, max_active: usize) -> Self {
        self.max_active = Some(max_active);
        self
    }

    /// Nice value of the workers, -20 (most CPU) to 19, on top of that of the process at first use,
    /// as with nice(1). What the system does not permit is degraded to what it does; see
    /// [`Stats::nice_denied`](crate::Stats::nice_denied).
    ///
    /// ```
    /// let error = cmwq::Workqueue::builder("odd").nice(20).build().unwrap_err();
    /// assert_eq!(error.to_string(), "nice value 20 is not in -20..=19");
    /// ```
    pub fn nice(mut self, nice: i32) -> Self {
        self.nice = nice;
        self
    }

    /// Makes the queue. Threads appear when something is queued.
    ///
    /// # Errors
    /// [`BuildError`] names the attribute that is out of range.
    ///
    /// ```
    /// let error = cmwq::Workqueue::builder("none").max_active(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "max_active 0 is not in 1..=2048");
    /// ```
    pub fn build(self) -> Result<Workqueue, BuildError> {
        self.build_in(engine::get().map_err(BuildError::System)?)
    }

    pub(crate) fn build_in(self, engine: &'static Engine) -> Result<Workqueue, BuildError> {
        let max_active = self.max_active.unwrap_or(DFL_ACTIVE as usize);
        let in_range = u32::try_from(max_active).is_ok_and(|n| MAX_ACTIVE_RANGE.contains(&n));
        if !in_range {
            return Err(BuildError::MaxActive(max_active));
        }
        if !(-20..=19).contains(&self.nice) {
            return Err(BuildError::Nice(self.nice));
        }
        let pool = engine.pool_for(self.nice)?;
        let pwq = Pwq::new(max_active as u32, engine.next_queue_id());
        let queue = Box::into_raw(Box::new(Queue {
            pwq,
            pool,
            name: self.name,
        }));
        let queue = NonNull::new(queue).expect("a box is not null");
        Ok(Workqueue {
            handle: Arc::new(Handle { queue }),
        })
    }
}
