//! `--delay`: a time between the starts of two jobs.

use super::control::Control;
use cmwq_admission::Spacing;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Delay {
    began: Instant,
    spacing: Mutex<Spacing>,
}

impl Delay {
    pub(super) fn new(between: Duration) -> Self {
        Self {
            began: Instant::now(),
            spacing: Mutex::new(Spacing::new(nanos(between))),
        }
    }

    /// Waits until it is the caller's turn. False: the run was stopped before.
    pub(super) fn wait(&self, control: &Control) -> bool {
        let spacing = || self.spacing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = || nanos(self.began.elapsed());
        loop {
            let asked = now();
            let at = spacing().turn(asked);
            if !control.rest(Duration::from_nanos(at - asked)) {
                return false;
            }
            if spacing().starts(now()) {
                return true;
            }
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
