//! Time as the core sees it: a number that somebody else read.

/// Nanoseconds. The only unit of time in the core.
pub type Nanos = u64;

/// One microsecond.
pub const MICROSECOND: Nanos = 1_000;
/// One millisecond.
pub const MILLISECOND: Nanos = 1_000 * MICROSECOND;
/// One second.
pub const SECOND: Nanos = 1_000 * MILLISECOND;

/// A point on the clock of whoever drives the core: `CLOCK_MONOTONIC` in the engine, virtual time
/// in the simulator. The core never reads a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Nanos);

impl Time {
    /// The point `nanos` later. Saturates: "never" stays never.
    #[must_use]
    pub fn after(self, nanos: Nanos) -> Time {
        Time(self.0.saturating_add(nanos))
    }

    /// How long ago `earlier` was; 0 if it is not in the past.
    #[must_use]
    pub fn since(self, earlier: Time) -> Nanos {
        self.0.saturating_sub(earlier.0)
    }
}
