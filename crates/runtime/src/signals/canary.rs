//! Canaries: one SCHED_IDLE thread per CPU that says "this CPU would idle right now".
//!
//! A canary takes no lock, allocates nothing once it runs and creates no thread: it can be kept off
//! its CPU for seconds at any point. Canaries live in a helper process where that can be had.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32};
use std::sync::{OnceLock, PoisonError};

use cmwq_os::helper::inside;
use cmwq_os::{memory, sched, thread};
use cmwq_policy::form::{self, CanaryForm, CanaryReason};
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{CpuMask, MAX_CPUS, Nanos, canary};

use super::board::{Board, Ground};
use super::keeper::{self, Home};
use super::relay;
use super::watch::Watch;
use crate::engine::{self, Engine, MAX_POOLS};
use crate::park::Parker;
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, SeqCst, fence};

/// Bytes of stack: a canary calls nothing deep.
const STACK: usize = 64 * 1024;
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
struct Crew {
    /// Where canaries live, once that is decided.
    form: Option<(CanaryForm, CanaryReason)>,
    /// It will not turn out otherwise in a moment.
    is_settled: bool,
    /// CPUs whose bells have a canary, and of those the ones that may be armed now.
    have: CpuMask,
    armable: CpuMask,
    /// CPUs with a relay, and CPUs with a canary that is a thread of this process.
    relays: CpuMask,
    threads: CpuMask,
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

    /// Publishes that a pool newly wants reports, or none any more. Said under the pool's lock. Follow
    /// with [`arm_all`](Self::arm_all) where it newly does, after the lock is dropped.
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

    fn crew(&self) -> MutexGuard<'_, Crew> {
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

    pub(super) fn deny(&self, error: io::Error) {
        let _ = self.denied.set(error);
    }

    /// Where they live, and why, once that is decided.
    pub(crate) fn form(&self) -> Option<(CanaryForm, CanaryReason)> {
        let crew = self.crew();
        crew.form.filter(|_| crew.is_settled)
    }

    /// From now on they live there.
    pub(super) fn settle(&self, form: (CanaryForm, CanaryReason)) {
        let mut crew = self.crew();
        crew.form = Some(form);
        crew.is_settled = true;
    }

    /// There is a helper.
    pub(super) fn forked(&self) {
        self.crew().is_settled = true;
    }

    /// The process ends in order: its helper is told before, and reaped if it ends at once. Beside busy loops it
    /// does not, and nobody waits for it.
    fn leave(&self) {
        let Ground::Shared(helper) = &self.ground else {
            return;
        };
        if self.crew().home.is_some() && !self.leaving.swap(true, SeqCst) {
            helper.quit();
            self.gone.park(Some(GOODBYE));
        }
    }

    /// Its helper has ended, and is reaped.
    pub(super) fn helper_ended(&self) {
        self.gone.unpark();
    }

