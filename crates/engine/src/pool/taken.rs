//! Items that were taken out of an inbox and are not queued yet: what the pool's lock guards.

use std::ptr::NonNull;

use cmwq_policy::pool::{Left, MOST_TRAYS, left_after, next_tray};
use cmwq_policy::stats::Stamp;
use cmwq_policy::{Nanos, Time};

use super::tray::{Tray, header};
use crate::item::Header;
use crate::queue::pwq::{Pwq, PwqRef};

/// The first and the last of items that are linked one to the next.
pub(super) type Ends = (NonNull<Header>, NonNull<Header>);

/// Items that were taken out and are not queued yet, the first one first.
pub(super) struct Taken {
    pub(super) ends: Option<Ends>,
    /// How many were taken out so far, and how many of them are queued; both count from
    /// [`NONE_CAME`].
    pub(super) came: u64,
    pub(super) went: u64,
    /// When everything was taken out last.
    emptied: Time,
}

fn stamp(work: NonNull<Header>) -> Stamp {
    Stamp(header(work).stamp.get())
}

/// Of those that lie in several trays.
fn next(trays: &[Option<Ends>], now: Time) -> Option<(usize, Option<Nanos>)> {
    let first = |(tray, ends): (usize, &Option<Ends>)| Some((tray, stamp(ends.as_ref()?.0)));
    next_tray(trays.iter().enumerate().filter_map(first), now)
}

/// The first ones, as far as they are as old as this or older, the very first whatever it is; and
/// the rest.
fn cut((first, last): Ends, age: Option<Nanos>, now: Time) -> (Ends, Option<Ends>) {
    let Some(age) = age else {
        return ((first, last), None);
    };
    let mut end = first;
    while let Some(next) = header(end).next.get() {
        if stamp(next).age(now) < age {
            header(end).next.set(None);
            return ((first, end), Some((next, last)));
        }
        end = next;
    }
    ((first, last), None)
}

/// What a worker has kept may be put back here though it was never taken out: then less have gone
/// than came.
const NONE_CAME: u64 = 1 << 32;

impl Default for Taken {
    fn default() -> Self {
        Taken {
            ends: None,
            came: NONE_CAME,
            went: NONE_CAME,
            emptied: Time(0),
        }
    }
}

impl Taken {
    /// Takes everything out.
    pub(super) fn empty(&mut self, trays: &[Tray], now: Time) {
        let before = std::mem::replace(&mut self.emptied, now);
        if let [only] = trays {
            let turned = self.turn_round(only, before, now);
            return turned.into_iter().for_each(|ends| self.append(ends));
        }
        let mut turned = [None; MOST_TRAYS];
        for (tray, turned) in trays.iter().zip(&mut turned) {
            *turned = self.turn_round(tray, before, now);
        }
        while let Some((tray, other)) = next(&turned, now) {
            let (own, rest) = cut(turned[tray].take().expect("it has one"), other, now);
            turned[tray] = rest;
            self.append(own);
        }
    }

    /// Takes everything out of a tray, and has it in order.
    fn turn_round(&mut self, tray: &Tray, before: Time, now: Time) -> Option<Ends> {
        let last = tray.empty()?;
        let (mut at, mut behind) = (last, None);
        loop {
            self.came += 1;
            let item = header(at);
            let stamp = left_after(Stamp(item.stamp.get()), before, now);
            item.stamp.set(stamp.0);
            let next = item.next.replace(behind);
            behind = Some(at);
            match next {
                Some(next) => at = next,
                None => return Some((at, last)),
            }
        }
    }

    fn append(&mut self, (first, last): Ends) {
        if let Some((_, tail)) = self.ends {
            header(tail).next.set(Some(first));
        }
        let head = self.ends.map_or(first, |(head, _)| head);
        self.ends = Some((head, last));
    }

    pub(super) fn first(&self) -> Option<Left<NonNull<Header>, PwqRef>> {
        let (work, _) = self.ends?;
        let item = header(work);
        let pwq = item.prev.get().expect("it was left for a pwq");
        Some(Left {
            work,
            pwq: pwq.cast::<Pwq>(),
            home: item.home.get(),
            stamp: stamp(work),
        })
    }

    pub(super) fn pop(&mut self) -> Option<Left<NonNull<Header>, PwqRef>> {
        let (first, (work, last)) = (self.first()?, self.ends?);
        let item = header(work);
        item.prev.set(None);
        let next = item.next.replace(None);
        self.ends = next.map(|next| (next, last));
        self.went += 1;
        Some(first)
    }

    /// It was taken out, and lies here again, first.
    pub(super) fn put_back(&mut self, work: NonNull<Header>, pwq: PwqRef) {
        let item = header(work);
        item.prev.set(Some(pwq.cast()));
        item.next.set(self.ends.map(|(first, _)| first));
        let last = self.ends.map_or(work, |(_, last)| last);
        self.ends = Some((work, last));
        self.went -= 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::item::Vtable;

    static TABLE: Vtable = Vtable {
        run: |_| (),
        count: |_, _| (),
        name: |_| "item",
    };
    const NOW: Time = Time(1 << 30);

    /// Leaves an item for each of these, in a tray and queued so long ago; their order when all are
    /// taken out.
    fn order(trays: usize, items: &[(usize, Nanos)]) -> Vec<usize> {
        let headers: Vec<_> = items.iter().map(|_| Header::new(&TABLE)).collect();
        let trays: Vec<_> = (0..trays).map(|_| Tray::new()).collect();
        for (header, &(tray, age)) in headers.iter().zip(items) {
            header.stamp.set(Stamp::of(Time(NOW.0 - age)).0);
            header.prev.set(Some(NonNull::<Pwq>::dangling().cast()));
            while trays[tray].push(header.into(), trays[tray].top()).is_err() {}
        }
        let mut taken = Taken::default();
        taken.empty(&trays, NOW);
        assert_eq!(taken.came - NONE_CAME, items.len() as u64);
        assert!(trays.iter().all(|tray| tray.top().number() == 0));
        let number = |work: NonNull<Header>| headers.iter().position(|it| work == it.into());
        std::iter::from_fn(|| taken.pop().and_then(|left| number(left.work))).collect()
    }

    #[test]
    fn what_lies_in_several_trays_comes_in_the_order_in_which_it_was_left() {
        const UNIT: Nanos = 1 << 13;
        let mut random = 1_u64;
        for _ in 0..1_000 {
            let mut age = 40 * UNIT;
            let mut draw = |below: u64| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (random >> 40) % below
            };
            let trays = 1 + draw(4) as usize;
            let mut item = || {
                age -= draw(3) * UNIT;
                (draw(trays as u64) as usize, age)
            };
            let items: Vec<_> = (0..20).map(|_| item()).collect();
            let order = order(trays, &items);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..20), "{items:?}: {order:?}");
            for two in order.windows(2) {
                let [one, next] = [two[0], two[1]].map(|number| items[number]);
                assert!(one.1 >= next.1, "{items:?}: {order:?}");
                assert!(one.0 != next.0 || two[0] < two[1], "{items:?}: {order:?}");
            }
        }
    }
}
