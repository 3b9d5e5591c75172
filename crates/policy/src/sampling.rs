//! What a worker measures of its own items, and when it is worth it.
//!
//! A clock read costs 25 ns, the thread's switch count 0.4 us, a yield 0.5 us. (Its run delay would
//! be another 10 us with a descriptor for each worker, or 16 us without: too dear for each item.)
//! Tiny items are not measured; what they did shows in the tick's scans.

use crate::pool::ItemReport;
use crate::time::{MICROSECOND, MILLISECOND, Nanos, Time};

/// Items shorter than this are not asked whether they slept.
pub const SHORT_ITEM: Nanos = 50 * MICROSECOND;
/// An item that had no CPU for longer than this, without sleeping, has waited for one.
pub const WAIT_TOLERATED: Nanos = 100 * MICROSECOND;
/// After short items a worker asks whether others wait for its CPU when it has not for this long.
pub const ASK_EVERY: Nanos = MILLISECOND;

/// Whether a worker should ask if an item that took `ran` slept.
pub fn ask_switches(ran: Nanos) -> bool {
    ran >= SHORT_ITEM
}

/// Whether a worker that ended this item should ask, by yielding once, if others wait for its CPU.
/// Only matters while too many run. One that had a CPU all the time has no reason to ask; of one that
/// slept nobody knows how long it waited after that.
pub fn ask_for_others(report: &ItemReport, now: Time, last: Time) -> bool {
    match (report.slept, report.waited) {
        (Some(false), Some(waited)) => waited > WAIT_TOLERATED,
        (Some(true), _) => true,
        _ => now.since(last) >= ASK_EVERY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_items_are_not_measured() {
        assert!(!ask_switches(MICROSECOND));
        assert!(ask_switches(MILLISECOND));
    }

    #[test]
    fn who_had_a_cpu_all_the_time_does_not_ask() {
        let (then, soon, later) = (Time(0), Time(10), Time(2 * MILLISECOND));
        let report = |slept, waited| ItemReport {
            slept,
            waited,
            ..ItemReport::default()
        };
        assert!(!ask_for_others(
            &report(Some(false), Some(WAIT_TOLERATED)),
            later,
            then
        ));
        assert!(ask_for_others(
            &report(Some(false), Some(WAIT_TOLERATED + 1)),
            soon,
            then
        ));
        assert!(ask_for_others(&report(Some(true), None), soon, then));
        assert!(!ask_for_others(&report(None, None), soon, then));
        assert!(ask_for_others(&report(None, None), later, then));
    }
}
