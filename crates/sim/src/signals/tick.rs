//! The tick: one ordinary thread that looks at the workers while items wait. It also expires
//! timers, calls rescuers, retires workers, and makes the threads that nobody else may make. As the
//! engine's (`crates/engine/src/threads/ticker.rs`).

use std::rc::Rc;

use cmwq_policy::contract::{self, Looked, Lookout};
use cmwq_policy::pool::{Glance, Seen, SeenState};
use cmwq_policy::tick::Rounds;
use cmwq_policy::{Nanos, Time, WorkerId, watchdog};

use crate::api::act::{Act, Answer};
use crate::api::names::PoolId;
use crate::api::specs::ThreadSpec;
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program, ProgramCx};
use crate::state::event::{Event, NEVER};
use crate::state::pool::Pool;

/// The thread.
struct Ticker {
    rounds: Rounds,
    /// It is to wake by then.
    sleeps_until: Time,
    worked: bool,
}

impl Program for Ticker {
    /// A round, and the time it takes; then sleep.
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        self.worked = !self.worked;
        match self.worked {
            true => Act::Burn(self.round(cx.machine, cx.thread)),
            false => {
                self.sleep(cx.machine, cx.thread);
                Act::Burn(0)
            }
        }
    }
}

impl Ticker {
    fn new(rounds: Rounds) -> Ticker {
        Ticker {
            rounds,
            sleeps_until: NEVER,
            worked: false,
        }
    }

    /// Does what there is to do; the CPU time that it takes.
    fn round(&mut self, machine: &Machine, id: ThreadId) -> Nanos {
        let user = machine.user_signals().expect("there is a tick");
        self.notice_gap(machine);
        machine.serve_pools(id);
        if machine.signals.timers_due.take() {
            machine.expire_timers();
        }
        let looked = match machine.has_backlog() {
            true => self.look(machine),
            false => 0,
        };
        if machine.signals.cull_due.take() {
            machine.cull_pools();
        }
        if machine.signals.starving.take() {
            let pools = machine.all_pools();
            pools.iter().for_each(|pool| machine.watch_slots(pool));
        }
        user.costs.round + user.costs.look * looked
    }

    /// This thread had no CPU for long.
    fn notice_gap(&mut self, machine: &Machine) {
        let now = machine.now();
        let due = std::mem::replace(&mut self.sleeps_until, NEVER);
        if watchdog::is_gap(due, now) {
            for pool in machine.all_pools() {
                let lost = now.since(due);
                machine.in_pool_of(pool.id, |core, cx| core.clock_was_away(cx, lost));
            }
        }
    }

    /// Looks at pools whose time has come, all of them when the tick is due; how many workers.
    fn look(&mut self, machine: &Machine) -> u64 {
        let reports = machine.signals.stats.get().reports;
        let round = self.rounds.begin(machine.now(), reports);
        if round.due {
            machine.serve_canaries();
            machine.signals.count(|stats| stats.ticks += 1);
        }
        let looked = contract::look_round(machine, round);
        machine
            .signals
            .count(|stats| stats.looked_at += looked.workers);
        if round.due {
            self.end_tick(machine, looked);
        }
        looked.workers
    }

    /// Canaries that lost a report are armed again, and the pace is set by what was found.
    fn end_tick(&mut self, machine: &Machine, looked: Looked) {
        let online = machine.sched().online();
        machine.arm_canaries(&online);
        let user = machine.user_signals().expect("there is a tick");
        let cost = user.costs.round + user.costs.look * looked.workers;
        let cpus = online.count() as u32;
        self.rounds.ended(machine.now(), looked.paid, cost, cpus);
    }

    /// As long as the policy says, or until somebody kicks it.
    fn sleep(&mut self, machine: &Machine, id: ThreadId) {
        let came = machine.tick_came.take();
        let round = self
            .rounds
            .sleeps_until(machine.now(), machine.has_backlog(), came);
        machine.tick_is_armed.set(round.is_some());
        let signals = &machine.signals;
        let late = machine.user_signals().map_or(0, |user| user.late);
        let round = round.filter(|&at| at != NEVER);
        let at = round.map(|at| at.after(signals.delay(late)));
        self.sleeps_until = at.unwrap_or(NEVER);
        machine.arm_at(&signals.due, at, Event::Tick);
        machine.park(id);
    }
}

