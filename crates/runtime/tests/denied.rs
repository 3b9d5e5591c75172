//! Systems that deny what cmwq reads and writes beside its work: the program hears nothing of it.

mod common;

use std::io;

use common::alone::alone;
use common::{queue, seccomp};

fn items_run() {
    let queue = queue("q");
    let handles: Vec<_> = (0..100).map(|n| queue.spawn(move || n)).collect();
    let sum: i32 = handles.into_iter().map(|item| item.join().unwrap()).sum();
    assert_eq!(sum, 4950);
}

/// No file of this process may grow from now on.
fn allow_no_file_size() {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the limit is valid for the write, then for the read.
    let set = unsafe {
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit);
        limit.rlim_cur = 0;
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit)
    };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

#[test]
fn where_no_file_may_grow_items_run() {
    alone("where_no_file_may_grow_items_run", || {
        allow_no_file_size();
        items_run();
    });
}

#[test]
fn what_is_said_to_a_file_that_may_not_grow_ends_nobody() {
    alone(
        "what_is_said_to_a_file_that_may_not_grow_ends_nobody",
        || {
            allow_no_file_size();
            // SAFETY: a new file takes the place of the standard error output.
            let there = unsafe {
                let file = libc::memfd_create(c"words".as_ptr(), 0);
                libc::dup2(file, libc::STDERR_FILENO)
            };
            assert_eq!(there, libc::STDERR_FILENO);
            cmwq_os::stderr::say("cmwq: nobody reads it\n");
        },
    );
}

#[test]
fn where_limits_are_not_told_items_run() {
    alone("where_limits_are_not_told_items_run", || {
        seccomp::deny(&[libc::SYS_prlimit64], libc::EPERM);
        let limits = cmwq_os::limits::read();
        assert!(limits.open_files < 1024 && limits.open_files_hard == limits.open_files);
        items_run();
    });
}
