//! Scopes: closures that borrow from the caller's stack.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use cmwq_policy::stacking::Stacking;

use crate::error::{JoinError, WouldDeadlock};
use crate::latch::Latch;
use crate::pwq::PwqRef;
use crate::queue::{Queue, Workqueue};
use crate::task::{self, AnyTask, Cancel, OnEnd};

/// What a scope shares with its tasks.
struct Shared {
    /// The body, and each task that has not ended.
    open: AtomicUsize,
    all_ended: Latch,
    /// Where the tasks went, while it is one place.
    places: Mutex<Places>,
    /// Panics that nobody has joined. May wrap: a join can be faster than the count.
    panics: AtomicUsize,
}

/// Where tasks went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    None,
    One(PwqRef),
    Several,
}

// SAFETY: the pwq is of the queue that the scope keeps.
unsafe impl Send for Places {}

impl Shared {
    fn went_to(&self, pwq: Option<PwqRef>) {
        let Some(pwq) = pwq else { return };
        let mut places = self.places.lock().expect("nobody panics with it");
        *places = match *places {
            Places::None => Places::One(pwq),
            Places::One(before) if before == pwq => Places::One(pwq),
            _ => Places::Several,
        };
    }
}

impl OnEnd for Shared {
    fn ended(&self, panicked: bool) {
        if panicked {
            self.panics.fetch_add(1, SeqCst);
        }
        if self.open.fetch_sub(1, SeqCst) == 1 {
            self.all_ended.set();
        }
    }

    fn panic_joined(&self) {
        self.panics.fetch_sub(1, SeqCst);
    }
}

/// Spawns closures that may borrow what outlives the scope. See [`Workqueue::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    queue: &'env Workqueue,
    shared: Arc<Shared>,
    /// Tasks that may not have ended: what a scope that cannot wait takes back.
    tasks: Mutex<Vec<Arc<dyn Cancel>>>,
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
        let shared = Shared {
            open: AtomicUsize::new(1),
            all_ended: Latch::new(),
            places: Mutex::new(Places::None),
            panics: AtomicUsize::new(0),
        };
        Scope {
            queue,
            shared: Arc::new(shared),
            tasks: Mutex::new(Vec::new()),
            scope: PhantomData,
            env: PhantomData,
        }
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
        self.shared.open.fetch_add(1, SeqCst);
        let (task, pwq) = task::spawn(self.queue.queue_ref(), func, Some(self.shared.clone()));
        self.shared.went_to(pwq);
        self.remember(task.clone());
        ScopedJoinHandle {
            task,
            queue: self.queue,
            pwq,
        }
    }

    fn remember(&self, task: Arc<dyn Cancel + 'scope>) {
        // SAFETY: only the lifetime changes. The scope does not return, nor unwind, before every
        // task has ended or was cancelled, and drops this list when it does.
        let task: Arc<dyn Cancel> = unsafe { std::mem::transmute(task) };
        let mut over = Vec::new();
        let mut tasks = self.tasks.lock().expect("nobody panics with it");
        if tasks.len() == tasks.capacity() {
            // Over, and nobody else knows of it: its value goes here, inside of the scope.
            over.extend(
                tasks.extract_if(.., |task| task.is_over() && Arc::strong_count(task) == 1),
            );
        }
        tasks.push(task);
        drop(tasks);
        over.into_iter().for_each(|task| self.absorb(|| drop(task)));
    }

    /// Drops values of tasks: a panic in that counts as the task's, and must not end the wait for
    /// the others.
    fn absorb(&self, drop_them: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(drop_them)) {
            self.shared.panics.fetch_add(1, SeqCst);
            // May be a value that panics when it is dropped as well.
            std::mem::forget(payload);
        }
    }

    /// The body has ended: waits for the tasks. If that would never end, takes back those that
    /// nobody has begun, waits for the others, and says so.
    fn finish(&self) -> Result<(), WouldDeadlock> {
        self.shared.ended(false);
        let queue = self.queue.queue_ref();
        self.claim_all(queue);
        if !queue.is_ours() && !self.shared.all_ended.is_set() {
            // Forked inside of the body, or of a claimed task: the others run in the parent, which drops them there.
            return Err(queue.would_deadlock());
        }
        let waited = self.wait(queue);
        if waited.is_err() {
            self.cancel_all();
            while !self.shared.all_ended.is_set() {
                // Those that have begun end by themselves, or fail in their own waits.
                queue.wait_begun(|| self.shared.all_ended.is_set());
            }
        }
        self.clear();
        waited
    }

    /// Waits for all tasks. What is in several pools is not looked through for waits that never end.
    fn wait(&self, queue: &Queue) -> Result<(), WouldDeadlock> {
        let all_ended = &self.shared.all_ended;
        let places = *self.shared.places.lock().expect("nobody panics with it");
        match places {
            _ if all_ended.is_set() => Ok(()),
            Places::One(pwq) => task::wait(queue, pwq, all_ended, None),
            _ => {
                all_ended.announce();
                task::awaiting(queue, None, || queue.wait_begun(|| all_ended.is_set()));
                Ok(())
            }
        }
    }

    /// Executes what no worker has begun, the oldest first, as far as the calling thread may.
    fn claim_all(&self, queue: &Queue) {
        let claims = queue.stacking() == Stacking::Claim;
        while claims && self.claim_open(queue) {}
    }

    /// True if it has executed any: that may have spawned others.
    fn claim_open(&self, queue: &Queue) -> bool {
        let tasks = self.tasks.lock().expect("nobody panics with it");
        let open: Vec<_> = tasks.iter().filter(|t| !t.is_over()).cloned().collect();
        drop(tasks);
        let claim = |task| queue.is_ours() && task::claim(queue, task);
        open.iter().filter(|task| claim(task)).count() > 0
    }

    fn cancel_all(&self) {
        let engine = self.queue.queue_ref().engine();
        let tasks = self.tasks.lock().expect("nobody panics with it");
        tasks.iter().for_each(|task| task.cancel(engine));
    }

    /// Drops the values that nobody took: they may borrow, and a worker that still holds its task
    /// would drop them after the scope.
    fn clear(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().expect("nobody panics with it"));
        for task in tasks {
            // SAFETY: all tasks are over, and handles cannot be used outside of the scope's body.
            self.absorb(|| unsafe { task.clear() });
        }
    }
}

/// The value of a closure that was spawned in a scope, once it is there.
pub struct ScopedJoinHandle<'scope, T> {
    task: Arc<dyn AnyTask<T> + 'scope>,
    queue: &'scope Workqueue,
    /// Where it was queued; `None` if it was refused.
    pwq: Option<PwqRef>,
}

// SAFETY: the pwq is the queue's, which outlives the handle; a task may be shared.
unsafe impl<T> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ScopedJoinHandle<'_, T> {}

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
        let (queue, task) = (self.queue.queue_ref(), &self.task);
        task::wait_to_join(queue, self.pwq, task)?;
        // SAFETY: the latch is set, and the handle, which is consumed, is the only taker.
        unsafe { self.task.take() }
    }
}

impl Workqueue {
    /// Runs `body`, which may spawn closures that borrow from outside of it, and waits for all of
    /// them: also when the body unwinds. Of a queue with [`Stacking::Claim`](crate::Stacking::Claim) the calling
    /// thread may execute some of them itself.
    ///
    /// # Errors
    /// [`WouldDeadlock`], inside an item, if nobody could ever begin what was spawned. Those closures
    /// are dropped unrun, the others have ended, and the body's value is lost. So it is in a child
    /// that the body has forked, where none of them will ever run.
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
