//! Starting threads, their names and their signal masks.

use std::cell::Cell;
use std::ffi::CString;
use std::io;
use std::ops::Range;

mod bare;

pub(crate) use bare::done;

/// The kernel keeps 15 bytes of a thread's name.
const NAME_MAX: usize = 15;

/// Signals the kernel sends for what the thread itself did. Blocking them would turn a crash into
/// a silent kill, and would hide them from the program's handlers.
const SYNCHRONOUS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// Signals the C library keeps for itself (cancellation, set*id in all threads, musl's
/// membarrier). They are never blocked: `setuid` in another thread would hang.
const RESERVED: &[i32] = match cfg!(target_env = "musl") {
    true => &[32, 33, 34],
    false => &[32, 33],
};

/// The calling thread's id, as in `/proc/self/task`.
pub fn gettid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// This process's id.
pub fn getpid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Whether the calling thread is the process's first one, whose mask everybody takes for the
/// process's.
pub fn is_main() -> bool {
    gettid() == getpid()
}

/// The least stack. What the C library keeps of it for itself has to fit in, and a worker without
/// an item: with musl a thread may have as little as 2 KiB, and would overflow.
const LEAST_STACK: usize = 64 * 1024;

/// Starts a detached thread that has every signal blocked but the synchronous ones. There is no
/// moment at which it could be picked for a signal of the process. `name` is cut to 15 bytes,
/// `stack_size` is in bytes; less than 64 KiB means that.
///
/// In a forked child the standard library does not know of it, and has no name for it: it could
/// wait for a thread of the parent (`bare`).
///
/// # Errors
///
/// What the system answered, for example `EAGAIN` at a limit of threads or memory.
pub fn spawn(
    name: &str,
    stack_size: usize,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let name = kernel_name(name);
    let _restored_on_return = BlockedSignals::new();
    if bare::are_needed() {
        return bare::spawn(name, stack_size, body);
    }
    std::thread::Builder::new()
        .name(name)
        .stack_size(stack_size.max(LEAST_STACK))
        .spawn(body)
        .map(drop)
}

/// What the names of all threads begin with that [`spawn`] makes for cmwq.
const OURS: &str = "cmwq/";

/// Whether this thread of the process is one of cmwq's own, by its name.
pub(crate) fn is_ours(tid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
    name.is_ok_and(|name| name.starts_with(OURS))
}

/// Has `body` called when the process ends by `exit` or a return from `main`.
pub fn at_exit(body: extern "C" fn()) {
    if cfg!(miri) {
        return;
    }
    // SAFETY: a function that may be called once, at any later time. Fails for want of memory.
    unsafe { libc::atexit(body) };
}

/// Names the calling thread; the name is cut to 15 bytes.
pub fn set_name(name: &str) {
    let name = CString::new(kernel_name(name)).unwrap_or_default();
    // Fails only for an unreadable address.
    let _ = rustix::thread::set_name(&name);
}

/// Bytes of stack that the calling thread has left, about. Its bounds are asked for once in each
/// thread; 0 where the system does not tell, and on a stack that is not the thread's own (a
/// coroutine's).
pub fn stack_left() -> usize {
    thread_local! {
        // Without a destructor, so that it can be used at any moment of a thread's life.
        static BOUNDS: Cell<Option<Range<usize>>> = const { Cell::new(None) };
    }
    let bounds = BOUNDS.take().or_else(stack_bounds).unwrap_or(0..0);
    BOUNDS.set(Some(bounds.clone()));
    let here = 0u8;
    let here = (&raw const here).addr();
    match bounds.contains(&here) {
        true => here - bounds.start,
        false => 0,
    }
}

/// The addresses of the calling thread's stack.
fn stack_bounds() -> Option<Range<usize>> {
    if cfg!(miri) {
        // It has none.
        return None;
    }
    let mut attr = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the calling thread exists, and the C library writes what it finds into `attr`.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut addr, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: `attr` was filled in above; both places are valid for the write.
    let got = unsafe { libc::pthread_attr_getstack(attr.as_ptr(), &mut addr, &mut size) };
    // SAFETY: filled in above, and not used any more.
    unsafe { libc::pthread_attr_destroy(attr.as_mut_ptr()) };
    (got == 0).then(|| addr.addr()..addr.addr() + size)
}

