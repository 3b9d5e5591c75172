//! Canaries as others see them: which pools want their reports, which canaries exist, and arming
//! them. Their threads are in `threads/canary.rs`.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32};
use std::sync::{OnceLock, PoisonError};

use cmwq_os::session;
use cmwq_policy::form::{CanaryForm, CanaryReason};
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{CpuMask, MAX_CPUS, Nanos, canary};

use super::board::{Board, Ground};
use crate::options::MAX_POOLS;
use crate::park::Parker;
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, SeqCst, fence};

/// How long the end of the process waits for its helper, which needs 0.2 ms where CPUs are idle.
const GOODBYE: Nanos = 2 * MILLISECOND;

/// All canaries of the process.
pub(crate) struct Canaries {
    /// A bit per pool that would start a worker on a report; how many are set is on the board.
    wanting: Box<[AtomicU64]>,
    ground: Ground,
    crew: Mutex<Crew>,
    /// 64-bit words that hold the highest CPU with a canary.
    words: AtomicU32,
    last_pool: AtomicU32,
    reports: AtomicU64,
    denied: OnceLock<io::Error>,
    /// The process ends, and its helper was told so; who ends it waits there for a moment.
    leaving: AtomicBool,
    gone: Parker,
    /// The helper was told to end, as this process has moved.
    moved: AtomicBool,
    /// The canaries that are threads of this process, by CPU: 0 where there is none.
    threads: Box<[AtomicI32]>,
}

/// Who there is.
pub(crate) struct Crew {
    /// Where canaries live, once that is decided.
    pub(crate) form: Option<(CanaryForm, CanaryReason)>,
    /// It will not turn out otherwise in a moment.
    is_settled: bool,
    /// CPUs whose bells have a canary, and of those the ones that may be armed now.
    pub(crate) have: CpuMask,
    armable: CpuMask,
    /// CPUs with a relay, and CPUs with a canary that is a thread of this process.
    pub(crate) relays: CpuMask,
    pub(crate) threads: CpuMask,
    /// Where the helper was forked.
    home: Option<Home>,
}

impl Canaries {
    pub(crate) fn new() -> Self {
        let nr_threads = if cfg!(loom) { 1 } else { MAX_CPUS };
        Canaries {
            wanting: (0..MAX_POOLS / 64).map(|_| AtomicU64::new(0)).collect(),
            ground: Ground::new(),
            crew: Mutex::new(Crew {
                form: None,
                is_settled: false,
                have: CpuMask::EMPTY,
                armable: CpuMask::EMPTY,
                relays: CpuMask::EMPTY,
                threads: CpuMask::EMPTY,
                home: None,
            }),
            words: AtomicU32::new(0),
            last_pool: AtomicU32::new(0),
            reports: AtomicU64::new(0),
            denied: OnceLock::new(),
            leaving: AtomicBool::new(false),
            gone: Parker::default(),
            moved: AtomicBool::new(false),
            threads: (0..nr_threads).map(|_| AtomicI32::new(0)).collect(),
        }
    }

    pub(crate) fn board(&self) -> &Board {
        self.ground.board()
    }

    pub(crate) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Publishes that a pool newly wants reports, or none any more. Said under the pool's lock.
    /// Follow with [`arm_all`](Self::arm_all) where it newly does, after the lock is dropped.
    pub(crate) fn set_wanting(&self, pool: usize, wants: bool) {
        let (word, bit) = (&self.wanting[pool / 64], 1 << (pool % 64));
        let nr_wanting = &self.board().nr_wanting;
        match wants {
            true => {
                word.fetch_or(bit, SeqCst);
                // After the bit: who sees the number finds whom it is for.
                nr_wanting.fetch_add(1, SeqCst);
            }
            false => {
                nr_wanting.fetch_sub(1, SeqCst);
                word.fetch_and(!bit, SeqCst);
            }
        }
    }

    /// Arms every canary that may be armed. Costs one load while all are.
    pub(crate) fn arm_all(&self) {
        // Partner: the fence in `Bell::disarm`.
        fence(SeqCst);
        if self.board().off_duty.load(SeqCst) == 0 {
            return;
        }
        let armable = self.crew().armable;
        self.arm(&armable);
    }

    /// Arms whoever has lost an arming, if a report could be used. Part of each tick.
    pub(crate) fn arm_wanted(&self) {
        let armable = self.crew().armable;
        self.rearm(&armable);
    }

    /// Arms these canaries again, if a report of theirs could be used.
    pub(crate) fn rearm(&self, cpus: &CpuMask) {
        fence(SeqCst);
        if self.board().anybody_wants() {
            self.arm(cpus);
        }
    }

