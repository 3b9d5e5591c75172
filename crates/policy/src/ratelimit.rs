//! How often somebody is told the same sort of thing (kernel `___ratelimit`).
//!
//! A loop that does what it must not would fill a disk with what it is told. So after a burst the
//! rest is counted, and the number is told with the next message.

use crate::time::{Nanos, SECOND, Time};

/// Kernel `DEFAULT_RATELIMIT_INTERVAL`.
pub const INTERVAL: Nanos = 5 * SECOND;
/// Kernel `DEFAULT_RATELIMIT_BURST`: so many are told in one interval.
pub const BURST: u32 = 10;

/// What has been told in the current interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ratelimit {
    /// When the interval began.
    begin: Option<Time>,
    told: u32,
    missed: u64,
}

/// What is to become of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// It is told, and that so many were not told since the last one.
    Now {
        /// How many.
        missed: u64,
    },
    /// It is told, and that those which follow within [`INTERVAL`] are not.
    Last,
    /// It is only counted.
    No,
}

impl Ratelimit {
    /// There is one more message.
    pub fn ask(&mut self, now: Time) -> Tell {
        let is_over = |begin| now.since(begin) >= INTERVAL;
        let mut missed = 0;
        if self.begin.is_none_or(is_over) {
            missed = self.missed;
            *self = Ratelimit {
                begin: Some(now),
                ..Ratelimit::default()
            };
        }
        if self.told == BURST {
            self.missed += 1;
            return Tell::No;
        }
        self.told += 1;
        match self.told {
            BURST => Tell::Last,
            _ => Tell::Now { missed },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_told_and_the_rest_counted() {
        let mut limit = Ratelimit::default();
        let mut ask = |ns| limit.ask(Time(ns));
        for _ in 1..BURST {
            assert_eq!(ask(7), Tell::Now { missed: 0 });
        }
        assert_eq!(ask(8), Tell::Last);
        for ns in [8, 9, 6 + INTERVAL] {
            assert_eq!(ask(ns), Tell::No);
        }
        assert_eq!(ask(7 + INTERVAL), Tell::Now { missed: 3 });
        assert_eq!(ask(8 + INTERVAL), Tell::Now { missed: 0 });
    }

    #[test]
    fn rare_messages_are_all_told() {
        let mut limit = Ratelimit::default();
        for n in 0..100 {
            let now = Time(n * INTERVAL / 4);
            assert_eq!(limit.ask(now), Tell::Now { missed: 0 });
        }
    }
}
