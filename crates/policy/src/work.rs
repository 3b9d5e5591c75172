//! The state word of a work item (kernel `work->data`, kernel-spec 0).
//!
//! | state | bits 0..5 | 5..9 | 9..48 | 48..64 |
//! | --- | --- | --- | --- | --- |
//! | queued (`PWQ` set) | PENDING INACTIVE PWQ LINKED DEFERRED | flush colour | pwq, a number of 512-byte units | its pool |
//! | not queued | PENDING: someone owns it for a moment, or its timer is armed | unused | disable depth (9..25) | last pool |
//!
//! The pool is in the word of a queued item too (the kernel finds it through the pwq, under RCU): so
//! nobody follows a pwq's address without holding the lock that keeps the item, and with it the
//! pwq, in place. Addresses of user space have 47 bits unless a program asks for more.
//!
//! *Running* is not in the word: after the function has been called, only the item's address is
//! used, so that an item may free itself. Who executes what is in the busy table of the last pool.
//!
//! PENDING is a lock as well: whoever sets it owns the item until it is queued or cleared again. A
//! queued item is owned by the pool of its pwq, under that pool's lock.

use core::fmt;

use crate::probe::broken;

const PENDING: u64 = 1 << 0;
const INACTIVE: u64 = 1 << 1;
const PWQ: u64 = 1 << 2;
const LINKED: u64 = 1 << 3;
const DEFERRED: u64 = 1 << 4;
const COLOUR_SHIFT: u32 = 5;
const PAYLOAD_SHIFT: u32 = 9;
const DEPTH_SHIFT: u32 = PAYLOAD_SHIFT;
const POOL_SHIFT: u32 = 48;
const PAYLOAD: u64 = (1 << POOL_SHIFT) - (1 << PAYLOAD_SHIFT);
/// "No pool": the item has never run.
const NO_POOL: u16 = u16::MAX;

/// Pools are numbered below this.
pub const MAX_POOLS: u32 = NO_POOL as u32;

/// Alignment that a pwq's address must have to fit into the word.
pub const PWQ_ALIGN: u64 = 1 << PAYLOAD_SHIFT;

/// How often an item can be disabled at one time (16 bits, kernel `WORK_OFFQ_DISABLE_BITS`).
pub const MAX_DISABLE_DEPTH: u16 = u16::MAX;

/// One load of an item's state word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WorkWord(pub u64);

/// What a queued item's word says beside its pwq and colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedFlags {
    /// It waits for a slot of its queue. On a worklist: a barrier, which needs no slot.
    pub inactive: bool,
    /// Barriers follow it in its list.
    pub linked: bool,
    /// An earlier execution of it still goes on in another pool.
    pub deferred: bool,
}

/// Why an item cannot be marked pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPended {
    /// It is pending already.
    Pending,
    /// It is disabled.
    Disabled,
}

impl WorkWord {
    /// An item that was never queued.
    pub const NEW: WorkWord = WorkWord((NO_POOL as u64) << POOL_SHIFT);

    /// Marks the item pending, which the caller then owns.
    pub fn try_pend(self) -> Result<WorkWord, NotPended> {
        match (self.is_pending(), self.disable_depth()) {
            (true, _) => Err(NotPended::Pending),
            (false, 0) => Ok(WorkWord(self.0 | PENDING)),
            // As if nothing were there.
            (false, _) if broken!(DisableIgnored) => Ok(WorkWord(self.with_depth(0).0 | PENDING)),
            (false, _) => Err(NotPended::Disabled),
        }
    }

    /// Takes an item that is not pending, disabled or not, to change its depth.
    #[must_use]
    pub fn try_own(self) -> Option<WorkWord> {
        (!self.is_pending()).then_some(WorkWord(self.0 | PENDING))
    }

    /// The pending item, now queued through the pwq at this address, of this pool.
    #[must_use]
    pub fn queued(pwq: u64, pool: u32, colour: u8, flags: QueuedFlags) -> WorkWord {
        assert_eq!(pwq & !PAYLOAD, 0, "the pwq's address does not fit");
        assert!(u64::from(colour) < crate::colours::NR_COLOURS);
        let bit = |set, bit| if set { bit } else { 0 };
        let flags = bit(flags.inactive, INACTIVE)
            | bit(flags.linked, LINKED)
            | bit(flags.deferred, DEFERRED);
        WorkWord(pool_bits(pool) | pwq | u64::from(colour) << COLOUR_SHIFT | PENDING | PWQ | flags)
    }

    /// The queued item with other flags.
    #[must_use]
    pub fn with_flags(self, flags: QueuedFlags) -> WorkWord {
        let (pwq, colour) = self.pwq().expect("the item is queued");
        WorkWord::queued(pwq, self.pool().expect("it has one"), colour, flags)
    }

