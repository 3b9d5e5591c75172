//! The queue at one lock, as looks and the ends of items show it.

use super::{CLOSED, Look, SPACING_LEAST};
use crate::time::{Nanos, Time};

/// The queue at one lock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// Where most of the sleepers were last seen.
    lock: Option<u64>,
    /// Since when each look has seen a crowd there.
    since: Option<Time>,
    /// When a worker that was seen there last got through.
    passed: Option<Time>,
    /// The last item that ended, and the usual time between two (a moving average).
    ended: Option<Time>,
    spacing: Nanos,
}

impl Queue {
    pub(super) fn lock(&self) -> Option<u64> {
        self.lock
    }

    /// A worker that was seen there has got through.
    pub(super) fn passed(&mut self, now: Time) {
        self.passed = Some(now);
    }

    pub(super) fn looked(&mut self, now: Time, look: &Look) {
        if look.lock.is_some() && look.lock != self.lock {
            (self.lock, self.since, self.passed) = (look.lock, None, None);
        }
        self.since = look.is_crowd().then(|| self.since.unwrap_or(now));
    }

    pub(super) fn completed(&mut self, now: Time) {
        let Some(last) = self.ended.replace(now) else {
            return;
        };
        let gap = now.since(last);
        self.spacing = match self.spacing {
            0 => gap,
            spacing => (7 * spacing).saturating_add(gap) / 8,
        };
    }

    /// Items end about as fast as they used to.
    fn is_moving(&self, now: Time) -> bool {
        let patience = 4 * self.spacing.max(SPACING_LEAST);
        self.ended.is_some_and(|at| now.since(at) <= patience)
    }

    /// Two looks in a row have seen a crowd, and items end.
    pub(super) fn is_convoy(&self, now: Time) -> bool {
        self.since.is_some_and(|since| since < now) && self.is_moving(now)
    }

    /// There is a crowd, and nothing ends.
    pub(super) fn is_stuck(&self, now: Time) -> bool {
        self.since.is_some() && !self.is_moving(now)
    }

    /// No worker that was seen in the crowd has got through for long.
    pub(super) fn is_closed(&self, now: Time) -> bool {
        let began = |since: Time| since.max(self.passed.unwrap_or_default());
        self.since
            .is_some_and(|since| now.since(began(since)) > CLOSED)
    }
}
