//! The tick: one ordinary thread that looks while items wait, and sleeps otherwise.
//!
//! It repairs what canaries miss, creates the threads that others may not create, and retires
//! workers that have been idle for long.

use std::io;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{clock, sched, thread};
use cmwq_policy::pool::PATIENCE;
use cmwq_policy::queue::Caller;
use cmwq_policy::tick::Rounds;
use cmwq_policy::time::SECOND;
use cmwq_policy::watchdog::Looks;
use cmwq_policy::{Nanos, Time, contract, watchdog};

use crate::engine::Engine;
use crate::machine::Real;
use crate::park::Parker;
use crate::pool::{self, Pool, outgrow, scan, stall};
use crate::queue::QueueRef;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, fence};
use crate::thresholds;

const STACK: usize = 256 * 1024;
/// The CPU mask and quota are read again after this long, while the tick is armed.
const CPUS_VALID: Nanos = SECOND;

/// What others see of the tick thread.
pub(crate) struct Tick {
    parker: Parker,
    /// How many pools have items that wait.
    backlog: AtomicU32,
    /// The thread will look at the backlog by itself.
    armed: AtomicBool,
    /// Some pool has idle workers that may have to retire.
    culling: AtomicBool,
    /// Items of some pool may wait for slots.
    watching: AtomicBool,
    /// Of limits that nobody has chosen.
    watching_dfl: AtomicBool,
    /// Somebody wants to know what runs.
    asked: AtomicBool,
    ticks: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Tick {
    pub(crate) fn new() -> Self {
        Tick {
            parker: Parker::default(),
            backlog: AtomicU32::new(0),
            armed: AtomicBool::new(false),
            culling: AtomicBool::new(false),
            watching: AtomicBool::new(false),
            watching_dfl: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// Makes the thread, with the engine: later it may be too late, and nobody else would try again
    /// to make the first worker.
    ///
    /// # Errors
    /// What the system answered.
    pub(crate) fn start(engine: &'static Engine) -> io::Result<()> {
        thread::spawn("cmwq/tick", STACK, move || Ticker::new(engine).run())
    }

    /// Publishes that items of a pool newly wait, or none any more. Said under the pool's lock. Follow
    /// with [`arm`](Self::arm) where they do.
    pub(crate) fn set_backlog(&self, waits: bool) {
        match waits {
            true => self.backlog.fetch_add(1, SeqCst),
            false => self.backlog.fetch_sub(1, SeqCst),
        };
    }

    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.load(SeqCst) != 0
    }

    /// A timer was armed, under the lock of the timers: the thread sleeps no longer than until it.
    pub(crate) fn timer_armed(&self, engine: &'static Engine, at: Time) {
        let first = engine
            .timers()
            .lock()
            .expect("the core does not panic")
            .next();
        if first.is_some_and(|first| at <= first) {
            self.unpark();
        }
    }

    /// Items wait: somebody must look in time.
    pub(crate) fn arm(&self) {
        if self.set_armed() {
            self.unpark();
        }
    }

    /// Arms; true if the thread may be asleep and must be woken.
    pub(crate) fn set_armed(&self) -> bool {
        // Partner: the fence in `disarm`, before its last look.
        fence(SeqCst);
        !self.armed.load(SeqCst) && !self.armed.swap(true, SeqCst)
    }

    /// Workers idle that may be too many: somebody must look in time. Does not arm: the thread itself
    /// says this at each of its looks, and would wake itself for ever.
    pub(crate) fn watch_idle(&self) {
        self.watch(&self.culling);
    }

    /// Disarms, if nothing waits. Whoever publishes a backlog that is not seen here finds the tick
    /// disarmed, and wakes it. False if it stays, or is again, armed.
    pub(crate) fn disarm(&self) -> bool {
        if self.has_backlog() {
            return false;
        }
        self.armed.store(false, SeqCst);
        // Partner: the fence in `set_armed`.
        fence(SeqCst);
        // If somebody has armed it in between, his wake-up is on its way.
        !self.has_backlog() || self.armed.swap(true, SeqCst)
    }

    /// Stops watching idle workers, unless `look` finds some now. It looks under the locks of the
    /// pools: whoever goes idle after it finds that nobody watches, and wakes the thread.
    pub(crate) fn stop_culling<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        self.culling.store(false, SeqCst);
        let found = look();
        if found.is_some() {
            self.culling.store(true, SeqCst);
        }
        found
    }

    /// Items wait for slots: somebody must look in time whether they ever get some.
    pub(crate) fn watch_slots(&self) {
        self.watch(&self.watching);
    }

    /// They do under a limit that nobody has chosen: somebody must look soon.
    pub(crate) fn watch_dfl(&self) {
        self.watch(&self.watching_dfl);
    }

    fn watch(&self, flag: &AtomicBool) {
        if !flag.load(SeqCst) && !flag.swap(true, SeqCst) {
            self.unpark();
        }
    }

    /// Stops looking at items that wait for slots, unless `waits` finds some now. As for
    /// [`stop_culling`](Self::stop_culling): it looks under the locks of the pools.
    pub(crate) fn stop_watching(&self, waits: impl FnOnce() -> bool) -> bool {
        stop(&self.watching, waits)
    }

    /// The same for limits that nobody has chosen.
    fn stop_watching_dfl(&self, waits: impl FnOnce() -> bool) -> bool {
        stop(&self.watching_dfl, waits)
    }

    /// Looks at all workers once, soon, also where no item waits.
    pub(crate) fn ask(&self) {
        self.asked.store(true, SeqCst);
        self.unpark();
    }

    /// Sleeps until woken, at most `timeout`.
    pub(crate) fn park(&self, timeout: Option<Nanos>) {
        self.parker.park(timeout);
    }

    /// Wakes the thread.
    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    /// CPU time that the thread has used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(SeqCst)
    }
}

