//! What a worker is [dealt](super::deal), and what it tells of it.

use super::brief::LIGHT;
use crate::linger::lingers_until;
use crate::sampling::ItemReport;
use crate::stats::Stamp;
use crate::store::ItemKey;
use crate::time::{Nanos, Time};
use crate::worker::WorkerId;

/// Items that are dealt at a time. Nobody waits for them: who needs one recalls it.
pub const MOST_DEALT: usize = 32;

/// To whom items are dealt, and of which pool workqueue all of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealer<P> {
    /// The worker, which executes an item of that pool workqueue.
    pub worker: WorkerId,
    /// The pool workqueue.
    pub pwq: P,
    /// It tells the pool of an item that has taken so long, in nanoseconds.
    pub told_from: Nanos,
    /// It asks the pool from then on.
    pub until: Time,
    /// It is dealt more until then.
    pub more_until: Time,
    /// Nothing of the pool was listed, nor waited for a slot of that pool workqueue.
    pub alone: bool,
    /// Nothing is dealt to it alone: it takes its items of the [row](super::Inbox::line_up).
    pub in_row: bool,
}

impl<P> Dealer<P> {
    /// The same, by another name of that pool workqueue.
    pub fn with_pwq<Q>(self, pwq: Q) -> Dealer<Q> {
        Dealer {
            worker: self.worker,
            pwq,
            told_from: self.told_from,
            until: self.until,
            more_until: self.more_until,
            alone: self.alone,
            in_row: self.in_row,
        }
    }
}

/// An item as it is dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealt<W> {
    /// The item.
    pub work: W,
    /// What identifies its execution, which may outlive it.
    pub key: ItemKey,
    /// When it was queued, about.
    pub stamp: Stamp,
    /// What it was until it was dealt.
    pub was: Was,
    /// The CPU that it was queued on, and whether the worker is outside of the pod of that.
    pub home: u32,
    /// See there.
    pub far: bool,
}

/// What an item was that is dealt. Where it waited for a slot it gets that of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// Left in the inbox.
    Left,
    /// Inactive: it waited for a slot, with this flush colour.
    Inactive(u8),
    /// Listed with this colour: it has a slot.
    Listed(u8),
}

impl Was {
    /// Its flush colour, if it is counted in already.
    #[inline]
    pub(super) fn colour(self) -> Option<u8> {
        match self {
            Was::Left => None,
            Was::Inactive(colour) | Was::Listed(colour) => Some(colour),
        }
    }

    /// Whether it gets the slot of the one before it, and so becomes active, when it begins.
    #[inline]
    pub fn takes_slot_over(self) -> bool {
        !matches!(self, Was::Listed(_))
    }
}

/// What a worker notes of an item that has ended when it goes on to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// When it goes on: the item had ended, or the worker had lingered after that.
    pub at: Time,
    /// How long the item had taken.
    pub ran: Nanos,
    /// See [`ItemReport::lingered`].
    pub lingered: bool,
}

impl Ended {
    /// The same of a worker that goes on so much later.
    #[must_use]
    #[inline]
    pub fn later(self, by: Nanos) -> Self {
        let at = self.at.after(by);
        Ended { at, ..self }
    }
}

/// What has become of an item that was dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled<'a, W> {
    /// This comes first, of each worker to whom so many were dealt.
    Hand {
        /// So many.
        dealt: usize,
        /// It has ended its item, and [lingers](may_linger).
        lingers: bool,
    },
    /// The worker has begun it.
    Begun {
        /// As it was dealt. It may be gone.
        item: &'a Dealt<W>,
        /// What the worker has noted of the one before.
        before: &'a Ended,
    },
    /// The worker has not begun it. Of an item that was left the pool is not told.
    Rest(Dealt<W>),
    /// It was in the row. These come after all hands, the last one first. One that was left lies in
    /// the inbox again.
    InRow(Dealt<W>),
}

/// Whether a worker in the row that has ended an item then tells the pool what it has taken, before
/// it takes the next one. It has taken so many since the pool has heard of it. `fills`: it was the
/// first to see that no more wait than [`low_mark`].
#[inline]
pub fn tells<P>(to: &Dealer<P>, at: Time, taken: usize, fills: bool) -> bool {
    fills || at >= to.until || taken == MOST_DEALT
}

