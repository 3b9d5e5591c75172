//! Asynchronous calls that are waited for in the order in which they were scheduled (kernel
//! `async_schedule`). The order is `cmwq_policy::async_domain`.
//!
//! Calls are items of one queue, queued under one lock, so they begin in the order of their
//! cookies. The book of pending calls is behind another lock. A call's item is there until its
//! function has returned and it has left the book.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock};

use cmwq_engine::sync::{Mutex, MutexGuard};
use cmwq_engine::{
    Awaits, Group, Header, Latch, Members, Process, QueueSpec, RawItem, RawPwq, RawQueue, Ref,
    Vtable, user,
};
use cmwq_policy::affinity::Scope as AffinityScope;
use cmwq_policy::async_domain::{
    AsyncCalls, COOKIE_MAX, Domain, Scope, WaiterId, waits_for_itself, waits_in_order,
};
use cmwq_policy::pwq::DFL_ACTIVE;

use crate::abi::Arg;
use crate::errno::{ENOMEM, Errno};
use crate::say::misuse;
use crate::{mode, names};

type AsyncFn = extern "C-unwind" fn(*mut c_void, u64);

/// As `struct cmwq_async_domain`. All zero is a new one.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CDomain {
    /// Given at first use.
    id: AtomicU64,
    exclusive: u32,
    reserved: u32,
}

/// NULL is the domain of whoever needs no other.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct DomainPtr(*const CDomain);

impl DomainPtr {
    fn get(self) -> Domain {
        /// 0 is the number of the common one.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // SAFETY: the program's, or NULL.
        let Some(domain) = (unsafe { self.0.as_ref() }) else {
            return Domain {
                id: 0,
                exclusive: false,
            };
        };
        let mut id = domain.id.load(SeqCst);
        if id == 0 {
            let own = NEXT.fetch_add(1, SeqCst);
            id = match domain.id.compare_exchange(0, own, SeqCst, SeqCst) {
                Ok(_) => own,
                Err(others) => others,
            };
        }
        Domain {
            id,
            exclusive: domain.exclusive != 0,
        }
    }
}

/// What asynchronous calls of a process share.
#[derive(Default)]
struct AsyncState {
    /// Held while a call gets its cookie and is queued. Before the book's.
    order: Mutex<()>,
    book: Mutex<Book>,
    queue: OnceLock<RawQueue>,
}

#[derive(Default)]
struct Book {
    calls: AsyncCalls,
    waiters: BTreeMap<WaiterId, Arc<Latch>>,
    /// Those that are queued or run.
    items: BTreeMap<u64, Listed>,
    /// Where calls are queued.
    pwq: Option<RawPwq>,
}

/// An item that is in the book.
struct Listed(NonNull<Header>);

// SAFETY: only an address; it is followed while the book is locked and has it.
unsafe impl Send for Listed {}

/// A call that is pending. The header comes first.
#[repr(C)]
struct Call {
    header: Header,
    process: Process,
    domain: Domain,
    cookie: u64,
    func: AsyncFn,
    arg: Arg,
}

static CALL: Vtable = Vtable {
    run: run_call,
    // It is its own, and goes when it has run.
    count: |_, _: Ref| (),
    name: |func| names::of(func.addr()),
};

thread_local! {
    /// The call that this thread executes.
    static CURRENT: Cell<Option<(Domain, u64)>> = const { Cell::new(None) };
}

/// # Safety
/// The header is that of a [`Call`] in a box, which is given to this call.
unsafe fn run_call(header: NonNull<Header>) {
    // SAFETY: as above.
    let call = unsafe { Box::from_raw(header.cast::<Call>().as_ptr()) };
    mode::entered(header.as_ptr().cast());
    call.execute();
}

impl Call {
    fn execute(self) {
        let before = CURRENT.replace(Some((self.domain, self.cookie)));
        user::run(|| (self.func)(self.arg.0, self.cookie));
        CURRENT.set(before);
        mode::left();
        if !self.process.is_ours() {
            // In a child that it has forked the book may be locked for ever.
            return;
        }
        let mut book = self.process.state::<AsyncState>().lock();
        let released = book.calls.end(self.domain, self.cookie);
        let latches: Vec<_> = released
            .iter()
            .filter_map(|waiter| book.waiters.remove(waiter))
            .collect();
        book.items.remove(&self.cookie);
        drop(book);
        latches.iter().for_each(|latch| latch.set());
    }
}

/// Calls that are waited for together.
struct Awaited {
    state: &'static AsyncState,
    scope: Scope,
    cookie: u64,
}

