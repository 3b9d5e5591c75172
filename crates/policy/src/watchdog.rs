//! The watchdog of one pool: does its worklist move?
//!
//! The kernel's meaning (`wq_watchdog_timer_fn`): progress is that *the first item changes*. A
//! queue that is slow but moves is no stall, however long it is. The kernel repeats itself every
//! 30 s. Here a stall is reported once, until the next progress.

use crate::time::{Nanos, SECOND, Time};

/// A worklist that stands still for this long is stalled, unless changed: the kernel's
/// `watchdog_thresh`.
pub const THRESHOLD: Nanos = 30 * SECOND;
/// A thread that wakes this much too late was away, and so was everybody else: the machine was
/// suspended, or the process was stopped, frozen or starved.
pub const GAP: Nanos = SECOND;

/// Whether `now` is long after `due`, when somebody was to wake. All that measures time then begins
/// anew, and nothing is reported.
pub fn is_gap(due: Time, now: Time) -> bool {
    now.since(due) > GAP
}

/// The eye on one worklist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watchdog {
    /// Since when its first item has been the first.
    progress: Time,
    /// When it was last found to stand still only because others are slow.
    slow: Time,
    reported: bool,
}

impl Watchdog {
    /// The worklist is empty, or has just got its first item.
    pub fn new(now: Time) -> Self {
        Watchdog {
            progress: now,
            slow: now,
            reported: false,
        }
    }

    /// A worker has taken the first item, or the worklist was empty and got one.
    pub fn progressed(&mut self, now: Time) {
        *self = Watchdog::new(now);
    }

    /// For how long the worklist has stood still, once that is `threshold` and nobody has said so
    /// yet. A `threshold` of 0 turns the watchdog off.
    pub fn stalled(
        &mut self,
        now: Time,
        threshold: Nanos,
        worklist_nonempty: bool,
    ) -> Option<Nanos> {
        let stood = self.stands(now, threshold).filter(|_| worklist_nonempty);
        self.reported |= stood.is_some();
        stood
    }

    /// For how long what it watches has stood still, once that is `threshold` and nobody has
    /// [said](Self::say) so.
    pub fn stands(&self, now: Time, threshold: Nanos) -> Option<Nanos> {
        (now >= self.due(threshold)).then(|| now.since(self.progress))
    }

    /// It stands still because what it waits for is slow. The question is asked again after another
    /// threshold.
    pub fn only_slow(&mut self, now: Time) {
        self.slow = now;
    }

    /// When to ask again if the worklist does not move; the end of time if no answer would be new.
    pub fn due(&self, threshold: Nanos) -> Time {
        match self.reported || threshold == 0 {
            true => Time(Nanos::MAX),
            false => self.progress.max(self.slow).after(threshold),
        }
    }

    /// Whether it stands still and that was said.
    pub fn was_said(&self) -> bool {
        self.reported
    }

    /// Since when it stands still, if that was said.
    pub fn said(&self) -> Option<Time> {
        self.reported.then_some(self.progress)
    }

    /// Somebody else has said it.
    pub fn say(&mut self) {
        self.reported = true;
    }

    /// Adopts a later progress time, `moved`, seen in another pool. A stall reported there and
    /// standing since `said` is not repeated, unless there was progress after it began.
    pub fn moved_elsewhere(&mut self, moved: Time, said: Option<Time>) {
        if moved > self.progress {
            *self = Watchdog::new(moved);
        }
        self.reported |= said.is_some_and(|since| since >= moved);
    }

    /// The clock has gone on without us ([`is_gap`]): from here on it counts again. A stall that
    /// was reported stays so.
    pub fn rebase(&mut self, now: Time) {
        self.progress = now;
    }
}

/// When somebody looks at items that wait for slots. Nobody does while there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    at: Option<Time>,
    threshold: Nanos,
}

impl Looks {
    /// Whether it is time to look. The first look comes at once, and so does one after the
    /// threshold has changed.
    pub fn is_due(&mut self, now: Time, threshold: Nanos) -> bool {
        let before = core::mem::replace(&mut self.threshold, threshold);
        let at = self.at.filter(|_| before == threshold);
        threshold > 0 && at.is_none_or(|at| at <= now)
    }

    /// Somebody has looked, and there may be something to say at `due`: the next look comes then.
    /// It comes no sooner than an eighth of the threshold, however many queues there are. It comes
    /// no later than the threshold: what was said may have moved.
    pub fn looked(&mut self, now: Time, due: Time) {
        let soonest = now.after(self.threshold / 8);
        self.at = Some(due.clamp(soonest, now.after(self.threshold)));
    }

    /// Nobody waits any more.
    pub fn nobody_waits(&mut self) {
        self.at = None;
    }

