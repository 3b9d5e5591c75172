//! Asynchronous calls that are waited for in the order in which they were scheduled (kernel
//! `async_schedule`).
//!
//! Which calls a wait is for, and whom the end of a call releases, is `cmwq_policy::async_domain`;
//! here that is one value behind one lock for the process, as the kernel has one.
//!
//! Calls are items of one queue, queued under that lock: so they begin in the order of their
//! cookies. One that waits for those before it waits for what has begun, and a chain of them ends
//! whatever the limits are. The kernel's queue begins in no order over several nodes; it needs a
//! raised `min_active` for that, which ours has as well, for calls that wait for each other
//! otherwise.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock};

use cmwq_engine::error::{FlushError, WouldDeadlock};
use cmwq_engine::sync::{Mutex, MutexGuard};
use cmwq_engine::{Awaits, Group, Header, Latch, Members, Process, RawPwq, user};
use cmwq_policy::affinity::Scope as AffinityScope;
use cmwq_policy::async_domain::{
    AsyncCalls, COOKIE_MAX, Domain, Scope, WaiterId, waits_for_itself, waits_in_order,
};
use cmwq_policy::pwq::DFL_ACTIVE;

use crate::task::{self, Handle, Headed, Task};
use crate::workqueue::Workqueue;

/// The place of an asynchronous call in the order of all (kernel `async_cookie_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(u64);

/// What asynchronous calls of a process share.
#[derive(Default)]
struct AsyncState {
    /// Held while a call gets its cookie and is queued. Before the book's.
    order: Mutex<()>,
    book: Mutex<Book>,
    queue: OnceLock<Workqueue>,
}

#[derive(Default)]
struct Book {
    calls: AsyncCalls,
    waiters: BTreeMap<WaiterId, Arc<Latch>>,
    /// The items of those that are pending.
    tasks: BTreeMap<u64, Arc<dyn Headed + Send + Sync>>,
    /// Where calls are queued.
    pwq: Option<RawPwq>,
}

/// Calls that are waited for together.
struct Awaited {
    state: &'static AsyncState,
    scope: Scope,
    cookie: u64,
}

// SAFETY: calls are in the book, which is locked meanwhile, until they have ended.
unsafe impl Members for Awaited {
    /// The item of each that has not ended. These stay in memory meanwhile: who ends one takes it
    /// out of the book.
    fn show(&self, show: &mut dyn FnMut(NonNull<Header>)) {
        let book = self.state.lock();
        let calls = book.calls.awaited(self.scope, self.cookie);
        let tasks = calls.filter_map(|cookie| book.tasks.get(&cookie));
        tasks.map(|task| task::raw(task).header()).for_each(show);
    }
}

thread_local! {
    /// The call that this thread executes.
    static CURRENT: Cell<Option<(Domain, u64)>> = const { Cell::new(None) };
}

/// Numbers of domains; those of [`AsyncDomain::global`] have 0.
static NEXT_DOMAIN: AtomicU64 = AtomicU64::new(1);

/// Calls functions asynchronously, several at a time, and lets others wait for them *in the order
/// in which they were scheduled* (kernel `async_domain`): for whoever waits, what was scheduled
/// earlier is done first, whatever order execution takes. What the kernel uses it for is to probe
/// slow devices at once and still number them as if it had been one after the other.
///
/// ```
/// use std::sync::Mutex;
/// let (domain, order) = (cmwq::AsyncDomain::new(), std::sync::Arc::new(Mutex::new(Vec::new())));
/// for disk in 0..10 {
///     let (probing, order) = (domain.clone(), order.clone());
///     domain.schedule(move |cookie| {
///         std::thread::sleep(std::time::Duration::from_millis(10 - disk)); // all at the same time
///         probing.synchronize_cookie(cookie).unwrap(); // until all before this one have ended
///         order.lock().unwrap().push(disk);
///     });
/// }
/// domain.synchronize_full()?;
/// assert!(order.lock().unwrap().is_sorted());
/// # Ok::<(), cmwq::FlushError>(())
/// ```
///
/// A handle: clones are the same domain. Dropping it does not wait. A call that panics has ended.
#[derive(Clone, Debug)]
pub struct AsyncDomain {
    domain: Domain,
}

impl Default for AsyncDomain {
    fn default() -> Self {
        Self::new()
    }
}

impl AsyncDomain {
    /// A domain of its own. [`synchronize_all`](Self::synchronize_all) waits for its calls too
    /// (kernel `ASYNC_DOMAIN`).
    pub fn new() -> Self {
        Self::made(false)
    }

