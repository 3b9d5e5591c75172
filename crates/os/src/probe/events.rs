//! Kernel facilities that would report every switch: later rungs, tried but not used.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::{Support, denied};

/// `struct perf_event_attr` up to its version 5, the first that has all that is used here.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 8],
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_DUMMY: u64 = 9;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const CONTEXT_SWITCH: u64 = 1 << 26;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;

/// Opens, and closes, switch records of the calling thread.
pub(super) fn perf_switch() -> Support {
    let attr = PerfEventAttr {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfEventAttr>() as u32,
        config: PERF_COUNT_SW_DUMMY,
        flags: EXCLUDE_KERNEL | CONTEXT_SWITCH,
        ..PerfEventAttr::default()
    };
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    // SAFETY: the kernel reads `size` bytes of `attr`.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attr,
            this_thread,
            any_cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    support("perf_event_open", fd)
}

/// The part of `union bpf_attr` that loading a program needs.
#[repr(C)]
#[derive(Default)]
struct BpfProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_TRACEPOINT: u32 = 5;

/// `r0 = 0; exit`, eight bytes each.
const RETURN_0: [u8; 16] = [0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

/// Loads, and drops, a program that does nothing.
pub(super) fn bpf() -> Support {
    let attr = BpfProgLoad {
        prog_type: BPF_PROG_TYPE_TRACEPOINT,
        insn_cnt: 2,
        insns: RETURN_0.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
        ..BpfProgLoad::default()
    };
    // SAFETY: the kernel reads `attr` and the two constants it points to, which live for ever.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, &attr, size_of_val(&attr)) };
    support("bpf(BPF_PROG_LOAD)", fd)
}

/// Reads what a call that makes a descriptor returned, and closes the descriptor.
fn support(call: &str, fd: libc::c_long) -> Support {
    if fd < 0 {
        return denied(call, &io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor for us.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Support::Works
}
