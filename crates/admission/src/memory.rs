//! Whether there is memory for one more job.
//!
//! A start needs
//! `headroom - to be kept free >= what running jobs will still grow + what the new one will take`.
//! Nobody knows the last two, so ended jobs tell what to expect. A running job is compared with
//! those that ran as long (`ages`). While only a few have ended, the largest job stands for all,
//! whether it runs or has ended.
//!
//! A running job that is older than all ended ones may become anything in its first 10 s. Beside
//! such jobs no more run than at the very beginning, unless the anonymous memory of each could
//! become 64 times what it is. What a job has of files, its program and libraries above all, is
//! shared with the others, and says nothing of what it will take.
//!
//! What the system has left is read from files, which costs more than many a job. So a reading is
//! used as long as possible. Until the next one, each start is taken to need its whole peak, and
//! each end to have given nothing back. One job always runs, however large it is.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::ages::Ages;
use super::slow_start;
use cmwq_policy::time::{MILLISECOND, Nanos, SECOND, Time};

/// How long a reading is used while there is plenty.
pub const VALID_FAR: Nanos = 100 * MILLISECOND;
/// How long it is used while memory decides who may start.
pub const VALID_NEAR: Nanos = 20 * MILLISECOND;
/// A refused start is considered again after this time if a job has ended: what that job gave back
/// may be enough.
pub const AFTER_END: Nanos = 5 * MILLISECOND;
/// If none has ended, after this time; then after twice as long, and so on.
pub const RETRY_FIRST: Nanos = 20 * MILLISECOND;
/// But not longer than this: memory may also come from outside.
pub const RETRY_LAST: Nanos = 640 * MILLISECOND;
/// A reading is used for at least this many times what it took: at most 1.6 % of one CPU.
const COST_PART: u64 = 64;
/// There is plenty if this many times the need is there.
const PLENTY: u64 = 2;
/// A job that is like no ended one is taken to grow to this many times its anonymous memory.
const UNKNOWN_GROWTH: u64 = 64;
/// That counts as at least so much: it may not have been read yet.
const UNKNOWN_LEAST: u64 = 4 << 20;
/// A job that has run for this long has its final size, whatever others do. One that runs for hours
/// must not hold back all others.
const SETTLED: Nanos = 10 * SECOND;
/// Running jobs whose size one reading looks at, while there is plenty and while there is not.
const SIZES_FAR: usize = 8;
const SIZES_NEAR: usize = 64;

/// What to do with a job that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Admit {
    /// Start it, after [`Memory::started`].
    Start,
    /// Read first ([`Memory::sizes_to_read`], then [`Memory::read`]) and ask again.
    Read,
    /// There is no room. Ask again after this long, or as soon as a job has ended.
    Wait(Nanos),
}

/// What the system has left.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Time,
    took: Nanos,
    /// Bytes that may be used, less those to be kept free.
    spare: u64,
    /// A job has ended since.
    ended: bool,
}

/// The size of a running job, in bytes.
#[derive(Clone, Copy, Debug)]
struct Size {
    since: Time,
    now: u64,
    peak: u64,
    /// The most that was not of a file.
    anonymous: u64,
}

/// Tells which jobs were killed for want of memory. The kernel only counts such kills, for the
/// machine and for each control group. It counts other people's processes too.
#[derive(Clone, Debug)]
pub struct Kills {
    before: Vec<u64>,
    ours: u64,
}

impl Kills {
    /// The counts at the beginning.
    pub fn since(before: Vec<u64>) -> Self {
        Kills { before, ours: 0 }
    }

    /// Whether a job was killed for memory, if its signal may have been the kernel's. `now`: the
    /// counts after its end. It was if a count has risen more often than jobs were found killed.
    pub fn is_one(&mut self, now: &[u64]) -> bool {
        let rises = now.iter().zip(&self.before);
        let most = rises.map(|(now, before)| now.saturating_sub(*before)).max();
        let found = most.unwrap_or(0) > self.ours;
        self.ours += u64::from(found);
        found
    }
}

/// What is known of the jobs' memory. A job is known by a number that the caller chooses.
#[derive(Clone, Debug)]
pub struct Memory {
    keep_free: u64,
    /// This many may run, whatever they become.
    first: usize,
    ages: Ages,
    running: BTreeMap<u64, Size>,
    reading: Option<Reading>,
    /// Where the next reading of sizes goes on.
    cursor: u64,
    /// Readings in a row after which there was no room, and nothing ended.
    refusals: u32,
}

impl Memory {
    /// `keep_free`: bytes that jobs are not to take. `cpus`: those that they run on.
    pub fn new(keep_free: u64, cpus: u32) -> Self {
        Memory {
            keep_free,
            first: slow_start(cpus, 0) as usize,
            ages: Ages::default(),
            running: BTreeMap::new(),
            reading: None,
            cursor: 0,
            refusals: 0,
        }
    }

    /// Whether one more job may start now.
    pub fn may_start(&self, now: Time) -> Admit {
        if self.running.is_empty() {
            return Admit::Start;
        }
        let Some(reading) = self.reading else {
            return Admit::Read;
        };
        let age = now.since(reading.at);
        match self.fits(now, reading.spare) {
            true if age <= self.valid(&reading) => Admit::Start,
            true => Admit::Read,
            false => match self.pause(&reading).saturating_sub(age) {
                0 => Admit::Read,
                left => Admit::Wait(left),
            },
        }
    }

