//! The process trees that stand for a worker while its item waits for them.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};

use crate::sync::Mutex;

/// The number of one that is held by nobody: it lasts until the item ends.
const HELD_BY_NOBODY: u64 = 0;

/// Never given twice, so that a holder who outlives its item takes away nobody else's.
static NEXT: AtomicU64 = AtomicU64::new(HELD_BY_NOBODY + 1);

/// Of one worker. Only its thread changes it; others look at [`Attached::leader`].
#[derive(Default)]
pub(super) struct Attached {
    /// The process whose tree stands for the worker; 0: the worker itself.
    leader: AtomicI32,
    /// One stood for it at some time since this was [cleared](Attached::clear).
    any: AtomicBool,
    /// All that are held, with their processes. The last one counts.
    all: Mutex<Vec<(u64, i32)>>,
}

impl Attached {
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

    /// The leader is `pid` until this number is [let go](Attached::let_go) or the item ends, while
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
    pub(super) fn clear(&self) -> bool {
        let any = self.any.load(SeqCst);
        if any {
            self.change(Vec::clear);
            self.any.store(false, SeqCst);
        }
        any
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
        let attached = Attached::default();
        let (a, b, c) = (attached.hold(5), attached.hold(6), attached.hold(7));
        attached.let_go(b);
        assert_eq!(attached.leader(), 7);
        attached.let_go(c);
        assert_eq!(attached.leader(), 5);
        attached.let_go(a);
        assert_eq!(attached.leader(), 0);
    }

    #[test]
    fn what_is_set_is_given_back_within_what_is_held() {
        let attached = Attached::default();
        assert_eq!((attached.set(5), attached.set(0)), (0, 5));
        let held = attached.hold(6);
        let before = attached.set(7);
        assert_eq!((before, attached.set(before)), (6, 7));
        attached.let_go(held);
        assert_eq!(attached.leader(), 0);
    }

    #[test]
    fn the_end_of_the_item_clears_it_and_a_later_item_is_not_touched() {
        let attached = Attached::default();
        assert!(!attached.clear());
        let forgotten = attached.hold(5);
        attached.set(6);
        assert!(attached.clear() && !attached.clear());
        assert_eq!(attached.leader(), 0);
        attached.let_go(forgotten);
        assert!(!attached.clear());
        let later = attached.hold(5);
        attached.let_go(forgotten);
        assert_eq!(attached.leader(), 5);
        attached.let_go(later);
    }
}
