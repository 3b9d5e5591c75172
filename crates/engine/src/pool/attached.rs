//! The process trees that stand for a worker while its item waits for them.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};

use crate::sync::Mutex;

/// The number of one that is held by nobody: it lasts until the item ends.
const HELD_BY_NOBODY: u64 = 0;

/// Never given twice, so that a holder who outlives its item takes away nobody else's.
static NEXT: AtomicU64 = AtomicU64::new(HELD_BY_NOBODY + 1);

/// Of one worker. Only its thread changes it; others look at [`Attachments::leader`].
#[derive(Default)]
pub(super) struct Attachments {
    /// The process whose tree stands for the worker; 0: the worker itself.
    leader: AtomicI32,
    /// One stood for it at some time since this was [cleared](Self::clear).
    any: AtomicBool,
    /// All that are held, with their processes. The last one counts.
    all: Mutex<Vec<(u64, i32)>>,
}

impl Attachments {
    pub(super) fn leader(&self) -> i32 {
        self.leader.load(SeqCst)
    }

    /// From now on the leader is `pid`, until the item ends or there is another one. The one
    /// before; if that is given back, what was held before counts again.
    pub(super) fn set(&self, pid: i32) -> i32 {
        let before = self.leader();
        self.change(|all| {
            all.retain(|&(number, _)| number != HELD_BY_NOBODY);
            if last(all) != pid {
                all.push((HELD_BY_NOBODY, pid));
            }
        });
        before
    }

    /// The leader is `pid` until this number is [let go](Self::let_go) or the item ends, while
    /// no later one is held.
    pub(super) fn hold(&self, pid: i32) -> u64 {
        let number = NEXT.fetch_add(1, SeqCst);
        self.change(|all| all.push((number, pid)));
        number
    }

    /// In any order. Does nothing once the item has ended.
    pub(super) fn let_go(&self, number: u64) {
        if self.any.load(SeqCst) {
            self.change(|all| all.retain(|&(held, _)| held != number));
        }
    }

    /// Nothing is held any more; whether anything was. A look, if not: it is asked at each item.
    #[inline]
    pub(super) fn clear(&self) -> bool {
        let any = self.any.load(SeqCst);
        if any {
            self.let_all_go();
        }
        any
    }

    #[cold]
    fn let_all_go(&self) {
        self.change(Vec::clear);
        self.any.store(false, SeqCst);
    }

    fn change(&self, change: impl FnOnce(&mut Vec<(u64, i32)>)) {
        let mut all = self.all.lock().expect("nobody panics with it");
        change(&mut all);
        self.any.store(true, SeqCst);
        self.leader.store(last(&all), SeqCst);
    }
}

fn last(all: &[(u64, i32)]) -> i32 {
    all.last().map_or(0, |&(_, pid)| pid)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_that_is_held_counts_whoever_is_let_go_first() {
        let attachments = Attachments::default();
        let (a, b, c) = (
            attachments.hold(5),
            attachments.hold(6),
            attachments.hold(7),
        );
        attachments.let_go(b);
        assert_eq!(attachments.leader(), 7);
        attachments.let_go(c);
        assert_eq!(attachments.leader(), 5);
        attachments.let_go(a);
        assert_eq!(attachments.leader(), 0);
    }

    #[test]
    fn what_is_set_is_given_back_within_what_is_held() {
        let attachments = Attachments::default();
        assert_eq!((attachments.set(5), attachments.set(0)), (0, 5));
        let held = attachments.hold(6);
        let before = attachments.set(7);
        assert_eq!((before, attachments.set(before)), (6, 7));
        attachments.let_go(held);
        assert_eq!(attachments.leader(), 0);
    }

    #[test]
    fn the_end_of_the_item_clears_it_and_a_later_item_is_not_touched() {
        let attachments = Attachments::default();
        assert!(!attachments.clear());
        let forgotten = attachments.hold(5);
        attachments.set(6);
        assert!(attachments.clear() && !attachments.clear());
        assert_eq!(attachments.leader(), 0);
        attachments.let_go(forgotten);
        assert!(!attachments.clear());
        let later = attachments.hold(5);
        attachments.let_go(forgotten);
        assert_eq!(attachments.leader(), 5);
        attachments.let_go(later);
    }
}
