//! The budget: how many workers, over all pools of one CPU set, may be runnable at once.
//!
//! The target of a pool is its own; CPUs are everybody's. A pool's first runnable worker is free,
//! so that every pool with backlog moves; each further one takes a token. Pools of all nice levels
//! together then keep at most `limit` + (one per pool with backlog) workers runnable.

/// The tokens in use, as one load of the shared word returned them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens that pools hold. May pass the limit: workers come back from a sleep unasked.
    pub used: u32,
}

impl Budget {
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
        }
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
}
