//! When to try again to make a process for which the system had no room: no process, no descriptor
//! or no memory was left (EAGAIN, EMFILE, ENFILE, ENOMEM).
//!
//! The end of one of our jobs makes room. Other people's processes may make room too, so the tries
//! go on while ours run, however long. If none of ours runs, none of them will make room. After
//! some time an error then says more than waiting does.

use cmwq_policy::time::{MILLISECOND, Nanos, SECOND};

/// The pause from a refusal to the next try. It doubles up to the last.
const RETRY_FIRST: Nanos = 10 * MILLISECOND;
const RETRY_LAST: Nanos = 1280 * MILLISECOND;
/// How long the tries go on while none of ours runs.
const PATIENCE: Nanos = 10 * SECOND;
/// A wait this long may be reported.
const LONG: Nanos = 2 * SECOND;

/// The tries at one process.
#[derive(Clone, Copy, Debug)]
pub struct Relief {
    pause: Nanos,
    waited: Nanos,
    alone: Nanos,
}

impl Default for Relief {
    fn default() -> Self {
        Relief {
            pause: RETRY_FIRST,
            waited: 0,
            alone: 0,
        }
    }
}

impl Relief {
    /// How long to wait before the next try, unless one of ours ends before.
    pub fn pause(&self) -> Nanos {
        self.pause
    }

    /// The pause is over, none of ours has ended in it, and `running` of them run. False: give up.
    pub fn goes_on(&mut self, running: u64) -> bool {
        self.waited = self.waited.saturating_add(self.pause);
        self.alone = match running {
            0 => self.alone + self.pause,
            _ => 0,
        };
        self.pause = (self.pause * 2).min(RETRY_LAST);
        self.alone < PATIENCE
    }

    /// One of ours has ended. The caller tries at once, before the next pause.
    pub fn has_ended(&mut self) {
        self.alone = 0;
    }

    /// Whether it has taken so long that somebody may want to know.
    pub fn is_long(&self) -> bool {
        self.waited >= LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_last() {
        let mut relief = Relief::default();
        let pauses: [Nanos; 9] = core::array::from_fn(|_| {
            let pause = relief.pause();
            assert!(relief.goes_on(1));
            pause / MILLISECOND
        });
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1280, 1280]);
    }

    #[test]
    fn while_ours_run_it_is_tried_for_ever_and_alone_it_is_not() {
        let mut relief = Relief::default();
        assert!((0..10_000).all(|_| relief.goes_on(1)));
        assert!(relief.is_long());
        let alone = (1..).find(|_| !relief.goes_on(0));
        assert_eq!(alone, Some(PATIENCE.div_ceil(RETRY_LAST)));
    }

    #[test]
    fn whose_jobs_run_again_begins_to_count_anew() {
        let mut relief = Relief::default();
        for round in 0..4 {
            assert!((0..7).all(|_| relief.goes_on(0)), "{round}");
            match round % 2 {
                0 => assert!(relief.goes_on(1)),
                _ => relief.has_ended(),
            }
        }
    }
}
