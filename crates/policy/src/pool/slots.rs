//! The limit of a queue: who gets a free slot (kernel `tryinc_node_nr_active`).
//!
//! A list has the pwqs that wait: those with items that wait for a slot, except plugged ones.
//! Whoever gives a slot back or raises the limit serves that list. It activates the items of its
//! own pool, and says `Activate` where the turn is another pool's. Taking a plug out first takes
//! slots for that pwq, then joins the list with the rest.
//!
//! The section "Slots" of `README.md` has all steps, and why nobody is stranded.

use alloc::vec::Vec;

use super::brief::WAITS_AT_MOST;
use super::{Cx, Rule, WorkerPool};
use crate::action::Action;
use crate::limit::Limit;
use crate::list::List;
use crate::probe::{broken, hit};
use crate::stats::Stamp;
use crate::store::{SharedLimit, Store};
use crate::time::Nanos;
use crate::work::QueuedFlags;
use crate::worker::WorkerId;

/// For so long a pwq keeps its slots while others wait. Then one goes to who waits first, which
/// disturbs two pools: rarely enough for the shortest items, and for long ones each time.
const KEEPS_FOR: Nanos = WAITS_AT_MOST;

/// Pool workqueues of which items wait for a slot, in no order. Each knows its place among them.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Slots<S: Store> {
    waits: Vec<S::Pwq>,
    /// Of those, the ones whose limit nobody has chosen.
    at_dfl: u32,
    /// So many items of theirs wait.
    nr_inactive: usize,
    offer: Offer<S::Pwq>,
}

/// What becomes of the slot of the item that a worker is about to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Offer<P> {
    /// It is given back.
    #[default]
    None,
    /// It goes to the next item of this pwq that comes.
    Made(P),
    /// It has gone to one, and is to be given back no more.
    Taken(P),
}

impl<S: Store> Slots<S> {
    pub(super) fn new() -> Self {
        Slots {
            waits: Vec::new(),
            at_dfl: 0,
            nr_inactive: 0,
            offer: Offer::None,
        }
    }

    pub(super) fn waits(&self) -> &[S::Pwq] {
        &self.waits
    }

    /// How many items wait for a slot.
    pub(super) fn nr_inactive(&self) -> usize {
        self.nr_inactive
    }

    /// Whether an item of this pwq that comes now gets the slot of one that is about to end.
    pub(super) fn offers(&self, pwq: S::Pwq) -> bool {
        self.offer == Offer::Made(pwq)
    }

    /// Whether a slot that was offered has been taken, and not given back since.
    pub(super) fn owes(&self) -> bool {
        matches!(self.offer, Offer::Taken(_))
    }

    /// Who has not come yet has to take a slot.
    pub(super) fn withdraw_offer(&mut self) {
        if !self.owes() {
            self.offer = Offer::None;
        }
    }

    /// Whether items wait at a limit that nobody has chosen.
    pub(super) fn any_at_dfl(&self) -> bool {
        self.at_dfl > 0
    }

    /// Works on a pwq's waiting items and their links at once: both live behind the store, so the
    /// list is taken out for the time of the call.
    pub(super) fn with_inactive<R>(
        &mut self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        act: impl FnOnce(&mut S, &mut List<S>) -> R,
    ) -> R {
        let mut list = core::mem::take(&mut cx.store.pwq(pwq).inactive);
        let (before, len) = (list.first(), list.len());
        let result = act(cx.store, &mut list);
        let after = list.first();
        self.nr_inactive = self.nr_inactive + list.len() - len;
        cx.store.pwq(pwq).inactive = list;
        self.note_first_waiting(cx, pwq, before, after);
        result
    }

    /// The first of those that wait for a slot of `pwq` is another one now, or there is none any
    /// more.
    fn note_first_waiting(
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
                state.waits_at = self.waits.len() as u32;
                self.waits.push(pwq);
                self.count_wait_at_dfl(cx, pwq);
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
        self.count_wait_at_dfl(cx, pwq);
        let at = cx.store.pwq(pwq).waits_at;
        self.waits.swap_remove(at as usize);
        if let Some(&last) = self.waits.get(at as usize) {
            cx.store.pwq(last).waits_at = at;
        }
    }

    /// Counts whether items of `pwq` wait at a limit that nobody has chosen.
    pub(super) fn count_wait_at_dfl(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let may_rise = limit_now(cx, pwq).may_rise();
        let state = cx.store.pwq(pwq);
        let waits = may_rise && !state.inactive.is_empty();
        let before = core::mem::replace(&mut state.waits_at_dfl, waits);
        self.at_dfl = self.at_dfl + u32::from(waits) - u32::from(before);
    }

    pub(super) fn rebase(&mut self, cx: &mut Cx<S>) {
        for &pwq in &self.waits {
            cx.store.pwq(pwq).dog.rebase(cx.now);
        }
    }
}

