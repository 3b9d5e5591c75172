//! The queue: what all its pool workqueues have in common (kernel `workqueue_struct`).
//!
//! Guarded by the queue's own lock, which comes before those of pools.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

pub use crate::attrs::{Attrs, Kind};
use crate::attrs::{Scope, Spread};
use crate::cpumask::CpuMask;
use crate::limit::MAX_LIMIT;
use crate::probe::broken;
use crate::pwq::{DFL_MIN_ACTIVE, PwqFlags};
use crate::time::Nanos;

/// What a queue is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAttrs {
    /// Its kind, for ever.
    pub kind: Kind,
    /// Its first attributes.
    pub attrs: Attrs,
    /// Items that may hold a slot; of a per-CPU queue: for each CPU.
    pub max_active: u32,
    /// Nobody has chosen that number: it is raised where items would starve under it.
    pub dfl_active: bool,
    /// The limit is one number for all nodes at any moment. Otherwise each has its part of it, and
    /// the parts may come to more ([`Layout::share`](crate::affinity::Layout::share)).
    pub exact: bool,
    /// Its items do not count as running (per-CPU queues only).
    pub cpu_intensive: bool,
    /// It has a rescuer.
    pub mem_reclaim: bool,
    /// It stands still while the process's queues are [frozen](crate::contract::Freezer).
    pub freezable: bool,
}

/// The part of [`QueueAttrs`] that never changes. A queue keeps only this part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its kind.
    pub kind: Kind,
    /// The limit is one number for all nodes.
    pub exact: bool,
    /// Its items do not count as running.
    pub cpu_intensive: bool,
    /// It has a rescuer.
    pub mem_reclaim: bool,
    /// It stands still while queues are frozen.
    pub freezable: bool,
}

impl From<QueueAttrs> for Made {
    fn from(attrs: QueueAttrs) -> Self {
        Made {
            kind: attrs.kind,
            exact: attrs.exact,
            cpu_intensive: attrs.cpu_intensive,
            mem_reclaim: attrs.mem_reclaim,
            freezable: attrs.freezable,
        }
    }
}

/// Attributes as a queue keeps them. The mask would be 136 of their 152 bytes, and few queues have
/// one. So it lies apart.
#[derive(Debug)]
struct Kept {
    nice: i8,
    cpumask: Option<Box<CpuMask>>,
    scope: Option<Scope>,
    strict: bool,
    locality: Nanos,
}

impl Kept {
    fn new(attrs: Attrs) -> Self {
        // Named one by one: the compiler finds an attribute that is new.
        let Attrs {
            nice,
            cpumask,
            scope,
            strict,
            locality,
        } = attrs;
        Kept {
            nice,
            cpumask: cpumask.map(Box::new),
            scope,
            strict,
            locality,
        }
    }

    fn attrs(&self) -> Attrs {
        Attrs {
            nice: self.nice,
            cpumask: self.cpumask.as_deref().copied(),
            scope: self.scope,
            strict: self.strict,
            locality: self.locality,
        }
    }
}

/// Whether a queue has a pool for each cache shard, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharding {
    /// It has one pool, and may be spread.
    May,
    /// It has been spread.
    Has,
    /// It has been gathered, for good.
    Never,
}

/// State of a queue.
#[derive(Debug)]
pub struct Queue<P> {
    made: Made,
    attrs: Kept,
    max_active: u32,
    min_active: u32,
    /// Nobody has chosen the limit.
    may_rise: bool,
    sharding: Sharding,
    /// As its routes have it.
    routed: Spread,
    frozen: bool,
    drainers: u32,
    orphaned: bool,
    /// Pool workqueues that may have items, the oldest first.
    pwqs: VecDeque<P>,
    /// Retired and empty: used again where the attributes fit.
    spare: Vec<P>,
}

