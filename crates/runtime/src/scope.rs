//! Scopes: closures that borrow from the caller's stack.
//!
//! A scope returns when nothing of its tasks is left: no closure and no value. So it counts the
//! body and each task. A task counts until its value is dropped too, unless a handle has that. A
//! handle lives in the body or in another task, which count for themselves; if it was forgotten,
//! its value is never dropped. What destructors spawn is counted before its spawner's count ends.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

use cmwq_engine::error::WouldDeadlock;
use cmwq_engine::sync::{Mutex, fence};
use cmwq_engine::{Awaits, Group, Header, Latch, Members, Process, RawPwq, RawQueue, Until};
use cmwq_policy::stacking::Stacking;

use crate::join_error::JoinError;
use crate::task::{self, AnyTask, Cancel, Handle, Observer, Task, TaskRef};
use crate::workqueue::Workqueue;

/// What a scope shares with its tasks.
struct Shared {
    process: Process,
    /// The body, and each task that has not ended.
    open: AtomicUsize,
    all_ended: Latch,
    /// Tasks that have not ended, by number: what a scope that cannot wait takes back.
    tasks: Mutex<BTreeMap<u64, TaskRef<dyn Cancel>>>,
    spawned: AtomicU64,
    /// The scope cannot wait for what nobody has begun: that never begins.
    given_up: AtomicBool,
    spawned_to: SpawnedTo,
    /// Panics that nobody has joined. May wrap: a join can be faster than the count.
    panics: AtomicUsize,
}

impl Shared {
    fn new(process: Process) -> Self {
        Shared {
            process,
            open: AtomicUsize::new(1),
            all_ended: Latch::new(),
            tasks: Mutex::default(),
            spawned: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            spawned_to: SpawnedTo::default(),
            panics: AtomicUsize::new(0),
        }
    }

    /// Those that have not ended, the oldest first.
    fn open_tasks(&self) -> Vec<TaskRef<dyn Cancel>> {
        let tasks = self.tasks.lock().expect("nobody panics with it");
        tasks.values().cloned().collect()
    }

    /// The body, or a task, has ended.
    fn one_ended(&self) {
        if self.open.fetch_sub(1, SeqCst) == 1 {
            self.all_ended.set();
        }
    }

    fn has_given_up(&self) -> bool {
        // Partner: the fence in `give_up`. Either that sees a task which was queued before this, or
        // this sees that it gives up.
        fence(SeqCst);
        self.given_up.load(SeqCst)
    }
}

/// A task of a scope, by its number there.
struct Ticket {
    shared: Arc<Shared>,
    number: u64,
}

impl Observer for Ticket {
    fn ended(&self) {
        let shared = &self.shared;
        // In a child that the task has forked somebody who is not there may hold the lock.
        let task = shared.process.is_ours().then(|| {
            let mut tasks = shared.tasks.lock().expect("nobody panics with it");
            tasks.remove(&self.number)
        });
        // Not the last reference: the caller has one.
        drop(task);
        shared.one_ended();
    }

    fn panicked(&self) {
        self.shared.panics.fetch_add(1, SeqCst);
    }

    fn panic_joined(&self) {
        self.shared.panics.fetch_sub(1, SeqCst);
    }
}

/// Where tasks went: nowhere yet, to one pwq, or to several.
#[derive(Default)]
struct SpawnedTo {
    first: AtomicPtr<()>,
    several: AtomicBool,
}

impl SpawnedTo {
    fn add(&self, pwq: RawPwq) {
        let (null, pwq) = (std::ptr::null_mut(), pwq.into_raw());
        if let Err(first) = self.first.compare_exchange(null, pwq, SeqCst, SeqCst)
            && first != pwq
        {
            self.several.store(true, SeqCst);
        }
    }

    /// The pwq, if it is one.
    fn the_one(&self) -> Option<RawPwq> {
        let first = RawPwq::from_raw(self.first.load(SeqCst))?;
        (!self.several.load(SeqCst)).then_some(first)
    }
}

/// The tasks of a scope, which somebody waits for: so it has not returned.
// SAFETY: tasks are on the list, which is locked meanwhile, until they have ended.
unsafe impl Members for Shared {
    /// Each that has not ended. These stay in memory meanwhile: who ends one takes it off the list.
    fn show(&self, show: &mut dyn FnMut(NonNull<Header>)) {
        let tasks = self.tasks.lock().expect("nobody panics with it");
        tasks
            .values()
            .for_each(|task| show(task::raw(task).header()));
    }
}

/// As the protocols name them.
fn awaits(tasks: &[TaskRef<dyn Cancel>]) -> Vec<Awaits> {
    let item = |task| Awaits::Item(task::raw(task));
    tasks.iter().map(item).collect()
}

