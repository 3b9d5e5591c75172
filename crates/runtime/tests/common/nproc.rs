//! A process for which no thread can be made.

/// The process becomes the user `somebody`, whom the limit of threads binds: it does not bind root.
/// False if that cannot be. The limit counts all threads of a user: each test file has its own.
pub(crate) fn become_bound(somebody: libc::uid_t) -> bool {
    // SAFETY: changes the user of this process's threads.
    unsafe { libc::geteuid() != 0 || libc::setuid(somebody) == 0 }
}

/// How many threads the user may have from now on; `None`: as many as ever.
pub(crate) fn limit_threads(most: Option<libc::rlim_t>) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the struct.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    limit.rlim_cur = most.unwrap_or(limit.rlim_max);
    // SAFETY: the kernel reads the struct.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) };
    let error = std::io::Error::last_os_error();
    assert_eq!((got, set), (0, 0), "rlimit: {error}");
}
