//! What a worker measures of its own items, and when that is worth its cost.
//!
//! A clock read costs 25 ns, or 10 where the worker counts from an earlier one, the thread's switch
//! count 0.4 us, a yield 0.5 us. A read of its run delay would cost 10 us more with a descriptor
//! for each worker, and 16 us without: too dear for each item. Tiny items are not measured; the
//! tick's looks show what they did.

use crate::time::{MICROSECOND, MILLISECOND, Nanos, Time};

/// Items shorter than this are not asked whether they slept.
pub const SHORT_ITEM: Nanos = 50 * MICROSECOND;
/// An item that had no CPU for longer than this, without sleeping, has waited for one.
pub const WAIT_TOLERATED: Nanos = 100 * MICROSECOND;
/// A worker that asked whether others wait for its CPU does not ask again for this long.
pub const ASK_EVERY: Nanos = MILLISECOND;
/// Nor for this many times what asking took: beside a CPU hog, a yield gives away a time slice.
const ASK_PART: u64 = 8;

/// Workers that one scan looks at, at most.
pub const MAX_SCAN: usize = 16;

/// What a worker can say of the item that it has just ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemReport {
    /// How long it took, if the worker has read the clock right before and after it. Else it is
    /// taken to have taken the time between two calls of the core, waits at the pool's lock
    /// included.
    pub ran: Option<Nanos>,
    /// Whether its voluntary switches grew, if they were sampled.
    pub slept: Option<bool>,
    /// How long it had no CPU, if it was sampled and did not sleep.
    pub waited: Option<Nanos>,
    /// Nothing waited when it had ended, and the worker has [lingered](crate::linger) since.
    pub lingered: bool,
    /// The item was a process tree: the worker's own switches and delays say nothing of it.
    pub foreign: bool,
}

/// A way to an item that takes longer than this is no part of the item.
const LONG_WAY: Nanos = MICROSECOND / 4;
/// An item shorter than this is brief: one worker serves such items best.
pub(crate) const BRIEF: Nanos = MICROSECOND;

/// When a worker's next item begins: when it has asked for it, or when it has it. To ask takes a
/// tenth of a microsecond, which a clock read for each item is not worth; but more where others are
/// at the pool's lock, whose lines come from far. An item would look longer for that, and a second
/// worker worth its while, which brings others to the lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginnings {
    reads: bool,
    /// Of the item that it is at.
    way: Option<Nanos>,
}

impl Beginnings {
    /// Whether the worker reads the clock when it has the next item. `asked`: it has asked the pool
    /// for that. `later`: and has done more than go on.
    #[inline]
    pub fn reads(&self, asked: bool, later: bool) -> bool {
        later || (asked && self.reads)
    }

    /// It begins the item. `way`: how long it took to get it, if that was read.
    #[inline]
    pub fn begins(&mut self, way: Option<Nanos>) {
        self.way = way;
    }

    /// The item has ended, and took so long.
    #[inline]
    pub fn ended(&mut self, ran: Nanos) {
        self.reads = self.way.map_or(ran >= BRIEF, |way| way >= LONG_WAY);
    }
}

/// A worker begins its next item after an idle spell of this length, or several of them, and had
/// read what its thread has used when that began: whether it reads that again. Not if it was woken
/// while it stayed awake, soon: it has not slept, and others had its CPU for less than what is
/// tolerated.
pub fn begins_anew(stayed: bool, idle: Nanos) -> bool {
    !stayed || idle > WAIT_TOLERATED / 2
}

/// How long a worker does not ask again.
pub fn pause_after_asking(took: Nanos) -> Nanos {
    ASK_EVERY.max(took.saturating_mul(ASK_PART))
}

/// Whether a worker should ask if an item that took `ran` slept.
#[inline]
pub fn ask_switches(ran: Nanos) -> bool {
    ran >= SHORT_ITEM
}

/// Whether a worker that ended this item should ask, by yielding once, if others wait for its CPU.
/// Only matters while too many run. One that had a CPU all the time has no reason to ask; of one
/// that slept nobody knows how long it waited after that.
pub fn ask_for_others(report: &ItemReport, now: Time, not_before: Time) -> bool {
    let had_a_cpu = report.slept == Some(false) && report.waited <= Some(WAIT_TOLERATED);
    now >= not_before && !had_a_cpu
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
    fn the_way_to_an_item_is_read_while_it_is_long_or_nobody_knows() {
        let mut beginnings = Beginnings::default();
        let mut reads = |way, ran| {
            beginnings.begins(way);
            beginnings.ended(ran);
            assert!(beginnings.reads(true, true) && !beginnings.reads(false, false));
            beginnings.reads(true, false)
        };
        assert!(!reads(None, BRIEF - 1));
        assert!(reads(None, BRIEF), "how much of it was the way?");
        assert!(reads(Some(LONG_WAY), 10), "most of it");
        assert!(!reads(Some(LONG_WAY - 1), 10 * BRIEF), "nothing");
    }

    #[test]
    fn only_who_stayed_for_a_moment_goes_on_with_what_it_has_read() {
        assert!(!begins_anew(true, MICROSECOND));
        assert!(begins_anew(true, WAIT_TOLERATED));
        assert!(begins_anew(false, MICROSECOND));
    }

    #[test]
    fn who_had_a_cpu_all_the_time_does_not_ask() {
        let report = |slept, waited| ItemReport {
            slept,
            waited,
            ..ItemReport::default()
        };
        let asks = |report| ask_for_others(&report, Time(5), Time(5));
        assert!(!asks(report(Some(false), Some(WAIT_TOLERATED))));
        assert!(asks(report(Some(false), Some(WAIT_TOLERATED + 1))));
        assert!(asks(report(Some(true), None)));
        assert!(asks(report(None, None)));
        assert!(!ask_for_others(&report(Some(true), None), Time(5), Time(6)));
    }

    #[test]
    fn asking_takes_a_small_part_of_the_time() {
        assert_eq!(pause_after_asking(MICROSECOND), MILLISECOND);
        assert_eq!(pause_after_asking(4 * MILLISECOND), 32 * MILLISECOND);
    }
}
