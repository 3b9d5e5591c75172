//! Some yields before a worker parks, or says that its item has ended.
//!
//! To sleep and be woken costs more than a tiny item does: 10 us and more, above all where the CPU
//! idles in between. Where tiny items follow each other, a worker that lingers for a moment has the
//! next one for a yield. A worker lingers only if its last idle spells were short. After it has
//! lingered in vain it does so more and more seldom, so nothing is polled where nothing comes.
//! Between two yields other threads get the CPU. If they take it, the worker soon sleeps.
//!
//! A worker that [may](crate::pool::may_linger) lingers before it tells the pool that its item has
//! ended. Then the next one is left to it: a round trip takes the pool's lock once instead of three
//! times. Otherwise it lingers when it has nothing to do.

use crate::time::{MICROSECOND, Nanos, Time};

/// A worker that lingers yields so often at most, which takes about 30 us on an idle CPU: one who
/// waited for its last item on another CPU, and was woken when that ended, has queued the next by
/// then. With half of that the next one came too late in most round trips (36 us instead of 5).
pub const YIELDS: u32 = 64;
/// An idle spell shorter than this shows that it is of use to linger.
pub const SHORT_SPELL: Nanos = 100 * MICROSECOND;
/// A worker that has lingered in vain sleeps at once in at most this many short spells.
const LONGEST_PAUSE: u32 = 256;
/// A yield that takes so long has given the CPU to another thread. One that has not takes half a
/// microsecond.
const GIVEN: Nanos = 2 * MICROSECOND;
/// A worker that lingers yields no more after so many of these: each costs the other thread two
/// switches. One alone may be an interrupt, or the thread that queues the next item.
const MOST_GIVEN: u32 = 4;

/// A worker that lingers from then on yields no more after this time. If its yields have taken so
/// long, others have its CPU: it comes back late, and nobody knows that its item has ended.
pub fn lingers_until(from: Time) -> Time {
    from.after(SHORT_SPELL / 2)
}

/// The yields of one worker that lingers.
#[derive(Debug)]
pub struct Yields {
    left: u32,
    /// So many of them have given the CPU to another thread.
    given: u32,
}

impl Yields {
    /// So many, where nobody else has use for the CPU.
    pub fn new(most: u32) -> Self {
        Yields {
            left: most,
            given: 0,
        }
    }

    /// Whether it yields once more.
    pub fn is_left(&self) -> bool {
        self.left > 0 && self.given < MOST_GIVEN
    }

    /// One took so long.
    pub fn took(&mut self, time: Nanos) {
        self.left = self.left.saturating_sub(1);
        self.given += u32::from(time >= GIVEN);
    }
}

/// What the last idle spells of one worker have shown.
#[derive(Clone, Copy, Debug)]
pub struct Linger {
    /// Short spells until it lingers again, and how many there will be the next time.
    pause: u32,
    next_pause: u32,
    /// Ends of items that it tells at once, as others had its CPU when it lingered; and how many
    /// there will be the next time.
    tells: u32,
    next_tells: u32,
}

impl Default for Linger {
    fn default() -> Self {
        Linger {
            pause: 1,
            next_pause: 1,
            tells: 0,
            next_tells: 1,
        }
    }
}

impl Linger {
    /// How often it yields at most before it parks. Not where items come from several `pods`: the
    /// scheduler brings a thread that it wakes to an idle CPU, and leaves one that runs.
    pub fn yields(&self, pods: bool) -> u32 {
        if self.pause == 0 && !pods { YIELDS } else { 0 }
    }

    /// How often it yields at most before it tells that its item has ended.
    pub fn yields_before_telling(&mut self, pods: bool) -> u32 {
        match self.tells.checked_sub(1) {
            None => self.yields(pods),
            Some(tells) => {
                self.tells = tells;
                0
            }
        }
    }

    /// It has lingered `from` then until `now` before it told the pool of its item. `came`: the
    /// next one did. `whole`: it has yielded as often as it [may](Yields), so if the next one did
    /// not come, it has lingered in vain. If neither, its hand was recalled, or it was to ask: that
    /// says nothing. Where others have had its CPU for long it tells at once for a while, and still
    /// lingers before it parks.
    pub fn lingered(&mut self, (from, now): (Time, Time), came: bool, whole: bool) {
        if now >= lingers_until(from) {
            self.tells = self.next_tells;
            self.next_tells = (2 * self.next_tells).min(LONGEST_PAUSE);
        } else if came || whole {
            self.next_tells = 1;
            self.spell_ended(came, 0);
        }
    }

