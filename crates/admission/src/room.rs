//! How many jobs the system has processes for, with the children that these jobs will have.
//!
//! A system that has no room for another process refuses it to whoever asks: to us, who can wait,
//! and to a running job, which then fails. So jobs leave room for what the running ones will still
//! start. Processes and threads count alike here, as they do for the system: both are *tasks*.
//!
//! Ended jobs tell how many tasks a job has, as far as they were seen while they ran. What was not
//! seen is small or short. One job may always run.

use alloc::collections::BTreeMap;

use super::peaks::Peaks;
use cmwq_policy::time::{MILLISECOND, Nanos};

/// Tasks of a job at least: a shell that runs two commands in a pipeline.
const LEAST: u64 = 3;
/// The thread of ours that waits for a job.
const WAITER: u64 = 1;
/// There is plenty while each job might have this many tasks, and some more jobs too.
const PLENTY: u64 = 64;
const SOME_MORE: u64 = 8;
/// This part of what is left is for others, who may want to see what goes on here.
const KEPT_PART: u64 = 16;
const KEPT_LEAST: u64 = 3;
/// How long a reading is used while there is plenty, and else.
const VALID_FAR: Nanos = 200 * MILLISECOND;
const VALID_NEAR: Nanos = 50 * MILLISECOND;
/// A reading is used for at least this many times what it took: at most 1.6 % of one CPU.
const COST_PART: u64 = 64;

/// Tasks of a running job: as many as were seen last, and the most that were.
#[derive(Clone, Copy, Debug)]
struct Tasks {
    now: u64,
    peak: u64,
}

/// What is known of the tasks of jobs. A job is known by a number that the caller chooses.
#[derive(Clone, Debug, Default)]
pub struct Room {
    ended: Peaks,
    running: BTreeMap<u64, Tasks>,
    /// `None`: there is plenty.
    ceiling: Option<u64>,
}

impl Room {
    /// Takes in that the system would allow `left` more tasks, while `running` jobs run. False: the
    /// tasks of each have to be [counted](Self::counted).
    pub fn has_plenty(&mut self, left: u64, running: u64) -> bool {
        let each = PLENTY.max(2 * self.expected());
        let plenty = left / each >= running.saturating_add(SOME_MORE);
        if plenty {
            self.ceiling = None;
        }
        plenty
    }

    /// The system would allow `left` more tasks, and the running jobs have these: each its number,
    /// and how many.
    pub fn counted(&mut self, left: u64, jobs: impl IntoIterator<Item = (u64, u64)>) {
        let mut running = BTreeMap::new();
        for (id, now) in jobs {
            let peak = self
                .running
                .get(&id)
                .map_or(now, |tasks| tasks.peak.max(now));
            running.insert(id, Tasks { now, peak });
        }
        self.running = running;
        let expected = self.expected();
        let growth = |tasks: &Tasks| tasks.peak.max(expected).saturating_sub(tasks.now);
        let growths = self
            .running
            .values()
            .map(growth)
            .fold(0, u64::saturating_add);
        let needed = growths.saturating_add((left / KEPT_PART).max(KEPT_LEAST));
        let each = expected.saturating_add(WAITER);
        let jobs = self.running.len() as u64;
        let ceiling = match left.checked_sub(needed) {
            Some(free) => jobs.saturating_add(free / each),
            // Too many run: what they will start has no place.
            None => jobs.saturating_sub((needed - left).div_ceil(each)),
        };
        self.ceiling = Some(ceiling.max(1));
    }

    /// The job has ended.
    pub fn ended(&mut self, id: u64) {
        if let Some(tasks) = self.running.remove(&id) {
            self.ended.add(tasks.peak);
        }
    }

    /// How many jobs may run.
    pub fn ceiling(&self) -> u64 {
        self.ceiling.unwrap_or(u64::MAX)
    }

    /// How long a reading that took so long is used.
    pub fn valid(&self, took: Nanos) -> Nanos {
        let valid = match self.ceiling {
            None => VALID_FAR,
            Some(_) => VALID_NEAR,
        };
        valid.max(took.saturating_mul(COST_PART))
    }

    /// Tasks that a new job will have at most.
    fn expected(&self) -> u64 {
        let expected = self.ended.expected().max(LEAST);
        if !self.ended.are_few() {
            return expected;
        }
        let running = self.running.values().map(|tasks| tasks.peak);
        running.fold(expected, u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_limit_holds_a_shells_commands() {
        let mut room = Room::default();
        assert!(!room.has_plenty(15, 0));
        room.counted(15, []);
        assert_eq!(
            room.ceiling(),
            3,
            "of 3 tasks and a waiter each, and 3 kept"
        );
        room.counted(8, [(0, 2), (1, 2)]);
        let more = "both will have another task, and 3 are kept";
        assert_eq!(room.ceiling(), 2, "{more}");
        room.counted(4, [(0, 2), (1, 2)]);
        assert_eq!(room.ceiling(), 1, "{more}: one is too many");
        room.counted(0, []);
        assert_eq!(room.ceiling(), 1, "one may always run");
    }

    #[test]
    fn jobs_with_many_children_get_more_room() {
        let mut room = Room::default();
        room.counted(100, [(0, 9), (1, 4)]);
        let left = 100 - 6;
        assert_eq!(room.ceiling(), 2 + (left - 5) / 10);
        room.ended(0);
        room.ended(7);
        room.counted(100, []);
        assert_eq!(room.ceiling(), left / 10, "what was seen is remembered");
        for id in 10..200 {
            room.counted(100, [(id, 2)]);
            room.ended(id);
        }
        room.counted(100, []);
        let once = "one large job of many does not count";
        assert_eq!(room.ceiling(), left / 4, "{once}");
    }

    #[test]
    fn nobody_counts_where_there_is_plenty() {
        let mut room = Room::default();
        room.counted(14, []);
        assert!(room.valid(0) < VALID_FAR);
        assert!(room.has_plenty(30_000, 100));
        assert_eq!((room.ceiling(), room.valid(0)), (u64::MAX, VALID_FAR));
        assert!(!room.has_plenty(30_000, 1000));
        assert_eq!(room.valid(10 * VALID_FAR), 640 * VALID_FAR);
    }
}
