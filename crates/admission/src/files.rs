//! Files that hold the output of jobs which may have to wait for an earlier job's.

/// Files that are open, and which job may start nevertheless if those are many.
///
/// They count from when they are opened, not from when their job has ended: many may have ended
/// before the first of them is handed over.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    open: u64,
    most: u64,
    turn: u64,
}

impl Files {
    /// A quarter of the process's `descriptors` may be such files. Beyond that no job starts,
    /// because running jobs need the rest.
    pub fn of(descriptors: u64) -> Self {
        Self::at_most(descriptors / 4)
    }

    /// For jobs that wait for no other.
    pub fn unlimited() -> Self {
        Self::at_most(u64::MAX)
    }

    fn at_most(most: u64) -> Self {
        let (open, turn) = (0, 0);
        Self { open, most, turn }
    }

    /// One is opened.
    pub fn opened(&mut self) {
        self.open += 1;
    }

    /// One is closed.
    pub fn closed(&mut self) {
        self.open -= 1;
    }

    /// The output of this job is the next to be written. It is the first job's in the beginning.
    pub fn set_turn(&mut self, turn: u64) {
        self.turn = turn;
    }

    /// Whether no job begins. Not for ever: jobs begin in their order, so the one whose turn it is
    /// has begun, and [it may always start](Self::may_start).
    pub fn is_crowded(&self) -> bool {
        self.open > self.most
    }

    /// Whether this job, which has begun, may start.
    pub fn may_start(&self, sequence: u64) -> bool {
        !self.is_crowded() || sequence == self.turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_a_quarter_only_the_job_whose_turn_it_is_starts() {
        let mut files = Files::of(8);
        (0..2).for_each(|_| files.opened());
        assert!(!files.is_crowded() && files.may_start(7));
        files.opened();
        files.set_turn(5);
        assert!(files.is_crowded() && files.may_start(5) && !files.may_start(6));
        files.closed();
        assert!(!files.is_crowded() && files.may_start(6));
        let mut unlimited = Files::unlimited();
        (0..1000).for_each(|_| unlimited.opened());
        assert!(!unlimited.is_crowded());
    }
}
