//! Forked children.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seconds after which a child that hangs is killed.
const PATIENCE: u32 = 60;

/// What a child exits with when its body panicked.
const PANICKED: i32 = 101;

/// Forks; the child runs `body` and exits with what it returns. The child's id.
pub(crate) fn fork(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs the body, which uses the C library's allocator (fork-safe in glibc
    // and musl) and no lock that another thread may have held, and then only _exit.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: sets a timer of the child's own.
            unsafe { libc::alarm(PATIENCE) };
            let status = catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED);
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        pid => {
            assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
            pid
        }
    }
}

/// Waits for a child: its exit status, or minus the signal that killed it.
pub(crate) fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: reaps our child and writes its status.
    let reaped = unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(reaped, pid, "waitpid: {}", std::io::Error::last_os_error());
    match libc::WIFEXITED(status) {
        true => libc::WEXITSTATUS(status),
        false => -libc::WTERMSIG(status),
    }
}

/// Forks a child that runs `body`, which panics on failure, and waits for it.
pub(crate) fn in_child(body: impl FnOnce()) {
    let child = fork(|| {
        body();
        0
    });
    assert_eq!(
        wait(child),
        0,
        "the child's exit status, or minus its signal"
    );
}
