//! Asynchronous calls that are waited for in the order in which they were scheduled (kernel
//! `async_schedule`). The engine has them; here they are closures and domains.

use std::fmt;

use cmwq_engine::error::FlushError;
use cmwq_engine::{AsyncCall, Process};
use cmwq_policy::async_domain::{COOKIE_MAX, Domain, Scope};

use crate::task::{self, Handle, Task};

/// The place of an asynchronous call in the order of all (kernel `async_cookie_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(u64);

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
        let domain = Process::new_domain(false);
        AsyncDomain { domain }
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
        let domain = Process::new_domain(true);
        AsyncDomain { domain }
    }

    /// The domain of whoever needs no other (kernel `async_dfl_domain`).
    pub fn global() -> Self {
        let domain = Domain::COMMON;
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
        let item = |call: AsyncCall| {
            let body = move || call.execute(|cookie| func(Cookie(cookie)));
            let (task, queued) = Task::pair(body, ());
            // Nobody asks: the runner drops what came of it, a panic's payload perhaps.
            drop(Handle::<_, ()>::new(task));
            let item = task::raw(&queued);
            // The queue's from now on: the task's function takes it.
            std::mem::forget(queued);
            item
        };
        // SAFETY: the item is a new task, which owns the call and is there until its body has run.
        // Its body may be sent.
        Cookie(unsafe { process.schedule_call(self.domain, item) })
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
        Process::existing().map_or(0, |process| process.pending_calls(scope))
    }

    /// Whether the calling thread executes an asynchronous call (kernel `current_is_async`).
    ///
    /// ```
    /// assert!(!cmwq::AsyncDomain::is_current());
    /// ```
    pub fn is_current() -> bool {
        AsyncCall::is_current()
    }
}

fn synchronize(scope: Scope, cookie: u64) -> Result<(), FlushError> {
    let Some(process) = Process::existing() else {
        return Ok(());
    };
    let waited = process.synchronize_calls(scope, cookie);
    let waited = waited.expect("a queue of calls needs nothing that may be missing");
    waited.map_err(FlushError::WouldDeadlock)
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