    /// A domain that [`synchronize_all`](Self::synchronize_all) does not see (kernel
    /// `ASYNC_DOMAIN_EXCLUSIVE`): for calls that may take long and are nobody else's business.
    ///
    /// ```
    /// let domain = cmwq::AsyncDomain::exclusive();
    /// domain.schedule(|_| println!("in a while"));
    /// cmwq::AsyncDomain::synchronize_all()?; // does not wait for it
    /// domain.synchronize_full()?; // does
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn exclusive() -> Self {
        Self::made(true)
    }

    fn made(exclusive: bool) -> Self {
        let id = NEXT_DOMAIN.fetch_add(1, SeqCst);
        AsyncDomain {
            domain: Domain { id, exclusive },
        }
    }

    /// The domain of whoever needs no other (kernel `async_dfl_domain`).
    pub fn global() -> Self {
        let domain = Domain {
            id: 0,
            exclusive: false,
        };
        AsyncDomain { domain }
    }

    /// Has `func` called by a worker, with its own cookie (kernel `async_schedule_domain`). Cookies
    /// of all domains go up in the order of these calls.
    ///
    /// It never waits for the function, with one exception: where no item can be queued any more,
    /// after [`shutdown`](crate::shutdown), it is called at once, in the calling thread (kernel:
    /// when there is no memory).
    ///
    /// # Panics
    /// At first use, if the system gives no page of memory or no thread.
    ///
    /// ```
    /// let domain = cmwq::AsyncDomain::global();
    /// let first = domain.schedule(|_| ());
    /// assert!(first < domain.schedule(|own| println!("call {own}")));
    /// # domain.synchronize_full().unwrap();
    /// ```
    pub fn schedule(&self, func: impl FnOnce(Cookie) + Send + 'static) -> Cookie {
        let process =
            Process::get().expect("the first use of cmwq needs a page of memory and a thread");
        let state = process.state::<AsyncState>();
        let queue = state.queue(process).raw();
        let order = state.order.lock().expect("nobody panics with it");
        let call = Call::new(process, self.domain);
        let cookie = Cookie(call.cookie);
        let body = Arc::new(Mutex::new(Some(move || call.execute(func))));
        let item = body.clone();
        let task = Task::new(move || take(&item).into_iter().for_each(|call| call()), ());
        state.lock().tasks.insert(cookie.0, task.clone());
        // Under the lock, so that calls begin in the order of their cookies.
        let queued = task::try_start(queue, None, &task);
        state.queued_to(queued.ok());
        drop(order);
        // Nobody asks: whoever comes last drops what came of it, a panic's payload perhaps. Not
        // under the lock.
        drop(Handle::<_, ()>::new(task.clone()));
        if let Err(error) = queued {
            task.refuse(error);
            user::run(|| take(&body).into_iter().for_each(|call| call()));
        }
        cookie
    }

    /// Waits until all calls of this domain with a lower cookie have ended (kernel
    /// `async_synchronize_cookie_domain`): with a call's own cookie, for those scheduled before it.
    ///
    /// # Errors
    /// [`FlushError::WouldDeadlock`] within a call that would wait for its own end, within an item
    /// that one of the calls waits for, or where nobody could ever begin what is waited for.
    ///
    /// ```
    /// let domain = cmwq::AsyncDomain::new();
    /// let first = domain.schedule(|_| ());
    /// let second = domain.schedule(|_| ());
    /// domain.synchronize_cookie(second)?; // the first one has ended, the second one perhaps
    /// # let _ = first;
    /// # Ok::<(), cmwq::FlushError>(())
    /// ```
    pub fn synchronize_cookie(&self, cookie: Cookie) -> Result<(), FlushError> {
        synchronize(Scope::Domain(self.domain.id), cookie.0)
    }

    /// Waits until no call of this domain is pending, those scheduled meanwhile included (kernel
    /// `async_synchronize_full_domain`).
    ///
    /// # Errors
    /// As [`synchronize_cookie`](Self::synchronize_cookie).
    pub fn synchronize_full(&self) -> Result<(), FlushError> {
        synchronize(Scope::Domain(self.domain.id), COOKIE_MAX)
    }

    /// Waits until no call of any domain is pending, but for [exclusive](Self::exclusive) ones
    /// (kernel `async_synchronize_full`).
    ///
    /// # Errors
    /// As [`synchronize_cookie`](Self::synchronize_cookie).
    pub fn synchronize_all() -> Result<(), FlushError> {
        synchronize(Scope::All, COOKIE_MAX)
    }

