//! Asynchronous calls that are waited for in the order in which they were scheduled (kernel
//! `async_schedule`).
//!
//! `cmwq_policy::async_domain` says which calls a wait is for, and whom the end of a call releases.
//! Here that is one book behind one lock for the process, as in the kernel.
//!
//! Calls are items of one queue, queued under one lock. So they begin in the order of their
//! cookies. A call that waits for earlier ones waits for calls that have begun, and a chain of them
//! ends whatever the limits are. The kernel's queue begins in no order over several nodes, and
//! needs a raised `min_active` for that. Ours has one too, for calls that wait for each other
//! otherwise.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock};

use cmwq_policy::affinity::Scope as AffinityScope;
use cmwq_policy::async_domain::{
    AsyncCalls, Cookie, Domain, Scope, WaiterId, waits_for_itself, waits_in_order,
};
use cmwq_policy::pwq::DFL_ACTIVE;

use super::{Awaits, Process, QueueSpec, RawItem, RawPwq, RawQueue, Until};
use crate::error::{BuildError, WouldDeadlock};
use crate::group::{Group, Members};
use crate::item::Header;
use crate::sync::{Mutex, MutexGuard};
use crate::wait::latch::Latch;

/// What asynchronous calls of a process share.
#[derive(Default)]
struct State {
    /// Held while a call gets its cookie and is queued. Before the book's.
    order: Mutex<()>,
    book: Mutex<Book>,
    queue: OnceLock<RawQueue>,
}

#[derive(Default)]
struct Book {
    calls: AsyncCalls,
    waiters: BTreeMap<WaiterId, Arc<Latch>>,
    /// The items of calls that are queued or run.
    items: BTreeMap<Cookie, Listed>,
    /// Where calls are queued.
    pwq: Option<RawPwq>,
}

/// An item that is in the book.
struct Listed(NonNull<Header>);

// SAFETY: only an address; it is followed while the book is locked and has it.
unsafe impl Send for Listed {}

/// Calls that are waited for together.
struct Awaited {
    state: &'static State,
    scope: Scope,
    cookie: Cookie,
}

// SAFETY: an item stays in memory while it is in the book, which is locked meanwhile.
unsafe impl Members for Awaited {
    fn show(&self, show: &mut dyn FnMut(NonNull<Header>)) {
        let book = self.state.lock();
        let calls = book.calls.awaited(self.scope, self.cookie);
        let items = calls.filter_map(|cookie| book.items.get(&cookie));
        items.map(|item| item.0).for_each(show);
    }
}

thread_local! {
    /// The call that this thread executes.
    static CURRENT: Cell<Option<(Domain, Cookie)>> = const { Cell::new(None) };
}

/// A call that is pending. It has ended when this is dropped.
#[derive(Debug)]
pub struct AsyncCall {
    process: Process,
    domain: Domain,
    cookie: Cookie,
}

impl AsyncCall {
    /// Calls `func` with the call's cookie. Then the call has ended, also if `func` unwinds.
    pub fn execute(self, func: impl FnOnce(Cookie)) {
        let before = CURRENT.replace(Some((self.domain, self.cookie)));
        let cookie = self.cookie;
        // Dropped in the opposite order: the thread is out of the call before the call ends.
        let _call = self;
        let _restore = Restore(before);
        func(cookie);
    }

    /// Whether the calling thread executes one (kernel `current_is_async`).
    pub fn is_current() -> bool {
        CURRENT.get().is_some()
    }
}

impl Drop for AsyncCall {
    fn drop(&mut self) {
        if !self.process.is_ours() {
            // In a child that it has forked the book may be locked for ever.
            return;
        }
        let mut book = self.process.state::<State>().lock();
        let released = book.calls.end(self.domain, self.cookie);
        let waiters = released.iter().filter_map(|id| book.waiters.remove(id));
        let latches: Vec<_> = waiters.collect();
        book.items.remove(&self.cookie);
        drop(book);
        latches.iter().for_each(|latch| latch.set());
    }
}

struct Restore(Option<(Domain, Cookie)>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with it")
    }

    fn queue(&self, process: Process) -> Result<&RawQueue, BuildError> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue);
        }
        let mut spec = QueueSpec::default();
        // Near ones first would be another order than that of the cookies.
        spec.attrs.scope = Some(AffinityScope::System);
        let queue = RawQueue::make(process, "async", &spec)?;
        queue.set_min_active(DFL_ACTIVE as usize);
        // Another thread may have made one in between.
        Ok(self.queue.get_or_init(|| queue))
    }
}

