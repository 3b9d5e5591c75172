//! Signals that are missing: no `SCHED_IDLE`, no `/proc`.

use std::io;
use std::ptr;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JUMP, BPF_K, BPF_LD, BPF_RET, BPF_STMT, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, sock_filter, sock_fprog,
};

use crate::plan::Plan;

/// Before the first thread. What the system does not let us take away stays.
pub(crate) fn prepare(plan: &Plan) {
    if plan.no_proc {
        drop(hide_proc());
    }
    if plan.no_idle {
        drop(deny_idle());
    }
}

/// Puts an empty file system over `/proc`, for this process; only root can.
fn hide_proc() -> io::Result<()> {
    // SAFETY: changes what this process sees of file systems.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let none = ptr::null();
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the strings live; nobody else sees these mounts.
    done(unsafe { libc::mount(c"none".as_ptr(), c"/".as_ptr(), none, flags, none.cast()) })?;
    let kind = c"tmpfs".as_ptr();
    // SAFETY: as above.
    done(unsafe { libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), kind, 0, none.cast()) })
}

/// No policy can be set from now on.
fn deny_idle() -> io::Result<()> {
    let calls = [libc::SYS_sched_setscheduler, libc::SYS_sched_setattr];
    // SAFETY: the constructors only fill in a struct. The number of the call is the first word of
    // what the filter is shown.
    let mut filter = vec![unsafe { BPF_STMT((BPF_LD | BPF_W | BPF_ABS) as u16, 0) }];
    for call in calls {
        filter.extend(denied(call as u32));
    }
    // SAFETY: as above.
    filter.push(unsafe { BPF_STMT((BPF_RET | BPF_K) as u16, SECCOMP_RET_ALLOW) });
    let mut program = sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: changes a flag of this process.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel copies the program, which lives until the call returns.
    done(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, ptr::from_mut(&mut program)) })
}

fn denied(call: u32) -> [sock_filter; 2] {
    let errno = SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // SAFETY: as above.
    unsafe {
        [
            BPF_JUMP((BPF_JMP | BPF_JEQ | BPF_K) as u16, call, 0, 1),
            BPF_STMT((BPF_RET | BPF_K) as u16, errno),
        ]
    }
}

fn done(status: i32) -> io::Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
