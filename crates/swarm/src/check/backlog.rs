//! Nobody waits without need: between two instants, when nobody can act without time passing.

use cmwq_policy::pool::Census;
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{CpuMask, Nanos, Rule, Time};
use cmwq_sim::{Balance, Machine, Options, Placement, PoolId, Signals, ThreadId, ThreadState};

use super::rescue::enough;
use super::{Books, Checked, ensure};

/// What was forbidden a moment ago is started by the next look of the tick, at the latest: so long
/// after that, where signals are exact.
const NEXT_LOOK: Nanos = 5 * MILLISECOND;

/// With signals of user space: a few looks of the tick.
const IN_USER_SPACE: Nanos = 20 * MILLISECOND;

/// What can be asked of the machine of a plan.
pub(super) struct Terms {
    /// Pools are told who sleeps.
    pub(super) exact: bool,
    /// Canaries report CPUs that idle, also those beside a pod.
    pulls: bool,
    /// Items that use so much CPU time without sleeping stop counting in per-CPU pools.
    pub(super) hog_threshold: Nanos,
    /// Acts and calls take no time, so that nobody is in the middle of one between two instants.
    is_plain: bool,
    /// Items may wait for so long though a CPU idles; `None`: the scheduler itself lets CPUs idle.
    bound: Option<Nanos>,
    /// Items change their workers' threads.
    pub(super) leaves: bool,
    /// Items are taken for brief, whatever they are like.
    takes_for_brief: bool,
    /// What was forbidden a moment ago is started within this.
    next_look: Nanos,
}

impl Terms {
    pub(super) fn of(options: &Options, hog_threshold: Nanos, leaves: bool) -> Terms {
        let is_work_conserving = options.placement.balance == Balance::AtOnce;
        let bound = match options.signals {
            // Where items are taken for brief one worker is enough until it is late.
            Signals::Exact if options.brief_items => NEXT_LOOK,
            Signals::Exact => 0,
            Signals::User(user) => IN_USER_SPACE + 4 * user.late + 4 * user.tick,
        };
        Terms {
            exact: options.signals == Signals::Exact,
            pulls: matches!(options.signals, Signals::User(u) if u.canaries && u.lost < 1000),
            hog_threshold,
            leaves,
            is_plain: !leaves
                && options.costs.call == 0
                && options.placement == Placement::default(),
            bound: is_work_conserving.then_some(bound),
            takes_for_brief: options.brief_items,
            next_look: bound.max(NEXT_LOOK),
        }
    }
}

/// Pools that may have something to do.
#[derive(Default)]
pub(super) struct Backlog {
    pools: Vec<Watched>,
    /// When all tokens were last seen in use.
    pub(super) exhausted: Option<Time>,
}

#[derive(Clone, Copy, Default)]
struct Watched {
    /// Something has happened there since the last instant, or something waits.
    is_busy: bool,
    /// Until then something may wait: a start was forbidden a moment ago.
    excused: Time,
    /// Since when something waits though a CPU idles.
    idle_since: Option<Time>,
    /// Items that had begun then.
    started: u64,
}

impl Backlog {
    /// Pools in which something may wait.
    pub(super) fn busy(&self) -> impl Iterator<Item = PoolId> + '_ {
        let busy = self.pools.iter().enumerate().filter(|(_, p)| p.is_busy);
        busy.map(|(at, _)| PoolId(at as u32))
    }

    pub(super) fn touch(&mut self, pool: PoolId) {
        let at = pool.0 as usize;
        if self.pools.len() <= at {
            self.pools.resize(at + 1, Watched::default());
        }
        self.pools[at].is_busy = true;
    }
}

/// Why no worker can start now, though one is missing.
fn is_forbidden(machine: &Machine, pool: PoolId, census: &Census) -> bool {
    let full = census.workers >= machine.thread_limit(pool);
    let cannot_make = census.idle == 0 && (full || machine.now() < census.spawn_after);
    cannot_make || census.creating > 0
}

