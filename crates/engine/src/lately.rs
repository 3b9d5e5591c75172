//! Which functions have had CPU time lately, over all threads: what `cmwq top` names when the item
//! that held the others up has just ended. What is summed, and how, is in `cmwq_policy::lately`.

use std::collections::BTreeMap;

use cmwq_policy::lately::{self, Had, Whose};
use cmwq_policy::{Nanos, Time};

use crate::sync::Mutex;

/// Threads of different numbers meet at different locks.
const SHARDS: usize = 16;

/// See the module's page.
pub(crate) struct Lately {
    begun: Time,
    shards: [Mutex<lately::Lately>; SHARDS],
}

impl Lately {
    /// Nothing has happened before this time.
    pub(crate) fn new(begun: Time) -> Self {
        Lately {
            begun,
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// An item that this thread has executed has ended, with so much CPU time. It is left out if
    /// somebody else has the lock, who may be at nice 19 and without a CPU.
    pub(crate) fn note(&self, tid: i32, at: Time, whose: Whose, cpu: Nanos) {
        let shard = &self.shards[tid as usize % SHARDS];
        if let Ok(mut shard) = shard.try_lock() {
            shard.note(at, whose, cpu);
        }
    }

    /// The functions that have had most, the most first, and how much time that is about.
    pub(crate) fn at(&self, now: Time) -> (Nanos, Vec<(Whose, Had)>) {
        let mut sums = BTreeMap::<Whose, Had>::new();
        for shard in &self.shards {
            let mut shard = shard.lock().expect("nobody panics with it");
            for (whose, had) in shard.at(now) {
                let sum = sums.entry(whose).or_default();
                *sum = sum.and(had);
            }
        }
        let mut all: Vec<_> = sums.into_iter().collect();
        all.sort_by_key(|(_, had)| std::cmp::Reverse(had.cpu));
        all.truncate(lately::MOST);
        (lately::span(now).min(now.since(self.begun)), all)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_and_the_heaviest_comes_first() {
        let begun = Time(7 * lately::PERIOD);
        let lately = Lately::new(begun);
        let whose = |func| Whose {
            func,
            queue: 1,
            pool: 0,
        };
        let now = begun.after(1_000_000);
        lately.note(3, now, whose(1), 10_000);
        for tid in [3, 4, 19] {
            lately.note(tid, now, whose(2), 9_000);
        }
        let (span, all) = lately.at(now);
        assert_eq!(span, 1_000_000);
        let order: Vec<_> = all
            .iter()
            .map(|(of, had)| (of.func, had.items, had.cpu))
            .collect();
        assert_eq!(order, [(2, 3, 27_000), (1, 1, 10_000)]);
    }
}