impl<S: Store> WorkerPool<S> {
    /// A slot for an item of `pwq`; if there is none, the pwq waits for one from now on.
    pub(super) fn take_slot(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        if is_plugged(cx, pwq) {
            return false;
        }
        if self.slots.offers(pwq) {
            self.slots.offer = Offer::Taken(pwq);
            cx.store.pwq(pwq).nr_active += 1;
            self.note_kept(cx, pwq);
            hit!(SlotPassedOn);
            return true;
        }
        let limit = cx.store.limit(pwq);
        let taken = limit.step(Limit::try_take).is_ok()
            || limit.with_waiters(|waiters| {
                let before = limit
                    .step(|l| Some(l.take_or_wait()))
                    .expect("never refused");
                let taken = before.try_take().is_some();
                if !taken {
                    waiters.join(pwq);
                }
                taken
            });
        cx.store.pwq(pwq).nr_active += u32::from(taken);
        taken
    }

    /// The worker is about to end an item: if its pwq keeps slots, and nothing waits for one there,
    /// the next item that comes gets this one. The limit, which pools share, stays as it is.
    pub(super) fn offer_slot(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        let ends = self.crew.get(id).current.as_ref();
        let Some(pwq) = ends.filter(|item| !item.barrier).map(|item| item.pwq) else {
            return;
        };
        if cx.store.pwq(pwq).inactive.is_empty() && self.keeps_slots(cx, pwq) {
            self.slots.offer = Offer::Made(pwq);
        }
    }

    /// An item of `pwq` does not need its slot any more.
    pub(super) fn put_slot(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        self.put_slots(cx, pwq, 1);
    }

    /// So many do not.
    pub(super) fn put_slots(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, mut count: u32) {
        if count > 0 && self.slots.offer == Offer::Taken(pwq) {
            self.slots.offer = Offer::None;
            cx.store.pwq(pwq).nr_active -= 1;
            count -= 1;
        }
        let rest = count - self.pass_slots_on(cx, pwq, count);
        if rest == 0 {
            return;
        }
        cx.store.pwq(pwq).nr_active -= rest;
        let before = cx.store.limit(pwq).step(|l| Some(l.put(rest)));
        let waiting = before.is_ok_and(|limit| limit.waiting());
        if waiting {
            cx.store.pwq(pwq).last_turn = Stamp::of(cx.now);
            self.serve_waiters(cx, pwq);
        }
    }

    /// The next items of `pwq` get so many slots if it keeps them: the limit stays as it is. How
    /// many did.
    fn pass_slots_on(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, count: u32) -> u32 {
        if count == 0 || cx.store.pwq(pwq).inactive.is_empty() || is_plugged(cx, pwq) {
            return 0;
        }
        if !self.keeps_slots(cx, pwq) {
            return 0;
        }
        self.note_kept(cx, pwq);
        hit!(SlotPassedOn);
        let mut passed = 0;
        while passed < count && !cx.store.pwq(pwq).inactive.is_empty() {
            self.activate_first(cx, pwq);
            passed += 1;
        }
        self.leave_waiters(cx, pwq);
        passed
    }

    /// Whether slots of `pwq` go to its own next items: nobody else waits for one; or the pool is
    /// managed, and `pwq` has about its part. If they took turns, each item of a pool would take
    /// the locks of two. Others have a turn nevertheless when it has been so [for
    /// long](KEEPS_FOR). Other kinds take turns, as in the kernel.
    ///
    /// Read without the lock of those who wait: one who joins meanwhile counts as joining after
    /// this.
    pub(super) fn keeps_slots(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let now = limit_now(cx, pwq);
        if !now.waiting() {
            return now.is_kept();
        }
        let held = cx.store.pwq(pwq).nr_active;
        let waiting = nr_waiting_with(cx, pwq);
        let takes_turns = self.attrs.rule != Rule::Managed && waiting > 1;
        let keeps = now.is_in_part(held, waiting) && !takes_turns;
        // What holds its part elsewhere may wait for what waits here, and the other way round.
        let is_long = cx.store.pwq(pwq).last_turn.age(cx.now) >= KEEPS_FOR;
        keeps && (waiting <= 1 || !is_long)
    }

    /// `pwq` keeps slots: notes whether others wait for them.
    fn note_kept(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let others = nr_waiting_with(cx, pwq) > 1;
        hit!(SlotKept if others);
        if !others {
            cx.store.pwq(pwq).last_turn = Stamp::of(cx.now);
        }
    }

    /// Nothing of `pwq` waits for a slot any more, if that is so.
    pub(super) fn leave_waiters(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        if !cx.store.pwq(pwq).inactive.is_empty() || is_plugged(cx, pwq) {
            return;
        }
        let limit = cx.store.limit(pwq);
        limit.with_waiters(|waiters| {
            if waiters.leave(pwq) {
                let _ = limit.step(none_waits);
            }
        });
    }

    /// Slots may be free: gives them to those who wait, as far as they are of this pool, in turn:
    /// for one item or up to a part. `pwq` is any of the queue.
    fn serve_waiters(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        while let Some(first) = cx.store.limit(pwq).with_waiters(|waiters| waiters.first()) {
            // A first one of this pool stays the first while the pool is held: nobody else serves
            // it.
            if cx.store.info(first).pool != self.attrs.id {
                let free = limit_now(cx, pwq).take_waiting().is_some();
                // It serves all slots that are free then.
                let is_told = || cx.out.iter().any(|told| told == Action::Activate(first));
                if free && !is_told() {
                    cx.store.hold(first);
                    self.push(cx, Action::Activate(first));
                }
                return;
            }
            if !self.serve_own(cx, first) {
                return;
            }
            while self.is_below_part(cx, first) && self.serve_own(cx, first) {}
            self.end_turn(cx, first);
        }
    }

