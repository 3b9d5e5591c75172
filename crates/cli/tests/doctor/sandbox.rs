//! A process in which SCHED_IDLE is denied, as some container runtimes do it.

use std::io;
use std::mem::offset_of;
use std::os::unix::process::CommandExt;
use std::process::Command;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

// prctl is variadic and takes longs.
const ZERO: libc::c_ulong = 0;
const ONE: libc::c_ulong = 1;
const MODE: libc::c_ulong = libc::SECCOMP_MODE_FILTER as libc::c_ulong;

const fn statement(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

const fn jump_if(k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: JUMP_IF_EQUAL,
        jt,
        jf,
        k,
    }
}

/// Where the low half of the policy argument is: x86-64 and aarch64 are little endian.
const POLICY: u32 = (offset_of!(libc::seccomp_data, args) + size_of::<u64>()) as u32;

/// EPERM for sched_setscheduler(_, SCHED_IDLE, _) and for sched_setattr, whose policy lies in
/// memory that a filter cannot read. Only our own calls meet it, so the architecture is known.
static FILTER: [libc::sock_filter; 7] = [
    statement(LOAD, offset_of!(libc::seccomp_data, nr) as u32),
    jump_if(libc::SYS_sched_setattr as u32, 4, 0),
    jump_if(libc::SYS_sched_setscheduler as u32, 0, 2),
    statement(LOAD, POLICY),
    jump_if(libc::SCHED_IDLE as u32, 1, 0),
    statement(RETURN, libc::SECCOMP_RET_ALLOW),
    statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
];

/// `command`, in whose process and descendants SCHED_IDLE will be denied.
pub(crate) fn without_sched_idle(mut command: Command) -> Command {
    // SAFETY: `install_filter` only makes system calls and allocates nothing.
    unsafe { command.pre_exec(install_filter) };
    command
}

fn install_filter() -> io::Result<()> {
    let program = libc::sock_fprog {
        len: FILTER.len() as u16,
        // The kernel only reads it.
        filter: FILTER.as_ptr().cast_mut(),
    };
    // SAFETY: `program` and the filter it points to live longer than the calls; the other
    // arguments are numbers.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ONE, ZERO, ZERO, ZERO) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, MODE, &raw const program) != 0
    };
    if failed {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
