//! Canaries: one SCHED_IDLE thread per CPU that says "this CPU would idle right now".
//!
//! A canary takes no lock, allocates nothing once it runs and creates no thread: it can be kept off
//! its CPU for seconds at any point.

use std::io;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, OnceLock};

use cmwq_os::{clock, sched, thread};
use cmwq_policy::canary::{self, Canary, Confirm, LINGER_YIELDS};
use cmwq_policy::{CpuMask, MAX_CPUS};

use super::bell::Bell;
use crate::engine::{Engine, MAX_POOLS};
use crate::sync::{AtomicU32, AtomicU64, SeqCst, fence};

/// Bytes of stack: a canary calls nothing deep.
const STACK: usize = 64 * 1024;

/// All canaries of the process.
pub(crate) struct Canaries {
    /// A bit per pool that would start a worker on a report, and how many bits are set.
    wanting: Box<[AtomicU64]>,
    nr_wanting: AtomicU32,
    bells: Box<[AtomicPtr<Bell>]>,
    /// CPUs that have a canary, and of those the ones that may be armed now.
    cpus: Mutex<(CpuMask, CpuMask)>,
    /// 64-bit words that hold the highest such CPU.
    words: AtomicU32,
    /// Canaries that are not armed: that have fired, or sleep.
    off_duty: AtomicU32,
    last_pool: AtomicU32,
    reports: AtomicU64,
    denied: OnceLock<io::Error>,
}

impl Canaries {
    pub(crate) fn new() -> Self {
        Canaries {
            wanting: (0..MAX_POOLS / 64).map(|_| AtomicU64::new(0)).collect(),
            nr_wanting: AtomicU32::new(0),
            bells: (0..MAX_CPUS).map(|_| AtomicPtr::default()).collect(),
            cpus: Mutex::new((CpuMask::EMPTY, CpuMask::EMPTY)),
            words: AtomicU32::new(0),
            off_duty: AtomicU32::new(0),
            last_pool: AtomicU32::new(0),
            reports: AtomicU64::new(0),
            denied: OnceLock::new(),
        }
    }

    /// Publishes that a pool newly wants reports, or none any more. Said under the pool's lock. Follow
    /// with [`arm_all`](Self::arm_all) where it newly does, after the lock is dropped.
    pub(crate) fn set_wanting(&self, pool: usize, wants: bool) {
        let (word, bit) = (&self.wanting[pool / 64], 1 << (pool % 64));
        match wants {
            true => {
                word.fetch_or(bit, SeqCst);
                // After the bit: who sees the number finds whom it is for.
                self.nr_wanting.fetch_add(1, SeqCst);
            }
            false => {
                self.nr_wanting.fetch_sub(1, SeqCst);
                word.fetch_and(!bit, SeqCst);
            }
        }
    }

    pub(crate) fn anybody_wants(&self) -> bool {
        self.nr_wanting.load(SeqCst) != 0
    }

    /// Arms every canary that may be armed. Costs one load while all are.
    pub(crate) fn arm_all(&self) {
        // Partner: the fence in `Bell::disarm`.
        fence(SeqCst);
        if self.off_duty.load(SeqCst) == 0 {
            return;
        }
        let (_, armable) = *self.cpus.lock().expect("nobody panics with it");
        self.arm(&armable);
    }

    /// Arms whoever has lost an arming, if a report could be used. Part of each tick.
    pub(crate) fn arm_wanted(&self) {
        let (_, armable) = *self.cpus.lock().expect("nobody panics with it");
        self.rearm(&armable);
    }

    /// Arms these canaries again, if a report of theirs could be used.
    pub(crate) fn rearm(&self, cpus: &CpuMask) {
        fence(SeqCst);
        if self.anybody_wants() {
            self.arm(cpus);
        }
    }

    fn arm(&self, cpus: &CpuMask) {
        let bells = cpus.iter().filter_map(|cpu| self.bell(cpu));
        bells.for_each(|bell| bell.arm(&self.off_duty));
    }

    /// Takes the right to one report of the canary with this bell. Whom it goes to is chosen after.
    pub(crate) fn fire(&self, bell: &Bell) -> bool {
        bell.fire(&self.off_duty)
    }

    /// Sleeps until the canary with this bell is armed, if it is not or nobody wants a report.
    pub(crate) fn park(&self, bell: &Bell) {
        bell.park(&self.off_duty, || self.anybody_wants());
    }

    fn bell(&self, cpu: usize) -> Option<&'static Bell> {
        // SAFETY: null or a leaked bell.
        unsafe { self.bells[cpu].load(SeqCst).as_ref() }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn wants(&self, pool: usize) -> bool {
        self.wanting[0].load(SeqCst) & (1 << pool) != 0
    }

