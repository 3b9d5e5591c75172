//! How often somebody looks: the tick's period and budget.
//!
//! The tick is armed only while items wait. It repairs lost reports, replaces the estimate by what
//! it sees, and is the only signal left when foreign load of the same group starves the canaries.

use crate::probe::hit;
use crate::time::{MICROSECOND, MILLISECOND, Nanos, Time};

/// The period while canaries do their work.
pub const PERIOD_LONG: Nanos = 4 * MILLISECOND;
/// The period while they are starved.
pub const PERIOD_SHORT: Nanos = 250 * MICROSECOND;
/// The first period, before anything is known of the canaries.
pub const PERIOD_FIRST: Nanos = MILLISECOND;
/// No period is longer, unless ticks would then use more than one part in [`WORST_PART`] of one
/// CPU. Without this bound, one expensive tick would delay the next one for seconds.
pub const PERIOD_MOST: Nanos = 100 * MILLISECOND;
/// See [`PERIOD_MOST`]. Ticks that follow each other without a pause would keep others off a CPU.
pub const WORST_PART: u64 = 10;
/// The tick's thread is not to be woken for so long when nothing waits any more. Items that are
/// queued and begun one by one would wake it for each, and it would find that nothing waits.
///
/// As long as such items come, it stays twice as long each time, up to the time that it wishes
/// between two ticks.
pub const STAYS: Nanos = MILLISECOND;
/// The tick may use one part in this many of the CPU time that its CPUs have.
pub const BUDGET_PART: u64 = 100;
/// The same while ticks start workers that no canary has reported missing: they are what keeps CPUs
/// busy. One that finds a worker missing, and can start none, does not pay: all CPUs may be busy
/// for other pools.
pub const PAYING_PART: u64 = 20;
/// CPUs that count for the budget, at most: looking is one thread's work.
const BUDGET_CPUS: u64 = 4;

/// While canaries report, one tick in so many looks at the workers; the others only make sure that
/// somebody could.
const LOOK_EVERY: u32 = 4;

/// The tick's pace.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Ticks since the last one that looked.
    skipped: u32,
    wished: Nanos,
    /// Moving average of what one tick costs.
    cost: Nanos,
    /// The last one was of use.
    paid: bool,
}

impl Default for Tick {
    fn default() -> Self {
        Tick {
            skipped: 0,
            wished: PERIOD_FIRST,
            cost: 0,
            paid: false,
        }
    }
}

impl Tick {
    /// A tick is due: does it look at the workers? Canaries that have reported since the last tick
    /// see every idle CPU, so nobody is missing then.
    pub fn looks(&mut self, reported: bool) -> bool {
        let looks = !reported || self.skipped + 1 >= LOOK_EVERY;
        hit!(TickSkips if !looks);
        self.skipped = if looks { 0 } else { self.skipped + 1 };
        looks
    }

    /// A tick used `cost` of CPU time. It has `paid` if it started a worker that no canary had
    /// reported missing, or brought back tokens for one. Then the next tick comes in half the time.
    /// Otherwise the pace slows down again.
    pub fn ran(&mut self, paid: bool, cost: Nanos) {
        let wished = if paid {
            self.wished / 2
        } else {
            self.wished + self.wished / 32
        };
        self.wished = wished.clamp(PERIOD_SHORT, PERIOD_LONG);
        self.paid = paid;
        self.cost = match self.cost {
            // The first one need not be like the others.
            0 => cost.min(PERIOD_MOST / WORST_PART),
            usual => (7 * usual + cost) / 8,
        };
    }

    /// Time until the next tick: as wished, unless that would pass the budget of `cpus` CPUs; then
    /// at most [`PERIOD_MOST`], or what a tick costs [`WORST_PART`] times.
    pub fn period(&self, cpus: u32) -> Nanos {
        let part = match self.paid {
            true => PAYING_PART,
            false => BUDGET_PART,
        };
        let least = self.cost * part / u64::from(cpus).clamp(1, BUDGET_CPUS);
        let most = PERIOD_MOST.max(self.cost * WORST_PART);
        self.wished.max(least.min(most))
    }
}

/// The rounds of the tick's thread: it also wakes between two ticks, when somebody wants that.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pace: Tick,
    /// All ticks look, this far apart.
    fixed: Option<Nanos>,
    next: Time,
    /// Nothing waits, and the thread stays until then.
    stays: Option<Time>,
    /// How long it stays.
    stay: Nanos,
    /// Items have come since it stays.
    came: bool,
    /// Reports of canaries until the last tick.
    reports: u64,
    /// There were none between the last two.
    silent: bool,
}

