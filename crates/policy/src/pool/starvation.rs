//! Items that wait for a slot while nothing moves: starvation (also called *thread starvation
//! deadlock*).
//!
//! All items that hold the slots of a queue wait, perhaps for items that have none: a chain of
//! items that depend on each other is longer than the limit. Then the worklist is empty, so its
//! watchdog sees nothing.
//!
//! If holders of slots are only *slow*, the others do not starve. A slow holder computes, sleeps
//! for a time, or waits for a disk, a child or a peer, and goes on after that. What a holder does
//! can be seen in part ([`HolderIs`]), and [`may_starve`] is the rule.
//!
//! Progress is that the first waiting item changes, or that an item with a slot of the same limit
//! ends. A pool knows which of its pwqs have items that wait. What the other pwqs of the same limit
//! do, it is told: `crate::contract::starving`.

use super::slots::limit_now;
use super::unseen::PATIENCE;
use super::{Cx, Executed, WorkerPool};
use crate::store::{ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::worker::WorkerId;

/// What pwqs that count for one limit are at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotsSeen {
    /// When an item with a slot last ended, or one that waited first got one.
    pub moved: Time,
    /// Since when one stands still of which that was said.
    pub said: Option<Time>,
    /// Items that hold a slot.
    pub nr_active: u32,
    /// Of those, items that wait for a worker.
    pub nr_pending: u32,
    /// Entries that wait for a slot: items, and barriers behind them.
    pub nr_inactive: usize,
    /// When an item with a slot was last begun.
    pub began: Time,
}

impl SlotsSeen {
    /// Both together.
    #[must_use]
    pub fn and(self, other: SlotsSeen) -> SlotsSeen {
        SlotsSeen {
            moved: self.moved.max(other.moved),
            said: self.said.max(other.said),
            nr_active: self.nr_active + other.nr_active,
            nr_pending: self.nr_pending + other.nr_pending,
            nr_inactive: self.nr_inactive + other.nr_inactive,
            began: self.began.max(other.began),
        }
    }
}

/// What an item with a slot is seen to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderIs {
    /// It waits for an item, in a call of ours.
    AwaitsItem,
    /// It sleeps until another thread of the process wakes it (a channel, a lock), or nobody can
    /// see what it does. Perhaps an item without a slot has to wake it.
    AwaitsThread,
    /// It computes, sleeps for a time, or waits for something outside of the process.
    Slow,
}

/// Whether the holders of the slots of a limit may be waiting for an item that has none. So they
/// may if one of them waits for an item, or each of them for some other thread. A holder that is
/// only slow goes on, and gives its slot back. `looks` may cost something, so no more holders are
/// looked at than needed.
pub fn may_starve<T>(
    holders: &[T],
    awaits_item: impl Fn(&T) -> bool,
    mut looks: impl FnMut(&T) -> HolderIs,
) -> bool {
    holders.iter().any(awaits_item) || holders.iter().all(|holder| looks(holder) != HolderIs::Slow)
}

/// An item with a slot that goes on and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder<P> {
    /// Number of the pool.
    pub pool: u32,
    /// Who executes it.
    pub worker: WorkerId,
    /// The item.
    pub item: Executed<P>,
    /// When it began.
    pub began: Time,
    /// Through which pwq of the same pool that was queued what it waits for, if it has said so.
    pub awaits: Option<P>,
}

/// Bytes of memory that one more thread takes, about: its stack in the kernel, what it touches of
/// its own, and what the kernel keeps of it.
const THREAD_TAKES: u64 = 64 * 1024;
/// Limits that nobody has chosen leave one part in so many of the memory that is left.
const MEMORY_PART: u64 = 2;

/// Threads that a process with this many workers may have, where nobody has chosen how many: as
/// many as the system allows and half of the `memory` that is left has room for. What is not known
/// limits nothing.
pub fn most_threads(workers: u32, memory: Option<u64>, system: Option<u64>) -> u32 {
    let more = memory.map(|bytes| bytes / MEMORY_PART / THREAD_TAKES);
    let fit = more.map(|more| more.saturating_add(u64::from(workers)));
    let most = fit.into_iter().chain(system).min().unwrap_or(u64::MAX);
    u32::try_from(most).unwrap_or(u32::MAX)
}

