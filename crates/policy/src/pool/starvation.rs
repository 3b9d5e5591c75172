//! Items that wait for a slot while nothing moves: starvation (the field's word: *thread starvation
//! deadlock*). All items that hold the slots of a queue wait, perhaps for the ones that have none: a
//! chain of items that depend on each other and is longer than the limit. The worklist is empty then,
//! so the watchdog of the worklist sees nothing.
//!
//! Progress is that the first waiting item changes, or that any item with a slot of the same limit
//! ends. A pool knows which of its pwqs have items that wait; what the others of the same limit are
//! at, it is told: `crate::contract::starving`.

use super::slots::limit_now;
use super::{Busy, Cx, WorkerPool};
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
        }
    }
}

/// An item with a slot that goes on and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder<P> {
    /// Number of the pool.
    pub pool: u32,
    /// Who executes it.
    pub worker: WorkerId,
    /// The item.
    pub item: Busy<P>,
    /// When it began.
    pub began: Time,
    /// Through which pwq of the same pool that was queued what it waits for, if it has said so.
    pub awaits: Option<P>,
}

impl<S: Store> WorkerPool<S> {
    /// The first of those that wait for a slot of `pwq` is another one now, or there is none any more.
    pub(super) fn note_first_waiting(
        &mut self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        before: Option<S::Work>,
        after: Option<S::Work>,
    ) {
        if before == after {
            return;
        }
        let state = cx.store.pwq(pwq);
        state.dog.progressed(cx.now);
        match before {
            None => {
                state.waits_at = self.slot_waits.len();
                self.slot_waits.push(pwq);
            }
            Some(_) => {
                state.moved = cx.now;
                if after.is_none() {
                    self.waits_no_more(cx, pwq);
                }
            }
        }
    }

    fn waits_no_more(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let at = cx.store.pwq(pwq).waits_at;
        self.slot_waits.swap_remove(at);
        if let Some(&last) = self.slot_waits.get(at) {
            cx.store.pwq(last).waits_at = at;
        }
    }

    pub(super) fn rebase_slots(&mut self, cx: &mut Cx<S>) {
        for &pwq in &self.slot_waits {
            cx.store.pwq(pwq).dog.rebase(cx.now);
        }
    }

    /// Whether items wait for a slot: somebody looks in time whether that goes on.
    pub fn waits_for_slots(&self) -> bool {
        !self.slot_waits.is_empty()
    }

    /// When to look at those that wait for a slot, if nothing moves until then; the end of time if
    /// there is none, or nothing new to say. `threshold` 0 turns that off.
    pub fn starvation_due(&self, cx: &mut Cx<S>, threshold: Nanos) -> Time {
        let dues = self.slot_waits.iter().map(|&pwq| match is_frozen(cx, pwq) {
            true => Time(Nanos::MAX),
            false => cx.store.pwq(pwq).dog.due(threshold),
        });
        dues.min().unwrap_or(Time(Nanos::MAX))
    }

    /// The next pwq, from the cursor on, that is to be looked at: of which items wait for so long, or of
    /// which that was said before, since it may have moved. Held for the caller.
    pub fn next_starving(
        &mut self,
        cx: &mut Cx<S>,
        cursor: &mut usize,
        threshold: Nanos,
    ) -> Option<S::Pwq> {
        let behind = self.slot_waits.iter().skip(*cursor).copied();
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

    /// Whether two pwqs, of queues that the caller keeps, count for one limit.
    pub fn share_limit(&self, cx: &Cx<S>, one: S::Pwq, other: S::Pwq) -> bool {
        self.one_limit(cx, one, other)
    }

    /// Slots that there are for items of `pwq` and of others of the same limit.
    pub fn max_active_now(&self, cx: &Cx<S>, pwq: S::Pwq) -> u32 {
        limit_now(cx, pwq).max()
    }

    /// What a pwq of this pool is at.
    pub fn slots_seen(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> SlotsSeen {
        let counts = self.counts_of(cx, pwq);
        let state = cx.store.pwq(pwq);
        SlotsSeen {
            moved: state.moved,
            said: state.dog.said(),
            nr_active: counts.nr_active,
            nr_pending: counts.nr_pending,
            nr_inactive: counts.nr_inactive,
        }
    }

    /// If items of `pwq` have waited for a slot for `threshold` and nothing of its limit, of which `seen`
    /// is the whole, has moved: since when, unless that was said.
    pub fn starves(
        &mut self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        seen: &SlotsSeen,
        threshold: Nanos,
    ) -> Option<Nanos> {
        let state = cx.store.pwq(pwq);
        let waits = !state.inactive.is_empty();
        let dog = &mut state.dog;
        dog.moved_elsewhere(seen.moved, seen.said);
        if seen.nr_pending > 0 {
            // Those with a slot wait for a worker: that is for the watchdog of the worklist to say.
            dog.rebase(cx.now);
        }
        dog.stalled(cx.now, threshold, waits)
    }

    /// Starvation was said of the limit of `pwq`: not again before something moves.
    pub fn said_to_starve(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let state = cx.store.pwq(pwq);
        if !state.inactive.is_empty() {
            state.dog.say();
        }
    }

    /// Of those of `pwq` that wait for a slot: the first.
    pub fn first_waiting(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> Option<ItemKey> {
        let first = cx.store.pwq(pwq).inactive.first()?;
        Some(cx.store.key(first))
    }

    /// Items of `pwq` that hold a slot and are being executed.
    pub fn holders(&self, pwq: S::Pwq) -> impl Iterator<Item = Holder<S::Pwq>> + '_ {
        self.workers.ids().filter_map(move |worker| {
            let of = self.workers.get(worker);
            let current = of.current.as_ref()?;
            let holds = current.pwq == pwq && !current.barrier;
            holds.then(|| Holder {
                pool: self.attrs.id,
                worker,
                item: Busy {
                    key: current.key,
                    pwq,
                },
                began: of.began,
                awaits: of.waiting.map(|wait| wait.pwq()),
            })
        })
    }
}

/// Items of a frozen queue wait because somebody wants that.
fn is_frozen<S: Store>(cx: &Cx<S>, pwq: S::Pwq) -> bool {
    limit_now(cx, pwq).max() == 0
}
