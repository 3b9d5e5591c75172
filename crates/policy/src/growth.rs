//! Growth that helps: more workers only while more workers can help.
//!
//! When many workers are blocked, starting more keeps the CPUs busy, unless they all wait for one
//! lock: then each further one only lengthens the queue at the lock (seed 002; a Python GIL is the
//! same). Past [`FREE_GROWTH`] times the target, growth therefore asks what the blocked workers
//! wait for.
//!
//! * Most of them wait at one futex address **and** items complete: a *convoy*. Its throughput is
//!   that of the lock. Starts are damped (each waits twice as long as the one before) and a worker
//!   that ends its item steps back while there are more than the free number.
//! * Most wait at one address and nothing completes for longer than usual: a *barrier*, or workers
//!   that wait for an item that is still queued. Growth is free: it may be all that helps.
//! * Anything else: growth is free, up to twice what the last look saw.
//!
//! Growth is never stopped, only slowed: a chain of dependent items always finishes.

use crate::probe::hit;
use crate::time::{MILLISECOND, Nanos, Time};

/// Workers per target CPU that start without a look at what the others wait for.
pub const FREE_GROWTH: u32 = 2;
/// The first damped start waits this long, each further one twice as long as the one before.
pub const DAMP_FIRST: Nanos = MILLISECOND;
/// No damped start waits longer than this.
pub const DAMP_LAST: Nanos = 100 * MILLISECOND;
/// Completions closer together than this count as this far apart.
pub const SPACING_LEAST: Nanos = MILLISECOND / 2;
/// A look at the workers is believed for this long: a little more than the time between two looks of
/// the tick while canaries report.
pub const LOOK_VALID: Nanos = 20 * MILLISECOND;
/// As many workers as a look found to do well may start again for this long without another one.
pub const LEVEL_VALID: Nanos = 200 * MILLISECOND;

/// Whether one more worker may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Gate {
    /// Yes.
    Open,
    /// Not before somebody looked at what the busy workers wait for.
    Ask,
    /// Not before this time.
    Wait(Time),
}

/// What a look at the busy workers saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Workers that were looked at and blocked.
    pub blocked: u32,
    /// The most of them that wait at one futex address.
    pub same_futex: u32,
}

impl Look {
    /// More than half of the blocked ones, and at least two, wait at one address.
    pub fn is_one_lock(&self) -> bool {
        self.same_futex >= 2 && self.same_futex * 2 > self.blocked
    }
}

/// The damping state of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// When the last look was taken, and how many workers were busy then.
    look: Option<(Time, u32)>,
    /// The most busy workers that a look found without a convoy, and when that was.
    level: (Time, u32),
    /// The last look saw most of the blocked workers at one lock.
    one_lock: bool,
    /// The last completion, and the usual time between two (a moving average).
    last_completion: Option<Time>,
    spacing: Nanos,
    /// What the next damped start waits; 0 when not damped.
    delay: Nanos,
    /// When the last start was, or the damping began.
    since: Time,
    asked: bool,
}

impl Growth {
    /// Whether one more worker may start while `busy` are busy.
    pub fn gate(&self, now: Time, busy: u32, target: u32) -> Gate {
        if busy < FREE_GROWTH * target {
            return Gate::Open;
        }
        match self.look {
            Some((at, seen)) if now.since(at) <= LOOK_VALID && busy < 2 * seen.max(target) => {}
            _ if self.is_known_level(now, busy) => return Gate::Open,
            _ => return Gate::Ask,
        }
        match self.is_convoy(now) {
            true if now < self.next_start() => Gate::Wait(self.next_start()),
            _ => Gate::Open,
        }
    }

    /// Not more than have lately done well together.
    fn is_known_level(&self, now: Time, busy: u32) -> bool {
        let (at, level) = self.level;
        !self.one_lock && busy < level && now.since(at) <= LEVEL_VALID
    }

    fn next_start(&self) -> Time {
        self.since.after(self.delay)
    }

    /// Nobody looked for long, or nobody ran: what was known of the pace is forgotten.
    pub fn rebase(&mut self, now: Time) {
        self.look = None;
        self.last_completion = self.last_completion.map(|_| now);
        self.since = now;
    }

    /// Whether the pool is held back by a lock that its workers queue up at.
    pub fn is_convoy(&self, now: Time) -> bool {
        self.one_lock && self.is_moving(now)
    }

    /// Items complete about as fast as they used to. A convoy moves; a barrier does not, nor do
    /// workers that wait for an item that is still queued.
    fn is_moving(&self, now: Time) -> bool {
        let usual = self.spacing.max(SPACING_LEAST);
        self.last_completion
            .is_some_and(|at| now.since(at) <= 2 * usual)
    }

