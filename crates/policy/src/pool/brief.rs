//! Items that are over before another worker could have begun one: few workers serve them best.
//!
//! Between two items a worker holds the pool's lock for some tenths of a microsecond. A worker that
//! is woken begins its first item some tens of microseconds later. If items are [`BRIEF`], a second
//! worker makes none end sooner: the two wait for each other at the lock, and each of them idles,
//! parks and is woken more often. So after many brief items in a row one running worker is enough,
//! for as long as it goes from item to item. If they are [`SHORT`], those that run are enough while
//! they will have begun all that wait before another one could have come. The workers are [`LATE`]
//! when no item has begun or ended for about as long as a wake takes. Then as many run as always.
//! Whoever queues the next item sees that they are late; if nobody queues one, the tick sees it.
//!
//! Many workers wait for the lock, each until all that came before have had it. There an item is
//! short that takes less than [`WORTH`] times that wait: if workers came for each item, the lock
//! would let fewer pass than they could execute.
//!
//! A balance bounds what this may cost. A short item that few workers served has saved a little. An
//! item that took long while others waited has lost its time. When more is lost than was saved, the
//! number of such items in a row that make few workers enough doubles. [`LIGHT`] items take no part
//! in that: where as many run as should no CPU is lost by what is dealt.

use crate::time::{MICROSECOND, MILLISECOND, Nanos, Time};
use crate::worker::WorkerId;

pub(super) use crate::sampling::BRIEF;

/// The same, if no other item waits when it ends. Items that queue one another take this long only
/// because each wakes a worker for the next, which begins later than the one that is there.
const BRIEF_ALONE: Nanos = 4 * MICROSECOND;
/// An item shorter than this is short: it is over long before a worker that is woken for the next
/// one begins that.
pub(super) const SHORT: Nanos = 4 * MICROSECOND;
/// An item shorter than this is light: where as many run as should, such items are dealt. To take
/// the lock for each would cost too much of the CPUs' time. It costs about half a microsecond, most
/// of which goes to lines that another CPU has changed.
pub(super) const LIGHT: Nanos = 25 * MICROSECOND;
/// To wait for the lock is worth it for items that take so many times as long.
const WORTH: Nanos = 16;
/// What was dealt is recalled by others when it has waited for so long.
pub(super) const WAITS: Nanos = 4 * LATE;
/// Where workers wait for the lock they are dealt more at a time, and what was dealt waits for
/// longer: for so long at most. So no longer item is short, however long workers wait for the lock.
/// Many workers that wait for the lock are no sign of a long item.
pub(super) const WAITS_AT_MOST: Nanos = 10 * LATE;
/// Few workers are enough until no item has begun or ended for so long: about what a wake takes.
pub(super) const LATE: Nanos = 50 * MICROSECOND;
/// The last item that is dealt is to begin so long before the worker asks: it would be given back.
const SLACK: Nanos = LATE / 8;
/// The number of brief, or short, items in a row that make few workers enough: at first, and at
/// most.
const NEEDS_FIRST: u32 = 64;
const NEEDS_LAST: u32 = 1 << 20;
/// The counts of such items in a row stop at this multiple of that number. An item that is longer
/// takes the number off once: an interrupt makes any item look longer than it is.
const MOST: u32 = 4;
/// An item, or a wait, moves the mean by such a part of the difference, and counts as
/// [`WAITS_AT_MOST`] at most.
const MEAN_PART: Nanos = 16;
/// What an item saves that few workers have served.
const SAVES: Nanos = MICROSECOND / 4;
/// This much more may be lost than saved. When [`PROVEN`] times as much is saved, the number of
/// items that are needed is halved.
const CREDIT: Nanos = MILLISECOND;
const PROVEN: u64 = 64;

/// What the last items of a pool were like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    /// Brief items in a row, short ones, and light ones.
    run: u32,
    short: u32,
    light: u32,
    /// How long an item takes, about.
    mean: Nanos,
    /// How long a worker that asks waits for the pool's lock, about.
    wait: Nanos,
    /// How many in a row make few workers enough, and how many do at least.
    needs: u32,
    least: u32,
    /// What that has saved and lost, since either was last much more than the other.
    saved: Nanos,
    lost: Nanos,
    /// The last two workers that began or ended an item, or were woken for one, and when.
    servers: [Option<(WorkerId, Time)>; 2],
}

