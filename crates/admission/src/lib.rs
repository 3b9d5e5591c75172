//! How many processes of one kind should run at once: a shell's jobs, a build's compilers.
//!
//! State, event and time go in, numbers come out, as in `cmwq-policy`: nothing here reads a clock,
//! a file or the memory that is left. Nothing of a worker pool is here either: an engine sees that
//! a process that waits leaves its CPU idle, and starts the next one. This crate says how far that
//! may go.
//!
//! * [`Admission`]: how many may run. The least of slow start, the user's limit, what the system
//!   has room and memory for, and a ceiling where growth did not help ([`Pace`]). It also says
//!   whether the last ones begin together, and whether one runs suspiciously long.
//! * [`Memory`]: whether there is memory for one more.
//! * [`Room`]: how many jobs the system has processes for, their children included.
//! * [`Crowd`]: how many jobs are worth their while beside those that sleep.
//! * [`Relief`]: when to try again where there was no room.
//! * [`Spacing`]: when the next one may start, where the user wants a time in between.
//! * [`Gather`]: when to read what they write.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

/// What jobs have taken, by how long they ran.
mod ages;
/// What looks at them may cost.
mod allowance;
/// How many keep the CPUs busy.
mod crowd;
/// When their output is read.
mod files;
mod gather;
/// CPUs that idle all the same.
mod idle;
/// Whether the last ones begin together.
mod last;
/// Jobs that run much longer than the others.
mod long;
/// Whether there is memory for one more job.
pub mod memory;
/// Growth that does not help.
mod pace;
/// What jobs have taken.
mod peaks;
/// When to try again where there was no room.
mod relief;
/// Jobs that sleep and try again.
mod retries;
/// How many jobs there are processes for.
mod room;
/// What one look shows of a job.
mod seen;
/// When the next one may start.
mod spacing;
/// How many lines each gets.
mod spread;
/// One of them, as looks have shown it.
mod watched;
/// How fast they end.
mod window;

use self::last::Waiters;
use self::long::Runs;
use self::peaks::Peaks;
use self::retries::Retries;
use cmwq_policy::time::{MILLISECOND, Nanos, Time};

pub use crowd::{Crowd, Found};
pub use files::Files;
pub use gather::Gather;
pub use memory::Memory;
pub use pace::Pace;
pub use relief::Relief;
pub use room::Room;
pub use seen::{Nap, Seen};
pub use spacing::Spacing;
pub use spread::lines_per_job;

/// Jobs per CPU that may run before the first one has ended.
const START_PER_CPU: u64 = 4;
/// How many more may run for each job that has ended, or has shown what it does.
const PER_COMPLETED: u64 = 2;
/// Jobs per CPU that run to begin with where they sleep and try again: one holds what the others
/// want, one is about to ask for it.
const RETRYING_PER_CPU: u64 = 2;
/// A job has loaded by this age. If its CPU is idle then, the job waits.
pub const SHOWS_AFTER: Nanos = 100 * MILLISECOND;
/// After a shortage the ceiling rises whenever this many jobs have ended: by one, two, four, ...
pub const JOBS_PER_STEP: u64 = 16;

/// Slow start of processes: at most `4 x CPUs + 2 x completed` run at once.
///
/// A process that was just forked leaves its CPU idle while it loads, so an idle CPU says little.
/// What a job needs, memory above all, is known once as many have ended as there are CPUs. From
/// then on [`Admission`] counts jobs that have run for [`SHOWS_AFTER`] as completed too, and before
/// that those that were [seen to sleep](Found::sleepers). Jobs that need more than the ended ones
/// did are [`memory`]'s concern.
pub fn slow_start(cpus: u32, completed: u64) -> u64 {
    let first = START_PER_CPU * u64::from(cpus.max(1));
    first.saturating_add(completed.saturating_mul(PER_COMPLETED))
}

/// What a job came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// From its start to its end.
    pub ran: Nanos,
    /// CPU time of it and of the descendants it has waited for.
    pub computed: Nanos,
}

