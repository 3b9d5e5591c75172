//! What miri's machine lacks of Linux, so that the engine can be run in it: each answers as a
//! small, unprivileged system would. Compiled with `cfg(miri)` only.
//!
//! miri looks here for C functions that it does not know itself.

use std::ffi::{c_int, c_uint, c_void};

/// There is no fork in it, so no page has to be wiped.
#[unsafe(no_mangle)]
extern "C" fn posix_madvise(_addr: *mut c_void, _len: usize, _advice: c_int) -> c_int {
    0
}

/// Everything is at nice 0.
#[unsafe(no_mangle)]
extern "C" fn getpriority(_which: c_uint, _who: c_uint) -> c_int {
    0
}

/// See `getpriority`.
#[unsafe(no_mangle)]
extern "C" fn setpriority(_which: c_uint, _who: c_uint, _nice: c_int) -> c_int {
    0
}

/// Nobody has used anything, or ever slept.
#[unsafe(no_mangle)]
extern "C" fn getrusage(_who: c_int, _usage: *mut libc::rusage) -> c_int {
    0
}

/// Nobody is told which CPU runs it.
#[unsafe(no_mangle)]
extern "C" fn sched_getcpu() -> c_int {
    0
}

/// There are few files.
///
/// # Safety
/// `limit` is valid for the write.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrlimit64(_resource: c_uint, limit: *mut libc::rlimit64) -> c_int {
    // SAFETY: the caller vouches for it.
    unsafe {
        limit.write(libc::rlimit64 {
            rlim_cur: 1024,
            rlim_max: 1024,
        })
    };
    0
}

/// No path is a link.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn readlinkat(
    _dir: c_int,
    _path: *const libc::c_char,
    _to: *mut libc::c_char,
    _room: usize,
) -> isize {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}