    /// The item, off its queue and no longer pending, on its way to a worker of this pool.
    #[must_use]
    pub fn off_queue(pool: u32) -> WorkWord {
        WorkWord(pool_bits(pool))
    }

    /// The item, taken off its queue by a caller who now owns it.
    #[must_use]
    pub fn owned(last_pool: u32) -> WorkWord {
        WorkWord(WorkWord::off_queue(last_pool).0 | PENDING)
    }

    /// The owner lets go of it.
    #[must_use]
    pub fn disowned(self) -> WorkWord {
        assert!(self.is_pending() && self.pwq().is_none());
        WorkWord(self.0 & !PENDING)
    }

    /// The owned item with this disable depth.
    #[must_use]
    pub fn with_depth(self, depth: u16) -> WorkWord {
        assert!(self.pwq().is_none(), "a queued item is not disabled");
        let mask = u64::from(u16::MAX) << DEPTH_SHIFT;
        WorkWord(self.0 & !mask | u64::from(depth) << DEPTH_SHIFT)
    }

    /// How often it is disabled; 0 while it is queued.
    pub fn disable_depth(self) -> u16 {
        match self.pwq() {
            Some(_) => 0,
            None => (self.0 >> DEPTH_SHIFT) as u16,
        }
    }

    /// Whether it is queued, or about to be.
    pub fn is_pending(self) -> bool {
        self.0 & PENDING != 0
    }

    /// The flags of a queued item.
    pub fn flags(self) -> QueuedFlags {
        QueuedFlags {
            inactive: self.0 & INACTIVE != 0,
            linked: self.0 & LINKED != 0,
            deferred: self.0 & DEFERRED != 0,
        }
    }

    /// The pwq's address and the colour, while it is queued.
    pub fn pwq(self) -> Option<(u64, u8)> {
        let colour = (self.0 >> COLOUR_SHIFT) & 0xf;
        (self.0 & PWQ != 0).then_some((self.0 & PAYLOAD, colour as u8))
    }

    /// The pool it is queued in, or else the one that it last ran in.
    pub fn pool(self) -> Option<u32> {
        let pool = (self.0 >> POOL_SHIFT) as u16;
        (pool != NO_POOL).then_some(u32::from(pool))
    }
}

fn pool_bits(pool: u32) -> u64 {
    assert!(pool < MAX_POOLS, "there is no pool {pool}");
    u64::from(pool) << POOL_SHIFT
}

impl fmt::Debug for WorkWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkWord")
            .field("pending", &self.is_pending())
            .field("flags", &self.flags())
            .field("pwq", &self.pwq())
            .field("pool", &self.pool())
            .field("disable_depth", &self.disable_depth())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_new_item_is_idle_and_has_run_nowhere() {
        let word = WorkWord::NEW;
        assert!(!word.is_pending());
        assert_eq!((word.pwq(), word.pool()), (None, None));
        let pending = word.try_pend().unwrap();
        assert!(pending.is_pending());
        assert_eq!(pending.try_pend(), Err(NotPended::Pending));
    }

    #[test]
    fn a_disabled_item_is_owned_but_not_queued() {
        let owned = WorkWord::owned(7).with_depth(2);
        let disabled = owned.disowned();
        assert_eq!(disabled.try_pend(), Err(NotPended::Disabled));
        assert_eq!(disabled.try_own(), Some(owned));
        assert_eq!(owned.try_own(), None);
        assert_eq!((owned.pool(), owned.disable_depth()), (Some(7), 2));
        assert!(owned.with_depth(0).disowned().try_pend().is_ok());
    }

    proptest! {
        /// What goes into the word comes out of it.
        #[test]
        fn fields_do_not_overlap(
            pwq in 1u64..1 << 38, colour in 0u8..16, pool in 0..MAX_POOLS, depth: u16,
            inactive: bool, linked: bool, deferred: bool,
        ) {
            let flags = QueuedFlags { inactive, linked, deferred };
            let queued = WorkWord::queued(pwq * PWQ_ALIGN, pool, colour, flags);
            prop_assert!(queued.is_pending());
            prop_assert_eq!(queued.flags(), flags);
            prop_assert_eq!(queued.pwq(), Some((pwq * PWQ_ALIGN, colour)));
            prop_assert_eq!((queued.pool(), queued.disable_depth()), (Some(pool), 0));
            let off = WorkWord::off_queue(pool).with_depth(depth);
            prop_assert!(!off.is_pending());
            prop_assert_eq!((off.pool(), off.disable_depth()), (Some(pool), depth));
            let owned = off.try_own().unwrap();
            prop_assert_eq!((owned.pool(), owned.disable_depth()), (Some(pool), depth));
            prop_assert_eq!(owned.disowned(), off);
        }
    }
}
