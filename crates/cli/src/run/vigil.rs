//! When to look after a job that says nothing: whether it has shown what it does, has run for too
//! long, or stands still.

use cmwq_admission::SHOWS_AFTER;
use std::time::Duration;

/// From SIGTERM to SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// The first look whether a job was stopped; each later one after as long as all before took, so
/// that short jobs cost nothing and long ones next to nothing.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const RAREST_LOOK: Duration = Duration::from_secs(60);

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Count it among those that have run for a while.
    Shown,
    /// See whether the job was stopped.
    Look,
    /// Its time is over.
    Terminate,
    /// And it has not ended of SIGTERM.
    Kill,
}

/// Of one attempt at a job. Times are what the job has run, without those while everything stood
/// still because of Ctrl-Z.
pub(super) struct Vigil {
    /// None once it has come.
    shown_at: Option<Duration>,
    look_at: Duration,
    terminate_at: Option<Duration>,
    kill_at: Option<Duration>,
    is_over: bool,
    attempt: u32,
}

impl Vigil {
    /// `attempt`: its number, from 1.
    pub(super) fn new(timeout: Option<Duration>, attempt: u32) -> Self {
        Self {
            attempt,
            shown_at: Some(Duration::from_nanos(SHOWS_AFTER)),
            look_at: FIRST_LOOK,
            terminate_at: timeout,
            kill_at: None,
            is_over: false,
        }
    }

    /// Something that is due after `ran`; asked again, the next such thing.
    pub(super) fn due(&mut self, ran: Duration) -> Option<Due> {
        if self.shown_at.is_some_and(|at| at <= ran) {
            self.shown_at = None;
            return Some(Due::Shown);
        }
        if self.terminate_at.is_some_and(|at| at <= ran) {
            self.terminate_at = None;
            self.kill_at = Some(ran + GRACE);
            self.is_over = true;
            return Some(Due::Terminate);
        }
        if self.kill_at.is_some_and(|at| at <= ran) {
            self.kill_at = None;
            return Some(Due::Kill);
        }
        if self.look_at <= ran {
            self.look_at = ran + ran.min(RAREST_LOOK);
            return Some(Due::Look);
        }
        None
    }

    /// Whether the job's time is over, and nothing was done about it.
    pub(super) fn is_due(&self, ran: Duration) -> bool {
        self.terminate_at.is_some_and(|at| at <= ran)
    }

    /// SIGTERM was sent after `ran`, for another reason than its time.
    pub(super) fn has_been_terminated(&mut self, ran: Duration) {
        self.terminate_at = None;
        self.kill_at.get_or_insert(ran + GRACE);
    }

    /// How long nothing will be due after `ran`.
    pub(super) fn quiet_for(&self, ran: Duration) -> Duration {
        [self.shown_at, self.terminate_at, self.kill_at]
            .into_iter()
            .flatten()
            .fold(self.look_at, Duration::min)
            .saturating_sub(ran)
    }

    /// Whether `Shown` has come.
    pub(super) fn has_shown(&self) -> bool {
        self.shown_at.is_none()
    }

    /// Which attempt at the job this is.
    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the time of the job was over.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens, and when, where somebody sleeps as long as he may, until `end`.
    fn events(mut vigil: Vigil, end: u64) -> Vec<(u64, Due)> {
        let (mut now, mut events) = (Duration::ZERO, Vec::new());
        while now < Duration::from_secs(end) {
            while let Some(due) = vigil.due(now) {
                events.push((now.as_secs(), due));
            }
            assert!(!vigil.quiet_for(now).is_zero() && !vigil.is_due(now));
            now += vigil.quiet_for(now);
        }
        events
    }

    #[test]
    fn looks_become_rare() {
        let looks: Vec<u64> = events(Vigil::new(None, 1), 3600)
            .into_iter()
            .filter(|(_, due)| *due == Due::Look)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(looks[..8], [1, 2, 4, 8, 16, 32, 64, 124]);
        assert_eq!(looks.len(), 6 + 3600_usize.div_ceil(60) - 1);
    }

    #[test]
    fn a_job_shows_what_it_does_once() {
        let mut vigil = Vigil::new(Some(Duration::from_secs(1)), 1);
        assert_eq!(vigil.quiet_for(Duration::ZERO), Duration::from_millis(100));
        assert_eq!(vigil.due(Duration::from_millis(99)), None);
        assert!(!vigil.has_shown());
        let late = Duration::from_millis(300);
        assert_eq!([(); 2].map(|()| vigil.due(late)), [Some(Due::Shown), None]);
        assert!(vigil.has_shown());
    }

    #[test]
    fn who_is_terminated_for_another_reason_has_grace_too() {
        let mut vigil = Vigil::new(Some(Duration::from_secs(3)), 1);
        vigil.has_been_terminated(Duration::from_secs(1));
        let ends: Vec<_> = events(vigil, 100)
            .into_iter()
            .filter(|(_, due)| !matches!(due, Due::Look | Due::Shown))
            .collect();
        assert_eq!(ends, [(6, Due::Kill)]);
    }

    #[test]
    fn time_is_over_once_and_then_there_is_grace() {
        let events = events(Vigil::new(Some(Duration::from_secs(3)), 1), 100);
        let ends: Vec<_> = events
            .into_iter()
            .filter(|(_, due)| matches!(due, Due::Terminate | Due::Kill))
            .collect();
        assert_eq!(ends, [(3, Due::Terminate), (8, Due::Kill)]);
    }
}