/// How many jobs may run at this moment.
///
/// The least of slow start, the user's limit, memory, room for processes, and two ceilings: one
/// where the system had no room for more (EAGAIN, EMFILE, ENOMEM at fork), one where more did not
/// help before.
#[derive(Clone, Debug)]
pub struct Admission {
    cpus: u32,
    most: u64,
    completed: u64,
    /// Running jobs that have run for `SHOWS_AFTER`.
    shown: u64,
    /// Jobs that keep the CPUs busy, and those that are known to sleep: see [`Crowd`].
    crowd: u64,
    sleepers: u64,
    /// Sums over the jobs that have ended, and how long each has waited.
    spent: Spent,
    waits: Peaks,
    runs: Runs,
    waiters: Waiters,
    shortage: Option<Shortage>,
    /// Jobs that ran when one was refused for want of memory.
    refused: Option<u64>,
    /// Jobs for whose processes there is room.
    room: u64,
    pace: Pace,
    retries: Retries,
}

#[derive(Clone, Copy, Debug)]
struct Shortage {
    ceiling: u64,
    /// Jobs that had ended when it was met.
    at: u64,
}

impl Admission {
    /// For this many CPUs, and at most `most` jobs. The first may begin `now`.
    pub fn new(now: Time, cpus: u32, most: u64) -> Self {
        Admission {
            cpus,
            most,
            completed: 0,
            shown: 0,
            crowd: u64::MAX,
            sleepers: 0,
            spent: Spent::default(),
            waits: Peaks::default(),
            runs: Runs::default(),
            waiters: Waiters::default(),
            shortage: None,
            refused: None,
            room: u64::MAX,
            pace: Pace::new(now, u64::from(cpus.max(1)), slow_start(cpus, 0)),
            retries: Retries::new(RETRYING_PER_CPU * u64::from(cpus.max(1))),
        }
    }

    /// A job has ended, beside `running` others. Growth is judged by how fast jobs end.
    pub fn ended(&mut self, now: Time, running: u64, spent: Spent) {
        self.pace.ended(now, running);
        self.retries.ended(now, running);
        self.runs.add(spent.ran);
        let waited = spent.ran.saturating_sub(spent.computed);
        self.waits.add(waited);
        self.waiters
            .ended(waited, self.waits.expected(), spent.computed);
        let sums = &mut self.spent;
        sums.ran = sums.ran.saturating_add(spent.ran);
        sums.computed = sums.computed.saturating_add(spent.computed);
    }

    /// How many times as long as the others a job has run that runs for `ran` by now, if that is so
    /// much longer that somebody may want to know.
    pub fn is_long(&self, ran: Nanos) -> Option<u64> {
        self.runs.is_long(ran)
    }

    /// `completed` jobs have ended in all. A number smaller than an earlier one is ignored.
    pub fn completed(&mut self, completed: u64) {
        self.completed = self.completed.max(completed);
    }

    /// A running job has run for [`SHOWS_AFTER`]. [`shown_over`](Self::shown_over) follows.
    pub fn shown(&mut self) {
        self.shown += 1;
    }

    /// A job that has [shown](Self::shown) what it does has ended.
    pub fn shown_over(&mut self) {
        self.shown = self.shown.saturating_sub(1);
    }

    /// Somebody has looked at the jobs.
    pub fn looked(&mut self, now: Time, found: Found) {
        self.crowd = found.ceiling.max(1);
        self.sleepers = found.sleepers;
        let Found { known, running, .. } = found;
        self.retries.looked(now, running, known, found.retrying);
    }

    /// The system had no room for another job while `running` ran.
    pub fn had_no_room(&mut self, running: u64) {
        self.shortage = Some(Shortage {
            ceiling: running.max(1),
            at: self.completed,
        });
    }

    /// There was no memory for another job while `running` ran ([`memory`]). Until it is
    /// [granted](Self::granted), only that job waits for memory beside those that run.
    pub fn refused(&mut self, running: u64) {
        self.refused = Some(running);
    }

    /// There is memory for the job that was refused.
    pub fn granted(&mut self) {
        self.refused = None;
    }

    /// There is room for the processes of this many jobs ([`Room::ceiling`]).
    pub fn has_room(&mut self, jobs: u64) {
        self.room = jobs.max(1);
    }

    /// Jobs that may run.
    pub fn limit(&self) -> u64 {
        self.crowd.min(self.room_for_last())
    }

    /// The same, however many of them compute.
    fn room_for_last(&self) -> u64 {
        let with_memory = self.refused.map_or(u64::MAX, |running| running + 1);
        self.most
            .min(slow_start(self.cpus, self.known()))
            .min(self.ceiling())
            .min(self.pace.ceiling())
            .min(self.retries.ceiling())
            .min(self.room)
            .min(with_memory)
    }

