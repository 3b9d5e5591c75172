//! What a signal does by default, for a command that follows it and then wants just that.

/// Does what SIGTSTP does by default, which nothing else does exactly: it stops us, but not where
/// no shell would ever continue us (an orphaned process group).
pub(crate) fn stop_ourselves() {
    let mut handler = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeroes is a valid sigaction: the default action, no flags, an empty mask. The
    // handler that is put back is the one that was there. raise(3) signals this thread. It
    // must not block SIGTSTP; then the stop is over when the call returns.
    unsafe {
        let default = std::mem::zeroed::<libc::sigaction>();
        libc::sigaction(libc::SIGTSTP, &default, handler.as_mut_ptr());
        libc::raise(libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, handler.as_ptr(), std::ptr::null_mut());
    }
}

/// Ends this process by `signal`, as if nobody had followed it. No signal of its own ends the init
/// of a PID namespace (a container's first process): it exits with what a shell says of such a
/// death.
pub(crate) fn die_of(signal: i32) -> ! {
    if std::process::id() != 1 {
        // Fails for a signal that does not exist.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    std::process::exit(128 + signal)
}