impl Default for Brief {
    fn default() -> Self {
        match cfg!(any(cmwq_brief, cmwq_short)) {
            true => Brief::presumed(),
            false => Brief::that_needs(NEEDS_FIRST),
        }
    }
}

impl Brief {
    /// For tests: items are taken for brief, or in another build for short, whatever they are like.
    pub(super) fn presumed() -> Self {
        Brief::that_needs(0)
    }

    /// For tests: items are taken for short, until they are found to be brief, or not even short.
    #[cfg(test)]
    pub(super) fn presumed_short() -> Self {
        Brief {
            short: MOST,
            mean: SHORT / 2,
            ..Brief::that_needs(1)
        }
    }

    /// For tests: items are taken for light, until they are found to be shorter or longer.
    #[cfg(test)]
    pub(super) fn presumed_light() -> Self {
        Brief {
            light: MOST,
            mean: LIGHT / 4,
            ..Brief::that_needs(1)
        }
    }

    /// So many in a row make few workers enough, at first and at least.
    fn that_needs(needs: u32) -> Self {
        Brief {
            run: 0,
            short: 0,
            light: 0,
            mean: 0,
            wait: 0,
            needs,
            least: needs,
            saved: 0,
            lost: 0,
            servers: [None; 2],
        }
    }

    /// This worker has begun or ended an item, or was woken for one.
    pub(super) fn moved(&mut self, id: WorkerId, now: Time) {
        let [last, before] = self.servers;
        let own = Some((id, now));
        let other = if is_by(id, last) { before } else { last };
        // One that goes on by itself is heard of later.
        let is_older = other.is_some_and(|(_, at)| now < at);
        self.servers = if is_older { [other, own] } else { [own, other] };
    }

    /// This worker goes idle, or is known to sleep.
    pub(super) fn left(&mut self, id: WorkerId) {
        let [last, before] = self.servers;
        self.servers = match is_by(id, last) {
            true => [before, None],
            false => [last, before.filter(|_| !is_by(id, before))],
        };
    }

    /// Items wait while a worker runs. If none has begun or ended for long, they are not short.
    pub(super) fn looked(&mut self, now: Time) {
        if self.is_late(now) {
            self.begin_anew();
        }
    }

    /// Whether few would be enough, but none has begun or ended an item for long.
    pub(super) fn is_late(&self, now: Time) -> bool {
        self.are_short() && !self.is_moving(now, self.servers[0])
    }

    /// An item has ended that took so long, while others waited for a worker or not, and more could
    /// have run or not.
    pub(super) fn ended(&mut self, ran: Nanos, others_wait: bool, more_could: bool) {
        let is_brief = ran < if others_wait { BRIEF } else { BRIEF_ALONE };
        // Where more could run others wait for it in vain.
        let most = if more_could { WAITS } else { WAITS_AT_MOST };
        let is_short = ran < self.short_below().min(most);
        if self.are_short() && more_could {
            self.saved += if is_short { SAVES } else { 0 };
            self.lost += if others_wait && !is_short && ran >= LATE {
                ran
            } else {
                0
            };
        }
        self.run = self.count(self.run, is_brief);
        self.short = self.count(self.short, is_short);
        self.light = self.count(self.light, is_short || ran < LIGHT);
        self.mean = (self.mean * (MEAN_PART - 1) + ran.min(WAITS_AT_MOST)) / MEAN_PART;
        self.strike_the_balance();
    }

    /// A worker that asks has waited for the pool's lock for so long.
    pub(super) fn waited(&mut self, wait: Nanos) {
        // Who lost its CPU, or slept, waits for much longer than usual, and that says nothing.
        let most = (2 * self.wait + MICROSECOND).min(WAITS_AT_MOST);
        self.wait = (self.wait * (MEAN_PART - 1) + wait.min(most)) / MEAN_PART;
    }

    /// An item that takes less is short.
    fn short_below(&self) -> Nanos {
        (WORTH * self.wait).clamp(SHORT, WAITS_AT_MOST)
    }

    /// An item that takes less is light.
    fn light_below(&self) -> Nanos {
        self.short_below().max(LIGHT)
    }

    fn begin_anew(&mut self) {
        (self.run, self.short, self.light) = (0, 0, 0);
    }

    /// One more in a row, or one that is longer.
    fn count(&self, run: u32, one_more: bool) -> u32 {
        match one_more {
            true => (run + 1).min(MOST * self.needs),
            false => run.saturating_sub(self.needs),
        }
    }