    /// A look was asked for; true if it was not already on its way.
    pub fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.asked, true)
    }

    /// Whether a look was asked for and has not come yet.
    pub fn is_asking(&self) -> bool {
        self.asked
    }

    /// A worker was started while `busy` others were busy.
    pub fn started(&mut self, now: Time, busy: u32, target: u32) {
        if busy >= FREE_GROWTH * target && self.is_convoy(now) {
            hit!(GrowthDamped);
            self.delay = (self.delay * 2).clamp(DAMP_FIRST, DAMP_LAST);
        }
        self.since = now;
    }

    /// An item has ended.
    pub fn completed(&mut self, now: Time) {
        let Some(last) = self.last_completion.replace(now) else {
            return;
        };
        let gap = now.since(last);
        self.spacing = match self.spacing {
            0 => gap,
            spacing => (7 * spacing).saturating_add(gap) / 8,
        };
    }

    /// A worker that ended its item goes idle although there is more: fewer do as well at a lock.
    pub fn should_shrink(&self, now: Time, busy: u32, target: u32) -> bool {
        let fresh = self.look.is_some_and(|(at, _)| now.since(at) <= LOOK_VALID);
        fresh && busy > FREE_GROWTH * target && self.is_convoy(now)
    }

    /// Takes in what was seen of `busy` workers.
    pub fn looked(&mut self, now: Time, look: Look, busy: u32) {
        self.asked = false;
        self.look = Some((now, busy));
        self.one_lock = look.is_one_lock();
        if !self.one_lock && (busy >= self.level.1 || now.since(self.level.0) > LEVEL_VALID) {
            self.level = (now, busy);
        }
        hit!(LookSleepers if !self.one_lock);
        hit!(LookBarrier if self.one_lock && !self.is_moving(now));
        hit!(LookConvoy if self.is_convoy(now));
        hit!(GrowthUndamped if self.delay > 0 && !self.is_convoy(now));
        match self.is_convoy(now) {
            false => self.delay = 0,
            true if self.delay == 0 => (self.delay, self.since) = (DAMP_FIRST, now),
            true => {}
        }
    }

    /// When the damping next allows a start.
    pub fn wakes_at(&self, now: Time) -> Option<Time> {
        (self.delay > 0 && self.is_convoy(now)).then(|| self.next_start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVOY: Look = Look {
        blocked: 4,
        same_futex: 3,
    };
    const SLEEPERS: Look = Look {
        blocked: 4,
        same_futex: 0,
    };

    fn ms(n: u64) -> Time {
        Time(n * MILLISECOND)
    }

    #[test]
    fn the_first_workers_start_freely_and_then_somebody_must_look() {
        let growth = Growth::default();
        assert_eq!(growth.gate(ms(0), 3, 2), Gate::Open);
        assert_eq!(growth.gate(ms(0), 4, 2), Gate::Ask);
    }

    #[test]
    fn sleepers_open_the_gate_up_to_twice_what_was_seen() {
        let mut growth = Growth::default();
        growth.completed(ms(0));
        growth.looked(ms(0), SLEEPERS, 4);
        assert_eq!(growth.gate(ms(1), 7, 2), Gate::Open);
        assert_eq!(growth.gate(ms(1), 8, 2), Gate::Ask);
        assert_eq!(growth.gate(ms(30), 5, 2), Gate::Ask);
    }

    #[test]
    fn what_a_look_found_well_is_believed_for_longer() {
        let mut growth = Growth::default();
        growth.looked(ms(0), SLEEPERS, 12);
        assert_eq!(growth.gate(ms(100), 11, 2), Gate::Open);
        assert_eq!(growth.gate(ms(100), 12, 2), Gate::Ask);
        assert_eq!(growth.gate(ms(300), 11, 2), Gate::Ask);
        growth.looked(ms(301), CONVOY, 12);
        assert_eq!(growth.gate(ms(400), 11, 2), Gate::Ask, "not after a convoy");
    }

    #[test]
    fn each_start_in_a_convoy_waits_twice_as_long() {
        let mut growth = Growth::default();
        let mut waits = std::vec::Vec::new();
        let mut now = ms(0);
        for busy in 4..14 {
            growth.completed(now);
            growth.looked(now, CONVOY, busy);
            let Gate::Wait(until) = growth.gate(now, busy, 2) else {
                panic!("not damped")
            };
            waits.push(until.since(now) / MILLISECOND);
            growth.completed(until);
            growth.looked(until, CONVOY, busy);
            assert_eq!(growth.gate(until, busy, 2), Gate::Open);
            growth.started(until, busy, 2);
            now = until;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
    }

    #[test]
    fn workers_at_a_barrier_are_not_a_convoy() {
        let at_barrier = Look {
            blocked: 4,
            same_futex: 4,
        };
        let mut growth = Growth::default();
        growth.looked(ms(1), at_barrier, 4);
        assert_eq!(
            growth.gate(ms(1), 5, 2),
            Gate::Open,
            "nothing has ever completed"
        );
        for round in 0..8 {
            growth.completed(ms(round));
        }
        growth.looked(ms(7), at_barrier, 4);
        assert!(
            matches!(growth.gate(ms(7), 5, 2), Gate::Wait(_)),
            "it moved until now"
        );
        growth.looked(ms(12), at_barrier, 4);
        assert_eq!(growth.gate(ms(12), 5, 2), Gate::Open, "it stands still");
    }

    #[test]
    fn a_slow_convoy_is_still_a_convoy() {
        let mut growth = Growth::default();
        for round in 0..40 {
            growth.completed(ms(50 * round));
        }
        let now = ms(50 * 39 + 30);
        growth.looked(now, CONVOY, 6);
        assert!(growth.is_convoy(now));
    }

    #[test]
    fn a_convoy_shrinks_to_the_free_number() {
        let mut growth = Growth::default();
        growth.completed(ms(0));
        growth.looked(ms(0), CONVOY, 9);
        growth.completed(ms(1));
        assert!(growth.should_shrink(ms(1), 9, 2));
        assert!(!growth.should_shrink(ms(1), 4, 2));
        growth.completed(ms(60));
        assert!(
            !growth.should_shrink(ms(60), 9, 2),
            "an old look counts for nothing"
        );
    }

    #[test]
    fn damping_ends_with_the_convoy() {
        let mut growth = Growth::default();
        growth.completed(ms(0));
        growth.looked(ms(0), CONVOY, 9);
        growth.completed(ms(4));
        growth.looked(ms(4), SLEEPERS, 9);
        assert_eq!(growth.gate(ms(4), 9, 2), Gate::Open);
        assert!(!growth.should_shrink(ms(4), 9, 2));
    }
}