/// What one round is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// A tick is due: [`Rounds::ended`] follows.
    pub due: bool,
    /// All pools with backlog are looked at.
    all: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds {
            pace: Tick::default(),
            fixed: None,
            next: Time(0),
            stays: None,
            stay: STAYS,
            came: false,
            reports: 0,
            silent: false,
        }
    }
}

impl Rounds {
    /// Ticks that always look, and come every so many nanoseconds whatever they find and cost.
    pub fn every(period: Nanos) -> Rounds {
        Rounds {
            fixed: Some(period),
            ..Rounds::default()
        }
    }

    /// A round begins, after canaries have made so many reports in all.
    pub fn begin(&mut self, now: Time, reports: u64) -> Round {
        let due = now >= self.next;
        if due {
            let before = core::mem::replace(&mut self.reports, reports);
            self.silent = before == reports;
        }
        let all = due && (self.fixed.is_some() || self.pace.looks(!self.silent));
        Round { due, all }
    }

    /// The tick that was due is over: it used `cost` of the CPU time of `cpus` CPUs, and has paid
    /// or not.
    pub fn ended(&mut self, now: Time, paid: bool, cost: Nanos, cpus: u32) {
        self.pace.ran(paid && self.silent, cost);
        let period = self.fixed.unwrap_or_else(|| self.pace.period(cpus));
        self.next = now.after(period);
    }

    /// When the next tick is due.
    pub fn next(&self) -> Time {
        self.next
    }

    /// When the thread wakes by itself, so that nobody need wake it for items: for the next tick if
    /// items wait, and after [`STAYS`] if none do any more, or later if some `came` since this was
    /// called last. `None`: it does not.
    pub fn sleeps_until(&mut self, now: Time, items_wait: bool, came: bool) -> Option<Time> {
        if items_wait || self.fixed.is_some() {
            self.stays = None;
            return items_wait.then_some(self.next);
        }
        let came = came || self.came;
        match self.stays {
            Some(until) if now < until => self.came = came,
            Some(_) if !came => (self.stays, self.stay) = (None, STAYS),
            Some(_) => {
                self.stay = (2 * self.stay).min(self.pace.wished.max(STAYS));
                self.begin_stay(now);
            }
            None => self.begin_stay(now),
        }
        self.stays
    }

    fn begin_stay(&mut self, now: Time) {
        self.stays = Some(now.after(self.stay));
        self.came = false;
    }
}