impl Machine {
    /// Wakes the tick's thread, made if there is none.
    pub(crate) fn kick_tick(&self) {
        match self.signals.ticker.get() {
            Some(id) => self.unpark(id),
            None => {
                let user = self.user_signals().expect("there is a tick");
                let rounds = match user.tick {
                    0 => Rounds::default(),
                    period => Rounds::every(period),
                };
                let ticker = Box::new(Ticker::new(rounds));
                let id = self.spawn_signaller(ThreadSpec::named("tick"), ticker);
                self.signals.ticker.set(Some(id));
            }
        }
    }

    /// The tick's thread has slept long enough.
    pub(crate) fn tick_due(&self) {
        self.signals.due.set(None);
        self.kick_tick();
    }

    /// An item's timer may have expired.
    pub(crate) fn timers(&self) {
        if self.user_signals().is_none() {
            return self.expire_timers();
        }
        self.next_timer.set(None);
        self.signals.timers_due.set(true);
        self.kick_tick();
    }

    /// Idle workers of a pool may have to retire.
    pub(crate) fn cull_due(&self) {
        self.signals.cull_due.set(true);
        self.kick_tick();
    }

    /// Items of a pool may have waited for a slot for too long.
    pub(crate) fn starving_due(&self) {
        self.signals.starving.set(true);
        self.kick_tick();
    }

    /// Growth waits for a look at the workers: whoever takes a report looks himself.
    pub(crate) fn inspect(&self, pool: &Pool) {
        if self.user_signals().is_none() {
            self.scan(pool);
            return;
        }
        pool.signals.inspect.set(true);
        if !self.signals.receiving.get() {
            self.kick_tick();
        }
    }

    /// A worker's thread is to be made, by the tick's.
    pub(crate) fn spawn_worker(&self, pool: PoolId, worker: WorkerId) {
        if self.user_signals().is_none() {
            return self.request_worker(pool, worker, None);
        }
        self.pool(pool).signals.spawn.set(Some(worker));
        self.kick_tick();
    }

    fn all_pools(&self) -> Vec<Rc<Pool>> {
        self.pools.borrow().clone()
    }

    /// Does what was left to the tick's thread: to create workers' threads, and to take the reports
    /// of canaries that found no idle worker to wake.
    fn serve_pools(&self, id: ThreadId) {
        for pool in self.all_pools() {
            if let Some(worker) = pool.signals.spawn.take() {
                self.request_worker(pool.id, worker, None);
            }
            if pool.standby().is_none() {
                self.take_reports(id, &pool, None);
            }
        }
    }

    fn cull_pools(&self) {
        let now = self.now();
        let pools = self.all_pools().into_iter();
        let due = pools.filter(|pool| pool.is_cull_due(now));
        due.for_each(|pool| self.cull_now(pool.id));
    }
}

impl Lookout for Machine {
    fn pools(&self) -> impl Iterator<Item = u32> {
        0..self.pools.borrow().len() as u32
    }

    fn at_a_glance(&self, pool: u32) -> Glance {
        let pool = self.pool(PoolId(pool));
        let inbox = pool.inbox.borrow();
        pool.core.borrow().at_a_glance(&*inbox, self.now())
    }

    fn take_asked(&self, pool: u32) -> bool {
        self.pool(PoolId(pool)).signals.inspect.take()
    }

    fn see(&self, pool: u32, worker: WorkerId, _: u32) -> Option<SeenState> {
        let thread = self.pool(PoolId(pool)).thread(worker)?;
        Some(self.unseen(thread).unwrap_or_else(|| self.seen(thread)))
    }

    fn watch_item(&self, pool: u32, seen: &Seen) {
        self.watch(&self.pool(PoolId(pool)), seen);
    }

    fn watch_worklist(&self, pool: u32) {
        self.watch_stall(&self.pool(PoolId(pool)));
    }
}
