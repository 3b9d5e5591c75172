//! Looks at a queue over all its pools: does it starve, should its limit rise, why does an item
//! wait?

use alloc::vec::Vec;

use super::items::settled;
use super::queues::apply_max;
use super::{Machine, PwqOf, WorkOf};
use crate::pool::{Holder, HolderIs, SlotsSeen, Waits, may_starve};
use crate::store::ItemKey;
use crate::time::Nanos;

/// Holders of slots that the report of a starvation names, at most.
const NAMED: usize = 16;

/// Items of a queue wait for a slot, and nothing moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starvation<T> {
    /// Since how long, in nanoseconds.
    pub stood: Nanos,
    /// The item that waits first.
    pub first: ItemKey,
    /// Entries that wait: items, and barriers behind them.
    pub nr_inactive: usize,
    /// Items that hold the slots.
    pub nr_active: u32,
    /// Slots that there are.
    pub max_active: u32,
    /// The node whose slots they are, if the queue has others as well.
    pub node: Option<u32>,
    /// Some of the items that hold the slots, of each pool the oldest, as the witness has told of
    /// them.
    pub holders: Vec<T>,
}

/// Who can tell what items with a slot are at.
pub trait Witness<P> {
    /// What is told of one.
    type Told;

    /// Tells. Called under the lock of the holder's pool.
    fn tell(&self, holder: &Holder<P>) -> Self::Told;

    /// Whether it waits for an item in a call of ours.
    fn awaits_item(&self, told: &Self::Told) -> bool;

    /// What it is at. Called without locks: this may look at its thread.
    fn look(&self, told: &Self::Told) -> HolderIs;
}

/// Looks at a queue of which items of `pwq` have waited for a slot for `threshold`: whether they
/// [may starve](may_starve), if that was not said before. The caller keeps the queue.
pub fn starving<M: Machine, W: Witness<PwqOf<M>>>(
    m: &M,
    queue: M::Queue,
    pwq: PwqOf<M>,
    threshold: Nanos,
    witness: &W,
) -> Option<Starvation<W::Told>> {
    let all = m.with_queue(queue, |q| q.pwqs());
    let pool = m.info(pwq).pool;
    let same = of_one_limit(m, &all, pwq);
    let seen = slots_seen(m, &same);
    let (stood, first, max_active) = m.with_pool(pool, |core, cx| {
        let stood = core.starves(cx, pwq, &seen, threshold)?;
        let max_active = core.max_active_now(cx, pwq);
        Some((stood, core.first_waiting(cx, pwq)?, max_active))
    })?;
    let mut holders = Vec::new();
    for &one in &same {
        m.with_pool(m.info(one).pool, |core, _| {
            let mut oldest: Vec<Holder<PwqOf<M>>> = core.holders(one).collect();
            oldest.sort_by_key(|holder| holder.began);
            holders.extend(oldest.iter().map(|holder| witness.tell(holder)));
        });
    }
    let awaits_item = |told: &W::Told| witness.awaits_item(told);
    let starves = may_starve(&holders, awaits_item, |told| witness.look(told));
    for &one in &same {
        m.with_pool(m.info(one).pool, |core, cx| core.judged(cx, one, starves));
    }
    holders.truncate(NAMED);
    starves.then_some(Starvation {
        stood,
        first,
        nr_inactive: seen.nr_inactive,
        nr_active: seen.nr_active,
        max_active,
        node: m.info(pwq).node.filter(|_| same.len() < all.len()),
        holders,
    })
}

/// Those of a queue that count for the limit of this one.
fn of_one_limit<M: Machine>(m: &M, all: &[PwqOf<M>], pwq: PwqOf<M>) -> Vec<PwqOf<M>> {
    m.with_pool(m.info(pwq).pool, |core, cx| {
        let same = |&&other: &&PwqOf<M>| core.share_limit(cx, pwq, other);
        all.iter().filter(same).copied().collect()
    })
}

fn slots_seen<M: Machine>(m: &M, pwqs: &[PwqOf<M>]) -> SlotsSeen {
    let of = |&one| m.with_pool(m.info(one).pool, |core, cx| core.slots_seen(cx, one));
    pwqs.iter()
        .map(of)
        .fold(SlotsSeen::default(), SlotsSeen::and)
}

/// A limit was raised that nobody has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// What it was.
    pub from: u32,
    /// What it is now.
    pub to: u32,
}

/// Raises a limit that nobody has chosen, if items of `pwq` wait for its slots and nothing has
/// moved for long. It doubles, up to what `most` says the system has room for. The caller keeps the
/// queue.
pub fn outgrow<M: Machine>(
    m: &M,
    queue: M::Queue,
    pwq: PwqOf<M>,
    most: impl FnOnce() -> u32,
) -> Option<Raised> {
    let all = m.with_queue(queue, |q| q.pwqs());
    let seen = slots_seen(m, &of_one_limit(m, &all, pwq));
    let pool = m.info(pwq).pool;
    if !m.with_pool(pool, |core, cx| core.stands_at_limit(cx, pwq, &seen)) {
        return None;
    }
    let most = most();
    m.with_queue(queue, |q| {
        let from = q.outgrow(most);
        apply_max(m, queue, q);
        let to = q.max_active();
        from.map(|from| Raised { from, to })
    })
}

/// Why an item that is pending has not begun; `None` if it is not pending. A hint: it may change at
/// any time.
pub fn waits<M: Machine>(m: &M, work: WorkOf<M>) -> Option<Waits> {
    loop {
        let word = settled(m, work);
        match (word.pwq(), word.pool()) {
            (Some(_), Some(pool)) => {
                let found = m.with_pool(pool, |core, cx| core.waits(cx, work));
                if found.is_some() {
                    return found;
                }
                // It has gone elsewhere in between.
                m.relax();
            }
            _ => return word.is_pending().then_some(Waits::Timer),
        }
    }
}