    /// Jobs that have shown what they do. Before some have ended, these are those that sleep.
    fn known(&self) -> u64 {
        let running = match self.completed >= u64::from(self.cpus.max(1)) {
            true => self.shown,
            false => self.sleepers,
        };
        self.completed.saturating_add(running)
    }

    fn ceiling(&self) -> u64 {
        self.shortage.map_or(u64::MAX, |shortage| {
            let steps = (self.completed - shortage.at) / JOBS_PER_STEP;
            let more = (1_u64 << steps.min(63)) - 1;
            shortage.ceiling.saturating_add(more)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody tries again and again.
    pub(super) fn found(ceiling: u64, sleepers: u64) -> Found {
        Found {
            ceiling,
            sleepers,
            running: 8,
            known: 8,
            retrying: 0,
        }
    }

    #[test]
    fn grows_with_what_has_completed() {
        assert_eq!(slow_start(2, 0), 8);
        assert_eq!(slow_start(2, 10), 28);
        assert_eq!(slow_start(0, 0), 4);
        assert_eq!(slow_start(2, u64::MAX), u64::MAX);
    }

    #[test]
    fn user_and_slow_start_limit_it() {
        let mut jobs = Admission::new(Time(0), 2, 20);
        assert_eq!(jobs.limit(), 8);
        jobs.completed(1000);
        assert_eq!(jobs.limit(), 20);
        jobs.completed(1);
        assert_eq!(jobs.limit(), 20, "old news do not lower it");
    }

    #[test]
    fn jobs_that_run_on_count_once_one_for_each_cpu_has_ended() {
        let mut jobs = Admission::new(Time(0), 2, 100);
        (0..3).for_each(|_| jobs.shown());
        assert_eq!(jobs.limit(), 8, "nobody knows what they come to");
        jobs.completed(1);
        assert_eq!(jobs.limit(), 8 + 2);
        jobs.completed(2);
        assert_eq!(jobs.limit(), 8 + 2 * (2 + 3));
        jobs.shown_over();
        jobs.completed(3);
        let once = "one of them has ended: it is counted once";
        assert_eq!(jobs.limit(), 8 + 2 * (3 + 2), "{once}");
    }

    #[test]
    fn jobs_that_sleep_count_at_once() {
        let mut jobs = Admission::new(Time(0), 2, 1000);
        jobs.looked(Time(0), found(11, 8));
        assert_eq!(jobs.limit(), 11);
        jobs.looked(Time(0), found(100, 8));
        assert_eq!(jobs.limit(), 8 + 2 * 8);
        jobs.completed(2);
        assert_eq!(jobs.limit(), 8 + 2 * 2, "the ended ones tell more");
        jobs.looked(Time(0), found(0, 0));
        assert_eq!(jobs.limit(), 1, "one job may always run");
    }

    #[test]
    fn one_waits_for_memory_and_no_others() {
        let mut jobs = Admission::new(Time(0), 2, 20);
        jobs.refused(3);
        assert_eq!(jobs.limit(), 4);
        jobs.refused(2);
        assert_eq!(jobs.limit(), 3);
        jobs.granted();
        assert_eq!(jobs.limit(), 8);
    }

    #[test]
    fn no_more_run_than_there_are_processes_for() {
        let mut jobs = Admission::new(Time(0), 2, 20);
        jobs.has_room(3);
        assert_eq!(jobs.limit(), 3);
        jobs.has_room(0);
        assert_eq!(jobs.limit(), 1, "one job may always run");
        jobs.has_room(u64::MAX);
        assert_eq!(jobs.limit(), 8);
    }

    #[test]
    fn a_shortage_lowers_it_and_ended_jobs_raise_it_again() {
        let mut jobs = Admission::new(Time(0), 2, 20);
        jobs.completed(1000);
        jobs.had_no_room(5);
        assert_eq!(jobs.limit(), 5);
        for (steps, more) in [(1, 1), (2, 1 + 2), (3, 1 + 2 + 4)] {
            jobs.completed(1000 + steps * JOBS_PER_STEP);
            assert_eq!(jobs.limit(), 5 + more);
        }
        jobs.completed(10_000);
        assert_eq!(jobs.limit(), 20);
        jobs.had_no_room(0);
        assert_eq!(jobs.limit(), 1, "one job may always run");
    }
}
