//! Thresholds of reports. They may be changed at any time (kernel: parameters of the module
//! `workqueue`).

use std::time::Duration;

use cmwq_engine::Process;
use cmwq_engine::report::{self, Report};
use cmwq_policy::Nanos;

/// From now on reports go to `hook`, instead of one line each to the standard error output. Without
/// a hook, [`Report::CpuIntensive`] is not said at all: on other than per-CPU queues that is no
/// fault.
///
/// It is called on the thread that has found something, often one of cmwq's own, which does nothing
/// else meanwhile: it should not wait, and must not wait for items, which may be those that this
/// thread is to start.
///
/// A panic in it ends the call and nothing else. A hook is never dropped, also not if another one
/// replaces it.
///
/// ```
/// cmwq::set_report_hook(|report| eprintln!("my log: {report}"));
/// ```
pub fn set_report_hook(hook: impl Fn(&Report) + Send + Sync + 'static) {
    report::set_hook(hook);
}

/// An item that uses so much CPU time without sleeping is CPU-intensive: reported, and on a per-CPU
/// queue no longer in the way of others (kernel `cpu_intensive_thresh_us`). 10 ms unless set; zero
/// turns it off. Noticed while other items wait.
///
/// ```
/// cmwq::set_cpu_intensive_threshold(std::time::Duration::from_millis(50));
/// ```
pub fn set_cpu_intensive_threshold(threshold: Duration) {
    Process::set_cpu_intensive_threshold(nanos(threshold));
}

/// A pool whose next item stays the same for so long is reported (kernel `watchdog_thresh`), and so
/// is a queue of which items have waited for a slot for so long while none of those that have one
/// has ended. 30 s unless set; zero turns it off. A pool that has no worker and for which no thread
/// can be made is reported at once.
///
/// ```
/// cmwq::set_watchdog_threshold(std::time::Duration::from_secs(120));
/// ```
pub fn set_watchdog_threshold(threshold: Duration) {
    Process::set_watchdog_threshold(nanos(threshold));
}

/// What [`set_cpu_intensive_threshold`] has set, or the default; zero: it is off. All of the
/// process share it, so a library may have set it.
///
/// ```
/// cmwq::set_cpu_intensive_threshold(std::time::Duration::from_millis(50));
/// assert_eq!(cmwq::cpu_intensive_threshold().as_millis(), 50);
/// ```
pub fn cpu_intensive_threshold() -> Duration {
    Duration::from_nanos(Process::cpu_intensive_threshold())
}

/// What [`set_watchdog_threshold`] has set, or the default; zero: it is off. All of the process
/// share it, so a library may have set it.
///
/// ```
/// cmwq::set_watchdog_threshold(std::time::Duration::from_secs(120));
/// assert_eq!(cmwq::watchdog_threshold().as_secs(), 120);
/// ```
pub fn watchdog_threshold() -> Duration {
    Duration::from_nanos(Process::watchdog_threshold())
}

fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