fn stop(flag: &AtomicBool, waits: impl FnOnce() -> bool) -> bool {
    flag.store(false, SeqCst);
    let waits = waits();
    if waits {
        flag.store(true, SeqCst);
    }
    !waits
}

/// The thread.
struct Ticker {
    engine: &'static Engine,
    rounds: Rounds,
    /// When it looks at items that wait for slots.
    looks: Looks,
    /// And when at limits that nobody has chosen.
    outgrows_at: Time,
    /// And when at waits of items, which may wait for others that wait for slots.
    waits_at: Time,
    cpus_read: Time,
    turn: usize,
    cpu_seen: Nanos,
    /// It is to wake by then.
    sleeps_until: Time,
}

impl Ticker {
    fn new(engine: &'static Engine) -> Self {
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        let _ = sched::set_nice_self(engine.base_nice());
        let _ = sched::set_affinity_self(&engine.cpus().mask);
        Ticker {
            engine,
            rounds: Rounds::default(),
            looks: Looks::default(),
            outgrows_at: Time(0),
            waits_at: Time(0),
            cpus_read: clock::now(),
            turn: 0,
            cpu_seen: 0,
            sleeps_until: Time(u64::MAX),
        }
    }

    fn run(mut self) {
        loop {
            self.engine.pools().for_each(serve);
            let now = clock::now();
            self.notice_gap(now);
            expire(self.engine, now);
            let asked = self.tick().asked.swap(false, SeqCst);
            if self.tick().has_backlog() {
                self.look(now);
            } else if asked {
                for pool in self.engine.pools() {
                    scan::look(pool);
                }
            }
            let due = [
                self.cull(now),
                self.watch_slots(now),
                self.outgrow(now),
                self.look_at_waits(now),
                self.settle_cpus(now),
            ];
            self.sleep(due.into_iter().flatten().min());
        }
    }

    /// The machine was suspended, or this thread had no CPU for long.
    fn notice_gap(&mut self, now: Time) {
        let due = std::mem::replace(&mut self.sleeps_until, Time(u64::MAX));
        if watchdog::is_gap(due, now) {
            let lost = now.since(due);
            for pool in self.engine.pools() {
                pool.with(|core, cx| core.clock_was_away(cx, lost));
            }
        }
    }