    /// It is awake again: whether it was woken while it lingered, and how long it was idle.
    pub fn spell_ended(&mut self, woken: bool, idle: Nanos) {
        match self.pause {
            0 if woken => self.next_pause = 1,
            0 => {
                self.pause = self.next_pause;
                self.next_pause = (2 * self.next_pause).min(LONGEST_PAUSE);
            }
            _ if idle < SHORT_SPELL => self.pause -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Nanos = SHORT_SPELL / 4;

    #[test]
    fn it_yields_seldom_where_others_take_the_cpu() {
        let yields_of = |took: fn(u32) -> Nanos| {
            let (mut yields, mut nr) = (Yields::new(YIELDS), 0);
            while yields.is_left() {
                yields.took(took(nr));
                nr += 1;
            }
            nr
        };
        assert_eq!(yields_of(|_| GIVEN / 4), YIELDS);
        assert_eq!(yields_of(|_| GIVEN), MOST_GIVEN);
        let every_other = yields_of(|nr| Nanos::from(nr % 2) * GIVEN);
        assert_eq!(every_other, 2 * MOST_GIVEN);
        assert!(!Yields::new(0).is_left());
    }

    /// So many spells of this length, woken within the yields or not; how often it lingered.
    fn spells(linger: &mut Linger, count: u32, woken: bool, idle: Nanos) -> u32 {
        let spell = |_| {
            let lingers = linger.yields(false) > 0;
            linger.spell_ended(woken && lingers, idle);
            u32::from(lingers)
        };
        (0..count).map(spell).sum()
    }

    #[test]
    fn one_who_is_woken_soon_lingers_from_the_second_spell_on() {
        assert_eq!(spells(&mut Linger::default(), 100, true, SHORT), 99);
    }

    #[test]
    fn nobody_lingers_where_items_come_from_several_pods() {
        let mut linger = Linger::default();
        spells(&mut linger, 100, true, SHORT);
        assert_eq!((linger.yields(true), linger.yields(false)), (0, YIELDS));
    }

    #[test]
    fn one_who_is_woken_late_never_lingers() {
        assert_eq!(spells(&mut Linger::default(), 100, false, SHORT_SPELL), 0);
    }

    #[test]
    fn one_who_lingers_in_vain_lingers_less_and_less() {
        let mut linger = Linger::default();
        assert!(spells(&mut linger, 1_000, false, SHORT) <= 12);
        assert!(spells(&mut linger, 10_000, false, SHORT) <= 40);
        // It finds out again when that changes.
        assert!(spells(&mut linger, 1_000, true, SHORT) >= 700);
    }

    #[test]
    fn a_spell_that_others_end_says_nothing_unless_they_had_the_cpu() {
        let lingers_after = |lingered: Nanos, came, whole| {
            let mut linger = Linger::default();
            spells(&mut linger, 2, true, SHORT);
            linger.lingered((Time(7), Time(7).after(lingered)), came, whole);
            (
                linger.yields(false) > 0,
                linger.yields_before_telling(false) > 0,
            )
        };
        for came in [true, false] {
            assert_eq!(lingers_after(SHORT, came, false), (true, true));
            assert_eq!(lingers_after(SHORT_SPELL, came, false), (true, false));
        }
        assert_eq!(lingers_after(SHORT, false, true), (false, false));
    }

    #[test]
    fn who_comes_back_late_tells_at_once_more_and_more_often() {
        let mut linger = Linger::default();
        spells(&mut linger, 2, true, SHORT);
        let lingers = (0..1_000).filter(|_| {
            let lingers = linger.yields_before_telling(false) > 0;
            if lingers {
                linger.lingered((Time(0), Time(SHORT_SPELL)), true, false);
            }
            lingers
        });
        assert!(lingers.count() <= 12);
    }

    #[test]
    fn one_long_spell_ends_it_until_there_is_a_short_one() {
        let mut linger = Linger::default();
        spells(&mut linger, 10, true, SHORT);
        assert_eq!(spells(&mut linger, 5, false, SHORT_SPELL), 1);
        assert_eq!(spells(&mut linger, 3, true, SHORT), 2);
    }
}
