//! How many items of a queue are where, over all its pools. `docs/contributing/recipes.md` tells
//! which files a new count goes through.

use super::Machine;
use crate::pool::{PwqCounts, Waits};
use crate::stats::PwqStats;
use crate::store::Store;

/// How many items of a queue are where. Names are the kernel's; see [`PwqCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// The limit, also while the queue is frozen.
    pub max_active: u32,
    /// What each node is granted of it at least.
    pub min_active: u32,
    /// Items that hold a slot.
    pub nr_active: u64,
    /// Items that are being executed.
    pub nr_executing: u64,
    /// Entries that wait for a slot.
    pub nr_inactive: u64,
    /// Those that have not begun, by reason.
    waits: [u64; Waits::ALL.len()],
}

impl QueueCounts {
    /// How many wait for this reason.
    pub fn waiting(&self, why: Waits) -> u64 {
        self.waits[why as usize]
    }

    fn add(&mut self, pwq: &PwqCounts) {
        self.nr_active += u64::from(pwq.nr_active);
        self.nr_executing += u64::from(pwq.nr_executing);
        self.nr_inactive += pwq.nr_inactive as u64;
        self.waits[Waits::Behind as usize] += u64::from(pwq.nr_behind);
        if let Some(why) = pwq.pending {
            self.waits[why as usize] += u64::from(pwq.nr_pending);
        }
        let slot = match pwq.plugged {
            true => Waits::Plugged,
            false => Waits::Limit,
        };
        self.waits[slot as usize] += pwq.nr_inactive as u64;
    }
}

/// What has become of the items of a queue, those of pool workqueues that it uses no more included.
/// Pools are looked at one by one.
pub fn stats<M: Machine>(m: &M, queue: M::Queue) -> PwqStats {
    let pwqs = m.with_queue(queue, |q| q.pwqs());
    let of = |pwq| m.with_pool(m.info(pwq).pool, |_, cx| cx.store.pwq(pwq).stats());
    pwqs.into_iter().map(of).sum()
}

/// How many items of a queue are where. Costs a look at each worker of its pools, and at each timer
/// of it. A hint: pools are looked at one by one.
pub fn counts<M: Machine>(m: &M, queue: M::Queue) -> QueueCounts {
    let mut sum = m.with_queue(queue, |q| QueueCounts {
        max_active: q.max_active(),
        min_active: q.min_active(),
        ..QueueCounts::default()
    });
    for pwq in m.with_queue(queue, |q| q.pwqs()) {
        let counts = m.with_pool(m.info(pwq).pool, |core, cx| core.counts_of(cx, pwq));
        sum.add(&counts);
    }
    let group = m.queue_info(queue).id;
    let armed = m.with_timers(|timers| timers.len_of_group(group));
    sum.waits[Waits::Timer as usize] = armed as u64;
    sum
}
