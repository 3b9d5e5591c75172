//! What the process has one of and all its pools and queues need: its numbers, its budget of CPUs,
//! and the canaries and the tick as others see them.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};

use cmwq_os::{clock, generation, sched, thread};
use cmwq_policy::form::CanaryForm;
use cmwq_policy::work;

use crate::lately::Lately;
use crate::options::{MAX_POOLS, MAX_SHARED_POOLS, Options};
use crate::recorder::Recorder;
use crate::report::Reports;
use crate::signals::canaries::Canaries;
use crate::signals::tick::Tick;

/// Per-CPU and BH pools, each of two nice levels.
const POOLS_OF_A_CPU: usize = 4;

/// See the module's page.
pub(crate) struct Base {
    generation: u32,
    /// Its own number: items that have run nowhere have it in their words. The numbers of its pools
    /// follow, those of a parent process are lower.
    nowhere: u32,
    /// Numbers of CPUs are below this.
    nr_cpus: usize,
    options: Options,
    base_nice: i32,
    budget: AtomicU64,
    canaries: Canaries,
    tick: Tick,
    reports: Reports,
    recorder: Recorder,
    lately: Lately,
    closing: AtomicBool,
    spawn_failures: AtomicU64,
    /// Why the last one failed: an errno, or 0.
    spawn_error: AtomicI32,
    /// The same, but 0 again once a worker's thread could be made.
    no_thread: AtomicI32,
    nice_denied: AtomicBool,
}

impl Base {
    /// Of a process with this number, whose pools get the numbers behind `nowhere`.
    ///
    /// # Errors
    /// If there are not enough of those left.
    pub(crate) fn new(generation: u32, nowhere: u32, nr_cpus: usize) -> io::Result<Self> {
        check_numbers(nowhere, nr_cpus)?;
        Ok(Base {
            generation,
            nowhere,
            nr_cpus,
            options: Options::installed(),
            base_nice: sched::nice_of(thread::getpid()).unwrap_or(0),
            budget: AtomicU64::new(0),
            canaries: Canaries::new(),
            tick: Tick::new(),
            reports: Reports::new(),
            recorder: Recorder::new(),
            lately: Lately::new(clock::now()),
            closing: AtomicBool::new(false),
            spawn_failures: AtomicU64::new(0),
            spawn_error: AtomicI32::new(0),
            no_thread: AtomicI32::new(0),
            nice_denied: AtomicBool::new(false),
        })
    }

    /// Whether this is the process that made it, and not a forked child.
    #[inline]
    pub(crate) fn is_ours(&self) -> bool {
        generation::current() == self.generation
    }

    /// The number of this process, which is no pool's.
    #[inline]
    pub(crate) fn nowhere(&self) -> u32 {
        self.nowhere
    }

    /// Whether this number is of this process: a pool's, or its own.
    pub(crate) fn has_number(&self, id: u32) -> bool {
        id >= self.nowhere
    }

    /// Index of a pool of this process: its number, counted from the process's own.
    pub(crate) fn index_of(&self, pool: u32) -> usize {
        (pool - self.nowhere) as usize
    }

    pub(crate) fn nr_cpus(&self) -> usize {
        self.nr_cpus
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Where the program wants the canaries to live, if it has said so.
    pub(crate) fn canary_wish(&self) -> Option<CanaryForm> {
        self.options.canaries
    }

    pub(crate) fn stack_size(&self) -> usize {
        self.options.stack_size
    }

    pub(crate) fn base_nice(&self) -> i32 {
        self.base_nice
    }

    /// A queue's nice value is on top of the process's at first use, as with nice(1).
    pub(crate) fn nice(&self, nice: i8) -> i8 {
        (self.base_nice + i32::from(nice)).clamp(-20, 19) as i8
    }

    pub(crate) fn budget(&self) -> &AtomicU64 {
        &self.budget
    }

    pub(crate) fn canaries(&self) -> &Canaries {
        &self.canaries
    }

    pub(crate) fn tick(&self) -> &Tick {
        &self.tick
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    #[inline]
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub(crate) fn lately(&self) -> &Lately {
        &self.lately
    }

    /// From now on only running items queue.
    pub(crate) fn close(&self) {
        self.closing.store(true, SeqCst);
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    pub(crate) fn note_spawn_failure(&self, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(0);
        self.spawn_error.store(errno, SeqCst);
        self.no_thread.store(errno, SeqCst);
        self.spawn_failures.fetch_add(1, SeqCst);
    }

    pub(crate) fn note_spawned(&self) {
        self.no_thread.store(0, SeqCst);
    }

    /// The errno of the last try to make a worker's thread, if that has failed.
    pub(crate) fn no_thread(&self) -> Option<i32> {
        Some(self.no_thread.load(SeqCst)).filter(|&errno| errno != 0)
    }

    /// Why a thread could not be made last, if that has happened.
    pub(crate) fn spawn_error(&self) -> Option<io::Error> {
        match self.spawn_error.load(SeqCst) {
            0 => None,
            errno => Some(io::Error::from_raw_os_error(errno)),
        }
    }

    pub(crate) fn spawn_failures(&self) -> u64 {
        self.spawn_failures.load(SeqCst)
    }

    pub(crate) fn note_denied_nice(&self) {
        self.nice_denied.store(true, SeqCst);
    }

    pub(crate) fn is_nice_denied(&self) -> bool {
        self.nice_denied.load(SeqCst)
    }
}

/// Whether all pools that a process with so many CPUs may make can have numbers, from this one on.
/// Asked once, so that no pool lacks one later.
fn check_numbers(first: u32, nr_cpus: usize) -> io::Result<()> {
    // One is the engine's own.
    let most = (1 + MAX_SHARED_POOLS + POOLS_OF_A_CPU * nr_cpus).min(MAX_POOLS);
    match work::has_numbers(first, most as u32) {
        true => Ok(()),
        false => Err(io::Error::other(
            "too long a chain of forks: their parents have used up the numbers of pools",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_numbers_for_all_its_pools_or_none() {
        let most = (1 + MAX_SHARED_POOLS + 2 * POOLS_OF_A_CPU) as u32;
        let last = work::MAX_POOLS - most;
        assert!(check_numbers(0, 2).is_ok() && check_numbers(last, 2).is_ok());
        let error = check_numbers(last + 1, 2).unwrap_err().to_string();
        assert!(error.starts_with("too long a chain of forks"), "{error}");
    }
}
