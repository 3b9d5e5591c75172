//! What one look shows of a job.

/// What a look showed of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Chosen by the caller.
    pub job: u64,
    /// Its threads that want a CPU.
    pub runnable: u64,
    /// Some thread of it waits for a disk, or cannot be interrupted for another reason.
    pub loads: bool,
    /// If all of it sleeps for a time of its own choosing.
    pub naps: Option<Nap>,
}

/// How a job sleeps that nobody but a clock will wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// How often it has woken up.
    pub wakes: u64,
    /// A file that it has open to read and to write.
    pub file: Option<u64>,
}

impl Seen {
    /// It wants no CPU, and is not about to.
    pub fn is_asleep(&self) -> bool {
        self.runnable == 0 && !self.loads
    }
}

/// What a job's first process shows of itself, which is cheap to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its threads, those that have ended left out.
    pub threads: u64,
    /// It has started processes that have not been reaped.
    pub has_children: bool,
    /// Its first thread wants a CPU.
    pub runs: bool,
    /// That waits for a disk, or cannot be interrupted for another reason.
    pub loads: bool,
    /// The process has ended.
    pub has_ended: bool,
}

/// What is known of a job once its first process was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// All that a look shows.
    All(Seen),
    /// There is nothing to be seen any more.
    Nothing,
    /// There are other threads, or other processes: each of them has to be looked at.
    Part,
}

impl Leader {
    /// What this process says of `job`. Most jobs are one process with one thread. Orphans of such
    /// a job do not count.
    pub fn of(self, job: u64) -> Glance {
        if self.threads != 1 || self.has_children {
            return Glance::Part;
        }
        if self.has_ended {
            return Glance::Nothing;
        }
        Glance::All(Seen {
            job,
            runnable: u64::from(self.runs),
            loads: self.loads,
            naps: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_one_thread_without_children_is_all_of_its_job() {
        let sleeps = Leader {
            threads: 1,
            has_children: false,
            runs: false,
            loads: false,
            has_ended: false,
        };
        let seen = |runnable, loads| {
            Glance::All(Seen {
                job: 7,
                runnable,
                loads,
                naps: None,
            })
        };
        assert_eq!(sleeps.of(7), seen(0, false));
        let runs = Leader {
            runs: true,
            ..sleeps
        };
        assert_eq!(runs.of(7), seen(1, false));
        let loads = Leader {
            loads: true,
            ..sleeps
        };
        assert_eq!(loads.of(7), seen(0, true));
        let has_ended = Leader {
            has_ended: true,
            ..sleeps
        };
        assert_eq!(has_ended.of(7), Glance::Nothing);
        for leader in [sleeps, runs, loads, has_ended] {
            let with_threads = Leader {
                threads: 2,
                ..leader
            };
            let with_children = Leader {
                has_children: true,
                ..leader
            };
            // What has ended may have left children that have not.
            assert_eq!(with_threads.of(7), Glance::Part);
            assert_eq!(with_children.of(7), Glance::Part);
        }
    }
}
