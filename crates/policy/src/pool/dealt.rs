//! What a worker is [dealt](super::deal), and what it tells of it.

use super::brief::BRIEF;
use crate::sampling::ItemReport;
use crate::stats::Stamp;
use crate::store::ItemKey;
use crate::time::{Nanos, Time};
use crate::worker::WorkerId;

/// Items that are dealt at a time. Nobody waits for them: who needs one recalls it.
pub const MOST_DEALT: usize = 16;

/// To whom items are dealt, and of which pool workqueue all of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealer<P> {
    /// The worker, which executes an item of that pool workqueue.
    pub worker: WorkerId,
    /// The pool workqueue.
    pub pwq: P,
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
    /// Its flush colour, if it was listed; else it was left in the inbox.
    pub listed: Option<u8>,
}

/// What has become of an item that was dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled<W> {
    /// The worker has begun it.
    Begun {
        /// As it was dealt. It may be gone.
        item: Dealt<W>,
        /// When that was: right when the one before had ended.
        at: Time,
        /// How long the one before had taken.
        ran: Nanos,
    },
    /// The worker has not begun it. Of an item that was left the pool is not told.
    Rest(Dealt<W>),
}

/// Whether a worker whose hand is out is dealt more: it has begun all that it was dealt, there is
/// room, and items wait.
pub fn wants_more(dealt: usize, begun: usize, waits: bool) -> bool {
    begun == dealt && dealt < MOST_DEALT && waits
}

/// Whether a worker that has ended this item goes on by itself.
pub fn goes_on_alone(report: &ItemReport) -> bool {
    let is_brief = report.ran.is_some_and(|ran| ran < BRIEF) || cfg!(cmwq_brief);
    is_brief && !report.foreign && report.slept.is_none()
}