impl<S: Store> WorkerPool<S> {
    /// Whether items wait at a limit that nobody has chosen: somebody looks soon whether that goes
    /// on.
    pub fn waits_at_dfl(&self) -> bool {
        self.slots.any_at_dfl()
    }

    /// The next pwq, from the cursor on, of which items wait at a limit that nobody has chosen, and
    /// have not moved for long. Held for the caller: [`outgrow`](crate::contract::outgrow).
    pub fn next_at_dfl(&mut self, cx: &mut Cx<S>, cursor: &mut usize) -> Option<S::Pwq> {
        while let Some(&pwq) = self
            .slots
            .waits()
            .get(*cursor)
            .filter(|_| self.slots.any_at_dfl())
        {
            *cursor += 1;
            let state = cx.store.pwq(pwq);
            if state.waits_at_dfl && cx.now.since(state.moved) >= PATIENCE {
                cx.store.hold(pwq);
                return Some(pwq);
            }
        }
        None
    }

    /// Do items of `pwq` wait for a slot of a limit that nobody has chosen, while all items with a
    /// slot go on and on? `seen` is of all pwqs of that limit.
    pub fn stands_at_limit(&self, cx: &mut Cx<S>, pwq: S::Pwq, seen: &SlotsSeen) -> bool {
        let limit = limit_now(cx, pwq);
        let state = cx.store.pwq(pwq);
        let moved = seen.moved.max(seen.began);
        let full = seen.nr_pending == 0 && limit.max() > 0 && limit.nr() >= limit.max();
        state.waits_at_dfl && !state.flags.plugged && full && cx.now.since(moved) >= PATIENCE
    }

    /// May the limit of its threads be raised?
    pub(super) fn may_outgrow_threads(&self) -> bool {
        self.attrs.thread_limit < self.attrs.thread_most
    }

    /// Does an item wait for a worker for which there is no thread, under a limit that nobody has
    /// chosen, and nothing moves? Follow with [`outgrow_threads`](Self::outgrow_threads).
    pub fn stands_at_thread_limit(&self, now: Time) -> bool {
        let full =
            self.crew.counts().workers >= self.attrs.thread_limit && self.crew.idle().is_empty();
        full && self.may_outgrow_threads()
            && self.need_more_worker()
            && now.since(self.moved) >= PATIENCE
    }

    /// See [`outgrow_threads`](Self::outgrow_threads).
    pub(super) fn raise_thread_limit(&mut self, cx: &mut Cx<S>, most: u32) -> Option<(u32, u32)> {
        if !self.stands_at_thread_limit(cx.now) {
            return None;
        }
        let from = self.attrs.thread_limit;
        let most = most.min(self.attrs.thread_most);
        let to = from.saturating_mul(2).min(most).max(from);
        self.attrs.thread_limit = to;
        if to == from {
            self.attrs.thread_most = from;
            self.fail_a_wait(cx);
        }
        // The new ones have as long again to begin.
        self.moved = cx.now;
        Some((from, to))
    }

    /// Whether items wait for a slot: somebody looks in time whether that goes on.
    pub fn waits_for_slots(&self) -> bool {
        !self.slots.waits().is_empty()
    }

    /// When to look at those that wait for a slot, if nothing moves until then; the end of time if
    /// there is none, or nothing new to say. `threshold` 0 turns that off.
    pub fn starvation_due(&self, cx: &mut Cx<S>, threshold: Nanos) -> Time {
        let dues = self
            .slots
            .waits()
            .iter()
            .map(|&pwq| match is_frozen(cx, pwq) {
                true => Time(Nanos::MAX),
                false => {
                    let state = cx.store.pwq(pwq);
                    let soon = state.moved.max(cx.now).after(PATIENCE);
                    let dfl = state.waits_at_dfl.then_some(soon);
                    dfl.into_iter().fold(state.dog.due(threshold), Time::min)
                }
            });
        dues.min().unwrap_or(Time(Nanos::MAX))
    }

