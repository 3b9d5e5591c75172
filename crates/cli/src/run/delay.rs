//! `--delay`: a time between the starts of two jobs.

use super::control::Control;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who waits sees after this long that the run is stopped.
const LOOK: Duration = Duration::from_millis(50);

pub(super) struct Delay {
    between: Duration,
    /// When the next job may start.
    next: Mutex<Option<Instant>>,
}

impl Delay {
    pub(super) fn new(between: Duration) -> Self {
        Self {
            between,
            next: Mutex::default(),
        }
    }

    /// Waits until it is the caller's turn. False: the run was stopped before.
    pub(super) fn wait(&self, control: &Control) -> bool {
        let at = self.turn(Instant::now());
        while !control.is_stopped() {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
        false
    }

    /// When somebody may start who comes now.
    fn turn(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.map_or(now, |next| next.max(now));
        *next = at.checked_add(self.between);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_turn_after_the_one_before() {
        let delay = Delay::new(Duration::from_secs(2));
        let now = Instant::now();
        let after = |at: Instant| at.duration_since(now).as_secs();
        let turns = [0, 0, 1, 9].map(|secs| delay.turn(now + Duration::from_secs(secs)));
        assert_eq!(turns.map(after), [0, 2, 4, 9]);
    }
}