impl Round {
    /// Whether a pool is looked at: it has asked for that, or has wanted it for now, or items wait
    /// in it and all such pools are looked at.
    pub fn looks_at(&self, asked: bool, early: bool, backlog: bool) -> bool {
        asked || early || (self.all && backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    #[test]
    fn a_round_between_two_ticks_looks_only_where_somebody_asks() {
        let mut rounds = Rounds::default();
        let first = rounds.begin(Time(0), 0);
        assert!(first.due && first.looks_at(false, false, true));
        assert!(!first.looks_at(false, false, false));
        rounds.ended(Time(0), false, MICROSECOND, 2);
        let between = rounds.begin(Time(rounds.next().0 - 1), 0);
        assert!(!between.due && !between.looks_at(false, false, true));
        assert!(between.looks_at(true, false, false) && between.looks_at(false, true, false));
    }

    #[test]
    fn it_stays_for_a_moment_when_nothing_waits_any_more() {
        let mut rounds = Rounds::default();
        rounds.begin(Time(0), 0);
        rounds.ended(Time(0), false, MICROSECOND, 2);
        let mut sleep = |now, waits| rounds.sleeps_until(now, waits, false);
        let next = sleep(Time(5), true);
        assert!(next.is_some());
        let gone = Time(5).after(STAYS);
        assert_eq!(sleep(Time(5), false), Some(gone));
        // Woken for something else, or to find that items wait.
        assert_eq!(sleep(Time(9), false), Some(gone));
        assert_eq!(sleep(Time(10), true), next);
        let gone = Time(11).after(STAYS);
        assert_eq!(sleep(Time(11), false), Some(gone));
        assert_eq!(sleep(gone, false), None);
        assert_eq!(sleep(gone, false), Some(gone.after(STAYS)));
    }

    #[test]
    fn it_stays_longer_while_items_come_one_by_one() {
        let mut rounds = Rounds::default();
        // Ticks that found nobody missing.
        (0..120).for_each(|_| rounds.ended(Time(0), false, MICROSECOND, 2));
        let mut now = Time(1);
        // What came before it stays is no reason.
        let mut until = rounds.sleeps_until(now, false, true).unwrap();
        for stay in [1, 2, 4, 4].map(|ms| ms * MILLISECOND) {
            assert_eq!(until, now.after(stay));
            // Seen when it was woken for something else.
            rounds.sleeps_until(now.after(1), false, true);
            now = until;
            until = rounds.sleeps_until(now, false, false).unwrap();
        }
        // It finds one waiting, which makes no difference.
        rounds.sleeps_until(until, true, true);
        let again = rounds.sleeps_until(until, false, false).unwrap();
        assert_eq!(again, until.after(PERIOD_LONG));
        assert_eq!(rounds.sleeps_until(again, false, false), None);
        let anew = rounds.sleeps_until(again, false, false);
        assert_eq!(anew, Some(again.after(STAYS)));
    }

    #[test]
    fn where_ticks_find_somebody_missing_it_stays_no_longer() {
        let mut rounds = Rounds::default();
        rounds.begin(Time(0), 0);
        (0..2).for_each(|_| rounds.ended(Time(0), true, MICROSECOND, 2));
        let until = rounds.sleeps_until(Time(1), false, false).unwrap();
        let then = rounds.sleeps_until(until, false, true);
        assert_eq!(then, Some(until.after(STAYS)));
    }

    #[test]
    fn ticks_at_a_fixed_pace_always_look() {
        let mut rounds = Rounds::every(4 * MILLISECOND);
        for tick in 0..8 {
            let round = rounds.begin(Time(tick * 4 * MILLISECOND), tick);
            assert!(round.due && round.looks_at(false, false, true));
            rounds.ended(rounds.next(), true, MILLISECOND, 1);
        }
        assert_eq!(rounds.next(), Time(32 * MILLISECOND));
    }

    #[test]
    fn a_missing_worker_quickens_only_while_canaries_say_nothing() {
        let period = |reports: u64| {
            let mut rounds = Rounds::default();
            for tick in 0..40 {
                let now = rounds.next();
                assert!(rounds.begin(now, tick * reports).due);
                rounds.ended(now, true, MICROSECOND, 2);
            }
            let now = rounds.next();
            rounds.ended(now, true, MICROSECOND, 2);
            rounds.next().since(now)
        };
        assert_eq!(period(0), PERIOD_SHORT);
        // The first tick, before any report, halves it; each further one makes it longer.
        assert!(period(1) > PERIOD_FIRST);
    }

    #[test]
    fn starving_quickens_and_plenty_slows_down() {
        let mut tick = Tick::default();
        for _ in 0..10 {
            tick.ran(true, MICROSECOND);
        }
        assert_eq!(tick.period(2), PERIOD_SHORT);
        for _ in 0..120 {
            tick.ran(false, MICROSECOND);
        }
        assert_eq!(tick.period(2), PERIOD_LONG);
    }

    #[test]
    fn ticks_that_are_all_dear_leave_nine_tenths_of_a_cpu() {
        let mut tick = Tick::default();
        for _ in 0..100 {
            tick.ran(true, 60 * MILLISECOND);
        }
        let period = tick.period(2);
        assert!(period.abs_diff(600 * MILLISECOND) < MILLISECOND, "{period}");
    }

    #[test]
    fn beside_canaries_that_report_few_ticks_look() {
        let mut tick = Tick::default();
        let looks = [true, true, true, true, true, false, true].map(|r| tick.looks(r));
        assert_eq!(looks, [false, false, false, true, false, true, false]);
    }

    #[test]
    fn a_dear_tick_comes_less_often() {
        let mut tick = Tick::default();
        for _ in 0..10 {
            tick.ran(false, 100 * MICROSECOND);
        }
        assert_eq!(tick.period(1), 10_000 * MICROSECOND);
        assert_eq!(tick.period(2), 5_000 * MICROSECOND);
        assert_eq!(tick.period(64), 2_500 * MICROSECOND);
    }

    #[test]
    fn one_that_finds_a_worker_missing_may_cost_five_times_as_much() {
        let mut tick = Tick::default();
        for _ in 0..10 {
            tick.ran(true, 100 * MICROSECOND);
        }
        assert_eq!(tick.period(1), 2_000 * MICROSECOND);
        tick.ran(false, 100 * MICROSECOND);
        assert_eq!(tick.period(1), 10_000 * MICROSECOND);
    }

    #[test]
    fn one_that_was_very_dear_does_not_keep_the_next_away_for_long() {
        let mut tick = Tick::default();
        tick.ran(false, 200 * MILLISECOND);
        assert_eq!(tick.period(2), PERIOD_MOST);
        let ticks = (0..100).map(|_| {
            tick.ran(false, 10 * MICROSECOND);
            tick.period(2)
        });
        assert!(ticks.sum::<Nanos>() < 10 * SECOND);
        assert_eq!(tick.period(2), PERIOD_LONG);
    }
}
