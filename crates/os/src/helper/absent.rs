//! Where there is no helper: on other processors, and in miri.

use std::ffi::c_void;
use std::io;

use cmwq_policy::CpuMask;

/// What a pinned thread of a helper would run.
pub type Body = extern "C" fn(*mut c_void, usize) -> !;

/// There is none.
#[derive(Debug)]
pub enum Helper {}

#[allow(missing_docs, reason = "as in `parent.rs`")]
impl Helper {
    pub fn new(_bytes: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn memory(&self) -> *mut c_void {
        match *self {}
    }

    pub fn hold(&self) -> io::Result<()> {
        match *self {}
    }

    pub fn start(&self, _body: Body) -> io::Result<i32> {
        match *self {}
    }

    pub fn want(&self, _cpus: &CpuMask) {
        match *self {}
    }

    pub fn quit(&self) {
        match *self {}
    }

    pub fn denied(&self) -> Option<io::Error> {
        match *self {}
    }

    pub fn wait(&self, _pid: i32) {
        match *self {}
    }
}

/// Nothing is forked.
///
/// # Errors
///
/// Always.
pub fn leave_descriptors() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What canaries call, as threads.
pub mod inside {
    use crate::{clock, sched};

    /// Nanoseconds of CLOCK_MONOTONIC.
    pub fn now() -> u64 {
        clock::now().0
    }

    /// The CPU of the calling thread.
    pub fn current_cpu() -> usize {
        sched::current_cpu()
    }

    /// Lets others have the CPU.
    pub fn yield_now() {
        sched::yield_now();
    }

    /// Pins the calling thread to this CPU; whether that was possible.
    pub fn pin(cpu: usize) -> bool {
        sched::set_affinity_self(&[cpu].into_iter().collect()).is_ok()
    }
}