    fn strike_the_balance(&mut self) {
        if self.lost > self.saved + CREDIT {
            self.begin_anew();
            self.needs = (2 * self.needs).min(NEEDS_LAST);
        } else if self.saved > self.lost + PROVEN * CREDIT {
            self.needs = (self.needs / 2).max(self.least);
        } else {
            return;
        }
        (self.saved, self.lost) = (0, 0);
    }

    /// Whether one worker is enough, and goes from item to item.
    #[cfg(test)]
    fn is_served(&self, now: Time) -> bool {
        self.are_brief() && self.is_moving(now, self.servers[0])
    }

    /// The same, by another worker than this one.
    pub(super) fn is_served_without(&self, id: WorkerId, now: Time) -> bool {
        let [last, before] = self.servers;
        self.are_brief() && self.is_moving(now, if is_by(id, last) { before } else { last })
    }

    /// Whether so many that run are enough, and go from item to item, while so many items wait.
    pub(super) fn are_enough(&self, now: Time, running: u32, waiting: u32) -> bool {
        let soon = || self.mean * u64::from(waiting) <= LATE * u64::from(running);
        let enough = self.are_brief() || (self.are_short() && running > 0 && soon());
        enough && self.is_moving(now, self.servers[0])
    }

    /// Until when few are enough if nothing moves: whether they are is for the caller to see.
    pub(super) fn served_until(&self) -> Option<Time> {
        let (_, at) = self.servers[0].filter(|_| self.are_short())?;
        Some(at.after(LATE))
    }

    /// Behind so many others, or up to twice as many, an item waits for about as long as a wake
    /// takes, while so many run; `None`: that does not matter. A power of two, as others are told.
    pub(super) fn most_waiting(&self, running: u32) -> Option<u32> {
        let most = || (LATE * u64::from(running) / self.mean.max(1)).max(1);
        (!self.are_brief()).then(|| 1 << most().ilog2().min(31))
    }

    /// A worker that goes on by itself tells of an item that took so long.
    pub(super) fn told_from(&self) -> Nanos {
        match (self.are_brief(), self.are_short()) {
            (true, _) => BRIEF,
            (false, true) => self.short_below(),
            (false, false) => self.light_below(),
        }
    }

    /// For so long a worker goes on by itself: until it is late, or for twice what is worth its
    /// wait for the lock.
    pub(super) fn goes_on_for(&self) -> Nanos {
        (2 * WORTH * self.wait).clamp(LATE, WAITS_AT_MOST)
    }

    /// What is dealt now is recalled by others after this.
    pub(super) fn waits_for(&self) -> Nanos {
        self.goes_on_for().max(WAITS)
    }

    /// For so much longer than usual may items be left: workers that wait for the lock ask later.
    /// A power of two, as others are told.
    pub(super) fn grace(&self) -> Nanos {
        let more = self.goes_on_for() - LATE;
        more.checked_ilog2().map_or(0, |log| 1 << log)
    }

    /// So many are over shortly before the time after which a worker is late, or in several times
    /// that for which it waits to get them. The last one begins well before others recall it.
    pub(super) fn in_time(&self) -> usize {
        let time = (WORTH * self.wait).clamp(LATE - SLACK, WAITS_AT_MOST / 4 * 3);
        (time / self.mean.max(1)).max(1) as usize
    }

    fn are_brief(&self) -> bool {
        self.run >= self.needs && !cfg!(cmwq_short)
    }

    /// Whether an item is over before another worker could have begun the next one.
    pub(super) fn are_over_soon(&self) -> bool {
        self.are_short() && self.mean < LATE
    }

    /// Whether few are enough, as long as they go from item to item.
    pub(super) fn are_short(&self) -> bool {
        self.are_brief() || self.short >= self.needs
    }

    /// Whether to take the lock for each would cost too much.
    pub(super) fn are_light(&self) -> bool {
        self.are_short() || self.light >= self.needs
    }

    fn is_moving(&self, now: Time, server: Option<(WorkerId, Time)>) -> bool {
        server.is_some_and(|(_, at)| now.since(at) < LATE)
    }
}