    /// Calls of this domain that have not ended.
    ///
    /// ```
    /// assert_eq!(cmwq::AsyncDomain::new().pending(), 0);
    /// ```
    pub fn pending(&self) -> usize {
        let scope = Scope::Domain(self.domain.id);
        Process::existing().map_or(0, |process| {
            process.state::<AsyncState>().lock().calls.pending(scope)
        })
    }

    /// Whether the calling thread executes an asynchronous call (kernel `current_is_async`).
    ///
    /// ```
    /// assert!(!cmwq::AsyncDomain::is_current());
    /// ```
    pub fn is_current() -> bool {
        CURRENT.get().is_some()
    }
}

/// What a call's item and, if that is refused, its caller may execute: once.
fn take<T>(body: &Mutex<Option<T>>) -> Option<T> {
    body.lock().expect("nobody panics with it").take()
}

/// A call that is pending; ended when dropped.
struct Call {
    process: Process,
    domain: Domain,
    cookie: u64,
}

impl Call {
    fn new(process: Process, domain: Domain) -> Self {
        let cookie = process.state::<AsyncState>().lock().calls.schedule(domain);
        Call {
            process,
            domain,
            cookie,
        }
    }

    fn execute(self, func: impl FnOnce(Cookie)) {
        let before = CURRENT.replace(Some((self.domain, self.cookie)));
        // Also when it unwinds; before the call ends.
        let _restore = Restore(before);
        let cookie = self.cookie;
        let _call = self;
        func(Cookie(cookie));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.process.is_ours() {
            return;
        }
        let mut book = self.process.state::<AsyncState>().lock();
        let released = book.calls.end(self.domain, self.cookie);
        let latches: Vec<_> = released
            .iter()
            .filter_map(|waiter| book.waiters.remove(waiter))
            .collect();
        let task = book.tasks.remove(&self.cookie);
        drop(book);
        drop(task);
        latches.iter().for_each(|latch| latch.set());
    }
}

struct Restore(Option<(Domain, u64)>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl AsyncState {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with it")
    }

    fn queued_to(&self, pwq: Option<RawPwq>) {
        let mut book = self.lock();
        book.pwq = pwq.or(book.pwq);
    }

    fn queue(&self, process: Process) -> &Workqueue {
        self.queue.get_or_init(|| {
            let queue = Workqueue::builder("async")
                // Near ones first would be another order than that of the cookies.
                .affinity_scope(AffinityScope::System)
                .build_in(process);
            let queue = queue.expect("the attributes are valid");
            queue.set_min_active(DFL_ACTIVE as usize);
            queue
        })
    }
}

fn synchronize(scope: Scope, cookie: u64) -> Result<(), FlushError> {
    let Some(process) = Process::existing() else {
        return Ok(());
    };
    let state = process.state::<AsyncState>();
    let queue = state.queue(process).raw();
    if CURRENT
        .get()
        .is_some_and(|own| waits_for_itself(own, scope, cookie))
    {
        return Err(FlushError::WouldDeadlock(queue.would_deadlock()));
    }
    let mut book = state.lock();
    let Some(waiter) = book.calls.wait(scope, cookie) else {
        return Ok(());
    };
    let latch = Arc::new(Latch::new());
    book.waiters.insert(waiter, latch.clone());
    let pwq = book.pwq;
    drop(book);
    let awaited = Awaited {
        state,
        scope,
        cookie,
    };
    let awaits = [Awaits::Group(Group::of(&awaited))];
    let own = CURRENT.get();
    let in_order = own.is_some_and(|own| waits_in_order(own, scope, cookie));
    let awaits = if in_order { &[] } else { &awaits[..] };
    let waited = match pwq {
        // SAFETY: calls were queued through this pwq of the queue; `awaited` outlives the wait.
        Some(_) => unsafe { queue.wait_latch(pwq, &latch, None, awaits) },
        // All that there are, their callers execute.
        None => {
            latch.announce();
            // SAFETY: no pwq is named.
            unsafe { queue.wait_begun(None, &latch, None, &[]) };
            Ok(())
        }
    };
    waited.map_err(|stuck| give_up(state, scope, cookie, waiter, stuck))
}

fn give_up(
    state: &AsyncState,
    scope: Scope,
    cookie: u64,
    waiter: WaiterId,
    stuck: WouldDeadlock,
) -> FlushError {
    let mut book = state.lock();
    book.calls.give_up(scope, cookie, waiter);
    book.waiters.remove(&waiter);
    FlushError::WouldDeadlock(stuck)
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
