//! The end of a program that wants its items done.

use std::time::Duration;

use cmwq_engine::{Process, ShutdownReport};
use cmwq_os::clock;

/// Refuses further items, except from items that are running, and waits until everything queued in
/// the process has ended, at most for `deadline`. What is left then goes on as long as the process
/// does.
///
/// Called from an item, it does not wait for that item, nor for items that wait for it, whatever
/// they wait by; two items that both call it do not wait for each other. Nor does it wait for what
/// begins only when the calling item has ended, as behind it in an ordered queue: the report counts
/// that as queued.
///
/// Before the first use of a queue it begins that use, and so refuses what comes later. If the
/// system has no thread for it, it refuses nothing.
///
/// Returning from `main` does not run what is queued; this does.
///
/// ```
/// drop(cmwq::system().spawn(|| println!("written before the program ends")));
/// let report = cmwq::shutdown(std::time::Duration::from_secs(10));
/// assert!(report.is_complete());
/// ```
pub fn shutdown(deadline: Duration) -> ShutdownReport {
    let nanos = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
    Process::shut_down(clock::now().after(nanos))
}