    /// The job `id` is about to start. Said before it does, so that the next answer counts it.
    pub fn started(&mut self, id: u64, now: Time) {
        let size = Size {
            since: now,
            now: 0,
            peak: 0,
            anonymous: 0,
        };
        self.running.insert(id, size);
        self.refusals = 0;
    }

    /// Whose sizes the next reading needs: all running jobs have their turn.
    pub fn sizes_to_read(&mut self) -> Vec<u64> {
        let plenty = self.reading.as_ref().is_some_and(|r| self.has_plenty(r));
        let most = match plenty {
            true => SIZES_FAR,
            false => SIZES_NEAR,
        };
        let behind = self.running.range(self.cursor..);
        let before = self.running.range(..self.cursor);
        let ids: Vec<u64> = behind.chain(before).map(|(&id, _)| id).take(most).collect();
        self.cursor = ids.last().map_or(0, |id| id.wrapping_add(1));
        ids
    }

    /// The job `id` was seen to take `bytes`, of which so many are anonymous: neither of a
    /// file nor shared memory. Does nothing if it has ended.
    pub fn is_now(&mut self, id: u64, bytes: u64, anonymous: u64) {
        if let Some(size) = self.running.get_mut(&id) {
            size.now = bytes;
            size.peak = size.peak.max(bytes);
            size.anonymous = size.anonymous.max(anonymous);
        }
    }

    /// Takes in a reading. `headroom`: bytes that may still be used; `u64::MAX` if the system does
    /// not say. `took`: what the reading cost, sizes included.
    ///
    /// Read the headroom after the sizes of jobs. What a job takes in between is then counted twice
    /// rather than not at all.
    pub fn read(&mut self, now: Time, headroom: u64, took: Nanos) {
        let spare = headroom.saturating_sub(self.keep_free);
        self.reading = Some(Reading {
            at: now,
            took,
            spare,
            ended: false,
        });
        if !self.running.is_empty() && !self.fits(now, spare) {
            self.refusals = self.refusals.saturating_add(1);
        }
    }

    /// The job `id` has ended, and ran for `ran`. `peak`: the most bytes it had, or 0 if its end
    /// does not tell. `starter`: the most bytes of the process that started it.
    ///
    /// A process begins with the size of its starter. A peak that is not larger was the starter's,
    /// and says nothing of the job.
    pub fn ended(&mut self, id: u64, ran: Nanos, peak: u64, starter: u64) {
        let Some(size) = self.running.remove(&id) else {
            return;
        };
        let told = if peak > starter { peak } else { 0 };
        self.ages.add(ran, size.peak.max(told));
        self.refusals = 0;
        if let Some(reading) = &mut self.reading {
            reading.ended = true;
        }
    }

    /// The job `id`, which was to start, could not.
    pub fn not_started(&mut self, id: u64) {
        self.running.remove(&id);
    }

    /// Jobs that run or are being started.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// What a new job is expected to take at most, in bytes.
    pub fn expected(&self) -> u64 {
        let expected = self.ages.expected();
        if !self.ages.are_few() {
            return expected;
        }
        let running = self.running.values().map(|size| size.peak);
        running.fold(expected, u64::max)
    }

    fn fits(&self, now: Time, spare: u64) -> bool {
        self.need(now) <= spare
    }

    /// What running jobs will still grow, and what a new one will take.
    fn need(&self, now: Time) -> u64 {
        let expected = self.expected();
        let growth = |size: &Size| {
            let age = now.since(size.since);
            let becomes = self.becomes(size, expected, age);
            becomes.saturating_sub(size.now)
        };
        let growths = self.running.values().map(growth);
        growths.fold(expected, u64::saturating_add)
    }

    /// What a running job of this age may take at most, if a new one is expected to take so much.
    fn becomes(&self, size: &Size, expected: u64, age: Nanos) -> u64 {
        let at_least = size.peak.max(expected);
        let is_known = self.ages.knows(age) || age >= SETTLED;
        match is_known || self.running.len() < self.first {
            true => self.ages.expected_at(age).max(at_least),
            false => {
                let unknown = size.anonymous.max(UNKNOWN_LEAST);
                unknown.saturating_mul(UNKNOWN_GROWTH).max(at_least)
            }
        }
    }

    fn has_plenty(&self, reading: &Reading) -> bool {
        let enough = self.need(reading.at).saturating_mul(PLENTY);
        enough <= reading.spare
    }

    /// How long a reading that shows room is used.
    fn valid(&self, reading: &Reading) -> Nanos {
        let valid = match self.has_plenty(reading) {
            true => VALID_FAR,
            false => VALID_NEAR,
        };
        valid.max(reading.took.saturating_mul(COST_PART))
    }

    /// How long a reading that shows no room is used.
    fn pause(&self, reading: &Reading) -> Nanos {
        let doubled = RETRY_FIRST << self.refusals.saturating_sub(1).min(8);
        let pause = match reading.ended {
            true => AFTER_END,
            false => doubled.min(RETRY_LAST),
        };
        pause.max(reading.took.saturating_mul(COST_PART))
    }
}

#[cfg(test)]
mod tests;
