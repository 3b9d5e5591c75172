//! `CMWQ_CHECKED=1`: what debugobjects do in the kernel. Misuse ends the process with a message
//! that names the item, instead of corrupting memory.
//!
//! The engine then works on *shadows*: headers of our own, one for each item. So memory of an item
//! that the program frees, overwrites or uses again is never followed. Each call and each execution
//! compares the item with its shadow. Items are read through the kernel, because their memory may
//! be unmapped.
//!
//! Shadows and destroyed queues are never freed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::sync::{Mutex, MutexGuard};
use cmwq_engine::{Header, Process, RawItem, Ref, Vtable, user};

use crate::abi::{Work, WorkFn};
use crate::say::{self, fatal};
use crate::{mode, names};

/// Misuse: an error or, where checks are on, the end.
#[cold]
pub(crate) fn misuse(call: &str, what: &str) -> c_int {
    if mode::is_checked() {
        fatal(call, what);
    }
    say::misuse(call, what)
}

/// An item as the engine knows it. The header comes first.
#[repr(C)]
struct Shadow {
    header: Header,
    /// Address of the program's item.
    work: usize,
    func: WorkFn,
    /// It was disabled since it was initialised.
    was_disabled: AtomicBool,
}

/// What is known of the program's objects.
#[derive(Default)]
struct Objects {
    items: Mutex<BTreeMap<usize, &'static Shadow>>,
    /// Names of queues; and whether they were destroyed.
    queues: Mutex<BTreeMap<usize, (String, bool)>>,
}

thread_local! {
    /// The thread holds a lock of this module.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// A lock of this module, held. Fields go in this order, so the mark stays as long as the lock.
struct Held<'a, T> {
    value: MutexGuard<'a, T>,
    _mark: Mark,
}

struct Mark;

impl Drop for Mark {
    fn drop(&mut self) {
        HOLDS.set(false);
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Locks. Only a signal handler can find that its own thread holds a lock: it would wait for ever.
fn hold<T>(lock: &Mutex<T>) -> Held<'_, T> {
    if HOLDS.replace(true) {
        say::fatal_at_once("a call is made in a signal handler");
    }
    Held {
        value: lock.lock().expect("nobody panics with it"),
        _mark: Mark,
    }
}

impl Objects {
    fn shadow(&self, work: usize) -> Option<&'static Shadow> {
        hold(&self.items).get(&work).copied()
    }
}

static TABLE: Vtable = Vtable {
    run,
    count: |_, _: Ref| (),
    name: |func| names::of(func.addr()),
};

fn objects(call: &str) -> &'static Objects {
    match Process::get() {
        Ok(process) => process.state(),
        Err(error) => fatal(call, &format!("cmwq cannot be used here: {error}")),
    }
}

/// What is in the item's memory; `None`: the memory is gone.
fn read(work: usize) -> Option<Work> {
    let mut copy = MaybeUninit::<Work>::uninit();
    let size = size_of::<Work>();
    let ours = libc::iovec {
        iov_base: copy.as_mut_ptr().cast(),
        iov_len: size,
    };
    let theirs = libc::iovec {
        iov_base: work as *mut libc::c_void,
        iov_len: size,
    };
    // SAFETY: the kernel writes to `copy` only, and checks the other address.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    if got < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
        // A sandbox denies the call: the memory has to be there.
        // SAFETY: the program says so.
        return Some(unsafe { std::ptr::read(work as *const Work) });
    }
    // SAFETY: all of it was written, and any bytes are a `Work` but for its function.
    (got == size as isize).then(|| unsafe { copy.assume_init() })
}

/// The item's shadow, for a call of this name.
pub(crate) fn item(work: NonNull<Work>, call: &str) -> RawItem {
    let objects = objects(call);
    let address = work.addr().get();
    let Some(seen) = read(address) else {
        fatal(call, &format!("the item {work:p} is in no memory"));
    };
    let known = objects.shadow(address);
    let shadow = match (known, seen.func) {
        (None, None) => fatal(call, &format!("the item {work:p} was never initialised")),
        (Some(shadow), func) if is_intact(shadow, &seen) => {
            debug_assert!(func.is_some());
            shadow
        }
        (Some(shadow), _) if shadow.raw().busy().pending => fatal(call, &overwritten(shadow)),
        (_, Some(func)) if is_new(&seen) => remember(objects, address, func),
        _ => fatal(call, &format!("at {work:p} there is no item")),
    };
    if call.contains("disable") {
        shadow.was_disabled.store(true, SeqCst);
    }
    shadow.raw()
}

