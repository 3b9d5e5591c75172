//! The tick: one ordinary thread that looks while items wait, and sleeps otherwise.
//!
//! It repairs what canaries miss, creates the threads that others may not create, and retires
//! workers that have been idle for long.

use std::io;

use cmwq_os::observe::tree::one_look;
use cmwq_os::{clock, sched, thread};
use cmwq_policy::pool::PATIENCE;
use cmwq_policy::queue::Caller;
use cmwq_policy::tick::Rounds;
use cmwq_policy::time::SECOND;
use cmwq_policy::watchdog::Looks;
use cmwq_policy::{Nanos, Time, contract, watchdog};

use super::{canary, outgrow, scan, stall, worker};
use crate::engine::{Engine, Real};
use crate::pool::Pool;
use crate::queue::QueueRef;
use crate::signals::tick::Tick;
use crate::thresholds;
use crate::wait::graph;

const STACK: usize = 256 * 1024;
/// The CPU mask and quota are read again after this long, while the tick is armed.
const CPUS_VALID: Nanos = SECOND;

/// Makes the thread, with the engine: later it may be too late, and nobody else would try again
/// to make the first worker.
///
/// # Errors
/// What the system answered.
pub(crate) fn start(engine: &'static Engine) -> io::Result<()> {
    thread::spawn("cmwq/tick", STACK, move || Ticker::new(engine).run())
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
            let asked = self.tick().take_asked();
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
                pool.with_workers(now, |core, cx| core.clock_was_away(cx, lost));
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
        let looked = one_look(|| contract::look_round(&Real(self.engine), round));
        if round.due {
            self.end_tick(now, looked.paid);
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
        canary::serve(self.engine, cpus.target, &cpus.mask, self.turn);
        // To make them is dear where it forks a large heap, and is done once.
        self.cpu_seen = clock::thread_cpu();
    }

    /// Canaries that lost a report are armed again, and the pace is set by what was found.
    fn end_tick(&mut self, now: Time, paid: bool) {
        self.engine.canaries().arm_wanted();
        let cpu = clock::thread_cpu();
        let cost = cpu.saturating_sub(std::mem::replace(&mut self.cpu_seen, cpu));
        let cpus = self.engine.cpus().target as u32;
        self.rounds.ended(now, paid, cost, cpus);
        self.tick().ticked(cpu);
    }

    /// Reads the masks of all threads once they have had the time to follow the first one's; when
    /// to do so.
    fn settle_cpus(&self, now: Time) -> Option<Time> {
        if self.engine.cpus_due()? <= now {
            self.engine.notice_cpus();
        }
        self.engine.cpus_due()
    }

    /// Retires workers that are due; when to look again.
    fn cull(&self, now: Time) -> Option<Time> {
        if !self.tick().is_culling() {
            return None;
        }
        let look = || self.engine.pools().filter_map(|pool| cull(pool, now)).min();
        look().or_else(|| self.tick().stop_culling(look))
    }

    /// Looks at items that wait for slots, if it is time; when to look again.
    fn watch_slots(&mut self, now: Time) -> Option<Time> {
        if !self.tick().is_watching_slots() {
            return None;
        }
        let threshold = thresholds::watchdog();
        if self.looks.is_due(now, threshold) {
            let waits =
                |pool: &'static Pool| pool.with_workers(now, |core, _| core.waits_for_slots());
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
        if !self.tick().is_watching_dfl() {
            return None;
        }
        if now >= self.outgrows_at {
            let waits = |pool: &'static Pool| pool.with_workers(now, |core, _| core.waits_at_dfl());
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

    /// Looks at items that wait for others, while any wait for slots or threads; when to look
    /// again.
    fn look_at_waits(&mut self, now: Time) -> Option<Time> {
        let tick = self.tick();
        let watches = tick.is_watching_slots() || tick.is_watching_dfl();
        if !tick.has_backlog() && !watches {
            return None;
        }
        if now >= self.waits_at {
            let before = clock::thread_cpu();
            let said = graph::look(self.engine);
            let cost = clock::thread_cpu().saturating_sub(before);
            self.waits_at = contract::next_look(said, now, cost);
        }
        Some(self.waits_at)
    }

    /// Sleeps until the next tick, the next start that was put off or what else is `due`; for ever
    /// if there is none of them.
    fn sleep(&mut self, due: Option<Time>) {
        let tick = self.tick();
        let mut until = due;
        let came = tick.take_came();
        let round = self
            .rounds
            .sleeps_until(clock::now(), tick.has_backlog(), came);
        if round.is_some() || !tick.disarm() {
            let looks = self
                .engine
                .pools()
                .filter_map(|pool| pool.at_a_glance().look_at);
            let round = round.unwrap_or(self.rounds.next());
            until = looks.chain(due).chain([round]).min();
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
        worker::create(pool, id);
    }
    if pool.has_reports() && !pool.has_standby() {
        scan::handle_reports(pool, None);
    }
}

/// Queues the items whose time has come.
fn expire(engine: &'static Engine, now: Time) {
    let admits = |queue: QueueRef| {
        // SAFETY: a timer keeps its queue until it has been dealt with.
        let queue = unsafe { queue.as_ref() };
        queue.intake().admits(|| Caller::Outside)
    };
    while contract::expire(&Real(engine), now, admits) {}
}

fn cull(pool: &'static Pool, now: Time) -> Option<Time> {
    let due = pool.at_a_glance().cull_at?;
    if due > now {
        return Some(due);
    }
    while pool.with_workers(clock::now(), |core, cx| core.cull(cx)) {}
    pool.at_a_glance().cull_at
}
