//! What this process was given when it started, seen before Rust's runtime changes it.
//!
//! The runtime opens `/dev/null` in place of closed standard streams and ignores SIGPIPE, both
//! before `main`. `cmwq run` must know: writing jobs' output into that `/dev/null` would lose it
//! silently, and jobs get the SIGPIPE disposition that we were given.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Bit N: file descriptor N (0, 1, 2) was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);

// SAFETY: the C library calls every pointer of this section once, before `main`, on the only
// thread; `capture` has that signature and uses nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static CAPTURE: extern "C" fn() = capture;

extern "C" fn capture() {
    let closed = (0..3)
        .filter(|&fd| is_closed(fd))
        .fold(0, |bits, fd| bits | 1 << fd);
    // Relaxed: there is one thread, and those started later see what happened before.
    CLOSED.store(closed, Ordering::Relaxed);
    // Relaxed: likewise.
    SIGPIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

fn is_closed(fd: i32) -> bool {
    // SAFETY: F_GETFD takes no pointer and changes nothing; a closed descriptor is an answer.
    unsafe { libc::fcntl(fd, libc::F_GETFD) == -1 }
}

/// Whether this process ignores `signal` at this moment. False for a number that is no signal.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; the old one is written to `action`, where all zeroes
    // is a valid value should the call fail.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Puts back the default for SIGCHLD where it was inherited as ignored: the kernel would throw
/// away the exit statuses of our children.
pub(crate) fn keep_exit_statuses() {
    if is_ignored(libc::SIGCHLD) {
        // SAFETY: SIG_DFL is no code of ours that could run in a signal's context.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// Whether standard input was closed when this process started.
pub(crate) fn stdin_was_closed() -> bool {
    was_closed(0)
}

/// Whether standard output was closed when this process started.
pub(crate) fn stdout_was_closed() -> bool {
    was_closed(1)
}

fn was_closed(fd: u8) -> bool {
    // Relaxed: written once before `main`.
    CLOSED.load(Ordering::Relaxed) & (1 << fd) != 0
}

/// Whether SIGPIPE was ignored when this process started.
pub(crate) fn sigpipe_was_ignored() -> bool {
    // Relaxed: written once before `main`.
    SIGPIPE_IGNORED.load(Ordering::Relaxed)
}
