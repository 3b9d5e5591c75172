//! System calls that fail from now on, as in a sandbox.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JUMP, BPF_K, BPF_LD, BPF_RET, BPF_STMT, BPF_W,
    PR_SET_NO_NEW_PRIVS, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_SET_MODE_FILTER, sock_filter, sock_fprog,
};

/// These calls fail with `errno`, in all threads and for the rest of the process.
pub(crate) fn deny(calls: &[i64], errno: i32) {
    // SAFETY: the constructors only fill in a struct. The number of the call is the first word of
    // what the filter is shown.
    let mut filter = vec![unsafe { BPF_STMT((BPF_LD | BPF_W | BPF_ABS) as u16, 0) }];
    for &call in calls {
        filter.extend(denied(call as u32, errno as u32));
    }
    // SAFETY: as above.
    filter.push(unsafe { BPF_STMT((BPF_RET | BPF_K) as u16, SECCOMP_RET_ALLOW) });
    install(&mut filter);
}

fn denied(call: u32, errno: u32) -> [sock_filter; 2] {
    // SAFETY: as above.
    unsafe {
        [
            BPF_JUMP((BPF_JMP | BPF_JEQ | BPF_K) as u16, call, 0, 1),
            BPF_STMT((BPF_RET | BPF_K) as u16, SECCOMP_RET_ERRNO | errno),
        ]
    }
}

fn install(filter: &mut [sock_filter]) {
    let program = sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: changes a flag of this process.
    let status = unsafe { libc::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(
        status,
        0,
        "no_new_privs: {}",
        std::io::Error::last_os_error()
    );
    // SAFETY: the kernel copies the program, which lives until the call returns.
    let status = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_TSYNC,
            &program,
        )
    };
    assert_eq!(status, 0, "seccomp: {}", std::io::Error::last_os_error());
}

/// From now on no thread can be made.
pub(crate) fn deny_threads() {
    deny(&[libc::SYS_clone, libc::SYS_clone3], libc::EAGAIN);
}
