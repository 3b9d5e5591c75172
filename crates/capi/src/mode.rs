//! Whether anybody watches the program: `CMWQ_CHECKED=1`, or ThreadSanitizer.
//!
//! ThreadSanitizer does not see the library's atomics and futexes. If the program was built with
//! it, the library tells it what happens before what.

use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8};

use cmwq_engine::worker;

/// 0: nobody has asked yet.
static MODE: AtomicU8 = AtomicU8::new(0);
/// The process in which that was.
static FIRST_PID: AtomicI32 = AtomicI32::new(0);
/// `__tsan_acquire` and `__tsan_release`, if they are there.
static ACQUIRE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static RELEASE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

const PLAIN: u8 = 1;
const CHECKED: u8 = 2;
const TSAN: u8 = 4;

/// Whether nobody watches.
#[inline]
pub(crate) fn is_plain() -> bool {
    MODE.load(SeqCst) == PLAIN || is_found_plain()
}

#[cold]
fn is_found_plain() -> bool {
    MODE.load(SeqCst) == 0 && ask() == PLAIN
}

/// Whether misuse ends the process.
#[inline]
pub(crate) fn is_checked() -> bool {
    !is_plain() && MODE.load(SeqCst) & CHECKED != 0
}

/// Whether this is a child of the process that was asked first.
pub(crate) fn is_forked() -> bool {
    FIRST_PID.load(SeqCst) != cmwq_os::thread::getpid()
}

#[cold]
fn ask() -> u8 {
    let mut mode = 0;
    if std::env::var_os("CMWQ_CHECKED").is_some_and(|value| value == "1") {
        mode |= CHECKED;
    }
    let (acquire, release) = (symbol(c"__tsan_acquire"), symbol(c"__tsan_release"));
    if !acquire.is_null() && !release.is_null() {
        ACQUIRE.store(acquire, SeqCst);
        RELEASE.store(release, SeqCst);
        mode |= TSAN;
    }
    let mode = if mode == 0 { PLAIN } else { mode };
    FIRST_PID.store(cmwq_os::thread::getpid(), SeqCst);
    MODE.store(mode, SeqCst);
    mode
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// What all ends of functions happen before, and all waits after.
static ENDS: u8 = 0;

/// An item's executions follow each other, and so do those of a [series](worker::series). Items and
/// series may be gone when one ends, so each has a byte here. If two share a byte, a race between
/// them is not found.
static SERIES: [u8; 4096] = [0; 4096];

/// What a thaw happens before: all beginnings.
static THAWS: u8 = 0;

/// What was done so far happens before what [`entered`] or [`asks`] follows, of the same item.
#[inline]
pub(crate) fn queued(item: *const c_void) {
    tell(&RELEASE, item);
}

/// A function that is no execution of an item begins: part of a job, a hook.
#[inline]
pub(crate) fn asks(of: *const c_void) {
    tell(&ACQUIRE, of);
}

/// An item begins: after its earlier executions, and those of its series.
#[inline]
pub(crate) fn entered(item: *const c_void) {
    if !is_plain() {
        tell_watcher(&ACQUIRE, item);
        tell_series(&ACQUIRE, item);
        tell_watcher(&ACQUIRE, (&raw const THAWS).cast());
    }
}

/// An item has ended, and may be gone.
#[inline]
pub(crate) fn left(item: *const c_void) {
    if !is_plain() {
        tell_series(&RELEASE, item);
        has_ended();
    }
}

#[cold]
fn tell_series(which: &AtomicPtr<c_void>, item: *const c_void) {
    for number in [Some(item.addr()), worker::series()].into_iter().flatten() {
        let place = &SERIES[number / 8 % SERIES.len()];
        tell_watcher(which, std::ptr::from_ref(place).cast());
    }
}

/// Queues are about to go on.
#[inline]
pub(crate) fn thaws() {
    tell(&RELEASE, (&raw const THAWS).cast());
}

/// A function has ended for which somebody may wait.
#[inline]
pub(crate) fn has_ended() {
    tell(&RELEASE, (&raw const ENDS).cast());
}

/// Somebody has waited for functions.
#[inline]
pub(crate) fn waited() {
    tell(&ACQUIRE, (&raw const ENDS).cast());
}

#[inline]
fn tell(which: &AtomicPtr<c_void>, address: *const c_void) {
    if !is_plain() {
        tell_watcher(which, address);
    }
}

#[cold]
fn tell_watcher(which: &AtomicPtr<c_void>, address: *const c_void) {
    let func = which.load(SeqCst);
    if !func.is_null() {
        // SAFETY: ThreadSanitizer's functions, which take any address.
        let func: extern "C" fn(*const c_void) = unsafe { std::mem::transmute(func) };
        func(address);
    }
}
