//! Armed delayed items: which one expires next, and which ones belong to a queue that is destroyed.
//!
//! The kernel's timers are invisible to their queue. A caller that destroys a queue must have
//! cancelled them, or one of them fires into freed memory. Here each armed item belongs to a
//! *group*, its queue, so the queue can take its own items back.
//!
//! Nothing here is periodic. The driver sleeps until [`Timers::next`], and without end while that
//! is `None`. Each call takes O(log n) and hands over one item at a time, so a lock around it is
//! never held for many of them.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::time::Time;

/// When an item expires, then the how-manieth it was to be armed: a total order.
type Expiry = (Time, u64);

/// The armed items. Items are named by numbers, `T` is what their owner wants back.
#[derive(Debug)]
pub struct Timers<T> {
    by_expiry: BTreeMap<Expiry, Armed<T>>,
    by_key: BTreeMap<u64, Expiry>,
    by_group: BTreeSet<(u64, Expiry)>,
    /// How many were ever armed.
    nr_armed: u64,
}

#[derive(Debug)]
struct Armed<T> {
    key: u64,
    group: u64,
    payload: T,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Timers {
            by_expiry: BTreeMap::new(),
            by_key: BTreeMap::new(),
            by_group: BTreeSet::new(),
            nr_armed: 0,
        }
    }
}

impl<T> Timers<T> {
    /// Arms an item to expire at `at`; one that expires at the end of time never does, but stays
    /// armed. To change the time of an armed item, disarm it first: it then counts as armed last.
    ///
    /// # Panics
    ///
    /// If `key` is armed: its pending bit was to keep its owner from asking twice.
    pub fn arm(&mut self, key: u64, group: u64, at: Time, payload: T) {
        let expiry = (at, self.nr_armed);
        let before = self.by_key.insert(key, expiry);
        assert!(before.is_none(), "a delayed item is armed twice");
        self.nr_armed += 1;
        self.by_group.insert((group, expiry));
        let armed = Armed {
            key,
            group,
            payload,
        };
        self.by_expiry.insert(expiry, armed);
    }

    /// Takes an item back; `None` if it was not armed, or has expired.
    pub fn disarm(&mut self, key: u64) -> Option<T> {
        let expiry = *self.by_key.get(&key)?;
        self.remove(expiry).map(|(_, payload)| payload)
    }

    /// Whether the item is armed.
    pub fn is_armed(&self, key: u64) -> bool {
        self.by_key.contains_key(&key)
    }

    /// When the next item expires: nothing has to happen here before.
    pub fn next(&self) -> Option<Time> {
        self.by_expiry.keys().next().map(|&(at, _)| at)
    }

    /// Takes one item out that has expired: the one with the earliest time, among equals the one
    /// that was armed first.
    pub fn pop_expired(&mut self, now: Time) -> Option<(u64, T)> {
        let &expiry = self.by_expiry.keys().next()?;
        let has_expired = expiry.0 <= now && expiry.0 != Time(u64::MAX);
        has_expired.then(|| self.remove(expiry))?
    }

    /// Takes one item of this group out, the next to expire; `None` when none is left. Others of
    /// the group may be armed between two calls: it is the caller who stops that.
    pub fn disarm_group(&mut self, group: u64) -> Option<(u64, T)> {
        let first = (group, (Time(0), 0));
        let &(found, expiry) = self.by_group.range(first..).next()?;
        (found == group).then(|| self.remove(expiry))?
    }

    /// Armed items of this group, counted one by one.
    pub fn len_of_group(&self, group: u64) -> usize {
        let first = (group, (Time(0), 0));
        let of_group = self.by_group.range(first..);
        of_group.take_while(|(found, _)| *found == group).count()
    }

    /// Armed items.
    pub fn len(&self) -> usize {
        self.by_expiry.len()
    }

    /// Whether no item is armed.
    pub fn is_empty(&self) -> bool {
        self.by_expiry.is_empty()
    }

