//! The tick: one ordinary thread that looks while items wait, and sleeps otherwise.
//!
//! It repairs what canaries miss, creates the threads that others may not create, and retires
//! workers that have been idle for long.

use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{clock, sched, thread};
use cmwq_policy::pool::{MAX_SCAN, Seen, SeenState};
use cmwq_policy::time::SECOND;
use cmwq_policy::{Nanos, Time};

use crate::engine::{Engine, MAX_POOLS};
use crate::park::Parker;
use crate::pool::Pool;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, fence};

const STACK: usize = 256 * 1024;
/// The CPU mask and quota are read again after this long, while the tick is armed.
const CPUS_VALID: Nanos = SECOND;

const ABSENT: u32 = 0;
const PRESENT: u32 = 1;

/// What others see of the tick thread.
pub(crate) struct Tick {
    parker: Parker,
    state: AtomicU32,
    /// A bit per pool with items that wait.
    backlog: [AtomicU64; MAX_POOLS / 64],
    /// The thread will look at the backlog by itself.
    armed: AtomicBool,
    /// Some pool has idle workers that may have to retire.
    culling: AtomicBool,
    ticks: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Tick {
    pub(crate) fn new() -> Self {
        Tick {
            parker: Parker::default(),
            state: AtomicU32::new(ABSENT),
            backlog: std::array::from_fn(|_| AtomicU64::new(0)),
            armed: AtomicBool::new(false),
            culling: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// Publishes whether items of a pool wait. Follow with [`arm`](Self::arm) where they newly do.
    pub(crate) fn set_backlog(&self, pool: u32, waits: bool) {
        let (word, bit) = (&self.backlog[pool as usize / 64], 1 << (pool % 64));
        match waits {
            true => word.fetch_or(bit, SeqCst),
            false => word.fetch_and(!bit, SeqCst),
        };
    }

    fn has_backlog(&self) -> bool {
        self.backlog.iter().any(|word| word.load(SeqCst) != 0)
    }

    /// Items wait, or workers idle that may be too many: somebody must look in time.
    pub(crate) fn arm(&self, engine: &'static Engine, cull: bool) {
        // Partner: the fence in `sleep`, between disarming and the last look at the backlog.
        fence(SeqCst);
        let culls = cull && !self.culling.load(SeqCst) && !self.culling.swap(true, SeqCst);
        let ticks = !self.armed.load(SeqCst) && !self.armed.swap(true, SeqCst);
        if culls || ticks {
            self.kick(engine);
        }
    }

    /// Wakes the thread, made if there is none. If it cannot be made the next caller tries again.
    pub(crate) fn kick(&self, engine: &'static Engine) {
        self.ensure(engine);
        self.parker.unpark();
    }

    /// Makes the thread if there is none; false if that fails.
    pub(crate) fn ensure(&self, engine: &'static Engine) -> bool {
        if self.state.load(SeqCst) == PRESENT || self.state.swap(PRESENT, SeqCst) == PRESENT {
            return true;
        }
        let spawned = thread::spawn("cmwq/tick", STACK, move || Ticker::new(engine).run());
        if let Err(error) = spawned {
            self.state.store(ABSENT, SeqCst);
            engine.note_spawn_failure(&error);
            return false;
        }
        true
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    /// CPU time that the thread has used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(SeqCst)
    }
}

/// The thread.
struct Ticker {
    engine: &'static Engine,
    pace: cmwq_policy::tick::Tick,
    next: Time,
    cpus_read: Time,
    turn: usize,
    reports_seen: u64,
    cpu_seen: Nanos,
}

impl Ticker {
    fn new(engine: &'static Engine) -> Self {
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        let _ = sched::set_nice_self(engine.base_nice());
        if let (_, Some(mask)) = engine.cpu_mask(0) {
            let _ = sched::set_affinity_self(&mask);
        }
        Ticker {
            engine,
            pace: cmwq_policy::tick::Tick::default(),
            next: Time(0),
            cpus_read: clock::now(),
            turn: 0,
            reports_seen: 0,
            cpu_seen: 0,
        }
    }

    fn run(mut self) {
        loop {
            self.engine.pools().for_each(|pool| self.create(pool));
            let now = clock::now();
            if self.tick().has_backlog() {
                self.look(now);
            }
            let cull = self.cull(now);
            self.sleep(cull);
        }
    }

    fn tick(&self) -> &'static Tick {
        self.engine.tick()
    }

    fn create(&self, pool: &'static Pool) {
        if let Some(id) = pool.take_spawn_request() {
            pool.create_thread(id);
        }
    }

    /// Looks at pools whose time has come, all of them when the tick is due.
    fn look(&mut self, now: Time) {
        let due = now >= self.next;
        if due {
            self.begin_tick(now);
        }
        let mut missing = false;
        for pool in self.engine.pools() {
            let asked = pool.take_inspect_request();
            let backlog = pool.with(|core, cx| (core.nr_queued() > 0, core.look_at(cx.now)));
            let early = backlog.1.is_some_and(|at| at <= now);
            if asked || early || (due && backlog.0) {
                missing |= scan(pool);
            }
        }
        if due {
            self.end_tick(now, missing);
        }
    }

    fn begin_tick(&mut self, now: Time) {
        if now.since(self.cpus_read) >= CPUS_VALID {
            self.cpus_read = now;
            self.engine.refresh_cpus();
        }
        self.turn += 1;
        let cpus = self.engine.cpus();
        self.engine.canaries().serve(self.engine, cpus.target, &cpus.mask, self.turn);
    }

    /// Canaries that lost a report are armed again, and the pace is set by what was found.
    fn end_tick(&mut self, now: Time, missing: bool) {
        self.engine.canaries().arm_wanted();
        let reports = self.engine.canaries().reports();
        let silent = std::mem::replace(&mut self.reports_seen, reports) == reports;
        let cpu = clock::thread_cpu();
        let cost = cpu - std::mem::replace(&mut self.cpu_seen, cpu);
        self.pace.ran(missing && silent, cost);
        self.next = now.after(self.pace.period(self.engine.cpus().target as u32));
        self.tick().ticks.fetch_add(1, SeqCst);
        self.tick().cpu_ns.store(cpu, SeqCst);
    }

    /// Retires workers that are due; when to look again.
    fn cull(&self, now: Time) -> Option<Time> {
        if !self.tick().culling.load(SeqCst) {
            return None;
        }
        let next = self.engine.pools().filter_map(|pool| cull(pool, now)).min();
        if next.is_none() {
            self.tick().culling.store(false, SeqCst);
        }
        next
    }

    /// Sleeps until the next tick, the next damped start or the next retirement; for ever if there
    /// is none of them.
    fn sleep(&mut self, cull: Option<Time>) {
        let tick = self.tick();
        let mut until = cull;
        if tick.has_backlog() {
            let looks = self.engine.pools().filter_map(|p| p.with(|core, cx| core.look_at(cx.now)));
            until = looks.chain(cull).chain([self.next]).min();
        } else {
            tick.armed.store(false, SeqCst);
            // Partner: the fence in `arm`. Whoever published a backlog that is not seen here finds
            // the tick disarmed, and wakes it.
            fence(SeqCst);
            if tick.has_backlog() && !tick.armed.swap(true, SeqCst) {
                return;
            }
        }
        let now = clock::now();
        tick.parker.park(until.map(|at| at.since(now)));
    }
}

fn cull(pool: &'static Pool, now: Time) -> Option<Time> {
    let due = pool.with(|core, _| core.cull_at())?;
    if due > now {
        return Some(due);
    }
    while pool.with(|core, cx| core.cull(cx)) {}
    pool.with(|core, _| core.cull_at())
}

/// Looks at the workers that the core wants to be looked at. The files are read with the pool
/// let go. True if a worker was missing.
fn scan(pool: &'static Pool) -> bool {
    let plan = pool.with(|core, _| core.plan_scan());
    let mut seen = Vec::with_capacity(MAX_SCAN);
    let mut runnable = 0;
    let mut complete = true;
    for (worker, item) in plan.iter() {
        if runnable >= plan.enough {
            complete = false;
            break;
        }
        let Some(sample) = pool.slot(worker).look() else { continue };
        let state = match sample.state.is_asleep() {
            true => SeenState::Asleep(sample.futex),
            false => SeenState::Runnable,
        };
        runnable += u32::from(state == SeenState::Runnable);
        seen.push(Seen { worker, item, state });
    }
    pool.with(|core, cx| core.scanned(cx, &seen, complete))
}
