//! Numbers of places: of those that run at one time each has another one, as small as possible.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub(super) struct Slots(Mutex<Free>);

#[derive(Default)]
struct Free {
    /// Given back, and smaller than `most`.
    below: BTreeSet<usize>,
    /// So many have been given out at one time.
    most: usize,
}

/// A number from 1, given back when dropped.
pub(super) struct Slot<'a> {
    slots: &'a Slots,
    pub(super) number: usize,
}

impl Slots {
    pub(super) fn take(&self) -> Slot<'_> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = free.below.pop_first().unwrap_or_else(|| {
            free.most += 1;
            free.most
        });
        Slot {
            slots: self,
            number,
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let free = self.slots.0.lock();
        let mut free = free.unwrap_or_else(PoisonError::into_inner);
        free.below.insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_number_is_next() {
        let slots = Slots::default();
        let (one, two, three) = (slots.take(), slots.take(), slots.take());
        assert_eq!([one.number, two.number, three.number], [1, 2, 3]);
        drop(three);
        drop(one);
        let again = [slots.take(), slots.take(), slots.take()];
        assert_eq!(again.map(|slot| slot.number), [1, 3, 4]);
        drop(two);
    }
}