    fn arm(&self, cpus: &CpuMask) {
        let board = self.board();
        cpus.iter()
            .for_each(|cpu| board.seat(cpu).bell.arm(&board.off_duty));
    }

    pub(crate) fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(all(test, loom))]
    pub(crate) fn wants(&self, pool: usize) -> bool {
        self.wanting[0].load(SeqCst) & (1 << pool) != 0
    }

    /// This CPU has a canary.
    #[cfg(all(test, loom))]
    pub(crate) fn hang(&self, cpu: usize) {
        self.board().seat(cpu).bell.hang();
        self.crew().armable.insert(cpu);
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

    pub(crate) fn deny(&self, error: io::Error) {
        let _ = self.denied.set(error);
    }

    /// Where they live, and why, once that is decided.
    pub(crate) fn form(&self) -> Option<(CanaryForm, CanaryReason)> {
        let crew = self.crew();
        crew.form.filter(|_| crew.is_settled)
    }

    /// From now on they live there.
    pub(crate) fn settle(&self, form: (CanaryForm, CanaryReason)) {
        let mut crew = self.crew();
        crew.form = Some(form);
        crew.is_settled = true;
    }

    /// There is a helper.
    pub(crate) fn forked(&self) {
        self.crew().is_settled = true;
    }

    /// The process ends in order: its helper is told before, and reaped if it ends at once. Beside
    /// busy loops it does not, and nobody waits for it.
    pub(crate) fn leave(&self) {
        let Ground::Shared(helper) = &self.ground else {
            return;
        };
        if self.crew().home.is_some() && !self.leaving.swap(true, SeqCst) {
            helper.quit();
            self.gone.park(Some(GOODBYE));
        }
    }

    /// Its helper has ended, and is reaped.
    pub(crate) fn helper_ended(&self) {
        self.gone.unpark();
    }

    /// Whether the process ends.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(SeqCst)
    }

    /// A helper is about to be forked.
    pub(crate) fn note_home(&self, home: Home) {
        self.crew().home = Some(home);
    }

    /// If this process has another session or control group than its helper, another one is forked.
    pub(crate) fn follow_home(&self) {
        let Ground::Shared(helper) = &self.ground else {
            return;
        };
        let before = self.crew().home.clone();
        if before.is_some_and(|before| before != Home::read()) && !self.moved.swap(true, SeqCst) {
            helper.quit();
        }
    }

    /// Whether the helper was told to end.
    pub(crate) fn take_move(&self) -> bool {
        self.moved.swap(false, SeqCst)
    }

    /// The bell of this CPU has a canary, if it had none.
    pub(crate) fn hang_up(&self, cpu: usize, note: impl FnOnce(&mut Crew)) {
        let mut crew = self.crew();
        note(&mut crew);
        if !crew.have.contains(cpu) {
            self.board().seat(cpu).bell.hang();
            crew.have.insert(cpu);
        }
    }

    /// Chooses who may be armed from now on: so many of the canaries on these CPUs, in turns.
    pub(crate) fn choose_armable(&self, target: usize, mask: &CpuMask, turn: usize) {
        let mut crew = self.crew();
        crew.armable = canary::armable(&crew.have.and(mask), target, turn);
        let highest = crew.have.iter().last().map_or(0, |cpu| cpu / 64 + 1);
        self.words.store(highest as u32, SeqCst);
    }

    /// A bit for each pool that would start a worker on a report.
    pub(crate) fn wanting(&self) -> &[AtomicU64] {
        &self.wanting
    }

    /// A canary has fired: which of these pools, given with their nice levels, gets the report.
    pub(crate) fn receiver(&self, pools: impl Iterator<Item = (usize, i8)>) -> Option<usize> {
        let last = self.last_pool.load(SeqCst) as usize;
        let pool = canary::choose_pool(pools, last)?;
        self.last_pool.store(pool as u32, SeqCst);
        self.reports.fetch_add(1, SeqCst);
        Some(pool)
    }

    /// The canary of this CPU is a thread of this process: this one, or none any more.
    pub(crate) fn note_thread(&self, cpu: usize, tid: i32) {
        self.threads[cpu].store(tid, SeqCst);
    }

    /// Those that are. They do not end before the process does.
    pub(crate) fn threads(&self) -> impl Iterator<Item = i32> {
        let tids = self.threads.iter().map(|thread| thread.load(SeqCst));
        tids.filter(|tid| *tid != 0)
    }
}

/// What decides beside whom the kernel weighs a process: its session (autogroup) and its control
/// groups. A helper that is not where its parent is would see idle CPUs where there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    session: i32,
    cgroups: Option<String>,
}

impl Home {
    pub(crate) fn read() -> Self {
        Home {
            session: session::session(),
            cgroups: std::fs::read_to_string("/proc/self/cgroup").ok(),
        }
    }
}
