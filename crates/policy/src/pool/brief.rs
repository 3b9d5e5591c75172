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
//! would let fewer pass than they could execute. Few make nobody wait, though: where fewer run than
//! when workers waited, as at the next burst, the wait counts as that much shorter when it is asked
//! whether few [are enough](Brief::are_enough).
//!
//! A balance bounds what this may cost. A short item that few workers served has saved a little. An
//! item that took long while others waited has lost its time. When more is lost than was saved, the
//! number of such items in a row that make few workers enough doubles. [`LIGHT`] items take no part
//! in that: where as many run as should no CPU is lost by what is dealt.

#[cfg(test)]
mod tests;

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
/// Workers that wait for the lock for so long have most of what it lets pass.
const FULL: Nanos = 8 * MICROSECOND;
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
/// The mean of how many run is kept in such parts.
const PARTS: u64 = 256;
/// What an item saves that few workers have served.
const SAVES: Nanos = MICROSECOND / 4;
/// This much more may be lost than saved. When [`PROVEN`] times as much is saved, the number of
/// items that are needed is halved.
const CREDIT: Nanos = MILLISECOND;
const PROVEN: u64 = 64;

// A brief item is short and light, however long workers wait for the lock.
const _: () = assert!(BRIEF <= BRIEF_ALONE && BRIEF_ALONE <= SHORT && SHORT <= LIGHT);
const _: () = assert!(SHORT <= WAITS && WAITS <= WAITS_AT_MOST);

/// What the last items of a pool were like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    /// Brief items in a row, short ones, short ones however long workers wait for the lock, and
    /// light ones.
    run: u32,
    short: u32,
    short_anyway: u32,
    light: u32,
    /// How long an item takes, about.
    mean: Nanos,
    /// How long a worker that asks waits for the pool's lock, about, and how many run then, in
    /// parts of [`PARTS`].
    wait: Nanos,
    crowd: u64,
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
            short_anyway: 0,
            light: 0,
            mean: 0,
            wait: 0,
            crowd: 0,
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
    #[inline]
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
        // A brief item is one more in each count: that changes nothing where all have stopped.
        let counts = [self.run, self.short, self.short_anyway, self.light];
        if !is_brief || counts != [self.most(); 4] {
            self.run = self.count(self.run, is_brief);
            self.short = self.count(self.short, is_short);
            self.short_anyway = self.count(self.short_anyway, ran < SHORT);
            self.light = self.count(self.light, is_short || ran < LIGHT);
        }
        self.mean = (self.mean * (MEAN_PART - 1) + ran.min(WAITS_AT_MOST)) / MEAN_PART;
        self.strike_the_balance();
    }

    /// The same of one behind which nothing waited at all: if it was light, it was not too long for
    /// few workers.
    #[inline]
    pub(super) fn last_ended(&mut self, ran: Nanos, more_could: bool) {
        let (short, anyway) = (self.short, self.short_anyway);
        self.ended(ran, false, more_could);
        if ran < LIGHT {
            self.short = self.short.max(short);
            self.short_anyway = self.short_anyway.max(anyway);
        }
    }

    /// A worker that asks has waited for the pool's lock for so long, while so many ran.
    pub(super) fn waited(&mut self, wait: Nanos, running: u32) {
        // Who lost its CPU, or slept, waits for much longer than usual, and that says nothing.
        let most = (2 * self.wait + MICROSECOND).min(WAITS_AT_MOST);
        self.wait = (self.wait * (MEAN_PART - 1) + wait.min(most)) / MEAN_PART;
        self.crowd = (self.crowd * (MEAN_PART - 1) + PARTS * u64::from(running)) / MEAN_PART;
    }

    /// Whether workers wait for the lock so long that items are not worth it, and longer than for
    /// a neighbour or two.
    pub(super) fn are_worth_less_than_the_lock(&self) -> bool {
        self.wait >= 2 * MICROSECOND && self.mean < WORTH * self.wait
    }

    /// Whether the lock lets hardly more pass than those that run execute: with one more from
    /// another cache, which has it for longer, fewer may end.
    pub(super) fn is_lock_full(&self) -> bool {
        self.wait >= FULL && self.mean < self.short_below().min(WAITS)
    }

    /// An item that takes less is short.
    #[inline]
    fn short_below(&self) -> Nanos {
        (WORTH * self.wait).clamp(SHORT, WAITS_AT_MOST)
    }

    /// An item that takes less is light.
    fn light_below(&self) -> Nanos {
        self.short_below().max(LIGHT)
    }

    fn begin_anew(&mut self) {
        (self.run, self.short, self.short_anyway, self.light) = (0, 0, 0, 0);
    }

    /// What each count stops at.
    #[inline]
    fn most(&self) -> u32 {
        MOST * self.needs
    }

    /// One more in a row, or one that is longer.
    #[inline]
    fn count(&self, run: u32, one_more: bool) -> u32 {
        match one_more {
            true => (run + 1).min(self.most()),
            false => run.saturating_sub(self.needs),
        }
    }

    #[inline]
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
        let enough = self.are_brief() || (running > 0 && self.are_short_among(running) && soon());
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

    #[inline]
    fn are_brief(&self) -> bool {
        self.run >= self.needs && !cfg!(cmwq_short)
    }

    /// Whether items take hardly longer than [`SHORT`] ones, however long workers wait for the
    /// lock. Then nobody need hear of an idle CPU for the next one.
    pub(super) fn are_over_soon(&self) -> bool {
        self.are_short() && self.mean < 2 * SHORT
    }

    /// Whether few are enough, as long as they go from item to item.
    #[inline]
    pub(super) fn are_short(&self) -> bool {
        self.are_brief() || self.short >= self.needs
    }

    /// The same where so many run. Items may be short only because workers waited for the lock.
    /// Where fewer run than did then, they wait for less.
    fn are_short_among(&self, running: u32) -> bool {
        let running = PARTS * u64::from(running);
        let anyway = self.short_anyway >= self.needs || running >= self.crowd;
        self.are_short() && (anyway || self.mean < WORTH * self.wait * running / self.crowd)
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
