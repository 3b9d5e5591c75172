//! Thresholds of reports. They may be changed at any time (kernel: parameters of the module `workqueue`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq_policy::{Nanos, hog, watchdog};

use crate::engine;

static CPU_INTENSIVE: AtomicU64 = AtomicU64::new(hog::THRESHOLD);
static WATCHDOG: AtomicU64 = AtomicU64::new(watchdog::THRESHOLD);

/// An item that uses so much CPU time without sleeping is CPU-intensive: reported, and on a per-CPU queue no
/// longer in the way of others (kernel `cpu_intensive_thresh_us`). 10 ms unless set; zero turns it off.
/// Noticed while other items wait.
///
/// ```
/// cmwq::set_cpu_intensive_threshold(std::time::Duration::from_millis(50));
/// ```
pub fn set_cpu_intensive_threshold(threshold: Duration) {
    CPU_INTENSIVE.store(nanos(threshold), SeqCst);
}

/// A pool whose next item stays the same for so long is reported (kernel `watchdog_thresh`), and so is a
/// queue of which items have waited for a slot for so long while none of those that have one has ended.
/// 30 s unless set; zero turns it off.
///
/// ```
/// cmwq::set_watchdog_threshold(std::time::Duration::from_secs(120));
/// ```
pub fn set_watchdog_threshold(threshold: Duration) {
    WATCHDOG.store(nanos(threshold), SeqCst);
    // What stands still already may be due by the new one.
    if let Some(engine) = engine::existing() {
        engine.tick().unpark();
    }
}

pub(crate) fn cpu_intensive() -> Nanos {
    CPU_INTENSIVE.load(SeqCst)
}

pub(crate) fn watchdog() -> Nanos {
    WATCHDOG.load(SeqCst)
}

fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
