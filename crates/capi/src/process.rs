//! The process: options, limits, counters, its end.

use std::ffi::{c_char, c_int};

use cmwq_engine::{Options, Process, Stats};
use cmwq_os::clock;

use crate::abi::{Out, Sized32};
use crate::attrs::{CCpus, scope};
use crate::errno::{self, EINVAL, Errno};
use crate::mode;
use crate::say::misuse;

/// As `struct cmwq_process_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CProcessOptions {
    size: u32,
    thread_limit: u32,
    stack_size: u64,
}

/// As `struct cmwq_shutdown_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CShutdown {
    size: u32,
    reserved: u32,
    completed: u64,
    queued: u64,
    running: u64,
    armed: u64,
}

/// As `struct cmwq_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CStats {
    size: u32,
    cpus: u32,
    workers: u64,
    started: u64,
    completed: u64,
    in_flight: u64,
    spawn_failures: u64,
    canary_reports: u64,
    ticks: u64,
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_install(options: Sized32<CProcessOptions>) -> c_int {
    let none = CProcessOptions {
        size: 0,
        thread_limit: 0,
        stack_size: 0,
    };
    let Some(given) = options.read(none) else {
        return misuse("cmwq_install", "the options are NULL or of no known size");
    };
    let mut options = Options::default();
    if given.thread_limit != 0 {
        let limit = given.thread_limit as usize;
        (options.thread_limit, options.thread_most) = (limit, limit);
    }
    if given.stack_size != 0 {
        options.stack_size = usize::try_from(given.stack_size).unwrap_or(usize::MAX);
    }
    errno::of(Process::install(options))
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_shutdown(timeout_ns: u64, report: Sized32<CShutdown>) -> c_int {
    let done = Process::shut_down(clock::now().after(timeout_ns));
    mode::waited();
    report.write(&CShutdown {
        size: 0,
        reserved: 0,
        completed: done.completed,
        queued: done.queued,
        running: done.running,
        armed: done.armed,
    });
    match done.is_complete() {
        true => 0,
        false => -libc::ETIMEDOUT,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_get_stats(stats: Sized32<CStats>) -> c_int {
    let now = Process::existing().map_or_else(Stats::default, Process::stats);
    let filled = CStats {
        size: 0,
        cpus: now.cpus as u32,
        workers: now.workers as u64,
        started: now.started,
        completed: now.completed,
        in_flight: now.in_flight,
        spawn_failures: now.spawn_failures,
        canary_reports: now.canary_reports,
        ticks: now.ticks,
    };
    match stats.write(&filled) {
        true => 0,
        false => misuse("cmwq_get_stats", "the counters are NULL or have no size"),
    }
}

/// Calls `act` with the process, or returns why there is none.
fn with(act: impl FnOnce(Process) -> c_int) -> c_int {
    Process::get().map_or_else(|error| error.errno(), act)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_cpus() -> c_int {
    with(|process| c_int::try_from(process.cpus()).unwrap_or(c_int::MAX))
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_unbound_cpus(cpus: Out<CCpus>) -> c_int {
    if cpus.is_null() {
        return misuse("cmwq_unbound_cpus", "the place for the CPUs is NULL");
    }
    with(|process| {
        cpus.set(CCpus::of(&process.unbound_cpus()));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_unbound_cpus(cpus: *const CCpus) -> c_int {
    // SAFETY: the program's, or NULL.
    let Some(cpus) = (unsafe { cpus.as_ref() }) else {
        return misuse("cmwq_set_unbound_cpus", "the CPUs are NULL");
    };
    with(|process| match process.set_unbound_cpus(cpus.mask()) {
        true => 0,
        false => EINVAL,
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_default_scope() -> c_int {
    with(|process| process.default_scope() as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_default_scope(number: c_int) -> c_int {
    let Ok(Some(scope)) = scope(number) else {
        return EINVAL;
    };
    with(|process| {
        process.set_default_scope(scope);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_freeze() -> c_int {
    with(|process| {
        process.freeze();
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_freezing() -> c_int {
    let freezing = Process::existing().is_some_and(Process::is_freezing);
    mode::waited();
    c_int::from(freezing)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_thaw() -> c_int {
    mode::thaws();
    with(|process| {
        process.thaw();
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_cpu_intensive_threshold(ns: u64) {
    Process::set_cpu_intensive_threshold(ns);
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_watchdog_threshold(ns: u64) {
    Process::set_watchdog_threshold(ns);
}
