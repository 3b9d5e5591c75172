//! When everything has finished: nothing is left behind.

use cmwq_sim::PwqId;
use cmwq_sim::{Machine, PoolId, ThreadId};

use super::{Books, Checked, ensure};

/// Idle workers that a pool keeps.
const KEPT: u32 = 2;

impl Books {
    /// Nothing has happened for longer than idle workers stay: few are left, but not none.
    pub(super) fn check_rested(&self, machine: &Machine) -> Checked {
        // One whose thread is not fit for another item ends, though it is the last.
        let least = u32::from(!self.terms.leaves);
        for pool in (0..machine.nr_pools() as u32).map(PoolId) {
            let workers = machine.census(pool).workers;
            let peak = machine.pool_stats(pool).peak_workers;
            ensure!(
                (least.min(peak)..=KEPT).contains(&workers),
                IdleWorkersRetire,
                "pool {}: {workers} workers of once {peak}",
                pool.0
            );
        }
        Ok(())
    }

    /// Nothing happens any more.
    pub(super) fn finish(&mut self, machine: &Machine) -> Checked {
        self.check_threads(machine)?;
        self.check_ledger(machine)?;
        let (items, queues) = machine.referred_to();
        ensure!(
            items.is_empty() && queues.is_empty(),
            NoLeak,
            "items {items:?} and queues {queues:?} are still referred to"
        );
        let mut dropped = self.calls.dropped.iter();
        let kept = dropped.find(|&&queue| !machine.is_gone(queue));
        ensure!(
            kept.is_none(),
            NoLeak,
            "{kept:?} was dropped, but is not gone"
        );
        let tokens = machine.tokens();
        ensure!(tokens == 0, NoLeak, "{tokens} tokens are in use");
        let mut pools = (0..machine.nr_pools() as u32).map(PoolId);
        pools.try_for_each(|pool| check_pool(machine, pool))?;
        let mut pwqs = (0..machine.nr_pwqs() as u32).map(PwqId);
        pwqs.try_for_each(|pwq| check_pwq(machine, pwq))
    }

    fn check_threads(&self, machine: &Machine) -> Checked {
        let all = (0..machine.nr_threads() as u32).map(ThreadId);
        let is_ours = |t: ThreadId| {
            machine.worker_of(t).is_some() || machine.is_rescuer(t) || machine.is_signaller(t)
        };
        let own = all.filter(|&t| !is_ours(t));
        let stuck: Vec<String> = own
            .filter(|&t| !machine.is_done(t))
            .map(|t| format!("{} (t{})", machine.thread_name(t), t.0))
            .collect();
        ensure!(
            stuck.is_empty(),
            EverythingFinishes,
            "{} wait for ever",
            stuck.join(", ")
        );
        let running = self.running.first();
        ensure!(running.is_none(), EverythingFinishes, "{running:?} goes on");
        Ok(())
    }

    /// Each accepted queueing has run, or was taken back, or was dropped where that was said.
    fn check_ledger(&self, machine: &Machine) -> Checked {
        let owed = self.ledger.items().map(|i| self.ledger.of(i).owed());
        let (owed, dropped) = (owed.sum::<i64>(), machine.timers_dropped());
        ensure!(
            owed == dropped as i64,
            NothingLost,
            "{owed} instances never began, {dropped} were dropped"
        );
        Ok(())
    }
}

fn check_pool(machine: &Machine, pool: PoolId) -> Checked {
    let census = machine.census(pool);
    ensure!(
        census.idle == census.workers && census.creating == 0,
        NoLeak,
        "pool {}: {census:?}",
        pool.0
    );
    ensure!(
        census.rescuers == 0 && census.claims == 0,
        NoLeak,
        "pool {}: {census:?}",
        pool.0
    );
    ensure!(
        census.running == 0 && census.queued == 0,
        NoLeak,
        "pool {}: {census:?}",
        pool.0
    );
    Ok(())
}

fn check_pwq(machine: &Machine, pwq: PwqId) -> Checked {
    let view = machine.pwq_view(pwq);
    let limit = machine.limit_view(view.limit);
    let empty = view.nr_active == 0 && view.nr_inactive == 0 && view.nr_in_flight == 0;
    ensure!(empty, NoLeak, "{pwq:?}: {view:?}");
    ensure!(
        limit.nr() == 0 && !limit.waiting(),
        NoLeak,
        "{pwq:?}: {limit:?}"
    );
    Ok(())
}
