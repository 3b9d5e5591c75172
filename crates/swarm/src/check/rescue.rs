//! Who helps where a pool cannot go on by itself: hogs step aside, rescuers come.

use std::collections::BTreeMap;

use cmwq_policy::pool::{Census, MAYDAY_INITIAL_TIMEOUT, MAYDAY_INTERVAL};
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, Rule, Time};
use cmwq_sim::PwqId;
use cmwq_sim::{ItemId, Machine, PoolId, ThreadId};

use super::{Books, Checked, Running, ensure};

/// A hog is looked at by so many ticks before it counts as one, at most.
const HOG_LOOKS: Nanos = 16 * MILLISECOND;
/// So long a worker may be missing, and rescuers too.
const MISSING: Nanos = MAYDAY_INITIAL_TIMEOUT + MAYDAY_INTERVAL + 20 * MILLISECOND;

/// Pools that need help.
#[derive(Default)]
pub(super) struct Rescue {
    /// Since when items wait and a worker would have to be made; and since when items wait.
    needs: BTreeMap<PoolId, Time>,
    backlog: BTreeMap<PoolId, Time>,
    /// When a rescuer last ended an item, and of which pool workqueue.
    ended: BTreeMap<ThreadId, (Time, PwqId)>,
}

impl Rescue {
    /// This execution is over.
    pub(super) fn ended(&mut self, machine: &Machine, over: &Running) {
        if machine.is_rescuer(over.thread) {
            self.ended.insert(over.thread, (machine.now(), over.pwq));
        }
    }
}

/// How many running workers are enough in a managed pool, but for the quota: what its pod has of
/// CPUs that are there, or the machine if it has none.
pub(super) fn enough(machine: &Machine, pool: PoolId) -> u32 {
    let online = machine.online_cpus();
    let own = machine.pool_pod(pool).and(&online);
    let cpus = if own.is_empty() { online } else { own };
    cpus.count() as u32
}

fn note(since: &mut BTreeMap<PoolId, Time>, pool: PoolId, holds: bool, now: Time) {
    match holds {
        true => drop(since.entry(pool).or_insert(now)),
        false => drop(since.remove(&pool)),
    }
}

impl Books {
    /// Those who should help do.
    pub(super) fn check_help(&mut self, machine: &Machine) -> Checked {
        if !self.terms.exact {
            return Ok(());
        }
        for pool in self.backlog.busy().collect::<Vec<_>>() {
            let census = machine.census(pool);
            self.note_company(machine, pool);
            self.check_hogs(machine, pool, &census)?;
            self.check_rescuers(machine, pool)?;
        }
        Ok(())
    }

    /// After each event, as what a pool needs changes within an instant.
    pub(super) fn note_needs(&mut self, machine: &Machine, pool: PoolId, census: &Census) {
        let coming = census.waking + census.between + census.creating > 0;
        let managed = matches!(machine.pool_rule(pool), Rule::Managed | Rule::PerCpu);
        let enough = managed && census.running >= enough(machine, pool).min(machine.quota());
        let needs = census.queued > 0 && census.idle == 0 && !coming && !enough;
        let (rescue, now) = (&mut self.rescue, machine.now());
        note(&mut rescue.needs, pool, needs, now);
        let counts = machine.pool_rule(pool) == Rule::PerCpu && census.queued > 0;
        if counts && !rescue.backlog.contains_key(&pool) {
            // Nobody looked at what they had before.
            for running in self.running.iter_mut().filter(|r| r.pool == pool) {
                running.before = machine.thread_stats(running.thread);
            }
        }
        note(&mut rescue.backlog, pool, counts, now);
    }

    /// A look ends at the first worker that is awake: CPU time counts for one that is alone awake.
    fn note_company(&mut self, machine: &Machine, pool: PoolId) {
        let awake = |r: &&Running| r.pool == pool && !machine.is_asleep(r.thread);
        if self.running.iter().filter(awake).count() > 1 {
            for running in self.running.iter_mut().filter(|r| r.pool == pool) {
                running.before = machine.thread_stats(running.thread);
            }
        }
    }

    /// Of a per-CPU pool in which items wait: what keeps the CPU does not count as running.
    fn check_hogs(&self, machine: &Machine, pool: PoolId, census: &Census) -> Checked {
        let enough = self.terms.hog_threshold + HOG_LOOKS;
        let waited = self.rescue.backlog.get(&pool);
        if waited.is_none_or(|since| machine.now().since(*since) < enough) {
            return Ok(());
        }
        let is_hog = |r: &&Running| {
            let now = machine.thread_stats(r.thread);
            let slept = now.voluntary_switches != r.before.voluntary_switches;
            !slept && now.cpu_ns - r.before.cpu_ns >= enough
        };
        let here = || self.running.iter().filter(|r| r.pool == pool);
        let hogs = here().filter(is_hog).count() as u32;
        let asleep = here().filter(|r| machine.is_asleep(r.thread)).count() as u32;
        ensure!(
            census.hinted >= hogs + asleep,
            HogStepsAside,
            "pool {}: {hogs} items keep the CPU, {asleep} sleep, {} do not count: {census:?}",
            pool.0,
            census.hinted
        );
        Ok(())
    }

    fn check_rescuers(&self, machine: &Machine, pool: PoolId) -> Checked {
        let Some(&since) = self.rescue.needs.get(&pool) else {
            return Ok(());
        };
        let mut items = self.ledger.items();
        items.try_for_each(|item| self.check_rescuer(machine, pool, since, item))
    }

    /// An item of a queue with a rescuer waits in a pool that needs a worker since then: the
    /// rescuer comes in time, and stays while there is such an item.
    fn check_rescuer(&self, machine: &Machine, pool: PoolId, since: Time, item: ItemId) -> Checked {
        let waits = self.waits_since(item);
        let at = machine.item_view(item).pwq;
        let pwq = at.map(|pwq| machine.pwq_view(pwq));
        let (Some(waits), Some(pwq)) = (waits, pwq.filter(|pwq| pwq.pool == pool)) else {
            return Ok(());
        };
        let rescuer = machine.rescuer_of(pwq.queue);
        let Some(rescuer) = rescuer.filter(|&id| machine.is_asleep(id)) else {
            return Ok(());
        };
        // It sleeps in the course of an item, perhaps of another pool.
        if self.running.iter().any(|r| r.thread == rescuer) {
            return Ok(());
        }
        let since = since.max(waits);
        let waited = machine.now().since(since);
        ensure!(
            waited < MISSING,
            RescuerComes,
            "pool {}: i{} waits for {waited} ns, and the rescuer of q{} sleeps",
            pool.0,
            item.0,
            pwq.queue.0
        );
        let left = self.rescue.ended.get(&rescuer);
        let left = left.filter(|&&(then, from)| Some(from) == at && since < then);
        ensure!(
            left.is_none(),
            RescuerComes,
            "pool {}: the rescuer of q{} has left, though i{} waits",
            pool.0,
            pwq.queue.0,
            item.0
        );
        Ok(())
    }
}