/// Spawns closures that may borrow what outlives the scope. See [`Workqueue::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    queue: &'env Workqueue,
    shared: Arc<Shared>,
    // Invariant in both, as in std::thread::Scope: neither lifetime may shrink.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("queue", self.queue)
            .finish_non_exhaustive()
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn new(queue: &'env Workqueue) -> Self {
        Scope {
            queue,
            shared: Arc::new(Shared::new(queue.raw().process())),
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// The queue whose scope it is.
    pub(crate) fn queue(&self) -> &'env Workqueue {
        self.queue
    }

    /// Queues a closure that may borrow what outlives the scope.
    ///
    /// ```
    /// let queue = cmwq::system();
    /// let mut halves = [0, 0];
    /// let (left, right) = halves.split_at_mut(1);
    /// queue.scope(|scope| {
    ///     scope.spawn(|| left[0] = 1);
    ///     scope.spawn(|| right[0] = 2);
    /// })?;
    /// assert_eq!(halves, [1, 2]);
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn spawn<F, T>(&'scope self, func: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_for(None, func)
    }

    /// As [`spawn`](Self::spawn), for this CPU: as [`Workqueue::spawn_on`].
    ///
    /// ```
    /// let text = String::from("borrowed");
    /// let length = cmwq::system().scope(|scope| scope.spawn_on(0, || text.len()).join())?;
    /// assert_eq!(length?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_on<F, T>(&'scope self, cpu: usize, func: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_for(Some(cpu), func)
    }

    /// As [`spawn`](Self::spawn), for this NUMA node: as [`Workqueue::spawn_on_node`].
    ///
    /// ```
    /// let text = String::from("borrowed");
    /// let length = cmwq::system().scope(|scope| scope.spawn_on_node(0, || text.len()).join())?;
    /// assert_eq!(length?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_on_node<F, T>(&'scope self, node: usize, func: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_for(self.queue.raw().cpu_of_node(node), func)
    }

    fn spawn_for<F, T>(&'scope self, cpu: Option<usize>, func: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (shared, queue) = (&self.shared, self.queue.raw());
        shared.open.fetch_add(1, SeqCst);
        let number = shared.spawned.fetch_add(1, SeqCst);
        let ticket = Ticket {
            shared: shared.clone(),
            number,
        };
        let (task, queued) = Task::pair(func, ticket);
        if queue.is_ours() {
            self.remember(number, task.clone().cancellable());
        }
        let pwq = task::start(queue, cpu, queued);
        pwq.into_iter().for_each(|pwq| shared.spawned_to.add(pwq));
        if shared.has_given_up() {
            task::cancel(&task);
        }
        ScopedJoinHandle {
            task: Handle::new(task.any()),
            queue: self.queue,
            pwq,
        }
    }

    fn remember(&self, number: u64, task: TaskRef<dyn Cancel + 'scope>) {
        // SAFETY: only the lifetime changes. The scope does not return, nor unwind, before every
        // task has ended or was cancelled, and that takes it off this list.
        let task: TaskRef<dyn Cancel> = unsafe { std::mem::transmute(task) };
        let mut tasks = self.shared.tasks.lock().expect("nobody panics with it");
        tasks.insert(number, task);
    }

    /// The body has ended: waits for the tasks. If that would never end, takes back those that
    /// nobody has begun, waits for the others, and says so.
    fn finish(&self) -> Result<(), WouldDeadlock> {
        let (shared, queue) = (&self.shared, self.queue.raw());
        shared.one_ended();
        self.claim_all(queue);
        if shared.all_ended.is_set() {
            return Ok(());
        }
        if !queue.is_ours() {
            // Forked inside of the body, or of a claimed task: the others run in the parent, which
            // drops them there.
            return Err(queue.would_deadlock());
        }
        self.wait(queue).inspect_err(|_| self.give_up(queue))
    }

    /// Waits for all tasks. Where they are in several pools, only the graph sees that a wait never
    /// ends.
    fn wait(&self, queue: &RawQueue) -> Result<(), WouldDeadlock> {
        let all_ended = &self.shared.all_ended;
        // Tasks may spawn others meanwhile, and these wait for slots that the caller's item may
        // have.
        let awaits = [Awaits::Group(Group::of(&*self.shared))];
        let pwq = self.shared.spawned_to.the_one();
        // SAFETY: tasks were queued through this pwq of the queue; the scope has them.
        unsafe { queue.wait_latch(pwq, all_ended, None, (Until::All, &awaits)) }
    }

    /// Takes back what nobody has begun. The rest ends by itself, or fails in its own waits.
    /// Nothing that is spawned from now on begins.
    fn give_up(&self, queue: &RawQueue) {
        let shared = &self.shared;
        shared.given_up.store(true, SeqCst);
        // Partner: the fence in `has_given_up`.
        fence(SeqCst);
        for task in shared.open_tasks() {
            task::cancel(&task);
        }
        let open = shared.open_tasks();
        let pwq = shared.spawned_to.the_one();
        // SAFETY: tasks were queued through this pwq of the queue, and `open` has them. The latch
        // was announced by the wait that failed.
        unsafe { queue.wait_begun(pwq, &shared.all_ended, None, &awaits(&open)) };
    }

    /// Executes what no worker has begun, the oldest first, as far as the calling thread may.
    fn claim_all(&self, queue: &RawQueue) {
        let claims = queue.stacking() == Stacking::Claim;
        while claims && self.claim_open(queue) {}
    }

    /// True if it has executed any: that may have spawned others.
    fn claim_open(&self, queue: &RawQueue) -> bool {
        if !queue.is_ours() {
            return false;
        }
        let claim = |task: &TaskRef<dyn Cancel>| queue.is_ours() && task::claim(queue, task);
        self.shared
            .open_tasks()
            .iter()
            .filter(|task| claim(task))
            .count()
            > 0
    }
}