impl Books {
    /// The pools as they are between two instants.
    pub(super) fn check_pools(&mut self, machine: &Machine) -> Checked {
        for at in 0..self.backlog.pools.len() {
            if self.backlog.pools[at].is_busy {
                self.check_truth(machine, PoolId(at as u32))?;
                self.check_waiters(machine, PoolId(at as u32))?;
            }
        }
        Ok(())
    }

    /// Who executes is known; and where signals are exact, who of them sleeps.
    fn check_truth(&self, machine: &Machine, pool: PoolId) -> Checked {
        let census = machine.census(pool);
        let here = self.running.iter().filter(|r| r.pool == pool);
        let (mut executing, mut asleep) = (0, 0);
        for running in here {
            executing += 1;
            asleep += u32::from(machine.is_asleep(running.thread));
        }
        let most = if self.terms.is_plain {
            executing
        } else {
            census.executing
        };
        ensure!(
            (executing..=most).contains(&census.executing),
            EstimateInRange,
            "pool {}: {executing} execute, {} counted",
            pool.0,
            census.executing
        );
        // Hogs, of per-CPU pools, are awake and not counted.
        let hogs = match machine.is_percpu(pool) {
            true => census.executing,
            false => census.rescuers + census.executing - executing,
        };
        let nested = self.nested(machine, pool);
        let (least, most) = (asleep + nested.certain, asleep + hogs + nested.may);
        ensure!(
            !self.terms.exact || (least..=most).contains(&census.hinted),
            EstimateInRange,
            "pool {}: {asleep} sleep, {} counted; {least} to {most} are right",
            pool.0,
            census.hinted
        );
        Ok(())
    }

    /// Who waits for a slot has reason to.
    fn check_waiters(&self, machine: &Machine, pool: PoolId) -> Checked {
        for pwq in self.counts.pwqs_of(pool) {
            let limit = machine.limit_view(pwq.limit);
            ensure!(
                limit.nr() >= limit.max() || !limit.waiting(),
                NoSlotIdleWithWaiters,
                "q{}: items wait for one of {} slots, of which {} are held",
                pwq.queue.0,
                limit.max(),
                limit.nr()
            );
        }
        Ok(())
    }

    /// Items that a worker may take, and nobody comes.
    pub(super) fn check_backlog(&mut self, machine: &Machine) -> Checked {
        let mut idle = None;
        for at in 0..self.backlog.pools.len() {
            if !self.backlog.pools[at].is_busy {
                continue;
            }
            let pool = PoolId(at as u32);
            let census = machine.census(pool);
            self.backlog.pools[at].is_busy = census.queued > 0;
            let exhausted = self.backlog.exhausted == Some(machine.now());
            if exhausted && census.running > 0 {
                // When tokens come back, only the tick looks who has waited for them.
                let until = machine.now().after(self.terms.next_look);
                self.backlog.pools[at].excused = until;
            }
            let is_waiting =
                self.backlog.pools[at].is_waiting(machine, pool, &census, self.terms.next_look);
            if is_waiting && self.has_free_item(machine, pool) {
                let idle = idle.get_or_insert_with(|| machine.idle_cpus());
                self.check_pool(machine, pool, &census, idle)?;
            } else {
                self.backlog.pools[at].idle_since = None;
            }
        }
        Ok(())
    }

    /// An item of the pool waits that does not run at this moment: one that does has to wait for
    /// its own end.
    fn has_free_item(&self, machine: &Machine, pool: PoolId) -> bool {
        let here = |pwq| machine.pwq_view(pwq).pool == pool;
        let waits = |item| self.waits_since(item).is_some();
        let mut items = self.ledger.items();
        items.any(|item| waits(item) && machine.item_view(item).pwq.is_some_and(here))
    }

