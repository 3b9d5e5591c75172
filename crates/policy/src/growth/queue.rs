//! The queue at one lock, as looks and the ends of items show it.

use super::{CLOSED, Look, OPENS_VALID, SPACING_LEAST, STUCK_LAST};
use crate::time::{Nanos, Time};

/// The queue at one lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// Where most of the sleepers were last seen.
    lock: Option<u64>,
    /// Since when each look has seen a crowd there.
    since: Option<Time>,
    /// The last look has seen nobody elsewhere: nobody who may hold the lock and be about to let it
    /// go.
    all: bool,
    /// When a worker that was seen there last got through.
    passed: Option<Time>,
    /// The last look.
    looked_at: Time,
    /// The last item that ended, and the usual time between two (a moving average).
    ended: Option<Time>,
    spacing: Nanos,
    /// Its crowds go on all at once: so many more items may end before that is forgotten.
    opens_for: u32,
}

impl Queue {
    pub(super) fn lock(&self) -> Option<u64> {
        self.lock
    }

    /// A worker that was seen there has got through.
    pub(super) fn passed(&mut self, now: Time) {
        self.passed = Some(now);
    }

    pub(super) fn looked(&mut self, now: Time, look: &Look, target: u32) {
        // At whatever address: each barrier has its own.
        if self.since.is_some() && look.has_opened(target) {
            self.opens_for = look.left.saturating_mul(OPENS_VALID);
        } else if self.is_lock(look) {
            self.opens_for = 0;
        }
        self.looked_at = now;
        if look.lock.is_some() && look.lock != self.lock {
            (self.lock, self.since, self.passed) = (look.lock, None, None);
        }
        self.since = look.is_crowd().then(|| self.since.unwrap_or(now));
        self.all = look.crowd >= look.busy;
    }

    /// Since the last look some have got through, and most have not.
    fn is_lock(&self, look: &Look) -> bool {
        let passed = self.passed.is_some_and(|at| at >= self.looked_at);
        passed && look.stayed > look.left
    }

    pub(super) fn completed(&mut self, now: Time) {
        self.opens_for = self.opens_for.saturating_sub(1);
        let Some(last) = self.ended.replace(now) else {
            return;
        };
        let gap = now.since(last);
        self.spacing = match self.spacing {
            0 => gap,
            spacing => (7 * spacing).saturating_add(gap) / 8,
        };
    }

    fn patience(&self) -> Nanos {
        4 * self.spacing.max(SPACING_LEAST)
    }

    /// Items end about as fast as they used to.
    fn is_moving(&self, now: Time) -> bool {
        self.ended
            .is_some_and(|at| now.since(at) <= self.patience())
    }

    /// Its crowds go on all at once: whoever joins one makes nobody wait longer.
    pub(super) fn opens_at_once(&self) -> bool {
        self.opens_for > 0
    }

    /// Two looks in a row have seen a crowd, and items end; it does not open at once.
    pub(super) fn is_convoy(&self, now: Time) -> bool {
        !self.opens_at_once() && self.since.is_some_and(|since| since < now) && self.is_moving(now)
    }

    /// There is a crowd, nobody is elsewhere, and nothing ends.
    pub(super) fn is_stuck(&self, now: Time) -> bool {
        self.since.is_some() && self.all && !self.is_moving(now)
    }

    /// How often it has been as long again as it took to be stuck, or [`STUCK_LAST`]; the first
    /// time counts. 0: it is not stuck.
    pub(super) fn times_stuck(&self, now: Time) -> u32 {
        if !self.is_stuck(now) {
            return 0;
        }
        let times = 1 + now.since(self.stuck_from()) / self.stuck_for();
        u32::try_from(times).unwrap_or(u32::MAX)
    }

    /// When it will have been so once more; `None`: it is not stuck.
    pub(super) fn stuck_again_at(&self, now: Time) -> Option<Time> {
        let times = self.times_stuck(now);
        let again = || self.stuck_from().after(u64::from(times) * self.stuck_for());
        (times > 0).then(again)
    }

    fn stuck_from(&self) -> Time {
        self.ended.unwrap_or_default().after(self.patience())
    }

    fn stuck_for(&self) -> Nanos {
        self.patience().min(STUCK_LAST)
    }

    /// No worker that was seen in the crowd has got through for long.
    pub(super) fn is_closed(&self, now: Time) -> bool {
        let began = |since: Time| since.max(self.passed.unwrap_or_default());
        self.since
            .is_some_and(|since| now.since(began(since)) > CLOSED)
    }
}