// SAFETY: an item is in the book, which is locked meanwhile, as long as it is there.
unsafe impl Members for Awaited {
    fn show(&self, show: &mut dyn FnMut(NonNull<Header>)) {
        let book = self.state.lock();
        let calls = book.calls.awaited(self.scope, self.cookie);
        let items = calls.filter_map(|cookie| book.items.get(&cookie));
        items.map(|item| item.0).for_each(show);
    }
}

impl AsyncState {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics with it")
    }

    fn queue(&self, process: Process) -> Option<&RawQueue> {
        if self.queue.get().is_none() {
            let mut spec = QueueSpec::default();
            // Near ones first would be another order than that of the cookies.
            spec.attrs.scope = Some(AffinityScope::System);
            let queue = RawQueue::make(process, "async", &spec).ok()?;
            queue.set_min_active(DFL_ACTIVE as usize);
            // Another thread may have made one in between.
            let _ = self.queue.set(queue);
        }
        self.queue.get()
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_async_schedule(domain: DomainPtr, func: Option<AsyncFn>, data: Arg) -> u64 {
    let Some(func) = func else {
        misuse("cmwq_async_schedule", "the function is NULL");
        return 0;
    };
    let Ok(process) = Process::get() else {
        // As in the kernel without memory: at once, in the calling thread.
        user::run(|| func(data.0, 0));
        return 0;
    };
    Header::set_names(names::of);
    let state = process.state::<AsyncState>();
    let domain = domain.get();
    let queue = state.queue(process);
    let order = state.order.lock().expect("nobody panics with it");
    let cookie = state.lock().calls.schedule(domain);
    let call = Box::into_raw(Box::new(Call {
        header: Header::with_func(&CALL, func as *const ()),
        process,
        domain,
        cookie,
        func,
        arg: data,
    }));
    let header = NonNull::new(call).expect("a box").cast::<Header>();
    mode::queued(header.as_ptr().cast());
    state.lock().items.insert(cookie, Listed(header));
    // SAFETY: the header comes first, and it is there until it has run.
    let item = unsafe { RawItem::new(header) };
    let queued = queue.and_then(|queue| queue.queue_new(None, item).ok());
    let mut book = state.lock();
    book.pwq = queued.or(book.pwq);
    if queued.is_none() {
        book.items.remove(&cookie);
    }
    drop(book);
    drop(order);
    if queued.is_none() {
        // SAFETY: nobody else has it.
        let call = unsafe { Box::from_raw(call) };
        call.execute();
    }
    cookie
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_async_synchronize_cookie(domain: DomainPtr, cookie: u64) -> c_int {
    synchronize(Scope::Domain(domain.get().id), cookie)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_async_synchronize_full(domain: DomainPtr) -> c_int {
    synchronize(Scope::Domain(domain.get().id), COOKIE_MAX)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_async_synchronize_all() -> c_int {
    synchronize(Scope::All, COOKIE_MAX)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_current_is_async() -> c_int {
    c_int::from(CURRENT.get().is_some())
}

fn synchronize(scope: Scope, cookie: u64) -> c_int {
    let answer = wait_for(scope, cookie);
    mode::waited();
    answer
}

fn wait_for(scope: Scope, cookie: u64) -> c_int {
    let Some(process) = Process::existing() else {
        return 0;
    };
    let state = process.state::<AsyncState>();
    let Some(queue) = state.queue(process) else {
        return ENOMEM;
    };
    let own = CURRENT.get();
    if own.is_some_and(|own| waits_for_itself(own, scope, cookie)) {
        return queue.would_deadlock().errno();
    }
    let mut book = state.lock();
    let Some(waiter) = book.calls.wait(scope, cookie) else {
        return 0;
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
    let group = [Awaits::Group(Group::of(&awaited))];
    let in_order = own.is_some_and(|own| waits_in_order(own, scope, cookie));
    let awaits = if in_order { &[] } else { &group[..] };
    let Some(pwq) = pwq else {
        // All that there are, their callers execute.
        latch.announce();
        // SAFETY: no pwq is named.
        unsafe { queue.wait_begun(None, &latch, None, &[]) };
        return 0;
    };
    // SAFETY: calls were queued through this pwq of the queue; `awaited` outlives the wait.
    match unsafe { queue.wait_latch(Some(pwq), &latch, None, awaits) } {
        Ok(()) => 0,
        Err(stuck) => {
            let mut book = state.lock();
            book.calls.give_up(scope, cookie, waiter);
            book.waiters.remove(&waiter);
            stuck.errno()
        }
    }
}
