//! The budget: how many workers, over all pools of one CPU set, may be runnable at once.
//!
//! The target of a pool is its own; CPUs are everybody's. A pool's first runnable worker is started
//! in any case, so that every pool with backlog moves; each further one takes a token. Pools of all
//! nice levels together then keep at most `limit` + (one per pool with backlog) workers runnable.
//!
//! Pools whose pods are parts of one CPU set also *borrow* from each other (`pool/borrow.rs`): one
//! that has reached its target goes on with what others leave. So a pool that has not, and finds no
//! token left, says how many it wants. Who has borrowed gives so many back, and so does a pool for
//! all CPUs that has more than half of them, if pods want them.

/// The tokens in use, as one load of the shared word returned them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens that pools hold. May pass the limit: workers come back from a sleep unasked.
    pub used: u32,
    /// Tokens that pools of pods want which are below their targets and found none left.
    pub wanted: u32,
    /// The same of pools for all CPUs. They say so only where there are pods.
    pub wanted_for_all: u32,
    /// There are pods, or were.
    pub pods: bool,
}

/// Most that each kind of pools can be known to want: more than machines have CPUs.
const MOST_WANTED: u32 = (1 << 15) - 1;
const PODS: u64 = 1 << 63;

impl Budget {
    /// As one word: that is how the engine keeps it.
    pub fn to_word(self) -> u64 {
        let [pods, all] = [self.wanted, self.wanted_for_all].map(u64::from);
        let flag = if self.pods { PODS } else { 0 };
        flag | all << 47 | pods << 32 | u64::from(self.used)
    }

    /// The word's meaning.
    pub fn from_word(word: u64) -> Budget {
        Budget {
            used: word as u32,
            wanted: (word >> 32) as u32 & MOST_WANTED,
            wanted_for_all: (word >> 47) as u32 & MOST_WANTED,
            pods: word & PODS != 0,
        }
    }

    /// One more runnable worker by choice: only while fewer than `limit` tokens are in use.
    #[must_use]
    pub fn try_take(self, limit: u32) -> Option<Budget> {
        (self.used < limit).then(|| self.take(1))
    }

    /// `n` workers became runnable that nobody chose to start.
    #[must_use]
    pub fn take(self, n: u32) -> Budget {
        Budget {
            used: self.used.saturating_add(n),
            ..self
        }
    }

    /// `n` tokens come back.
    #[must_use]
    pub fn put(self, n: u32) -> Budget {
        assert!(
            self.used >= n,
            "{n} tokens returned of {} in use",
            self.used
        );
        Budget {
            used: self.used - n,
            ..self
        }
    }

    /// A pool of a pod, or one for all CPUs, wants so many instead of so many before. `None`: no
    /// more are counted.
    #[must_use]
    pub fn want(self, for_pod: bool, before: u32, now: u32) -> Option<Budget> {
        let count = |all: u32| {
            assert!(all >= before, "{before} of {self:?} wanted");
            Some(all - before + now).filter(|&all| all <= MOST_WANTED)
        };
        Some(match for_pod {
            true => Budget {
                wanted: count(self.wanted)?,
                ..self
            },
            false => Budget {
                wanted_for_all: count(self.wanted_for_all)?,
                ..self
            },
        })
    }

    /// Whether none is left but what others want who are below their targets.
    #[must_use]
    pub fn is_spoken_for(self, limit: u32) -> bool {
        self.used.saturating_add(self.all_wanted()) >= limit
    }

    /// Whether pods want more than is left.
    #[must_use]
    pub fn is_short_for_pods(self, limit: u32) -> bool {
        self.wanted > 0 && self.used.saturating_add(self.wanted) > limit
    }

    /// Whether any pool wants more than is left.
    #[must_use]
    pub fn is_short_for_any(self, limit: u32) -> bool {
        let wanted = self.all_wanted();
        wanted > 0 && self.used.saturating_add(wanted) > limit
    }

    fn all_wanted(self) -> u32 {
        self.wanted + self.wanted_for_all
    }

    /// Whether none is left to choose one more worker by.
    #[must_use]
    pub fn is_used_up(self, limit: u32) -> bool {
        self.used >= limit
    }

    /// Whether the pools together keep more runnable than the CPUs serve.
    #[must_use]
    pub fn is_overdrawn(self, limit: u32) -> bool {
        self.used > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_stops_at_the_limit_and_returns_do_not() {
        let two = Budget::default()
            .try_take(2)
            .and_then(|b| b.try_take(2))
            .unwrap();
        assert_eq!(two.try_take(2), None);
        assert!(!two.is_overdrawn(2));
        assert!(two.take(1).is_overdrawn(2));
        assert_eq!(two.take(1).put(3), Budget::default());
    }

    #[test]
    fn who_borrows_gives_back_as_much_as_others_want() {
        let all = Budget::default().take(8);
        assert!(all.is_spoken_for(8) && !all.is_short_for_any(8));
        let wanted = all.want(true, 0, 2).unwrap();
        assert!(wanted.is_short_for_any(8) && wanted.put(1).is_short_for_any(8));
        let back = wanted.put(2);
        assert!(back.is_spoken_for(8) && !back.is_short_for_any(8) && !back.is_used_up(8));
        assert_eq!(back.take(2).want(true, 2, 0), Some(all));
    }

    #[test]
    fn what_pods_want_and_what_others_want_is_told_apart() {
        let full = Budget::default().take(8);
        let all = full.want(false, 0, 2).unwrap();
        assert!(all.is_short_for_any(8) && !all.is_short_for_pods(8));
        let both = all.want(true, 0, 3).unwrap();
        assert!(both.is_short_for_pods(8));
        let pods = Budget { pods: true, ..both };
        assert_eq!(Budget::from_word(both.to_word()), both);
        assert_eq!(Budget::from_word(pods.to_word()), pods);
        assert_eq!(full.want(false, 0, MOST_WANTED + 1), None, "no room");
    }
}
