//! What the policy counts, after every event of a pool.

use std::collections::BTreeMap;

use cmwq_policy::Rule;
use cmwq_policy::pool::Census;
use cmwq_policy::queue::Kind;
use cmwq_sim::PwqId;
use cmwq_sim::{ItemId, Machine, PoolId, PwqView, QueueId, ThreadId};

use super::{Books, Checked, Running, ensure};

/// What was counted at the last look.
#[derive(Default)]
pub(super) struct Counts {
    pwqs: Vec<Pwq>,
    limits: Vec<Slots>,
    /// Items that hold slots, by queue.
    active: Vec<u32>,
    pools: Vec<Pool>,
    /// Tokens of all pools.
    tokens: u32,
    /// Queues that were frozen.
    pub(super) frozen: Vec<QueueId>,
    /// The item that each thread executed last.
    last: BTreeMap<ThreadId, ItemId>,
}

struct Pwq {
    view: PwqView,
    is_ordered: bool,
    /// Of an ordered queue: the items that were queued here.
    queued: Vec<ItemId>,
}

/// One limit.
#[derive(Clone, Copy, Default)]
struct Slots {
    nr: u32,
    /// Somebody waits for one.
    waiting: bool,
    /// Of all its pwqs.
    nr_active: u32,
}

#[derive(Default)]
struct Pool {
    pwqs: Vec<usize>,
    tokens: u32,
    /// Failed creations when it last had a reserve that could have been made.
    failures: u64,
}

fn grow<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

impl Counts {
    /// Pwqs that are new.
    fn learn(&mut self, machine: &Machine) {
        for at in self.pwqs.len()..machine.nr_pwqs() {
            let view = machine.pwq_view(PwqId(at as u32));
            grow(&mut self.limits, view.limit);
            grow(&mut self.pools, view.pool.0 as usize).pwqs.push(at);
            self.pwqs.push(Pwq {
                is_ordered: machine.queue_kind(view.queue) == Kind::Ordered,
                queued: Vec::new(),
                view: PwqView {
                    nr_active: 0,
                    ..view
                },
            });
        }
    }

    pub(super) fn ended(&mut self, over: &Running) {
        self.last.insert(over.thread, over.execution.item);
    }

    /// Whether this is what the thread has executed last.
    pub(super) fn executed_last(&self, thread: ThreadId, item: ItemId) -> bool {
        self.last.get(&thread) == Some(&item)
    }

    /// Whether any thread has executed this item last.
    pub(super) fn was_last(&self, item: ItemId) -> bool {
        self.last.values().any(|&last| last == item)
    }

    /// The pwqs of a pool.
    pub(super) fn pwqs_of(&self, pool: PoolId) -> impl Iterator<Item = PwqView> + '_ {
        let pwqs = self.pools.get(pool.0 as usize).map(|p| p.pwqs.iter());
        pwqs.into_iter().flatten().map(|&at| self.pwqs[at].view)
    }
}

impl Books {
    /// An event of this pool is over.
    pub(super) fn pool_event(&mut self, machine: &Machine, pool: PoolId) -> Checked {
        self.counts.learn(machine);
        self.backlog.touch(pool);
        grow(&mut self.counts.pools, pool.0 as usize);
        for n in 0..self.counts.pools[pool.0 as usize].pwqs.len() {
            let at = self.counts.pools[pool.0 as usize].pwqs[n];
            self.check_pwq(machine, at)?;
        }
        self.check_limits(machine, pool)?;
        self.check_sums(machine, pool)?;
        let census = machine.census(pool);
        check_workers(machine, pool, &census)?;
        if self.terms.exact {
            self.note_needs(machine, pool, &census);
        }
        self.check_tokens(machine, pool, &census)
    }

    /// One pwq: what has changed.
    fn check_pwq(&mut self, machine: &Machine, at: usize) -> Checked {
        let pwq = &mut self.counts.pwqs[at];
        let before = std::mem::replace(&mut pwq.view, machine.pwq_view(PwqId(at as u32)));
        let slots = &mut self.counts.limits[before.limit];
        slots.nr_active = slots.nr_active + pwq.view.nr_active - before.nr_active;
        let active = grow(&mut self.counts.active, before.queue.0 as usize);
        *active = *active + pwq.view.nr_active - before.nr_active;
        let queued = pwq.view.nr_queued > before.nr_queued;
        let more_active = pwq.view.nr_active > before.nr_active;
        // Events also take in what was left before, and give slots to who waits. Nobody has heard
        // yet of what is being queued.
        let ledger = &self.ledger;
        let is_now = |item: &ItemId| {
            let view = machine.item_view(*item);
            let waits = view.word.flags().inactive || view.pwq != Some(PwqId(at as u32));
            !waits && ledger.of(*item).owed() <= 0
        };
        let overtakes = slots.waiting && queued && more_active;
        ensure!(
            !(overtakes && ledger.items().any(|item| is_now(&item))),
            SlotsInTurn,
            "q{}: an item got a slot at once, though others wait for one",
            before.queue.0
        );
        if pwq.is_ordered {
            let queue = pwq.view.queue;
            let queued = |item: &ItemId| machine.item_view(*item).pwq == Some(PwqId(at as u32));
            let now: Vec<ItemId> = self.ledger.items().filter(queued).collect();
            let was = std::mem::replace(&mut pwq.queued, now.clone());
            let new = now.iter().filter(|item| !was.contains(item));
            new.for_each(|&item| self.order.queued(queue, item));
        }
        Ok(())
    }