/// The value of a closure that was spawned in a scope, once it is there. Dropped as that of a
/// [`JoinHandle`](crate::JoinHandle) is; before the scope returns, unless the handle was forgotten.
pub struct ScopedJoinHandle<'scope, T> {
    task: Handle<dyn AnyTask<T> + 'scope, T>,
    queue: &'scope Workqueue,
    /// Where it was queued; `None` if it was refused.
    pwq: Option<RawPwq>,
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`JoinHandle::join`](crate::JoinHandle::join).
    ///
    /// ```
    /// let word = String::from("borrowed");
    /// let length = cmwq::system().scope(|scope| scope.spawn(|| word.len()).join().unwrap())?;
    /// assert_eq!(length, 8);
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn join(self) -> Result<T, JoinError> {
        self.task.join(self.queue.raw(), self.pwq)
    }

    /// As [`JoinHandle::cancel`](crate::JoinHandle::cancel).
    ///
    /// ```
    /// let word = String::from("borrowed");
    /// let joined = cmwq::system().scope(|scope| {
    ///     let length = scope.spawn(|| word.len());
    ///     (length.cancel(), length.join())
    /// })?;
    /// assert!(matches!(joined, (false, Ok(8)) | (true, Err(cmwq::JoinError::Cancelled))));
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn cancel(&self) -> bool {
        self.queue.raw().is_ours() && task::cancel(self.task.task())
    }

    /// As [`JoinHandle::is_finished`](crate::JoinHandle::is_finished).
    ///
    /// ```
    /// let word = String::from("borrowed");
    /// cmwq::system().scope(|scope| {
    ///     let length = scope.spawn(|| word.len());
    ///     while !length.is_finished() {
    ///         std::thread::yield_now();
    ///     }
    /// })?;
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.task().latch().is_set() || !self.queue.raw().is_ours()
    }

    /// Its end, as the protocols name it.
    pub(crate) fn awaits(&self) -> Awaits {
        Awaits::Item(task::raw(self.task.task()))
    }

    /// Where it was queued; `None` if it was refused.
    pub(crate) fn pwq(&self) -> Option<RawPwq> {
        self.pwq
    }
}

impl Workqueue {
    /// Runs `body`, which may spawn closures that borrow from outside of it, and waits for all of
    /// them: also when the body unwinds. Spawned closures may use the scope and spawn more, which
    /// are waited for as well. Of a queue with [`Stacking::Claim`](crate::Stacking::Claim) the
    /// calling thread may execute some of them itself.
    ///
    /// # Errors
    /// [`WouldDeadlock`], inside an item, if nobody could ever begin what was spawned. Those
    /// closures are dropped unrun, and so are those that the others spawn meanwhile: joining one is
    /// [`JoinError::Cancelled`]. The others have ended, and the body's value is lost. So it is in a
    /// child that the body has forked, where none of them will ever run.
    ///
    /// # Panics
    /// With the body's panic. If the body was well but a closure panicked whose handle was not
    /// joined, with "a scoped item panicked", like `std::thread::scope`.
    ///
    /// ```
    /// let text = String::from("borrowed, not moved");
    /// let lengths = cmwq::system().scope(|scope| {
    ///     let all = scope.spawn(|| text.len());
    ///     let first = scope.spawn(|| text.split(',').next().map_or(0, str::len));
    ///     (all.join().unwrap(), first.join().unwrap())
    /// })?;
    /// assert_eq!(lengths, (19, 8));
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn scope<'env, F, T>(&'env self, body: F) -> Result<T, WouldDeadlock>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    {
        let scope = Scope::new(self);
        let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
        let finished = scope.finish();
        match result {
            Err(payload) => resume_unwind(payload),
            Ok(_) if scope.shared.panics.load(SeqCst) != 0 => panic!("a scoped item panicked"),
            Ok(value) => finished.map(|()| value),
        }
    }
}