    /// When the next look is due, if one is.
    pub fn next(&self) -> Option<Time> {
        self.at.filter(|_| self.threshold > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(n: u64) -> Time {
        Time(n * SECOND)
    }

    #[test]
    fn a_stall_is_reported_once_until_there_is_progress() {
        let mut dog = Watchdog::new(s(0));
        dog.progressed(s(10));
        assert_eq!(dog.due(THRESHOLD), s(40));
        assert_eq!(dog.stalled(s(39), THRESHOLD, true), None);
        assert_eq!(dog.stalled(s(40), THRESHOLD, true), Some(30 * SECOND));
        assert_eq!(dog.stalled(s(80), THRESHOLD, true), None);
        assert_eq!(dog.due(THRESHOLD), Time(Nanos::MAX));
        dog.progressed(s(90));
        assert_eq!(dog.stalled(s(119), THRESHOLD, true), None);
        assert_eq!(dog.stalled(s(125), THRESHOLD, true), Some(35 * SECOND));
    }

    #[test]
    fn slow_but_moving_is_no_stall() {
        let mut dog = Watchdog::new(s(0));
        for now in (29..600).step_by(29) {
            assert_eq!(dog.stalled(s(now), THRESHOLD, true), None);
            dog.progressed(s(now));
        }
    }

    #[test]
    fn an_empty_worklist_is_never_stalled() {
        let mut dog = Watchdog::new(s(0));
        assert_eq!(dog.stalled(s(100), THRESHOLD, false), None);
        dog.progressed(s(100));
        assert_eq!(dog.stalled(s(100), THRESHOLD, true), None);
        assert_eq!(dog.due(THRESHOLD), s(130));
    }

    #[test]
    fn a_threshold_of_zero_is_off() {
        let mut dog = Watchdog::new(s(0));
        assert_eq!(dog.stalled(s(1_000_000), 0, true), None);
        assert_eq!(dog.due(0), Time(Nanos::MAX));
        assert!(dog.stalled(s(1_000_000), THRESHOLD, true).is_some());
    }

    #[test]
    fn a_gap_of_the_clock_is_no_stall() {
        assert!(!is_gap(s(5), s(6)) && !is_gap(s(5), s(4)) && is_gap(s(5), Time(s(6).0 + 1)));
        let mut dog = Watchdog::new(s(0));
        dog.rebase(s(3600));
        assert_eq!(dog.stalled(s(3629), THRESHOLD, true), None);
        assert_eq!(dog.stalled(s(3630), THRESHOLD, true), Some(THRESHOLD));
        dog.rebase(s(7200));
        assert_eq!(dog.stalled(s(9000), THRESHOLD, true), None, "said before");
    }

    #[test]
    fn what_is_only_slow_is_asked_again_and_has_stood_since_it_moved() {
        let mut dog = Watchdog::new(s(0));
        assert_eq!(dog.stands(s(30), THRESHOLD), Some(30 * SECOND));
        dog.only_slow(s(31));
        assert_eq!(dog.due(THRESHOLD), s(61));
        assert_eq!(dog.stands(s(60), THRESHOLD), None);
        assert_eq!(dog.stalled(s(61), THRESHOLD, true), Some(61 * SECOND));
        assert_eq!(dog.stands(s(100), THRESHOLD), None, "said");
        dog.progressed(s(110));
        assert_eq!(dog.due(THRESHOLD), s(140));
    }

    #[test]
    fn looks_come_in_time_and_not_too_often() {
        let mut looks = Looks::default();
        assert!(!looks.is_due(s(0), 0), "it is off");
        assert!(looks.is_due(s(0), 80 * SECOND));
        looks.looked(s(0), s(50));
        assert_eq!(looks.next(), Some(s(50)));
        assert!(!looks.is_due(s(49), 80 * SECOND) && looks.is_due(s(50), 80 * SECOND));
        looks.looked(s(50), s(51));
        assert_eq!(looks.next(), Some(s(60)), "others come along");
        looks.looked(s(60), Time(Nanos::MAX));
        assert_eq!(looks.next(), Some(s(140)), "what was said may move");
        assert!(looks.is_due(s(70), 5 * SECOND), "the threshold has changed");
        looks.looked(s(70), s(70));
        assert!(!looks.is_due(s(100), 0));
        assert_eq!(looks.next(), None);
        looks.nobody_waits();
        assert!(looks.is_due(s(101), SECOND));
    }

    #[test]
    fn what_moves_elsewhere_is_progress_and_what_was_said_elsewhere_is_said() {
        let mut dog = Watchdog::new(s(10));
        dog.moved_elsewhere(s(5), None);
        assert_eq!(dog.due(THRESHOLD), s(40));
        dog.moved_elsewhere(s(20), None);
        assert_eq!(dog.due(THRESHOLD), s(50));
        // Another one has said it, of what stands still since then.
        dog.moved_elsewhere(s(20), Some(s(15)));
        assert!(!dog.was_said(), "that was of something else");
        dog.moved_elsewhere(s(20), Some(s(20)));
        assert!(dog.was_said());
        assert_eq!(dog.said(), Some(s(20)));
        dog.moved_elsewhere(s(30), Some(s(20)));
        assert_eq!((dog.said(), dog.due(THRESHOLD)), (None, s(60)));
    }

    proptest! {
        /// Who asks exactly when it is due finds the stall then, and not a moment earlier:
        /// otherwise a timer set to that time would spin, or be late.
        #[test]
        fn due_is_when_the_answer_changes(
            progress in 0..u64::MAX / 2, threshold in 1..u64::MAX / 4, early in 1..u64::MAX / 4,
        ) {
            let mut dog = Watchdog::new(Time(progress));
            let due = dog.due(threshold);
            let before = Time(due.0.saturating_sub(early));
            prop_assert_eq!(dog.stalled(before, threshold, true), None);
            prop_assert_eq!(dog.stalled(due, threshold, true), Some(threshold));
        }
    }
}
