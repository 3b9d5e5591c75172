//! What a worker measures of its own items, and when it is worth it.
//!
//! A clock read costs 25 ns, the thread's switch count 0.4 us, its run delay 1.2 us. Tiny items are
//! not measured; what they did shows in the tick's scans.

use crate::time::{MICROSECOND, MILLISECOND, Nanos, Time};

/// Items shorter than this are not asked whether they slept.
pub const SHORT_ITEM: Nanos = 50 * MICROSECOND;
/// Run delay is read after items longer than this, or when it was not read for [`DELAY_EVERY`].
pub const DELAY_ITEM: Nanos = 100 * MICROSECOND;
/// See [`DELAY_ITEM`].
pub const DELAY_EVERY: Nanos = MILLISECOND;

/// Whether a worker should ask if an item that took `ran` slept.
pub fn ask_switches(ran: Nanos) -> bool {
    ran >= SHORT_ITEM
}

/// Whether a worker should read its run delay after an item that took `ran`: only while too many
/// workers run, for only then does the answer matter.
pub fn ask_run_delay(over: bool, ran: Nanos, now: Time, last: Time) -> bool {
    over && (ran >= DELAY_ITEM || now.since(last) >= DELAY_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_items_are_not_measured_and_short_ones_now_and_then() {
        assert!(!ask_switches(MICROSECOND));
        assert!(ask_switches(MILLISECOND));
        let (then, soon, later) = (Time(0), Time(10), Time(2 * MILLISECOND));
        assert!(!ask_run_delay(true, 10, soon, then));
        assert!(ask_run_delay(true, 10, later, then));
        assert!(ask_run_delay(true, MILLISECOND, soon, then));
        assert!(!ask_run_delay(false, MILLISECOND, later, then));
    }
}
