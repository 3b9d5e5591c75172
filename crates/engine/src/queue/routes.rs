//! Where the new items of a queue go, by CPU.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr};

use cmwq_policy::CpuMask;

use super::pwq::{Pwq, PwqRef};

/// A pool workqueue for each CPU, none until it is first used. Read without a lock; changed under
/// the queue's lock.
pub(crate) struct Routes {
    /// All CPUs use the first CPU's route.
    one: AtomicBool,
    first: AtomicPtr<Pwq>,
    /// The routes of all other CPUs, made when one of them is used: most queues have one route.
    others: OnceLock<Box<[AtomicPtr<Pwq>]>>,
    nr_cpus: usize,
}

impl Routes {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Routes {
            one: AtomicBool::new(false),
            first: AtomicPtr::default(),
            others: OnceLock::new(),
            nr_cpus,
        }
    }

    pub(crate) fn set_one(&self, one: bool) {
        self.one.store(one, SeqCst);
    }

    /// Index of the route used for this CPU; `here` says which CPU it is.
    #[inline]
    pub(crate) fn slot(&self, here: impl FnOnce() -> usize) -> usize {
        match self.one.load(SeqCst) {
            true => 0,
            // A CPU may have come since the process began. It uses the last known CPU's route.
            false => here().min(self.nr_cpus - 1),
        }
    }

    #[inline]
    pub(crate) fn get(&self, cpu: usize) -> Option<PwqRef> {
        let route = match cpu.checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others.get()?[other],
        };
        NonNull::new(route.load(SeqCst))
    }

    pub(crate) fn set(&self, cpu: usize, pwq: PwqRef) {
        let others = || (1..self.nr_cpus).map(|_| AtomicPtr::default()).collect();
        let route = match cpu.checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others.get_or_init(others)[other],
        };
        route.store(pwq.as_ptr(), SeqCst);
    }

    /// The CPUs that have a route.
    pub(crate) fn routed(&self) -> CpuMask {
        let cpus = 0..self.nr_cpus;
        cpus.filter(|&cpu| self.get(cpu).is_some()).collect()
    }
}