/// Asynchronous calls.
impl Process {
    /// A new domain. The one with the number 0 is everybody's.
    pub fn new_domain(exclusive: bool) -> Domain {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, SeqCst);
        Domain { id, exclusive }
    }

    /// Schedules a call, whose item `make` makes. Where no item can be queued, the item is executed
    /// at once, in the calling thread (kernel: when there is no memory).
    ///
    /// # Safety
    /// The item is new, and the queue owns it. It owns the call, executes it when it runs, and its
    /// header stays in memory until the call is dropped. Its function may run on any thread.
    pub unsafe fn schedule_call(
        self,
        domain: Domain,
        make: impl FnOnce(AsyncCall) -> RawItem,
    ) -> Cookie {
        let state = self.state::<State>();
        let queue = state.queue(self).ok();
        let order = state.order.lock().expect("nobody panics with it");
        let cookie = state.lock().calls.schedule(domain);
        let item = make(AsyncCall {
            process: self,
            domain,
            cookie,
        });
        let header = item.header();
        state.lock().items.insert(cookie, Listed(header));
        // SAFETY: the item was just made for this call, and others only look at it.
        let queued = queue.and_then(|queue| unsafe { queue.queue_new(None, item) }.ok());
        let mut book = state.lock();
        book.pwq = queued.or(book.pwq);
        if queued.is_none() {
            book.items.remove(&cookie);
        }
        drop(book);
        drop(order);
        if queued.is_none() {
            // SAFETY: it was refused, so it is still the caller's, who gives it to this call.
            let run = unsafe { header.as_ref() }.vtable().run;
            // SAFETY: the same.
            unsafe { run(header) };
        }
        cookie
    }

    /// Waits until all calls of this scope with a lower cookie have ended.
    ///
    /// # Errors
    /// If the queue of calls cannot be made; if the wait would never end.
    pub fn synchronize_calls(
        self,
        scope: Scope,
        cookie: Cookie,
    ) -> Result<Result<(), WouldDeadlock>, BuildError> {
        let state = self.state::<State>();
        let queue = state.queue(self)?;
        let own = CURRENT.get();
        if own.is_some_and(|own| waits_for_itself(own, scope, cookie)) {
            return Ok(Err(queue.would_deadlock()));
        }
        let in_order = own.is_some_and(|own| waits_in_order(own, scope, cookie));
        let waited = state.wait(queue, scope, cookie, in_order);
        Ok(waited)
    }

    /// Calls of this scope that have not ended.
    pub fn pending_calls(self, scope: Scope) -> usize {
        self.state::<State>().lock().calls.pending(scope)
    }
}

/// Waits for calls none of which was ever queued: their callers execute them.
fn wait_for_callers(queue: &RawQueue, latch: &Arc<Latch>) {
    latch.announce();
    // SAFETY: no pwq is named.
    unsafe { queue.wait_begun(None, latch, None, &[]) };
}

impl State {
    fn wait(
        &'static self,
        queue: &RawQueue,
        scope: Scope,
        cookie: Cookie,
        in_order: bool,
    ) -> Result<(), WouldDeadlock> {
        let mut book = self.lock();
        let Some(waiter) = book.calls.wait(scope, cookie) else {
            return Ok(());
        };
        let latch = Arc::new(Latch::new());
        book.waiters.insert(waiter, latch.clone());
        let pwq = book.pwq;
        drop(book);
        let awaited = Awaited {
            state: self,
            scope,
            cookie,
        };
        let group = [Awaits::Group(Group::of(&awaited))];
        let awaits = if in_order { &[] } else { &group[..] };
        let Some(pwq) = pwq else {
            wait_for_callers(queue, &latch);
            return Ok(());
        };
        // SAFETY: calls were queued through this pwq of the queue; `awaited` outlives the wait.
        let waited = unsafe { queue.wait_latch(Some(pwq), &latch, None, (Until::All, awaits)) };
        if waited.is_err() {
            let mut book = self.lock();
            book.calls.give_up(scope, cookie, waiter);
            book.waiters.remove(&waiter);
        }
        waited
    }
}