    /// Makes the bell of this CPU's canary.
    #[cfg(all(test, loom))]
    pub(crate) fn hang(&self, cpu: usize) -> &'static Bell {
        let bell: &'static Bell = Box::leak(Box::new(Bell::new()));
        self.bells[cpu].store(std::ptr::from_ref(bell).cast_mut(), SeqCst);
        let mut cpus = self.cpus.lock().expect("nobody panics with it");
        cpus.1.insert(cpu);
        bell
    }

    /// Reports that led to a wake-up.
    pub(crate) fn reports(&self) -> u64 {
        self.reports.load(SeqCst)
    }

    /// 64-bit words that hold every CPU with a canary.
    pub(crate) fn report_words(&self) -> usize {
        self.words.load(SeqCst) as usize
    }

    /// Why there are none, if the system denies them.
    pub(crate) fn denied(&self) -> Option<&io::Error> {
        self.denied.get()
    }

    /// Makes sure that each CPU of the mask has a canary, and chooses who may be armed now. Called
    /// by the tick, which is the one that creates threads.
    pub(crate) fn serve(
        &self,
        engine: &'static Engine,
        target: usize,
        mask: &CpuMask,
        turn: usize,
    ) {
        if self.denied().is_some() {
            return;
        }
        let have = self.cpus.lock().expect("nobody panics with it").0;
        let missing: Vec<usize> = mask.iter().filter(|&cpu| !have.contains(cpu)).collect();
        let mut have = have;
        for cpu in missing {
            if self.start(engine, cpu).is_err() {
                // Nor would there be room for the next.
                break;
            }
            have.insert(cpu);
        }
        let armable = canary::armable(&have.and(mask), target, turn);
        let highest = have.iter().last().map_or(0, |cpu| cpu / 64 + 1);
        self.words.store(highest as u32, SeqCst);
        *self.cpus.lock().expect("nobody panics with it") = (have, armable);
    }

    fn start(&self, engine: &'static Engine, cpu: usize) -> io::Result<()> {
        let bell: &'static Bell = Box::leak(Box::new(Bell::new()));
        let canary = Watcher { engine, bell, cpu };
        let bell = std::ptr::from_ref(bell).cast_mut();
        thread::spawn(&format!("cmwq/c{cpu}"), STACK, move || canary.run()).inspect_err(|_| {
            // SAFETY: leaked above; there is no thread, so nobody else knows of it.
            drop(unsafe { Box::from_raw(bell) });
        })?;
        self.bells[cpu].store(bell, SeqCst);
        Ok(())
    }
}

/// The thread of one canary.
struct Watcher {
    engine: &'static Engine,
    bell: &'static Bell,
    cpu: usize,
}

impl Watcher {
    fn run(self) {
        self.stay();
        // Last: a SCHED_IDLE thread could be kept off its CPU amid its own end, which takes locks.
        if let Err(error) = sched::set_idle_policy_self() {
            let _ = self.canaries().denied.set(error);
            return;
        }
        loop {
            self.watch();
            self.linger();
        }
    }

    fn canaries(&self) -> &'static Canaries {
        self.engine.canaries()
    }

    /// Goes to its CPU; false if the process does not have it now.
    fn stay(&self) -> bool {
        // The kernel would let this thread go where the process may not.
        let mask = sched::affinity(thread::getpid());
        if mask.is_ok_and(|mask| !mask.contains(self.cpu)) {
            return false;
        }
        let only: CpuMask = [self.cpu].into_iter().collect();
        sched::set_affinity_self(&only).is_ok()
    }

    /// While armed and wanted: reports once it is alone on its CPU.
    fn watch(&self) {
        let mut confirm = Confirm::default();
        while self.bell.state() == Canary::Armed && self.canaries().anybody_wants() {
            let before = clock::now();
            sched::yield_now();
            if sched::current_cpu() != self.cpu {
                // Somebody outside has given all threads another mask (`taskset -ap`).
                confirm = Confirm::default();
                if !self.stay() && self.canaries().fire(self.bell) {
                    // Nothing to report. A tick arms it again while its CPU is thought to be there.
                    return;
                }
            } else if confirm.yielded(clock::now().since(before)) && self.canaries().fire(self.bell)
            {
                return self.report();
            }
        }
    }

    fn report(&self) {
        let canaries = self.canaries();
        let last = canaries.last_pool.load(SeqCst) as usize;
        let words = &canaries.wanting[..self.engine.pool_words()];
        let wanting = self.engine.wanting_pools(words, self.cpu);
        let Some(pool) = canary::choose_pool(wanting, last) else {
            return;
        };
        canaries.last_pool.store(pool as u32, SeqCst);
        canaries.reports.fetch_add(1, SeqCst);
        if let Some(pool) = self.engine.pool_at(pool) {
            pool.report_idle(self.cpu);
        }
    }

    /// Yields a few times more, so that an arming which comes at once needs no wake-up; then parks.
    fn linger(&self) {
        for _ in 0..LINGER_YIELDS {
            if self.bell.state() == Canary::Armed && self.canaries().anybody_wants() {
                return;
            }
            sched::yield_now();
        }
        self.canaries().park(self.bell);
    }
}