/// The calling thread's blocked signals: bit `n - 1` for signal `n`.
pub fn sigmask() -> u64 {
    let mut mask = 0u64;
    // SAFETY: the kernel writes the 8 bytes it is told `mask` has; no new mask is given.
    unsafe { rt_sigprocmask(std::ptr::null(), &mut mask) };
    mask
}

/// Blocks exactly these signals in the calling thread (bits as in [`sigmask`]). `SIGKILL`,
/// `SIGSTOP` and the C library's own signals stay unblocked.
pub fn set_sigmask(mask: u64) {
    let mask = mask & !bits(RESERVED);
    // SAFETY: the kernel reads the 8 bytes of `mask`; no old mask is asked for.
    unsafe { rt_sigprocmask(&mask, std::ptr::null_mut()) };
}

/// Blocks all signals but this one in the calling thread, those of the C library included: for
/// moments.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // for the helper process
pub(crate) fn block_all_but(signal: i32) {
    restore_mask(!bits(&[signal]));
}

/// Blocks exactly these signals (bits as in [`sigmask`]).
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // for the helper process
pub(crate) fn restore_mask(mask: u64) {
    // SAFETY: as in `set_sigmask`.
    unsafe { rt_sigprocmask(&mask, std::ptr::null_mut()) };
}

/// # Safety
///
/// `set` and `old` are null or valid for the read, or write, of a `u64`.
unsafe fn rt_sigprocmask(set: *const u64, old: *mut u64) {
    if cfg!(miri) {
        // It has no signals.
        return;
    }
    // The C library's function works on a set of 1024 signals; the kernel's has 64.
    // SAFETY: the caller vouches for the pointers, the size is the kernel's.
    let status = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            set,
            old,
            size_of::<u64>(),
        )
    };
    debug_assert_eq!(status, 0, "rt_sigprocmask");
}

/// Whether this signal waits in the calling thread, which has it blocked.
pub(crate) fn is_pending(signal: i32) -> bool {
    let mut pending = 0u64;
    if !cfg!(miri) {
        // SAFETY: the kernel writes the 8 bytes it is told `pending` has.
        unsafe { libc::syscall(libc::SYS_rt_sigpending, &mut pending, size_of::<u64>()) };
    }
    pending & bits(&[signal]) != 0
}

/// Takes this signal away from the calling thread, which has it blocked, if it waits there.
pub(crate) fn take_pending(signal: i32) {
    if cfg!(miri) {
        // It has no signals.
        return;
    }
    let (set, at_once) = (bits(&[signal]), [0u64; 2]);
    let nothing = std::ptr::null::<libc::siginfo_t>();
    let size = size_of::<u64>();
    // Not the C library's function, at which a thread may be cancelled.
    // SAFETY: the kernel reads the 8 bytes of `set`, and a time of 0 in at most 16 bytes.
    unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, &set, nothing, &at_once, size) };
}

/// While it lives, its thread has all but the synchronous signals blocked: a new thread starts
/// with its creator's mask.
struct BlockedSignals {
    before: u64,
}

impl BlockedSignals {
    fn new() -> Self {
        let before = sigmask();
        // A synchronous signal that the creator has blocked is not blocked in its workers.
        set_sigmask(!bits(&SYNCHRONOUS));
        BlockedSignals { before }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        set_sigmask(self.before);
    }
}

pub(crate) fn bits(signals: &[i32]) -> u64 {
    signals
        .iter()
        .fold(0, |mask, signal| mask | 1 << (signal - 1))
}

/// What the kernel will keep of `name`, cut between characters. A NUL would end it, and
/// `std::thread::Builder` panics on one.
fn kernel_name(name: &str) -> String {
    let name: String = name.chars().filter(|&c| c != '\0').collect();
    let mut ends = (0..=NAME_MAX.min(name.len())).rev();
    let end = ends.find(|&end| name.is_char_boundary(end));
    name[..end.unwrap_or(0)].to_owned()
}
