//! What whoever leaves an item in an inbox goes by: when he may, in which tray, and what is known
//! of when it was left.
//!
//! An inbox has a tray for each cache shard of the machine: who leaves an item on his own CPU
//! writes a line that the CPUs of his own cache write, and whoever empties it. That one brings the
//! items of several trays in the order of their times, as far as they lie there when he comes by.

use crate::affinity::Near;
use crate::stats::Stamp;
use crate::time::{Nanos, Time};

use super::super::brief::LATE;
use super::REFRESH;

/// One in so many items is left only after a look at the clock.
const LOOK_EVERY: u32 = 8;
/// An inbox has so many trays at most.
pub const MOST_TRAYS: usize = 32;
/// What may lie in an inbox is divided among its trays into so many parts at most: more than in so
/// many of them items are rarely left at a time.
const MOST_PARTS: usize = 8;

/// When items may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Until then. For who has not looked at the clock it tells the time as well ([`left_at`]).
    pub until: Time,
    /// For so many nanoseconds longer, which says nothing about the time.
    pub grace: Nanos,
    /// Who leaves one behind so many others, in whichever tray, tells the pool
    /// ([`crowded`](crate::WorkerPool::crowded)).
    pub most: u32,
}

impl Open {
    /// Those who leave items know a time until which they may; 0 is never. This is the time that
    /// they know next: the new one if it is much later, since to tell them costs a line of the
    /// cache. A worker that asks now and then tells them before the time that they know is over.
    pub fn told(&self, known: Time) -> Time {
        let is_news = known == Time(0) || self.until.since(known) > REFRESH / 2;
        if is_news { self.until } else { known }
    }
}

/// Whether it is too late then to leave an item, for who was told this: see [`Open`].
pub fn is_too_late(now: Time, until: Time, grace: Nanos) -> bool {
    now >= until.after(grace)
}

/// About when an item is left while that may be done until this time, for who has not looked at the
/// clock: not later than it is.
pub fn left_at(until: Time) -> Stamp {
    Stamp::of(Time(until.0.saturating_sub(LATE)))
}

/// The same, of an item that is taken out now, where everything was `before`.
pub fn left_after(stamp: Stamp, before: Time, now: Time) -> Stamp {
    match stamp.age(now) > now.since(before) {
        true => Stamp::of(before),
        false => stamp,
    }
}

/// Whether who leaves an item looks first whether it is [too late](is_too_late): so many lie there
/// that were left since the pool took some out.
pub fn looks_at_clock(before: u32) -> bool {
    before.is_multiple_of(LOOK_EVERY)
}

/// Whether who leaves an item in one of so many trays reads the clock: by that what lies in several
/// is brought in order.
pub fn is_stamped(trays: usize) -> bool {
    trays > 1
}

/// How many trays the inbox of a pool has, whose items come from several pods or not.
pub fn trays(near: Option<&Near>) -> usize {
    near.map_or(1, |near| near.nr_shards().min(MOST_TRAYS))
}

/// The tray for an item that is queued on this CPU. Those of a queue that lets one run at a time
/// begin in the order of queueing, so all of them are left in one.
pub fn tray(near: Option<&Near>, home: u32, one_at_a_time: bool) -> usize {
    let own = near.filter(|_| !one_at_a_time);
    own.map_or(0, |near| near.shard_number(home) % MOST_TRAYS)
}

/// Who leaves an item in one of so many trays, where nobody knows how many lie in the others, tells
/// the pool behind so many instead of [`Open::most`]: all of them together then have as many at
/// least, and four times as many at most.
pub fn told_behind(most: u32, trays: usize) -> u32 {
    (most / trays.min(MOST_PARTS) as u32).max(1)
}

/// The tray whose first item goes next, and how old, in nanoseconds, the first item of another is
/// at most: the oldest one goes.
pub fn next_tray(
    firsts: impl Iterator<Item = (usize, Stamp)>,
    now: Time,
) -> Option<(usize, Option<Nanos>)> {
    let mut next: Option<(usize, Nanos)> = None;
    let mut other = None;
    for (tray, stamp) in firsts {
        let age = stamp.age(now);
        match next {
            Some((_, oldest)) if age <= oldest => other = other.max(Some(age)),
            _ => {
                other = other.max(next.map(|(_, age)| age));
                next = Some((tray, age));
            }
        }
    }
    next.map(|(tray, _)| (tray, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::{Layout, Nearness, Place, Scope};
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    /// Caches of two CPUs each.
    fn near(cpus: u32) -> Arc<Near> {
        let place = |cpu: u32| Place {
            core: cpu,
            llc: cpu / 2,
            node: 0,
        };
        let mut layout = Layout::new((0..cpus).map(place).collect());
        layout.near(Nearness {
            scope: Scope::Numa,
            homes: false,
        })
    }

    #[test]
    fn each_shard_has_a_tray_while_there_are_enough() {
        let six = near(6);
        let of = |cpu| tray(Some(&six), cpu, false);
        assert_eq!((0..6).map(of).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
        assert_eq!(trays(Some(&six)), 3);
        assert_eq!(of(100), 2, "a CPU that it did not have");
        let many = near(200);
        assert_eq!(trays(Some(&many)), MOST_TRAYS);
        assert!((0..200).all(|cpu| tray(Some(&many), cpu, false) < MOST_TRAYS));
        assert_eq!((trays(None), tray(None, 7, false)), (1, 0));
    }

    #[test]
    fn what_runs_one_at_a_time_lies_in_one_tray() {
        let near = near(64);
        assert!((0..64).all(|cpu| tray(Some(&near), cpu, true) == 0));
    }

    #[test]
    fn the_oldest_goes_until_another_is_as_old() {
        let now = Time(1 << 30);
        let next = |ages: &[Nanos]| {
            let firsts = ages.iter().map(|age| Stamp::of(Time(now.0 - age)));
            next_tray(firsts.enumerate(), now)
        };
        assert_eq!(next(&[]), None);
        assert_eq!(next(&[1 << 12]), Some((0, None)));
        assert_eq!(next(&[1 << 12, 1 << 14]), Some((1, Some(1 << 12))));
        assert_eq!(next(&[1 << 13, 1 << 14, 1 << 12]), Some((1, Some(1 << 13))));
        assert_eq!(next(&[1 << 12, 1 << 12]), Some((0, Some(1 << 12))));
    }

    #[test]
    fn trays_together_hold_at_most_four_times_as_many_before_the_pool_is_told() {
        for most in [1, 16, 1024] {
            for trays in [1, 2, 8, 16, MOST_TRAYS] {
                let all = told_behind(most, trays) * trays as u32;
                let few = most < trays as u32;
                assert!(
                    few || (most..=4 * most).contains(&all),
                    "{most}, {trays}: {all}"
                );
            }
        }
        assert_eq!(told_behind(1, 32), 1);
    }
}