fn is_by(id: WorkerId, server: Option<(WorkerId, Time)>) -> bool {
    server.is_some_and(|(by, _)| by == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many items that took so long, one right after the other, from then on.
    fn items(brief: &mut Brief, from: Time, count: u32, ran: Nanos) -> Time {
        (0..count).fold(from, |now, _| {
            let end = now.after(ran);
            brief.moved(WorkerId(0), end);
            brief.ended(ran, true, true);
            end
        })
    }

    #[test]
    fn one_is_enough_after_many_brief_items_until_none_moves() {
        let mut brief = Brief::default();
        let now = items(&mut brief, Time(0), NEEDS_FIRST - 1, 100);
        assert!(!brief.is_served(now));
        let now = items(&mut brief, now, 1, 100);
        assert!(brief.is_served(now));
        assert!(brief.is_served(now.after(LATE - 1)));
        assert!(!brief.is_served(now.after(LATE)));
        brief.moved(WorkerId(1), now.after(LATE));
        assert!(brief.is_served(now.after(LATE)), "somebody was woken");
    }

    #[test]
    fn where_no_other_waits_longer_ones_are_brief_too() {
        for (others_wait, ran, is_brief) in [
            (true, BRIEF - 1, true),
            (true, BRIEF, false),
            (false, BRIEF, true),
            (false, BRIEF_ALONE, false),
        ] {
            let mut brief = Brief::default();
            brief.moved(WorkerId(0), Time(0));
            (0..NEEDS_FIRST).for_each(|_| brief.ended(ran, others_wait, true));
            assert_eq!(brief.is_served(Time(0)), is_brief, "{ran}, {others_wait}");
        }
    }

    /// So many items in a row that took so long; whether they are short.
    fn are_short(brief: &mut Brief, ran: Nanos) -> bool {
        (0..2 * NEEDS_FIRST).for_each(|_| brief.ended(ran, true, false));
        brief.are_short()
    }

    #[test]
    fn where_workers_wait_for_the_lock_longer_items_are_short_and_more_are_dealt() {
        let mut brief = Brief::default();
        assert!(!are_short(&mut brief, SHORT) && are_short(&mut brief, SHORT - 1));
        (0..100).for_each(|_| brief.waited(2 * MICROSECOND));
        let below = brief.told_from();
        assert!((16 * MICROSECOND..=WORTH * 2 * MICROSECOND).contains(&below));
        assert!(!are_short(&mut brief, below) && are_short(&mut brief, below - 1));
        assert!(brief.in_time() <= 1 + (below / brief.mean) as usize);
        (0..100).for_each(|_| brief.waited(MILLISECOND));
        assert!(!are_short(&mut brief, WAITS_AT_MOST) && are_short(&mut brief, WAITS_AT_MOST - 1));
        assert_eq!(brief.in_time(), 1, "the last of them would be late");
        assert!(are_short(&mut brief, 20 * MICROSECOND));
        let dealt = brief.in_time();
        assert!((15..=20).contains(&dealt), "{dealt}");
        assert!(brief.mean * dealt as u64 + WAITS / 4 < brief.waits_for());
        (0..2 * NEEDS_FIRST).for_each(|_| brief.ended(WAITS, true, true));
        assert!(!brief.are_short() && !brief.are_light(), "more could run");
        (0..200).for_each(|_| brief.waited(0));
        assert!(!are_short(&mut brief, SHORT), "it is over");
    }

    #[test]
    fn what_was_dealt_may_wait_and_be_left_for_longer_where_workers_wait_for_the_lock() {
        let mut brief = Brief::default();
        assert_eq!((brief.waits_for(), brief.grace()), (WAITS, 0));
        (0..100).for_each(|_| brief.waited(8 * MICROSECOND));
        let waits = 2 * WORTH * 8 * MICROSECOND;
        assert!((waits / 4 * 3..=waits).contains(&brief.waits_for()));
        assert!(brief.grace().is_power_of_two() && LATE + brief.grace() <= brief.goes_on_for());
        (0..100).for_each(|_| brief.waited(MILLISECOND));
        assert_eq!(brief.waits_for(), WAITS_AT_MOST);
        assert!(brief.grace() < WAITS_AT_MOST);
    }

    #[test]
    fn it_is_dealt_what_begins_before_it_asks() {
        for (ran, dealt) in [(SHORT / 2, 22), (SHORT, 10), (LIGHT / 2, 3), (LIGHT - 1, 1)] {
            let mut brief = Brief::default();
            (0..2 * NEEDS_FIRST).for_each(|_| brief.ended(ran, true, true));
            let mean = brief.mean;
            assert_eq!(brief.in_time(), dealt, "{ran}: {mean}");
            assert!(mean * dealt as u64 <= LATE - SLACK && brief.goes_on_for() == LATE);
        }
    }

    #[test]
    fn who_waits_once_for_the_lock_takes_no_long_item_for_short() {
        let mut brief = Brief::default();
        for _ in 0..100 {
            brief.waited(100 * MILLISECOND);
            for _ in 0..2 * NEEDS_FIRST {
                brief.waited(0);
                brief.ended(20 * MICROSECOND, true, true);
                assert!(!brief.are_short());
            }
        }
    }

    #[test]
    fn who_lost_its_cpu_at_the_lock_moves_next_to_nothing() {
        let mut brief = Brief::default();
        for n in 0..1_000 {
            brief.waited(if n % 20 == 0 { MILLISECOND } else { 100 });
            assert!(
                brief.short_below() < 2 * SHORT,
                "{n}: {}",
                brief.short_below()
            );
        }
    }

    #[test]
    fn of_two_that_serve_one_leaves() {
        let mut brief = Brief::default();
        let now = items(&mut brief, Time(LATE), NEEDS_FIRST, 100);
        let (one, two) = (WorkerId(0), WorkerId(1));
        assert!(!brief.is_served_without(one, now) && brief.is_served_without(two, now));
        brief.moved(two, now.after(1));
        assert!(brief.is_served_without(two, now.after(1)));
        brief.moved(one, now.after(2));
        assert!(brief.is_served_without(one, now.after(2)));
        brief.left(one);
        assert!(brief.is_served(now.after(3)));
        brief.moved(two, now.after(3));
        assert!(!brief.is_served_without(two, now.after(3)));
    }

    #[test]
    fn who_is_at_a_long_item_does_not_serve() {
        let mut brief = Brief::default();
        let now = items(&mut brief, Time(LATE), NEEDS_FIRST, 100);
        let (long, other) = (WorkerId(0), WorkerId(1));
        brief.moved(long, now);
        assert!(brief.is_served_without(other, now.after(LATE - 1)));
        brief.moved(other, now.after(LATE));
        assert!(!brief.is_served_without(other, now.after(LATE)));
        assert!(brief.is_served(now.after(LATE)));
    }

    #[test]
    fn an_interrupt_changes_nothing_and_items_that_are_not_brief_do() {
        let mut brief = Brief::default();
        let mut now = Time(0);
        for _ in 0..100 {
            now = items(&mut brief, now, 2 * NEEDS_FIRST, 100);
            assert!(brief.is_served(now));
            now = items(&mut brief, now, 1, 10 * BRIEF);
            assert!(brief.is_served(now));
        }
        let now = items(&mut brief, now, MOST, BRIEF);
        assert!(!brief.is_served(now));
    }

    /// Brief items, of which one worker was thought to be enough for this share; after each
    /// `distance` of them comes one that takes `long`. And what those have lost, in all.
    fn share(distance: u32, long: Nanos) -> (f64, Nanos) {
        let mut brief = Brief::default();
        let (mut now, mut alone, mut lost) = (Time(0), 0, 0);
        let times = 2_000_000 / distance;
        for _ in 0..times {
            for _ in 0..distance {
                now = items(&mut brief, now, 1, 100);
                alone += u64::from(brief.is_served(now));
            }
            lost += if brief.is_served(now) { long } else { 0 };
            now = items(&mut brief, now, 1, long);
        }
        (alone as f64 / f64::from(distance * times), lost)
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of steps, all of them safe")]
    fn no_more_is_lost_by_long_items_than_brief_ones_have_saved() {
        for distance in [50, 100, 1_000, 10_000, 100_000] {
            for long in [LATE, 20 * LATE, 2_000 * LATE] {
                let (alone, lost) = share(distance, long);
                let saved = alone * 2e6 * SAVES as f64;
                // As often as the number that is needed can double, and once more.
                let most = 1.1 * saved + 16.0 * (CREDIT + long) as f64;
                assert!(lost as f64 <= most, "{distance}, {long}: {lost} of {saved}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "millions of steps, all of them safe")]
    fn short_pauses_leave_it_as_it_is() {
        assert!(share(2_000, 2 * LATE).0 > 0.9);
        assert!(share(100_000, 20 * LATE).0 > 0.9);
    }
}