/// So many have come to the front of the row: it is to be filled up when so many are left there.
pub fn low_mark(came: usize) -> usize {
    came / 2
}

/// Whether somebody is to fill the row up, now that so many are left at the front: one is asked.
/// `behind`: others stand behind these.
pub fn is_low(left: usize, low: &mut usize, behind: impl FnOnce() -> bool) -> bool {
    let is_low = left <= *low && !behind();
    if is_low {
        *low = 0;
    }
    is_low
}

/// Whether a worker whose hand is out is dealt more then: it has begun all that it was dealt, there
/// is room and time, and items wait.
#[inline]
pub fn wants_more<P>(to: &Dealer<P>, at: Time, dealt: usize, begun: usize, waits: bool) -> bool {
    !to.in_row && begun == dealt && dealt < MOST_DEALT && at < to.more_until && waits
}

/// Whether what a worker's item queues stays with that worker, instead of in the inbox: an item of
/// the same pool workqueue that is [its own](is_its_own). It is next, as nothing else waits, and to
/// be dealt it from there would take the pool's lock.
#[inline]
pub fn keeps_own<P>(to: &Dealer<P>, dealt: usize, begun: usize, waits: bool) -> bool {
    to.alone && begun == dealt && dealt < MOST_DEALT && !waits
}

/// Until when a worker that has ended this item then may [linger](crate::linger) before it says so;
/// `None`: it may not. It has begun all that it was dealt, its hand is out, and nothing waits in
/// its pool, nor a flush of its queue. Who comes to need to know recalls its hand, but for those
/// who wait for a slot in another pool: it lingers for no longer than it goes on by itself. While
/// it lingers the pool takes it to be at the item, and items are left to it.
#[inline]
pub fn may_linger<P>(
    to: &Dealer<P>,
    (at, report): (Time, &ItemReport),
    (dealt, begun): (usize, usize),
    waits: bool,
) -> Option<Time> {
    let is_light = report.ran.is_some_and(|ran| ran < LIGHT) && report.slept != Some(true);
    let may = to.alone && begun == dealt && is_light && !report.foreign && !waits && at < to.until;
    may.then(|| lingers_until(at).min(to.until))
}

/// Whether an item that a worker's item has queued is executed by nobody else, as far as its worker
/// knows: it is new, or the worker's own item queues itself.
#[inline]
pub fn is_its_own(own: &ItemKey, queued: &ItemKey, is_new: bool) -> bool {
    is_new || own == queued
}

/// Whether a worker to which others were dealt goes on by itself when it has ended this item then,
/// which has not slept as far as anybody looked.
#[inline]
pub fn goes_on_alone<P>(report: &ItemReport, to: &Dealer<P>, at: Time) -> bool {
    let is_short = report.ran.is_some_and(|ran| ran < to.told_from);
    let is_short = is_short || cfg!(any(cmwq_brief, cmwq_short));
    // In the row it goes on, and tells.
    is_short && (at < to.until || to.in_row) && !report.foreign && report.slept != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_looked_at_and_has_not_slept_goes_on() {
        let to = Dealer {
            worker: WorkerId(0),
            pwq: 0,
            told_from: 100,
            until: Time(50),
            more_until: Time(25),
            alone: false,
            in_row: false,
        };
        let goes_on = |slept| {
            let report = ItemReport {
                ran: Some(99),
                slept,
                ..ItemReport::default()
            };
            goes_on_alone(&report, &to, Time(49))
        };
        assert!(goes_on(None) && goes_on(Some(false)));
        assert!(!goes_on(Some(true)) || cfg!(any(cmwq_brief, cmwq_short)));
    }

    #[test]
    fn what_others_may_execute_is_not_its_own() {
        let key = |addr| ItemKey { addr, func: 1 };
        assert!(is_its_own(&key(1), &key(2), true), "nobody has had it");
        assert!(is_its_own(&key(1), &key(1), false), "it executes that");
        assert!(!is_its_own(&key(1), &key(2), false));
    }
}
