//! What a process tells the one that looks after it, and how long that one waits.

use std::time::Duration;

/// Each second it says how much was done: a number that stands still says that it hangs.
pub(crate) const BEAT: &str = "beat ";
/// Said last, when nothing was wrong.
pub(crate) const LEAVES: &str = "leaves";
/// Nothing at all is done for this long: it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
