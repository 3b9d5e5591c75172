//! The limits of a queue in memory: each is a word, and a list of waiters under a lock.

use cmwq_policy::limit::{Limit, Waiters};
use cmwq_policy::store::SharedLimit;

use crate::sync::{AtomicU32, AtomicU64, Mutex, Relaxed, SeqCst};

/// A limit in memory.
pub(crate) struct LimitCell<P> {
    word: AtomicU64,
    waiters: Mutex<Waiters<P>>,
    /// How many there are, written under their lock.
    nr_waiting: AtomicU32,
}

impl<P> LimitCell<P> {
    pub(crate) fn new(max: u32) -> Self {
        LimitCell {
            word: AtomicU64::new(Limit::new(max).to_word()),
            waiters: Mutex::new(Waiters::default()),
            nr_waiting: AtomicU32::new(0),
        }
    }

    /// Whether no two may hold a slot of it. It is 0 while its queue is frozen.
    pub(crate) fn is_one(&self) -> bool {
        Limit::from_word(self.word.load(SeqCst)).max() <= 1
    }
}

impl<P: Copy + Eq> SharedLimit<P> for LimitCell<P> {
    /// For measuring what limits cost: there are none.
    #[cfg(cmwq_unlimited)]
    fn step(&self, _: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit> {
        Ok(Limit::new(1))
    }

    #[cfg(not(cmwq_unlimited))]
    fn step(&self, step: impl Fn(Limit) -> Option<Limit>) -> Result<Limit, Limit> {
        let step = |word| step(Limit::from_word(word)).map(Limit::to_word);
        let before = self.word.fetch_update(SeqCst, SeqCst, step);
        before.map(Limit::from_word).map_err(Limit::from_word)
    }

    fn with_waiters<R>(&self, act: impl FnOnce(&mut Waiters<P>) -> R) -> R {
        let mut waiters = self.waiters.lock().expect("the core does not panic");
        let result = act(&mut waiters);
        // Relaxed: it says whose turn it is, not whether one waits. That is in the word.
        self.nr_waiting.store(waiters.nr(), Relaxed);
        result
    }

    fn nr_waiting(&self) -> u32 {
        // Relaxed: as above.
        self.nr_waiting.load(Relaxed)
    }
}
