//! Thresholds of reports. They may be changed at any time (kernel: parameters of the module
//! `workqueue`).

use std::time::Duration;

use cmwq_policy::Nanos;

use crate::{engine, thresholds};

/// An item that uses so much CPU time without sleeping is CPU-intensive: reported, and on a per-CPU
/// queue no longer in the way of others (kernel `cpu_intensive_thresh_us`). 10 ms unless set; zero
/// turns it off. Noticed while other items wait.
///
/// ```
/// cmwq::set_cpu_intensive_threshold(std::time::Duration::from_millis(50));
/// ```
pub fn set_cpu_intensive_threshold(threshold: Duration) {
    thresholds::set_cpu_intensive(nanos(threshold));
}

/// A pool whose next item stays the same for so long is reported (kernel `watchdog_thresh`), and so
/// is a queue of which items have waited for a slot for so long while none of those that have one
/// has ended. 30 s unless set; zero turns it off.
///
/// ```
/// cmwq::set_watchdog_threshold(std::time::Duration::from_secs(120));
/// ```
pub fn set_watchdog_threshold(threshold: Duration) {
    thresholds::set_watchdog(nanos(threshold));
    // What stands still already may be due by the new one.
    if let Some(engine) = engine::existing() {
        engine.tick().unpark();
    }
}

fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