    /// The next pwq, from the cursor on, that is to be looked at. Its items have waited for that
    /// long; or that was said before, and they may have moved since. Held for the caller.
    pub fn next_starving(
        &mut self,
        cx: &mut Cx<S>,
        cursor: &mut usize,
        threshold: Nanos,
    ) -> Option<S::Pwq> {
        let behind = self.slots.waits().iter().skip(*cursor).copied();
        for pwq in behind {
            *cursor += 1;
            let dog = cx.store.pwq(pwq).dog;
            let is_due = dog.was_said() || dog.due(threshold) <= cx.now;
            if threshold > 0 && is_due && !is_frozen(cx, pwq) {
                cx.store.hold(pwq);
                return Some(pwq);
            }
        }
        None
    }

    /// Slots that there are for items of `pwq` and of others of the same limit.
    pub fn max_active_now(&self, cx: &Cx<S>, pwq: S::Pwq) -> u32 {
        limit_now(cx, pwq).max()
    }

    /// What a pwq of this pool is at.
    pub fn slots_seen(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> SlotsSeen {
        let counts = self.counts_of(cx, pwq);
        let began = self.holders(pwq).map(|holder| holder.began).max();
        let state = cx.store.pwq(pwq);
        SlotsSeen {
            moved: state.moved,
            said: state.dog.said(),
            nr_active: counts.nr_active,
            nr_pending: counts.nr_pending,
            nr_inactive: counts.nr_inactive,
            began: began.unwrap_or_default(),
        }
    }

    /// Since when the limit of `pwq` stands still, if its items have waited for a slot for
    /// `threshold` and that was not said before. `seen` is of all pwqs of that limit.
    pub fn starves(
        &mut self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        seen: &SlotsSeen,
        threshold: Nanos,
    ) -> Option<Nanos> {
        let state = cx.store.pwq(pwq);
        if state.inactive.is_empty() {
            return None;
        }
        let dog = &mut state.dog;
        dog.moved_elsewhere(seen.moved, seen.said);
        if seen.nr_pending > 0 {
            // Those with a slot wait for a worker: that is for the watchdog of the worklist to say.
            dog.rebase(cx.now);
        }
        dog.stands(cx.now, threshold)
    }

    /// Those of `pwq` that wait [may starve](may_starve), which is said now and not again before
    /// something moves; or those who hold the slots are only slow.
    pub fn judged(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, starves: bool) {
        let state = cx.store.pwq(pwq);
        match starves {
            _ if state.inactive.is_empty() => {}
            true => state.dog.say(),
            false => state.dog.only_slow(cx.now),
        }
    }

    /// Of those of `pwq` that wait for a slot: the first.
    pub fn first_waiting(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> Option<ItemKey> {
        let first = cx.store.pwq(pwq).inactive.first()?;
        Some(cx.store.key(first))
    }

    /// Items of `pwq` that hold a slot and are being executed.
    pub fn holders(&self, pwq: S::Pwq) -> impl Iterator<Item = Holder<S::Pwq>> + '_ {
        self.crew.ids().filter_map(move |worker| {
            let of = self.crew.get(worker);
            let current = of.current.as_ref()?;
            let holds = current.pwq == pwq && !current.barrier;
            holds.then(|| Holder {
                pool: self.attrs.id,
                worker,
                item: Executed {
                    key: current.key,
                    pwq,
                },
                began: of.began,
                awaits: of.waiting().map(|wait| wait.pwq()),
            })
        })
    }
}

/// Items of a frozen queue wait because somebody wants that.
fn is_frozen<S: Store>(cx: &Cx<S>, pwq: S::Pwq) -> bool {
    limit_now(cx, pwq).max() == 0
}
