//! The state word of a work item (kernel `work->data`, kernel-spec 0).
//!
//! | state | bits 0..4 | 4..8 | 8.. |
//! | --- | --- | --- | --- |
//! | queued (`PWQ` set) | PENDING INACTIVE PWQ LINKED | flush colour | pwq, a number of 256-byte units |
//! | not queued | the same flags | unused | disable depth (16 bits), last pool (32 bits) |
//!
//! *Running* is not in the word: after the function has been called, only the item's address is
//! used, so that an item may free itself. Who executes what is in the busy table of the last pool.

use core::fmt;

const PENDING: u64 = 1 << 0;
const INACTIVE: u64 = 1 << 1;
const PWQ: u64 = 1 << 2;
const LINKED: u64 = 1 << 3;
const COLOUR_SHIFT: u32 = 4;
const PAYLOAD_SHIFT: u32 = 8;
const POOL_SHIFT: u32 = PAYLOAD_SHIFT + 16;
/// "No pool": the item has never run.
const NO_POOL: u32 = u32::MAX;

/// Alignment that a pwq's address must have to fit into the word.
pub const PWQ_ALIGN: u64 = 1 << PAYLOAD_SHIFT;

/// One load of an item's state word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WorkWord(pub u64);

impl WorkWord {
    /// An item that was never queued.
    pub const NEW: WorkWord = WorkWord((NO_POOL as u64) << POOL_SHIFT);

    /// Marks the item pending. `None` if it already is: then this call queues nothing.
    #[must_use]
    pub fn try_pend(self) -> Option<WorkWord> {
        (!self.is_pending()).then_some(WorkWord(self.0 | PENDING))
    }

    /// The pending item, now queued through the pwq at this address.
    #[must_use]
    pub fn queued(pwq: u64, colour: u8, inactive: bool) -> WorkWord {
        assert!(pwq.is_multiple_of(PWQ_ALIGN), "the pwq is not aligned");
        assert!(u64::from(colour) < crate::colours::NR_COLOURS);
        let inactive = if inactive { INACTIVE } else { 0 };
        WorkWord(pwq | u64::from(colour) << COLOUR_SHIFT | PENDING | PWQ | inactive)
    }

    /// The item, off its queue and no longer pending, on its way to a worker of this pool.
    #[must_use]
    pub fn off_queue(pool: u32) -> WorkWord {
        WorkWord(u64::from(pool) << POOL_SHIFT)
    }

    /// Whether it is queued, or about to be.
    pub fn is_pending(self) -> bool {
        self.0 & PENDING != 0
    }

    /// Whether it waits for a slot of its queue.
    pub fn is_inactive(self) -> bool {
        self.0 & INACTIVE != 0
    }

    /// Whether other items are linked behind it (barriers).
    pub fn is_linked(self) -> bool {
        self.0 & LINKED != 0
    }

    /// The pwq's address and the colour, while it is queued.
    pub fn pwq(self) -> Option<(u64, u8)> {
        let colour = (self.0 >> COLOUR_SHIFT) & 0xf;
        (self.0 & PWQ != 0).then_some((self.0 & !(PWQ_ALIGN - 1), colour as u8))
    }

    /// The pool it last ran in, while it is not queued.
    pub fn last_pool(self) -> Option<u32> {
        let pool = (self.0 >> POOL_SHIFT) as u32;
        (self.0 & PWQ == 0 && pool != NO_POOL).then_some(pool)
    }
}

impl fmt::Debug for WorkWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkWord")
            .field("pending", &self.is_pending())
            .field("inactive", &self.is_inactive())
            .field("pwq", &self.pwq())
            .field("last_pool", &self.last_pool())
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
        assert_eq!((word.pwq(), word.last_pool()), (None, None));
        let pending = word.try_pend().unwrap();
        assert!(pending.is_pending());
        assert_eq!(pending.try_pend(), None);
    }

    proptest! {
        /// What goes into the word comes out of it.
        #[test]
        fn fields_do_not_overlap(pwq in 1u64..1 << 40, colour in 0u8..16, inactive: bool, pool in 0..u32::MAX) {
            let queued = WorkWord::queued(pwq * PWQ_ALIGN, colour, inactive);
            prop_assert!(queued.is_pending());
            prop_assert!(!queued.is_linked());
            prop_assert_eq!(queued.is_inactive(), inactive);
            prop_assert_eq!(queued.pwq(), Some((pwq * PWQ_ALIGN, colour)));
            prop_assert_eq!(queued.last_pool(), None);
            let off = WorkWord::off_queue(pool);
            prop_assert!(!off.is_pending());
            prop_assert_eq!(off.last_pool(), Some(pool));
            prop_assert_eq!(off.try_pend().unwrap().last_pool(), Some(pool));
        }
    }
}