    /// Whether the process ends.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(SeqCst)
    }

    /// A helper is about to be forked.
    pub(super) fn note_home(&self, home: Home) {
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
    pub(super) fn take_move(&self) -> bool {
        self.moved.swap(false, SeqCst)
    }

    /// Makes sure that each CPU of the mask has a canary, and chooses who may be armed now. Called
    /// by the tick, which is the one that creates threads.
    pub(crate) fn serve(
        &'static self,
        engine: &'static Engine,
        target: usize,
        mask: &CpuMask,
        turn: usize,
    ) {
        if self.denied().is_some() {
            return;
        }
        // No lock, for a forked child. Only the tick of a process does this; twice does no harm.
        static SEEN_OFF: AtomicBool = AtomicBool::new(false);
        if !SEEN_OFF.load(SeqCst) {
            thread::at_exit(see_off);
            SEEN_OFF.store(true, SeqCst);
        }
        match self.decide(engine) {
            Some(CanaryForm::Process) => self.serve_with_helper(engine, mask),
            Some(CanaryForm::Threads) => self.serve_with_threads(engine, mask),
            _ => return,
        }
        let mut crew = self.crew();
        crew.armable = canary::armable(&crew.have.and(mask), target, turn);
        let highest = crew.have.iter().last().map_or(0, |cpu| cpu / 64 + 1);
        self.words.store(highest as u32, SeqCst);
    }

    /// Where they are to live. `None` if that is to be tried again.
    fn decide(&'static self, engine: &'static Engine) -> Option<CanaryForm> {
        if let Some((form, _)) = self.crew().form {
            return Some(form);
        }
        let (wish, heap) = (engine.canary_wish(), memory::private());
        let mut form = form::first(wish, heap, thread::getpid());
        if form.0 == CanaryForm::Process {
            match &self.ground {
                Ground::Shared(helper) => {
                    // Before there is a helper: its keeper may have to say otherwise.
                    self.crew().form = Some(form);
                    if keeper::start(engine, helper).is_err() {
                        // Nor would there be room for others.
                        self.crew().form = None;
                        return None;
                    }
                    return Some(form.0);
                }
                Ground::Own(_, error) => form = form::instead(wish, heap, why_not(error)),
            }
        }
        self.settle(form);
        Some(form.0)
    }

    fn serve_with_helper(&'static self, engine: &'static Engine, mask: &CpuMask) {
        let Ground::Shared(helper) = &self.ground else {
            return;
        };
        let relays = self.crew().relays;
        for cpu in mask.iter().filter(|&cpu| !relays.contains(cpu)) {
            if relay::start(engine, cpu).is_err() {
                break;
            }
            self.hang_up(cpu, |crew| crew.relays.insert(cpu));
        }
        helper.want(&self.crew().relays.and(mask));
    }

    fn serve_with_threads(&'static self, engine: &'static Engine, mask: &CpuMask) {
        let threads = self.crew().threads;
        for cpu in mask.iter().filter(|&cpu| !threads.contains(cpu)) {
            let body = move || self.run(engine, cpu);
            if thread::spawn(&format!("cmwq/c{cpu}"), STACK, body).is_err() {
                // Nor would there be room for the next.
                break;
            }
            self.hang_up(cpu, |crew| crew.threads.insert(cpu));
        }
    }

    /// The bell of this CPU has a canary, if it had none.
    fn hang_up(&self, cpu: usize, note: impl FnOnce(&mut Crew)) {
        let mut crew = self.crew();
        note(&mut crew);
        if !crew.have.contains(cpu) {
            self.board().seat(cpu).bell.hang();
            crew.have.insert(cpu);
        }
    }

    /// A canary that is a thread of this process.
    fn run(&self, engine: &'static Engine, cpu: usize) {
        inside::pin(cpu);
        // Refused by older kernels, and no matter: it gets a CPU sooner to end.
        let _ = sched::set_short_slice_self();
        self.threads[cpu].store(thread::gettid(), SeqCst);
        // Last: a SCHED_IDLE thread could be kept off its CPU amid its own end, which takes locks.
        if let Err(error) = sched::set_idle_policy_self() {
            self.threads[cpu].store(0, SeqCst);
            return self.deny(error);
        }
        let watch = Watch::new(self.board(), cpu);
        watch.settle();
        loop {
            if watch.watch() {
                self.report(engine, cpu);
            }
            watch.linger();
        }
    }

    /// The canary of this CPU has fired: somebody gets the report.
    pub(super) fn report(&self, engine: &'static Engine, cpu: usize) {
        let last = self.last_pool.load(SeqCst) as usize;
        let words = &self.wanting[..engine.pool_words()];
        let wanting = engine.wanting_pools(words, cpu);
        let Some(pool) = canary::choose_pool(wanting, last) else {
            return;
        };
        self.last_pool.store(pool as u32, SeqCst);
        self.reports.fetch_add(1, SeqCst);
        if let Some(pool) = engine.pool_at(pool) {
            pool.report_idle(cpu);
        }
    }
}

/// Why there is no ground for a helper.
fn why_not(error: &io::Error) -> CanaryReason {
    match error.raw_os_error() {
        None => CanaryReason::Unsupported,
        Some(errno) => CanaryReason::Denied(errno),
    }
}

/// The process ends by `exit` or a return from `main`.
extern "C" fn see_off() {
    let Some(engine) = engine::existing() else {
        return;
    };
    engine.canaries().leave();
    // Who would get a CPU last may use any of them, and is an ordinary thread if the system permits it.
    let all = sched::affinity(thread::getpid()).unwrap_or(CpuMask::EMPTY);
    for thread in &engine.canaries().threads {
        // These threads do not end before the process does.
        let tid = thread.load(SeqCst);
        if tid != 0 {
            let _ = sched::set_affinity(tid, &all);
            let _ = sched::set_normal_policy(tid);
        }
    }
}