impl<P: Copy + Eq> Queue<P> {
    /// A queue without pool workqueues.
    pub fn new(made: QueueAttrs) -> Self {
        Queue {
            made: made.into(),
            attrs: Kept::new(made.attrs),
            max_active: made.max_active,
            min_active: made.max_active.min(DFL_MIN_ACTIVE),
            may_rise: made.dfl_active && !matches!(made.kind, Kind::Ordered | Kind::Bh),
            sharding: if cfg!(cmwq_spread) {
                Sharding::Has
            } else {
                Sharding::May
            },
            routed: Spread::No,
            frozen: false,
            drainers: 0,
            orphaned: false,
            pwqs: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// What it is for ever.
    pub fn made(&self) -> Made {
        self.made
    }

    /// Its attributes as they are now.
    pub fn attrs(&self) -> Attrs {
        self.attrs.attrs()
    }

    /// The limit, frozen or not.
    pub fn max_active(&self) -> u32 {
        self.max_active
    }

    /// Whether its limit is one item.
    pub fn is_one_at_a_time(&self) -> bool {
        self.max_active == 1
    }

    /// Whether its items have a pool for each cache shard. Those that run one at a time have one,
    /// which keeps the order of what is queued from then on.
    pub fn spread(&self) -> Spread {
        match self.sharding == Sharding::Has && !self.is_one_at_a_time() {
            true => Spread::Shards,
            false => Spread::No,
        }
    }

    /// What [`spread`](Self::spread) was when its routes were last published.
    pub(crate) fn routed(&self) -> Spread {
        self.routed
    }

    /// Its routes follow it as it is now.
    pub(crate) fn set_routed(&mut self) {
        self.routed = self.spread();
    }

    /// Workers of its pool wait for each other at the lock, more than items are worth that: it is
    /// spread from now on, unless it has been gathered before.
    pub(crate) fn spread_out(&mut self) {
        if self.sharding == Sharding::May {
            self.sharding = Sharding::Has;
        }
    }

    /// Its items queue up at a lock of the program: it has one pool from now on, for good. How many
    /// of them may run is found out by trying, and pools that try for themselves deceive each
    /// other.
    pub(crate) fn gather(&mut self) {
        self.sharding = Sharding::Never;
    }

    /// Whether its limit is raised where items would starve under it.
    pub fn may_rise(&self) -> bool {
        self.may_rise
    }

    /// What each node is granted at least. On a machine with one node it changes nothing: there the
    /// node's share is the whole limit.
    pub fn min_active(&self) -> u32 {
        self.min_active
    }

    /// The node whose part of the limit items of this node (`None`: of pools that are not in one)
    /// count for. An exact limit has no parts: all count for what pools that are in no node share.
    pub fn counts_for(&self, node: Option<u32>) -> Option<u32> {
        let exact = self.made.exact && !broken!(ExactIgnored);
        node.filter(|_| !exact)
    }

    /// The limit that counts now.
    pub fn effective_max(&self) -> u32 {
        match self.frozen && !broken!(FreezeIgnored) {
            true => 0,
            false => self.max_active,
        }
    }

    /// Whether it is frozen.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// What a new pool workqueue is like.
    pub fn pwq_flags(&self) -> PwqFlags {
        PwqFlags {
            cpu_intensive: self.made.cpu_intensive,
            rescued: self.made.mem_reclaim,
            fifo: self.made.kind == Kind::Fifo,
            plugged: false,
            orphaned: self.orphaned,
        }
    }

    /// Nobody holds it any more: whoever ends the last item frees it. Items of it may still queue
    /// on, also where it has no pool workqueue yet.
    pub fn orphan(&mut self) {
        self.orphaned = true;
    }

    /// All pool workqueues that it ever had. An item that is late may come to one that is not used
    /// any more (`Queueing::left`).
    pub fn pwqs(&self) -> Vec<P> {
        self.pwqs.iter().chain(&self.spare).copied().collect()
    }

    /// One more, which takes new items (of its CPU).
    pub fn add(&mut self, pwq: P) {
        self.pwqs.push_back(pwq);
    }

    pub(crate) fn oldest(&self) -> Option<P> {
        self.pwqs.front().copied()
    }

    /// A retired one has emptied. False if it was not in use any more.
    pub(crate) fn emptied(&mut self, pwq: P) -> bool {
        let Some(at) = self.pwqs.iter().position(|&p| p == pwq) else {
            return false;
        };
        self.pwqs.remove(at);
        self.spare.push(pwq);
        true
    }

    /// Takes an emptied one that fits.
    pub(crate) fn take_spare(&mut self, fits: impl Fn(P) -> bool) -> Option<P> {
        let at = self.spare.iter().position(|&p| fits(p))?;
        Some(self.spare.swap_remove(at))
    }

    pub(crate) fn set_attrs(&mut self, attrs: Attrs) {
        self.attrs = Kept::new(attrs);
    }

    pub(crate) fn set_max_active(&mut self, max_active: u32) {
        // Somebody has chosen.
        (self.max_active, self.may_rise) = (max_active, false);
        // Kernel: lowering the limit also lowers the floor.
        self.min_active = self.min_active.min(max_active);
    }

    /// Doubles a limit that nobody has chosen, up to `most`: the one before. `None`: it stays, now
    /// and later if there is no room.
    pub(crate) fn outgrow(&mut self, most: u32) -> Option<u32> {
        if !self.may_rise || self.frozen {
            return None;
        }
        let next = self.max_active.saturating_mul(2).min(most).min(MAX_LIMIT);
        self.may_rise = next > self.max_active;
        self.may_rise
            .then(|| core::mem::replace(&mut self.max_active, next))
    }

    pub(crate) fn set_min_active(&mut self, min_active: u32) {
        self.min_active = min_active.min(self.max_active);
    }

    pub(crate) fn set_frozen(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// One more, or one less, waits for it to be drained; true if any does then.
    pub fn count_drainer(&mut self, comes: bool) -> bool {
        self.drainers = match comes {
            true => self.drainers + 1,
            false => self.drainers - 1,
        };
        self.drainers > 0
    }
}

/// Why an item may not be queued now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The queue is being drained, and the caller is none of its items.
    Draining,
    /// The queue is being destroyed.
    Destroying,
    /// The process wants to end.
    ShutDown,
}

/// What a queue admits, one load of a shared word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intake {
    /// Somebody drains it.
    pub draining: bool,
    /// Its last handle is gone.
    pub destroying: bool,
    /// `shutdown` was called.
    pub closing: bool,
}

/// Who queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// An item of the same queue: such chained queueing is accepted until the end (kernel
    /// `is_chained_work`).
    SameQueue,
    /// An item of another queue.
    Item,
    /// Whoever else: a thread of the program, a timer.
    Outside,
}

