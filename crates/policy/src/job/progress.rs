//! When the caller of a job is told how far it is.

/// News are told so many times in all, about.
const TOLD: u64 = 100;

/// How much of a job was told to be done.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    size: u64,
    told: u64,
}

impl Progress {
    /// Of a job of so many units.
    pub fn new(size: u64) -> Self {
        Progress { size, told: 0 }
    }

    /// Whether to tell that `done` units are done: a hundredth more than last time, or all.
    pub fn is_due(&mut self, done: u64) -> bool {
        let more = done.saturating_sub(self.told);
        let due = more > 0 && (done >= self.size || more >= self.size / TOLD);
        if due {
            self.told = done;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_about_a_hundred_times_and_at_the_end() {
        let mut progress = Progress::new(100_050);
        let told: usize = (0..=100_050).filter(|&done| progress.is_due(done)).count();
        assert_eq!(told, 101);
        assert!(!progress.is_due(100_050));
    }

    #[test]
    fn small_jobs_are_told_of_each_unit() {
        let mut progress = Progress::new(3);
        assert!(!progress.is_due(0));
        assert!((1..=3).all(|done| progress.is_due(done)));
    }
}