    fn remove(&mut self, expiry: Expiry) -> Option<(u64, T)> {
        let Armed {
            key,
            group,
            payload,
        } = self.by_expiry.remove(&expiry)?;
        self.by_key.remove(&key);
        self.by_group.remove(&(group, expiry));
        Some((key, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn expired(timers: &mut Timers<&'static str>, now: u64) -> Vec<&'static str> {
        core::iter::from_fn(|| timers.pop_expired(Time(now)))
            .map(|(_, name)| name)
            .collect()
    }

    #[test]
    fn items_expire_by_time_and_then_in_the_order_of_arming() {
        let mut timers = Timers::default();
        timers.arm(9, 0, Time(20), "late");
        timers.arm(3, 0, Time(10), "first");
        timers.arm(1, 0, Time(10), "second");
        assert_eq!(timers.next(), Some(Time(10)));
        assert_eq!(expired(&mut timers, 9), [""; 0]);
        assert_eq!(expired(&mut timers, 10), ["first", "second"]);
        assert_eq!(timers.next(), Some(Time(20)));
        assert_eq!(expired(&mut timers, 1000), ["late"]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn who_is_armed_anew_goes_behind_its_equals() {
        let mut timers = Timers::default();
        timers.arm(1, 0, Time(10), "a");
        timers.arm(2, 0, Time(10), "b");
        assert_eq!(timers.disarm(1), Some("a"));
        assert_eq!(timers.disarm(1), None);
        assert!(!timers.is_armed(1));
        timers.arm(1, 0, Time(10), "a again");
        assert_eq!(expired(&mut timers, 10), ["b", "a again"]);
    }

    #[test]
    fn never_is_no_time_to_expire_at() {
        let mut timers = Timers::default();
        timers.arm(1, 0, Time(5).after(u64::MAX), "never");
        assert_eq!(expired(&mut timers, u64::MAX), [""; 0]);
        assert_eq!(timers.disarm(1), Some("never"));
    }

    #[test]
    fn a_queue_takes_its_own_items_back() {
        let mut timers = Timers::default();
        timers.arm(1, 7, Time(30), "seven, late");
        timers.arm(2, 8, Time(10), "eight");
        timers.arm(3, 7, Time(20), "seven");
        timers.arm(4, 6, Time(20), "six");
        let taken: Vec<_> = core::iter::from_fn(|| timers.disarm_group(7)).collect();
        assert_eq!(taken, [(3, "seven"), (1, "seven, late")]);
        assert_eq!(timers.len(), 2);
        assert_eq!(timers.disarm_group(u64::MAX), None);
        assert_eq!(expired(&mut timers, 99), ["eight", "six"]);
        assert!(timers.is_empty());
    }

    #[test]
    #[should_panic(expected = "armed twice")]
    fn arming_twice_is_a_bug_of_the_caller() {
        let mut timers = Timers::default();
        timers.arm(1, 0, Time(1), ());
        timers.arm(1, 0, Time(2), ());
    }

    /// What is armed, in order of arming: (key, group, time, how-manieth).
    type Model = Vec<(u64, u64, u64, u32)>;

    #[derive(Clone, Debug)]
    enum Op {
        Arm(u64, u64, u64),
        Disarm(u64),
        Pop(u64),
        Group(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (0..12u64, 0..3u64, 0..9u64).prop_map(|(key, group, at)| Op::Arm(key, group, at)),
            1 => (0..12u64).prop_map(Op::Disarm),
            2 => (0..9u64).prop_map(Op::Pop),
            1 => (0..3u64).prop_map(Op::Group),
        ]
    }

    /// The first in time, among equals the first in the model, of those that `wanted` picks.
    fn take_first(
        model: &mut Model,
        wanted: impl Fn(&(u64, u64, u64, u32)) -> bool,
    ) -> Option<(u64, u32)> {
        let first = model.iter().filter(|e| wanted(e)).min_by_key(|e| e.2)?.0;
        let at = model.iter().position(|e| e.0 == first)?;
        let (key, _, _, number) = model.remove(at);
        Some((key, number))
    }

    proptest! {
        /// Any sequence of calls answers what a list that is searched from the start would.
        #[test]
        fn behaves_like_a_list(ops in proptest::collection::vec(op(), 0..120)) {
            let mut timers = Timers::default();
            let mut model = Model::new();
            for (number, op) in (0..).zip(ops) {
                match op {
                    Op::Arm(key, group, at) if !timers.is_armed(key) => {
                        timers.arm(key, group, Time(at), number);
                        model.push((key, group, at, number));
                    }
                    Op::Arm(key, ..) | Op::Disarm(key) => {
                        let want = take_first(&mut model, |e| e.0 == key);
                        prop_assert_eq!(timers.disarm(key), want.map(|(_, number)| number));
                    }
                    Op::Pop(now) => {
                        let want = take_first(&mut model, |e| e.2 <= now);
                        prop_assert_eq!(timers.pop_expired(Time(now)), want);
                    }
                    Op::Group(group) => {
                        let want = take_first(&mut model, |e| e.1 == group);
                        prop_assert_eq!(timers.disarm_group(group), want);
                    }
                }
                let next = model.iter().map(|e| Time(e.2)).min();
                prop_assert_eq!((timers.next(), timers.len()), (next, model.len()));
                prop_assert_eq!(timers.by_key.len(), timers.by_group.len());
            }
        }
    }
}
