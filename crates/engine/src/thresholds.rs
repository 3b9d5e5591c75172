//! Thresholds of reports, of this process and its children.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::{Nanos, hog, watchdog};

static CPU_INTENSIVE: AtomicU64 = AtomicU64::new(hog::THRESHOLD);
static WATCHDOG: AtomicU64 = AtomicU64::new(watchdog::THRESHOLD);

/// CPU time in one go that makes an item CPU-intensive; 0: none does.
pub(crate) fn cpu_intensive() -> Nanos {
    CPU_INTENSIVE.load(SeqCst)
}

pub(crate) fn set_cpu_intensive(threshold: Nanos) {
    CPU_INTENSIVE.store(threshold, SeqCst);
}

/// How long a pool or a limit may stand still until it is reported; 0: for ever.
pub(crate) fn watchdog() -> Nanos {
    WATCHDOG.load(SeqCst)
}

pub(crate) fn set_watchdog(threshold: Nanos) {
    WATCHDOG.store(threshold, SeqCst);
}
