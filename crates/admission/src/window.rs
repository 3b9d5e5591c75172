//! How fast jobs end, while so many of them run.

use cmwq_policy::rate::Rate;
use cmwq_policy::time::Time;

/// A window has at least this many ends of jobs,
const WINDOW_LEAST: u64 = 32;
/// and this many for each job that ran when it began: it must end although more and more run.
const WINDOW_TURNS: u64 = 2;

/// The ends that are being counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    since: Option<Time>,
    enough: u64,
    ended: u64,
    /// Sum of how many ran at each end.
    levels: u64,
}

/// How many windows pass before what did not help is tried again. They double each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance(u32);

impl Distance {
    pub(crate) const FIRST: Distance = Distance(4);
    const LAST: u32 = 256;

    /// This time; the next time it is longer.
    pub(crate) fn take(&mut self) -> u32 {
        let windows = self.0;
        self.0 = (2 * windows).min(Self::LAST);
        windows
    }
}

impl Window {
    /// One that ends when this many jobs have.
    pub(crate) fn first(now: Time, ends: u64) -> Window {
        Window {
            since: Some(now),
            enough: ends,
            ..Window::default()
        }
    }

    /// One that begins while so many run.
    pub(crate) fn begin(now: Time, level: u64) -> Window {
        Window {
            since: Some(now),
            enough: WINDOW_LEAST.max(WINDOW_TURNS * level),
            ..Window::default()
        }
    }

    /// Counts an end; the rate, if these were enough.
    pub(crate) fn ended(&mut self, now: Time, level: u64) -> Option<Rate> {
        let Some(since) = self.since else {
            // The first one only begins it.
            *self = Window::begin(now, level);
            return None;
        };
        self.ended += 1;
        self.levels += level;
        if self.ended < self.enough {
            return None;
        }
        let mean = self.levels / self.ended;
        let rate = Rate::new(mean, self.ended, now.since(since));
        *self = Window::begin(now, level);
        Some(rate)
    }
}
