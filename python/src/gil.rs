//! Who waits for the interpreter's lock, the GIL.
//!
//! A thread that waits for it sleeps at a futex in the interpreter's memory. Which one, is found
//! out once, by having a thread wait for the lock that the caller holds. `/proc` then tells of any
//! thread of the process whether it waits there, also deep inside of a task.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::engine::{self, SleepsAt};

/// The futex of the lock, or 0.
static ADDRESS: AtomicU64 = AtomicU64::new(0);
/// A lock that is asked for is given back after so many nanoseconds. 0: there is no such lock.
static INTERVAL: AtomicU64 = AtomicU64::new(0);

/// The lock is a structure of two condition variables and their mutexes. Who waits for it sleeps at
/// several words of the first. Who was made to give it back sleeps at the second, until another
/// thread has it.
const SIZE: u64 = 192;
/// So often is looked, all in all about 5 ms.
const TRIES: u32 = 50;
const BETWEEN: Duration = Duration::from_micros(100);

/// How long, in nanoseconds, somebody may keep the lock that others ask for. `None`: threads of
/// this interpreter need no lock.
pub(crate) fn interval() -> Option<u64> {
    Some(INTERVAL.load(SeqCst)).filter(|&interval| interval > 0)
}

/// What a thread does.
pub(crate) enum Does {
    /// It waits for the lock.
    WaitForLock,
    /// It waits for something else.
    WaitElsewhere,
    /// It runs, or waits for a CPU.
    Run,
    /// The system does not tell.
    Unknown,
}

/// What the thread does.
pub(crate) fn what_does(tid: i32) -> Does {
    let address = ADDRESS.load(SeqCst);
    match engine::sleeps_at(tid) {
        _ if address == 0 => Does::Unknown,
        SleepsAt::Unknown => Does::Unknown,
        SleepsAt::Runs => Does::Run,
        SleepsAt::Futex(at) if at.abs_diff(address) < SIZE => Does::WaitForLock,
        SleepsAt::Futex(_) | SleepsAt::Elsewhere => Does::WaitElsewhere,
    }
}

/// The interpreter has a lock, which is given back after `interval` seconds.
#[pyfunction]
pub(crate) fn set_switch_interval(interval: f64) {
    let nanos = (interval * 1e9).clamp(1.0, 1e18) as u64;
    INTERVAL.store(nanos, SeqCst);
}

/// Finds out where those sleep who wait for the interpreter's lock; true if that is known.
#[pyfunction]
pub(crate) fn learn_gil(_py: Python<'_>) -> bool {
    if ADDRESS.load(SeqCst) == 0 {
        // The caller is attached, so the other thread waits until this has returned.
        ADDRESS.store(address().unwrap_or(0), SeqCst);
    }
    ADDRESS.load(SeqCst) != 0
}

fn address() -> Option<u64> {
    let (say, hear) = mpsc::channel();
    thread::Builder::new()
        .name("cmwq/gil".into())
        .spawn(move || {
            let said = say.send(engine::gettid());
            said.map(|()| Python::attach(|_| ())).ok()
        })
        .ok()?;
    let tid = hear.recv().ok()?;
    let mut last = SleepsAt::Unknown;
    for _ in 0..TRIES {
        thread::sleep(BETWEEN);
        let now = engine::sleeps_at(tid);
        match now {
            // Twice the same, so that it is no lock of the thread's beginning.
            SleepsAt::Futex(at) if now == last => return Some(at),
            _ => last = now,
        }
    }
    None
}