    fn check_pool(
        &mut self,
        machine: &Machine,
        pool: PoolId,
        census: &Census,
        idle: &CpuMask,
    ) -> Checked {
        // Its CPU gone, a per-CPU pool starts everything at once, whatever it thinks.
        let lost = machine.is_percpu(pool) && !machine.is_served(pool);
        let rule = machine.pool_rule(pool);
        match if lost { Rule::Unmanaged } else { rule } {
            Rule::Bh => ensure!(
                census.executing > 0,
                BhDoesNotSleep,
                "pool {}: items wait, its worker sleeps: {census:?}",
                pool.0
            ),
            Rule::Unmanaged => return self.check_prompt(machine, pool, census),
            Rule::Managed | Rule::PerCpu => {
                return self.check_idle_cpu(machine, pool, census, idle);
            }
        }
        Ok(())
    }

    /// Everything starts at once. Not while a worker waits for a CPU to be set right there: it has
    /// ended its item, and has nothing left to do but to sleep, or to make another worker.
    fn check_prompt(&self, machine: &Machine, pool: PoolId, census: &Census) -> Checked {
        let waits = |&thread: &ThreadId| machine.whereabouts(thread).0 == ThreadState::Ready;
        let mut workers = machine.worker_threads(pool).into_iter();
        let excused = self.terms.leaves && workers.any(|t| waits(&t));
        ensure!(
            excused,
            NoIdleCpuWithBacklog,
            "pool {} starts everything at once, but items wait: {census:?}",
            pool.0
        );
        Ok(())
    }

    /// A CPU that could serve the pool does not idle for long.
    fn check_idle_cpu(
        &mut self,
        machine: &Machine,
        pool: PoolId,
        census: &Census,
        idle: &CpuMask,
    ) -> Checked {
        // Without canaries as many start as the pod has CPUs, wherever they run.
        let (pod, reach) = (machine.pool_pod(pool), machine.pool_cpus(pool));
        let outside = self.terms.pulls || pod == reach;
        let (quota, most) = (machine.quota(), enough(machine, pool));
        let by_quota = quota < most && census.running >= quota;
        let enough = by_quota || (!outside && census.running >= most);
        let watched = &mut self.backlog.pools[pool.0 as usize];
        // While items are taken for brief, each look starts one more worker for those that are not.
        let started = machine.pool_stats(pool).started;
        let before = std::mem::replace(&mut watched.started, started);
        if self.terms.takes_for_brief && started > before {
            watched.idle_since = None;
        }
        let since = &mut watched.idle_since;
        let Some(bound) = self.terms.bound else {
            return Ok(());
        };
        // An item that has pinned its worker may wait for a CPU while others idle.
        let is_pinned = |&thread: &ThreadId| machine.allowed(thread) != reach;
        let mut workers = machine.worker_threads(pool).into_iter();
        // So may one that was claimed by a thread with fewer CPUs.
        let pins = self.terms.leaves || census.claims > 0;
        let enough = enough || (pins && workers.any(|t| is_pinned(&t)));
        if enough || idle.and(&reach).is_empty() {
            *since = None;
            return Ok(());
        }
        let waited = machine.now().since(*since.get_or_insert(machine.now()));
        ensure!(
            waited < bound,
            NoIdleCpuWithBacklog,
            "pool {}: items wait though one of the CPUs {} idles, since {waited} ns; {}; {census:?}",
            pool.0,
            idle.and(&reach),
            self.describe(machine, pool)
        );
        Ok(())
    }
}

impl Books {
    /// Who executes in a pool, and where.
    fn describe(&self, machine: &Machine, pool: PoolId) -> String {
        let here = self.running.iter().filter(|r| r.pool == pool);
        let each = here.map(|r| {
            let (state, cpu) = machine.whereabouts(r.thread);
            format!(
                "t{} with i{} {state:?} on CPU {cpu}",
                r.thread.0, r.execution.item.0
            )
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

impl Watched {
    /// Whether items wait for somebody to come, nobody does, and nothing forbids it.
    fn is_waiting(
        &mut self,
        machine: &Machine,
        pool: PoolId,
        census: &Census,
        next_look: Nanos,
    ) -> bool {
        // Each worker that comes sends for the next one.
        if census.queued == 0 || census.waking + census.between > 0 {
            return false;
        }
        let now = machine.now();
        if is_forbidden(machine, pool, census) {
            self.excused = now.max(census.spawn_after).after(next_look);
        }
        now >= self.excused
    }
}