    fn tick(&self) -> &'static Tick {
        self.engine.tick()
    }

    /// Looks at pools whose time has come, all of them when the tick is due.
    fn look(&mut self, now: Time) {
        let round = self.rounds.begin(now, self.engine.canaries().reports());
        if round.due {
            self.begin_tick(now);
        }
        let mut missing = false;
        for pool in self.engine.pools() {
            let asked = pool.take_inspect_request();
            let backlog = pool.with(|core, cx| (core.nr_queued() > 0, core.look_at(cx.now)));
            let early = backlog.1.is_some_and(|at| at <= now);
            if round.looks_at(asked, early, backlog.0) {
                missing |= scan::look(pool);
            }
            if backlog.0 {
                pool.with(|core, cx| core.call_rescuers(cx));
                stall::look(pool);
                outgrow::look_at_threads(pool);
            }
        }
        if missing {
            // Tokens may be held by pools that have no backlog, for workers that sleep.
            for pool in self.engine.pools() {
                if pool.with(|core, _| core.holds_tokens()) {
                    scan::look(pool);
                }
            }
        }
        if round.due {
            self.end_tick(now, missing);
        }
    }

    /// Each CPU has its canary, and some may be armed.
    fn begin_tick(&mut self, now: Time) {
        if now.since(self.cpus_read) >= CPUS_VALID {
            self.cpus_read = now;
            self.engine.refresh_cpus();
            self.engine.canaries().follow_home();
        }
        self.turn += 1;
        let cpus = self.engine.cpus();
        self.engine
            .canaries()
            .serve(self.engine, cpus.target, &cpus.mask, self.turn);
        // To make them is dear where it forks a large heap, and is done once.
        self.cpu_seen = clock::thread_cpu();
    }

    /// Canaries that lost a report are armed again, and the pace is set by what was found.
    fn end_tick(&mut self, now: Time, missing: bool) {
        self.engine.canaries().arm_wanted();
        let cpu = clock::thread_cpu();
        let cost = cpu.saturating_sub(std::mem::replace(&mut self.cpu_seen, cpu));
        let cpus = self.engine.cpus().target as u32;
        self.rounds.ended(now, missing, cost, cpus);
        self.tick().ticks.fetch_add(1, SeqCst);
        self.tick().cpu_ns.store(cpu, SeqCst);
    }

    /// Reads the masks of all threads once they have had the time to follow the first one's; when to do so.
    fn settle_cpus(&self, now: Time) -> Option<Time> {
        if self.engine.cpus_due()? <= now {
            self.engine.notice_cpus();
        }
        self.engine.cpus_due()
    }

    /// Retires workers that are due; when to look again.
    fn cull(&self, now: Time) -> Option<Time> {
        if !self.tick().culling.load(SeqCst) {
            return None;
        }
        let look = || self.engine.pools().filter_map(|pool| cull(pool, now)).min();
        look().or_else(|| self.tick().stop_culling(look))
    }

    /// Looks at items that wait for slots, if it is time; when to look again.
    fn watch_slots(&mut self, now: Time) -> Option<Time> {
        if !self.tick().watching.load(SeqCst) {
            return None;
        }
        let threshold = thresholds::watchdog();
        if self.looks.is_due(now, threshold) {
            let waits = |pool: &'static Pool| pool.with(|core, _| core.waits_for_slots());
            if self.tick().stop_watching(|| self.engine.pools().any(waits)) {
                self.looks.nobody_waits();
                return None;
            }
            let dues = self
                .engine
                .pools()
                .map(|pool| stall::look_at_slots(pool, threshold));
            let due = dues.min().unwrap_or(Time(u64::MAX));
            self.looks.looked(now, due);
        }
        self.looks.next()
    }

    /// Raises limits that nobody has chosen, where nothing moves; when to look again.
    fn outgrow(&mut self, now: Time) -> Option<Time> {
        if !self.tick().watching_dfl.load(SeqCst) {
            return None;
        }
        if now >= self.outgrows_at {
            let waits = |pool: &'static Pool| pool.with(|core, _| core.waits_at_dfl());
            if self
                .tick()
                .stop_watching_dfl(|| self.engine.pools().any(waits))
            {
                return None;
            }
            self.engine.pools().for_each(outgrow::look_at_limits);
            self.outgrows_at = now.after(PATIENCE);
        }
        Some(self.outgrows_at)
    }

    /// Looks at items that wait for others, while any wait for slots or threads; when to look again.
    fn look_at_waits(&mut self, now: Time) -> Option<Time> {
        let tick = self.tick();
        let watching = [&tick.watching, &tick.watching_dfl];
        if !tick.has_backlog() && !watching.iter().any(|flag| flag.load(SeqCst)) {
            return None;
        }
        if now >= self.waits_at {
            let before = clock::thread_cpu();
            let said = pool::look_at_waits(self.engine);
            let cost = clock::thread_cpu().saturating_sub(before);
            self.waits_at = contract::next_look(said, now, cost);
        }
        Some(self.waits_at)
    }

    /// Sleeps until the next tick, the next damped start or what else is `due`; for ever if there is
    /// none of them.
    fn sleep(&mut self, due: Option<Time>) {
        let tick = self.tick();
        let mut until = due;
        if !tick.disarm() {
            let looks = self
                .engine
                .pools()
                .filter_map(|p| p.with(|core, cx| core.look_at(cx.now)));
            until = looks.chain(due).chain([self.rounds.next()]).min();
        }
        let timers = self
            .engine
            .timers()
            .lock()
            .expect("the core does not panic");
        let until = until.into_iter().chain(timers.next()).min();
        drop(timers);
        self.sleeps_until = until.unwrap_or(Time(u64::MAX));
        let now = clock::now();
        tick.park(until.map(|at| at.since(now)));
    }
}

/// Does what was left to this thread: to create a worker's thread, and to take the reports of
/// canaries that found no idle worker to wake.
fn serve(pool: &'static Pool) {
    if let Some(id) = pool.take_spawn_request() {
        pool.create_thread(id);
    }
    if pool.has_reports() && !pool.has_standby() {
        pool.handle_reports(None);
    }
}

/// Queues the items whose time has come.
fn expire(engine: &'static Engine, now: Time) {
    let admits = |queue: QueueRef| {
        // SAFETY: a timer keeps its queue until it has been dealt with.
        let queue = unsafe { queue.as_ref() };
        queue.gate().admits(Caller::Outside)
    };
    while contract::expire(&Real(engine), now, admits) {}
}

fn cull(pool: &'static Pool, now: Time) -> Option<Time> {
    let due = pool.with(|core, _| core.cull_at())?;
    if due > now {
        return Some(due);
    }
    while pool.with(|core, cx| core.cull(cx)) {}
    pool.with(|core, _| core.cull_at())
}
