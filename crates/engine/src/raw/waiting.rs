//! Waiting for what a face knows of.

use cmwq_policy::contract::Target;
pub use cmwq_policy::contract::Until;

use super::{RawItem, RawPwq, RawQueue};
use crate::engine::Real;
use crate::error::WouldDeadlock;
use crate::group::Group;
use crate::wait::latch::Latch;

/// What has to end for a wait to end, so that circles are seen.
#[derive(Clone, Copy, Debug)]
pub enum Awaits {
    /// An item that runs once.
    Item(RawItem),
    /// Items that are waited for together.
    Group(Group),
}

impl From<&Awaits> for Target<Real> {
    fn from(awaits: &Awaits) -> Self {
        match awaits {
            Awaits::Item(item) => Target::Item(item.header()),
            Awaits::Group(group) => Target::Group(*group),
        }
    }
}

fn targets(awaits: &[Awaits]) -> Vec<Target<Real>> {
    awaits.iter().map(Target::from).collect()
}

impl RawQueue {
    /// The error for a wait of the calling item for items of this queue.
    pub fn would_deadlock(&self) -> WouldDeadlock {
        self.queue().would_deadlock()
    }

    /// Waits for a latch that items of this queue will set; those which were queued through this
    /// pwq, if it is one. `item` is the name of what is waited for, for people. `awaits`: what has
    /// to end `until` it is set, as far as it is known.
    ///
    /// # Errors
    /// If it would wait for ever.
    ///
    /// # Panics
    /// If the latch has a waiter.
    ///
    /// # Safety
    /// The pwq is of this queue. What `awaits` names stays in memory until this returns.
    pub unsafe fn wait_latch(
        &self,
        pwq: Option<RawPwq>,
        latch: &Latch,
        item: Option<&'static str>,
        (until, awaits): (Until, &[Awaits]),
    ) -> Result<(), WouldDeadlock> {
        let (queue, targets) = (self.queue(), targets(awaits));
        if let Some(RawPwq(pwq)) = pwq {
            return queue.wait_latch(pwq, latch, item, (until, &targets));
        }
        latch.announce();
        let wait = || queue.wait_elsewhere(|| latch.is_set());
        queue.awaiting(item, || queue.in_graph(until, &targets, wait))?
    }

    /// As [`wait_latch`](Self::wait_latch), for a caller that cannot do without the wait. All
    /// awaited items have begun, as far as is known. If they wait for the caller's item, or for
    /// what only its worker could begin, they are told that this never ends. The latch has been
    /// [announced](Latch::announce).
    ///
    /// # Safety
    /// The pwq is of this queue. What `awaits` names stays in memory until this returns.
    pub unsafe fn wait_begun(
        &self,
        pwq: Option<RawPwq>,
        latch: &Latch,
        item: Option<&'static str>,
        awaits: &[Awaits],
    ) {
        let (queue, targets) = (self.queue(), targets(awaits));
        let pwq = pwq.map(|RawPwq(pwq)| pwq);
        queue.awaiting(item, || {
            queue.wait_begun(pwq, &targets, || latch.is_set());
        });
    }
}