    /// The limits that the pool's pwqs count for.
    fn check_limits(&mut self, machine: &Machine, pool: PoolId) -> Checked {
        let counts = &mut self.counts;
        for &at in &counts.pools[pool.0 as usize].pwqs {
            let view = counts.pwqs[at].view;
            let limit = machine.limit_view(view.limit);
            let slots = &mut counts.limits[view.limit];
            let before = std::mem::replace(&mut slots.nr, limit.nr());
            slots.waiting = limit.waiting();
            ensure!(
                limit.nr() <= before || !counts.frozen.contains(&view.queue),
                FrozenDoesNotStart,
                "q{} is frozen, but one more holds a slot",
                view.queue.0
            );
            ensure!(
                limit.nr() <= before.max(limit.max()),
                LimitNeverExceeded,
                "q{}: {} hold slots, before {before}, of {}",
                view.queue.0,
                limit.nr(),
                limit.max()
            );
            ensure!(
                slots.nr_active == limit.nr(),
                NrActiveSums,
                "q{}: its pool workqueues say {}, its limit {}",
                view.queue.0,
                slots.nr_active,
                limit.nr()
            );
        }
        Ok(())
    }

    /// The queues that the pool's pwqs are of.
    fn check_sums(&mut self, machine: &Machine, pool: PoolId) -> Checked {
        for n in 0..self.counts.pools[pool.0 as usize].pwqs.len() {
            let at = self.counts.pools[pool.0 as usize].pwqs[n];
            let view = self.counts.pwqs[at].view;
            self.check_exact(machine, &view, self.counts.active[view.queue.0 as usize])?;
        }
        Ok(())
    }

    /// Every pool has a token for each runnable worker, but for the first where its pod is all that
    /// it may use, and all of them together are those in use.
    fn check_tokens(&mut self, machine: &Machine, pool: PoolId, census: &Census) -> Checked {
        let book = &mut self.counts.pools[pool.0 as usize];
        let before = std::mem::replace(&mut book.tokens, census.tokens);
        self.counts.tokens = self.counts.tokens + census.tokens - before;
        let (limit, used) = machine.budget(pool);
        if used >= limit {
            self.backlog.exhausted = Some(machine.now());
        }
        ensure!(
            used == self.counts.tokens,
            Budget,
            "{used} tokens are in use, pools have {}",
            self.counts.tokens
        );
        let due = match machine.pool_rule(pool) {
            Rule::Managed if machine.has_pod(pool) => census.running,
            Rule::Managed | Rule::PerCpu => census.running.saturating_sub(1),
            Rule::Unmanaged | Rule::Bh => 0,
        };
        ensure!(
            census.tokens == due,
            Budget,
            "pool {} has {} tokens and {} runnable workers",
            pool.0,
            census.tokens,
            census.running
        );
        Ok(())
    }

    /// Who begins holds a slot of its queue.
    pub(super) fn check_slots(&self, machine: &Machine, new: &Running) -> Checked {
        let limit = machine.pwq_view(new.pwq).limit;
        let same = |r: &&Running| machine.pwq_view(r.pwq).limit == limit;
        let running = 1 + self.running.iter().filter(same).count() as u32;
        let nr = machine.limit_view(limit).nr();
        ensure!(
            running <= nr,
            LimitNeverExceeded,
            "q{}: {running} run, {nr} hold slots",
            new.queue.0
        );
        Ok(())
    }

    /// Whoever begins leaves a reserve behind, or one cannot be made. Who executes an item once
    /// more goes on with its own list, as in the kernel, without being asked: it left one when it
    /// began.
    pub(super) fn check_spare(&mut self, machine: &Machine, new: &Running) -> Checked {
        let again = self.counts.last.get(&new.thread) == Some(&new.execution.item);
        if again || machine.is_rescuer(new.thread) || machine.claims_of(new.thread) > 0 {
            return Ok(());
        }
        let census = machine.census(new.pool);
        let failures = machine.pool_stats(new.pool).spawn_failures;
        let limit = machine.thread_limit(new.pool);
        let cooling = machine.now() < census.spawn_after;
        let book = grow(&mut self.counts.pools, new.pool.0 as usize);
        if census.idle + census.waking + census.between + census.creating > 0 {
            if !cooling {
                book.failures = failures;
            }
            return Ok(());
        }
        let cannot = census.workers >= limit || cooling || failures > book.failures;
        ensure!(
            cannot,
            SpareRule,
            "pool {}: all {} workers are busy, and none is being made",
            new.pool.0,
            census.workers
        );
        Ok(())
    }
}

fn check_workers(machine: &Machine, pool: PoolId, census: &Census) -> Checked {
    let limit = machine.thread_limit(pool);
    ensure!(
        census.workers + census.creating <= limit,
        ThreadLimit,
        "pool {}: {} threads and {} to be, of {limit}",
        pool.0,
        census.workers,
        census.creating
    );
    ensure!(
        census.creating <= 1,
        OneManager,
        "pool {}: {} threads are being made",
        pool.0,
        census.creating
    );
    let busy = census.executing + census.waking + census.between;
    ensure!(
        census.running <= busy,
        EstimateInRange,
        "pool {}: {} are taken for runnable, {busy} are busy",
        pool.0,
        census.running
    );
    let guests = census.rescuers + census.claims;
    ensure!(
        census.idle + busy <= census.workers + guests + census.creating,
        EstimateInRange,
        "pool {}: {census:?}",
        pool.0
    );
    Ok(())
}
