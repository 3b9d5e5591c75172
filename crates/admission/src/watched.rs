//! What looks have shown of one job.

use cmwq_policy::time::{MILLISECOND, Nanos, Time};

use crate::seen::Seen;

/// A job that was seen asleep at each look for so long is a sleeper.
const SLEEPS_AFTER: Nanos = 30 * MILLISECOND;
/// A job that was found in a new sleep so often tries something again and again.
const RETRIES_AFTER: u64 = 2;
/// Unless more than one look of so many found it awake: on a busy machine it waits for its CPU.
const AWAKE_PART: u64 = 2;

/// A job that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    looks: u64,
    /// Of these, so many found it awake.
    awake: u64,
    /// Since when it has been seen to do nothing but sleep.
    asleep_since: Option<Time>,
    wakes: Option<u64>,
    /// Looks that found it in another sleep than the look before.
    awakenings: u64,
    /// The file that it was last seen to have.
    file: Option<u64>,
}

impl Watched {
    /// With one look more.
    pub(crate) fn looked(self, now: Time, seen: Seen) -> Watched {
        let is_asleep = seen.is_asleep();
        let wakes = match is_asleep {
            true => seen.naps.map(|nap| nap.wakes),
            false => self.wakes,
        };
        let woke = self.wakes.zip(wakes);
        let woke = woke.is_some_and(|(before, now)| before < now);
        Watched {
            looks: self.looks + 1,
            awake: self.awake + u64::from(!is_asleep),
            asleep_since: is_asleep.then(|| self.asleep_since.unwrap_or(now)),
            wakes,
            // Who waits for something else tries nothing.
            awakenings: wakes.map_or(0, |_| self.awakenings + u64::from(woke)),
            file: seen.naps.and_then(|nap| nap.file).or(self.file),
        }
    }

    /// It was looked at often enough to tell whether it tries again.
    pub(crate) fn is_known(&self) -> bool {
        self.looks > RETRIES_AFTER
    }

    /// It has slept for a while, and not because of a file.
    pub(crate) fn is_sleeper(&self, now: Time) -> bool {
        let sleeps_long = |since| now.since(since) >= SLEEPS_AFTER;
        let waits_for_file = self.awakenings > 0 && self.file.is_some();
        !waits_for_file && self.asleep_since.is_some_and(sleeps_long)
    }

    /// The file that it may want: it sleeps, wakes up for a moment and sleeps again.
    pub(crate) fn tries(&self) -> Option<u64> {
        let retries = self.awakenings >= RETRIES_AFTER && AWAKE_PART * self.awake <= self.looks;
        self.file.filter(|_| retries)
    }
}
