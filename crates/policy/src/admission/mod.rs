//! How many jobs may run that the signals cannot see yet, or that the system has no room for.

/// Whether there is memory for one more job.
pub mod memory;
/// Growth that does not help.
mod pace;
/// What jobs have taken.
mod peaks;

use crate::probe::hit;
use crate::time::Time;

pub use memory::Memory;
pub use pace::Pace;
pub use peaks::Peaks;

/// Jobs per CPU that may run before the first one has ended.
const START_PER_CPU: u64 = 4;
/// Further jobs that each completed one lets in.
const PER_COMPLETED: u64 = 2;
/// After a shortage the ceiling rises by one with this many jobs that ended.
pub const JOBS_PER_STEP: u64 = 16;

/// Slow start of processes: one that has just been forked leaves the CPU idle while it loads, so an
/// idle CPU says little about it. At most `4 x CPUs + 2 x completed` run at once.
pub fn slow_start(cpus: u32, completed: u64) -> u64 {
    let first = START_PER_CPU * u64::from(cpus.max(1));
    first.saturating_add(completed.saturating_mul(PER_COMPLETED))
}

/// How many jobs may run at this moment: slow start, the user's upper limit, a ceiling where the
/// system had no room for more (EAGAIN, EMFILE, ENOMEM at fork), memory, and what did not help before.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    cpus: u32,
    most: u64,
    completed: u64,
    shortage: Option<Shortage>,
    /// Jobs that ran when one was refused for want of memory.
    refused: Option<u64>,
    pace: Pace,
}

#[derive(Clone, Copy, Debug)]
struct Shortage {
    ceiling: u64,
    /// Jobs that had ended when it was met.
    at: u64,
}

impl Admission {
    /// For this many CPUs, and at most `most` jobs.
    pub fn new(cpus: u32, most: u64) -> Self {
        Admission {
            cpus,
            most,
            completed: 0,
            shortage: None,
            refused: None,
            pace: Pace::new(u64::from(cpus.max(1))),
        }
    }

    /// A job has ended, beside `running` others: what growth has brought is judged by how fast they do.
    pub fn ended(&mut self, now: Time, running: u64) {
        self.pace.ended(now, running);
    }

    /// So many jobs have ended, over all. A smaller number than before is old news.
    pub fn completed(&mut self, completed: u64) {
        self.completed = self.completed.max(completed);
    }

    /// The system had no room for another job while `running` ran.
    pub fn had_no_room(&mut self, running: u64) {
        hit!(AdmissionNoRoom);
        self.shortage = Some(Shortage {
            ceiling: running.max(1),
            at: self.completed,
        });
    }

    /// There was no memory for another job while `running` ran ([`memory`]). Until there is, one waits
    /// for it beside those, and no others.
    pub fn refused(&mut self, running: u64) {
        self.refused = Some(running);
    }

    /// There was memory for the one that had been refused.
    pub fn granted(&mut self) {
        self.refused = None;
    }

    /// Jobs that may run.
    pub fn limit(&self) -> u64 {
        let with_memory = self.refused.map_or(u64::MAX, |running| running + 1);
        self.most
            .min(slow_start(self.cpus, self.completed))
            .min(self.ceiling())
            .min(self.pace.ceiling())
            .min(with_memory)
    }

    fn ceiling(&self) -> u64 {
        self.shortage.map_or(u64::MAX, |shortage| {
            let steps = (self.completed - shortage.at) / JOBS_PER_STEP;
            shortage.ceiling.saturating_add(steps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_with_what_has_completed() {
        assert_eq!(slow_start(2, 0), 8);
        assert_eq!(slow_start(2, 10), 28);
        assert_eq!(slow_start(0, 0), 4);
        assert_eq!(slow_start(2, u64::MAX), u64::MAX);
    }

    #[test]
    fn user_and_slow_start_limit_it() {
        let mut jobs = Admission::new(2, 20);
        assert_eq!(jobs.limit(), 8);
        jobs.completed(1000);
        assert_eq!(jobs.limit(), 20);
        jobs.completed(1);
        assert_eq!(jobs.limit(), 20, "old news do not lower it");
    }

    #[test]
    fn one_waits_for_memory_and_no_others() {
        let mut jobs = Admission::new(2, 20);
        jobs.refused(3);
        assert_eq!(jobs.limit(), 4);
        jobs.refused(2);
        assert_eq!(jobs.limit(), 3);
        jobs.granted();
        assert_eq!(jobs.limit(), 8);
    }

    #[test]
    fn a_shortage_lowers_it_and_ended_jobs_raise_it_again() {
        let mut jobs = Admission::new(2, 20);
        jobs.completed(1000);
        jobs.had_no_room(5);
        assert_eq!(jobs.limit(), 5);
        jobs.completed(1000 + 3 * JOBS_PER_STEP);
        assert_eq!(jobs.limit(), 8);
        jobs.completed(10_000);
        assert_eq!(jobs.limit(), 20);
        jobs.had_no_room(0);
        assert_eq!(jobs.limit(), 1, "one job may always run");
    }
}