impl Intake {
    /// Whether this caller may queue. Mostly anybody may, and who it is is not asked.
    #[inline]
    pub fn admits(self, caller: impl FnOnce() -> Caller) -> Result<(), Refused> {
        if self == Intake::default() {
            return Ok(());
        }
        match caller() {
            Caller::SameQueue => Ok(()),
            _ if self.destroying => Err(Refused::Destroying),
            _ if self.draining => Err(Refused::Draining),
            Caller::Outside if self.closing => Err(Refused::ShutDown),
            _ => Ok(()),
        }
    }
}

/// Whether a drain that has looked so often in vain is worth a warning: at the 10th look and at
/// each 100th up to 1000 (kernel `drain_workqueue`).
pub fn drain_warns(looks: u32) -> bool {
    looks == 10 || (looks.is_multiple_of(100) && (1..=1000).contains(&looks))
}

/// Inputs that may be taken, of which the results have not been, while items of a queue with this
/// limit are made one after the other from an iterator. `max_active` of them hold the slots. As
/// many again, up to 16, have ended before their turn or take the next free slot, so that no slot
/// is free while the consumer is at work.
pub fn read_ahead(max_active: u32) -> usize {
    let spare = max_active.clamp(1, 16);
    max_active.saturating_add(spare).max(2) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_ahead_keeps_all_slots_busy_and_no_more_than_a_few_beside() {
        assert_eq!(
            read_ahead(1),
            2,
            "one runs while the one before is looked at"
        );
        assert_eq!(read_ahead(8), 16);
        assert_eq!(read_ahead(1024), 1040);
        assert!((1..=2048).all(|max_active| read_ahead(max_active) > max_active as usize));
    }
    use std::vec::Vec;

    fn made_with(attrs: Attrs) -> Queue<u8> {
        Queue::new(QueueAttrs {
            kind: Kind::Managed,
            attrs,
            max_active: 8,
            dfl_active: false,
            exact: true,
            cpu_intensive: false,
            mem_reclaim: true,
            freezable: true,
        })
    }

    #[test]
    fn attributes_come_out_as_they_went_in() {
        let masked = Attrs {
            nice: -3,
            cpumask: Some(CpuMask::first(70)),
            scope: Some(Scope::Smt),
            strict: true,
            locality: 7,
        };
        let mut queue = made_with(masked);
        assert_eq!(queue.attrs(), masked);
        for attrs in [Attrs::default(), masked] {
            queue.set_attrs(attrs);
            assert_eq!(queue.attrs(), attrs);
        }
        let made = queue.made();
        assert!(made.exact && !made.cpu_intensive && made.mem_reclaim && made.freezable);
    }

    #[test]
    fn a_draining_queue_takes_only_its_own() {
        let intake = Intake {
            draining: true,
            ..Intake::default()
        };
        assert_eq!(intake.admits(|| Caller::SameQueue), Ok(()));
        assert_eq!(intake.admits(|| Caller::Item), Err(Refused::Draining));
        assert_eq!(intake.admits(|| Caller::Outside), Err(Refused::Draining));
    }

    #[test]
    fn after_shutdown_items_may_queue_on() {
        let intake = Intake {
            closing: true,
            ..Intake::default()
        };
        assert_eq!(intake.admits(|| Caller::Item), Ok(()));
        assert_eq!(intake.admits(|| Caller::Outside), Err(Refused::ShutDown));
    }

    #[test]
    fn a_long_drain_warns_at_10_100_200_and_so_on() {
        let warned: Vec<u32> = (0..2000).filter(|&n| drain_warns(n)).collect();
        let hundreds: Vec<u32> = (1..=10).map(|n| n * 100).collect();
        assert_eq!(warned[0], 10);
        assert_eq!(warned[1..], hundreds);
    }
}
