//! The words by which chunks are claimed: see `README.md`.

use cmwq_policy::job::{self, Front};

use crate::sync::{AtomicU64, SeqCst};

/// One [`Front`] for each thread of a job.
#[derive(Debug)]
pub(crate) struct Fronts(Box<[AtomicU64]>);

impl Fronts {
    pub(crate) fn new(threads: u32) -> Self {
        let none = || AtomicU64::new(Front::NONE.to_word());
        Fronts((0..threads).map(|_| none()).collect())
    }

    /// The owner begins a step; false: the rest was claimed.
    pub(crate) fn advance(&self, thread: usize, from: u64, to: u64) -> bool {
        let word = &self.0[thread];
        let before = Front::from_word(word.load(SeqCst));
        // If this fails somebody has closed it, and a closed one stays so: no second try.
        before.advance(from, to).is_some_and(|after| {
            let (before, after) = (before.to_word(), after.to_word());
            word.compare_exchange(before, after, SeqCst, SeqCst).is_ok()
        })
    }
}

impl job::Fronts for Fronts {
    fn load(&self, thread: usize) -> Front {
        Front::from_word(self.0[thread].load(SeqCst))
    }

    fn open(&self, thread: usize) {
        self.0[thread].store(Front::OPEN.to_word(), SeqCst);
    }

    fn close(&self, thread: usize) -> Option<u64> {
        let word = &self.0[thread];
        loop {
            let before = Front::from_word(word.load(SeqCst));
            let (after, begun) = before.close()?;
            let (before, after) = (before.to_word(), after.to_word());
            // Fails when the owner begins a step: again, with what is left behind that.
            if word.compare_exchange(before, after, SeqCst, SeqCst).is_ok() {
                return Some(begun);
            }
        }
    }
}