    /// A free slot goes to the first item of this pwq that waits.
    fn serve_own(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        if cx.store.limit(pwq).step(Limit::take_waiting).is_err() {
            return false;
        }
        cx.store.pwq(pwq).nr_active += 1;
        self.activate_first(cx, pwq);
        true
    }

    /// Whether more of its items wait, and it has less than its part of the slots: then a turn of a
    /// managed pool goes on.
    fn is_below_part(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let state = cx.store.pwq(pwq);
        let (held, waits) = (state.nr_active, !state.inactive.is_empty());
        if self.attrs.rule != Rule::Managed || !waits {
            return false;
        }
        let waiting = cx.store.limit(pwq).nr_waiting();
        waiting > 1 && held < limit_now(cx, pwq).part(waiting)
    }

    fn end_turn(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let more = !cx.store.pwq(pwq).inactive.is_empty();
        let limit = cx.store.limit(pwq);
        limit.with_waiters(|waiters| match more {
            true => waiters.rotate(),
            false if waiters.leave(pwq) => drop(limit.step(none_waits)),
            false => {}
        });
    }

    /// The item of `pwq` that waits longest becomes active, with its barriers.
    fn activate_first(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        let head = cx.store.pwq(pwq).inactive.first().expect("an item waits");
        let word = cx.store.word(head);
        // Few have anything behind them.
        let several = word.flags().linked.then(|| self.worklist.series(cx, head));
        let series = several.as_deref().unwrap_or(core::slice::from_ref(&head));
        for &member in series {
            self.slots
                .with_inactive(cx, pwq, |s, list| list.remove(s, member));
        }
        let flags = QueuedFlags {
            inactive: false,
            ..word.flags()
        };
        cx.store.set_word(head, word.with_flags(flags));
        cx.store.activated(head, pwq);
        self.push_series(cx, series);
    }

    /// Items of `pwq`, which is not among those that wait, want slots: they get what is free, and
    /// the rest waits.
    pub(super) fn take_slots(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        while !cx.store.pwq(pwq).inactive.is_empty() && self.take_slot(cx, pwq) {
            self.activate_first(cx, pwq);
        }
    }

    /// Whether the limit that `pwq` counts for is raised where items would starve under it.
    pub fn let_limit_rise(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, may: bool) {
        let _ = cx.store.limit(pwq).step(|limit| {
            let next = limit.with_may_rise(may);
            (next != limit).then_some(next)
        });
        self.slots.count_wait_at_dfl(cx, pwq);
    }

    /// Slots of the queue of `pwq` may be free, or none of those that wait for one may ever get
    /// it.
    pub(super) fn serve(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> Option<()> {
        self.serve_waiters(cx, pwq);
        self.fail_at_limit(cx, pwq);
        Some(())
    }

    /// See [`unplug`](Self::unplug).
    pub(super) fn pull_plug(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> Option<()> {
        cx.store.pwq(pwq).flags.plugged = false;
        // Deferred or not each holds its slot.
        self.take_slots(cx, pwq);
        Some(())
    }

    /// New items of its queue go elsewhere from now on. True if nothing is in flight; otherwise
    /// `Emptied` is said when that is so.
    pub fn retire_pwq(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let state = cx.store.pwq(pwq);
        state.retired = true;
        state.nr_in_flight() == 0
    }

    /// Whether its queue does not need it any more.
    pub fn is_retired_and_empty(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let state = cx.store.pwq(pwq);
        state.retired && state.nr_in_flight() == 0
    }

    /// A pwq that was retired and emptied is used again. Something may be in flight nevertheless:
    /// an item that somebody has left for it since ([`Queueing::left`](super::Queueing::left)).
    pub fn reuse_pwq(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, plugged: bool) {
        let state = cx.store.pwq(pwq);
        (state.retired, state.flags.plugged) = (false, plugged);
    }
}

/// Do older items of its ordered queue come first?
fn is_plugged<S: Store>(cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
    cx.store.pwq(pwq).flags.plugged && !broken!(PlugIgnored)
}

/// How many pwqs wait for a slot, with this one.
fn nr_waiting_with<S: Store>(cx: &mut Cx<S>, pwq: S::Pwq) -> u32 {
    let is_among = !cx.store.pwq(pwq).inactive.is_empty();
    cx.store.limit(pwq).nr_waiting() + u32::from(!is_among)
}

/// The limit as it is now.
pub(super) fn limit_now<S: Store>(cx: &Cx<S>, pwq: S::Pwq) -> Limit {
    match cx.store.limit(pwq).step(|_| None) {
        Ok(limit) | Err(limit) => limit,
    }
}

/// Nobody is left in the list. Said under its lock.
fn none_waits(limit: Limit) -> Option<Limit> {
    Some(limit.with_waiting(false))
}
