//! The state word of a work item (kernel `work->data`).
//!
//! | state | bits 0..5 | 5..9 | 9..48 | 48..64 |
//! | --- | --- | --- | --- | --- |
//! | queued (`PWQ` set) | PENDING INACTIVE PWQ LINKED DEFERRED | flush colour | pwq, a number of 512-byte units | its pool |
//! | not queued | PENDING: someone owns it for a moment, or its timer is armed | unused | disable depth (9..25), 0 while PENDING | last pool |
//!
//! A queued item's word has the pool too (the kernel finds it through the pwq, under RCU). So
//! nobody follows a pwq's address without the lock that keeps the item, and with it the pwq, in
//! place. Addresses of user space have 47 bits unless a program asks for more.
//!
//! *Running* is not in the word. After the function has been called only the item's address is
//! used, so an item may free itself. The busy table of the last pool says who executes what.
//!
//! PENDING is a lock as well. Whoever sets it owns the item until the item is queued or the bit is
//! cleared. The pool of its pwq owns a queued item, under that pool's lock.

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

/// Whether a process that numbers its pools from `first` on may have so many at `most`. Numbers are
/// never used again in a chain of forked children: an item may still name a pool of any of the
/// parents.
pub fn has_numbers(first: u32, most: u32) -> bool {
    first.checked_add(most).is_some_and(|end| end <= MAX_POOLS)
}

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

    /// The item with another last pool, or none.
    #[must_use]
    #[inline]
    pub fn in_pool(self, pool: Option<u32>) -> WorkWord {
        assert!(self.pwq().is_none(), "a queued item is where it is");
        let others = self.0 & !(u64::MAX << POOL_SHIFT);
        WorkWord(others | pool.map_or(u64::from(NO_POOL) << POOL_SHIFT, pool_bits))
    }

    /// Marks the item pending, which the caller then owns.
    #[inline]
    pub fn try_pend(self) -> Result<WorkWord, NotPended> {
        match (self.is_pending(), self.disable_depth()) {
            (true, _) => Err(NotPended::Pending),
            (false, 0) => Ok(WorkWord(self.0 | PENDING)),
            // As if nothing were there.
            (false, _) if broken!(DisableIgnored) => Ok(WorkWord(self.with_depth(0).0 | PENDING)),
            (false, _) => Err(NotPended::Disabled),
        }
    }

    /// The item that is not pending, disabled once more; as it is where that is [more than can be
    /// counted](MAX_DISABLE_DEPTH). In one step, so that a disabled item is never pending.
    #[must_use]
    pub fn try_disable(self) -> Option<WorkWord> {
        let depth = self.disable_depth().saturating_add(1);
        (!self.is_pending()).then(|| self.with_depth(depth))
    }

    /// The disabled item, disabled once less. In one step, as that.
    #[must_use]
    pub fn try_enable(self) -> Option<WorkWord> {
        let depth = self.disable_depth().checked_sub(1)?;
        (!self.is_pending()).then(|| self.with_depth(depth))
    }

    /// The pending item, now queued through the pwq at this address, of this pool.
    #[must_use]
    #[inline]
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
    #[inline]
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

    /// The item that is not pending, with this disable depth.
    #[must_use]
    pub fn with_depth(self, depth: u16) -> WorkWord {
        assert!(!self.is_pending(), "a pending item is not disabled");
        let mask = u64::from(u16::MAX) << DEPTH_SHIFT;
        WorkWord(self.0 & !mask | u64::from(depth) << DEPTH_SHIFT)
    }

    /// How often it is disabled; 0 while it is queued.
    #[inline]
    pub fn disable_depth(self) -> u16 {
        match self.pwq() {
            Some(_) => 0,
            None => (self.0 >> DEPTH_SHIFT) as u16,
        }
    }

    /// Whether it is queued, or about to be.
    #[inline]
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
    #[inline]
    pub fn pwq(self) -> Option<(u64, u8)> {
        let colour = (self.0 >> COLOUR_SHIFT) & 0xf;
        (self.0 & PWQ != 0).then_some((self.0 & PAYLOAD, colour as u8))
    }

    /// The pool it is queued in, or else the one that it last ran in.
    #[inline]
    pub fn pool(self) -> Option<u32> {
        let pool = (self.0 >> POOL_SHIFT) as u16;
        (pool != NO_POOL).then_some(u32::from(pool))
    }
}

#[inline]
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
    fn no_pool_has_the_number_of_none() {
        assert!(has_numbers(0, MAX_POOLS) && has_numbers(MAX_POOLS - 5, 5));
        assert!(!has_numbers(MAX_POOLS - 5, 6) && !has_numbers(u32::MAX, 1));
        assert_eq!(
            WorkWord::off_queue(MAX_POOLS - 1).pool(),
            Some(MAX_POOLS - 1)
        );
    }

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
    fn a_disabled_item_is_not_pending_and_cannot_be() {
        let once = WorkWord::off_queue(7).try_disable().unwrap();
        let twice = once.try_disable().unwrap();
        for (disabled, depth) in [(once, 1), (twice, 2)] {
            assert!(!disabled.is_pending());
            assert_eq!(disabled.try_pend(), Err(NotPended::Disabled));
            assert_eq!(
                (disabled.pool(), disabled.disable_depth()),
                (Some(7), depth)
            );
        }
        assert_eq!(twice.try_enable(), Some(once));
        let free = once.try_enable().unwrap();
        assert_eq!(free.try_enable(), None);
        let pending = free.try_pend().unwrap();
        assert_eq!((pending.try_disable(), pending.try_enable()), (None, None));
        let most = free.with_depth(MAX_DISABLE_DEPTH);
        assert_eq!(most.try_disable(), Some(most));
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
            prop_assert_eq!(off.in_pool(None).pool(), None);
            prop_assert_eq!(off.in_pool(None).in_pool(Some(pool)), off);
            let owned = WorkWord::owned(pool);
            prop_assert_eq!((owned.pool(), owned.disable_depth()), (Some(pool), 0));
            prop_assert_eq!(owned.disowned(), off.with_depth(0));
        }
    }
}