fn is_new(seen: &Work) -> bool {
    seen.word == Header::NEW_WORD
}

fn is_intact(shadow: &Shadow, seen: &Work) -> bool {
    is_new(seen)
        && seen
            .func
            .is_some_and(|func| func as usize == shadow.func as usize)
}

fn overwritten(shadow: &Shadow) -> String {
    format!(
        "the item {:#x} (function {}) was overwritten or freed while it was pending",
        shadow.work,
        shadow.name()
    )
}

fn remember(objects: &Objects, work: usize, func: WorkFn) -> &'static Shadow {
    Header::set_names(names::of);
    let shadow: &Shadow = Box::leak(Box::new(Shadow {
        header: Header::with_func(&TABLE, func as *const ()),
        work,
        func,
        was_disabled: AtomicBool::new(false),
    }));
    let mut items = hold(&objects.items);
    items.insert(work, shadow);
    shadow
}

/// The item is initialised, perhaps again.
pub(crate) fn item_initialised(work: NonNull<Work>, call: &str) {
    let objects = objects(call);
    let address = work.addr().get();
    let known = objects.shadow(address);
    let Some(shadow) = known else {
        return;
    };
    if shadow.raw().busy().pending {
        let name = shadow.name();
        let what =
            format!("the item {work:p} (function {name}) is initialised while it is pending");
        fatal(call, &what);
    }
    if shadow.was_disabled.load(SeqCst) {
        let mut items = hold(&objects.items);
        items.remove(&address);
    }
}

/// The program says that the item is used no more.
pub(crate) fn item_destroyed(work: NonNull<Work>, call: &str) {
    let objects = objects(call);
    let mut items = hold(&objects.items);
    let Some(shadow) = items.remove(&work.addr().get()) else {
        return;
    };
    drop(items);
    let busy = shadow.raw().busy();
    let at = match (busy.pending, busy.running && !shadow.raw().is_current()) {
        (true, _) => "is pending",
        (_, true) => "runs",
        _ => return,
    };
    let name = shadow.name();
    fatal(
        call,
        &format!("the item {work:p} (function {name}) is destroyed while it {at}"),
    );
}

/// The program's item of a header's address, if that is a shadow.
pub(crate) fn work_of(header: usize) -> usize {
    let shadows = objects("cmwq_current_work");
    let items = hold(&shadows.items);
    let of = |shadow: &&&'static Shadow| std::ptr::from_ref(**shadow).addr() == header;
    items.values().find(of).map_or(0, |shadow| shadow.work)
}

impl Shadow {
    fn raw(&'static self) -> RawItem {
        // SAFETY: the header comes first, and a shadow is there for ever.
        unsafe { RawItem::new(NonNull::from(self).cast()) }
    }

    fn name(&self) -> &'static str {
        names::of(self.func as usize)
    }
}

/// # Safety
/// The header is that of a shadow.
unsafe fn run(header: NonNull<Header>) {
    // SAFETY: shadows are there for ever, and the header comes first.
    let shadow: &'static Shadow = unsafe { header.cast::<Shadow>().as_ref() };
    let call = "an execution";
    match read(shadow.work) {
        Some(seen) if is_intact(shadow, &seen) => {}
        _ => fatal(call, &overwritten(shadow)),
    }
    mode::entered(shadow.work as *const c_void);
    user::run(|| (shadow.func)(shadow.work as *mut Work));
    mode::left(shadow.work as *const c_void);
}

/// A queue was made.
pub(crate) fn queue_made(queue: usize, name: &str) {
    if mode::is_checked() {
        let queues = &objects("cmwq_queue_create").queues;
        let mut queues = hold(queues);
        queues.insert(queue, (name.to_owned(), false));
    }
}

/// A queue is there no more.
pub(crate) fn queue_destroyed(queue: usize) {
    if mode::is_checked() {
        let queues = &objects("cmwq_queue_destroy").queues;
        let mut queues = hold(queues);
        if let Some((_, destroyed)) = queues.get_mut(&queue) {
            *destroyed = true;
        }
    }
}

/// Looks whether a queue is one.
pub(crate) fn queue(queue: usize, call: &str) {
    let queues = &objects(call).queues;
    let known = hold(queues).get(&queue).cloned();
    match known {
        Some((_, false)) => {}
        Some((name, true)) => fatal(call, &format!("the queue \"{name}\" was destroyed")),
        // A child has the pointers of its parent.
        None if mode::is_forked() => {}
        None => fatal(call, &format!("at {queue:#x} there is no queue")),
    }
}
