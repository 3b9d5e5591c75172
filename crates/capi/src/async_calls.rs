//! Asynchronous calls that are waited for in the order in which they were scheduled (kernel
//! `async_schedule`). The engine has them; here they are functions and domains of C.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::{AsyncCall, Header, Process, RawItem, Ref, Vtable, user};
use cmwq_policy::async_domain::{COOKIE_MAX, Domain, Scope};

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
        // SAFETY: the program's, or NULL.
        let Some(domain) = (unsafe { self.0.as_ref() }) else {
            return Domain::COMMON;
        };
        let exclusive = domain.exclusive != 0;
        let mut id = domain.id.load(SeqCst);
        if id == 0 {
            let own = Process::new_domain(exclusive).id;
            id = match domain.id.compare_exchange(0, own, SeqCst, SeqCst) {
                Ok(_) => own,
                Err(others) => others,
            };
        }
        Domain { id, exclusive }
    }
}

/// A call that is pending. The header comes first.
#[repr(C)]
struct Call {
    header: Header,
    /// Taken when it runs.
    call: Option<AsyncCall>,
    func: AsyncFn,
    arg: Arg,
}

static CALL: Vtable = Vtable {
    run: run_call,
    // It is its own, and goes when it has run.
    count: |_, _: Ref| (),
    name: |func| names::of(func.addr()),
};

/// # Safety
/// The header is that of a [`Call`] in a box, which is given to this call.
unsafe fn run_call(header: NonNull<Header>) {
    // SAFETY: as above.
    let mut item = unsafe { Box::from_raw(header.cast::<Call>().as_ptr()) };
    mode::entered(header.as_ptr().cast());
    let call = item.call.take().expect("it runs once");
    call.execute(|cookie| {
        user::run(|| (item.func)(item.arg.0, cookie));
        mode::left(header.as_ptr().cast());
    });
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
    let item = |call| {
        let item = Box::new(Call {
            header: Header::with_func(&CALL, func as *const ()),
            call: Some(call),
            func,
            arg: data,
        });
        let item = NonNull::from(Box::leak(item)).cast::<Header>();
        mode::queued(item.as_ptr().cast());
        // SAFETY: the header comes first, and it is there until it has run.
        unsafe { RawItem::new(item) }
    };
    // SAFETY: the item is a new box, which owns the call and goes when it has run.
    unsafe { process.schedule_call(domain.get(), item) }
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
    c_int::from(AsyncCall::is_current())
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
    match process.synchronize_calls(scope, cookie) {
        Ok(Ok(())) => 0,
        Ok(Err(stuck)) => stuck.errno(),
        Err(_) => ENOMEM,
    }
}
