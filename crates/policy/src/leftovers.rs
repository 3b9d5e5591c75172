//! What an item may leave behind in its worker's thread.
//!
//! On Linux the nice level, the CPU mask and the signal mask belong to the thread. So an item that
//! changes them changes them for every item after it, and for every thread that its worker creates.
//! The item is reported. Then the thread is set right, or it ends and a new worker takes its place:
//! a thread without privilege cannot come back from a higher nice level.

use core::fmt;

use crate::cpumask::CpuMask;
use crate::probe::hit;
use crate::sampling::SHORT_ITEM;
use crate::time::{MILLISECOND, Nanos, Time};

/// A function that has just been found to leave nothing is taken to leave nothing for so long.
pub const TRUST: Nanos = MILLISECOND;

/// The CPU mask that is a thread's own from now on, which was given this one (`None`: that was
/// denied) and was found to have that one right after. A cpuset may leave it less than it was
/// given. What is more, somebody outside has set in between, who changes the process thread by
/// thread: it has to be taken back again.
pub fn own_mask(given: Option<CpuMask>, found: Option<CpuMask>) -> Option<CpuMask> {
    let is_more = |(given, found): (CpuMask, CpuMask)| given.and(&found) != found;
    match given.zip(found).is_some_and(is_more) {
        true => given,
        false => found.or(given),
    }
}

/// The items that ended since the thread was last looked at. A look is three system calls, about
/// 1.2 us: too much for each tiny item. Tiny items are looked at together, after the next longer
/// one or before the worker leaves. Where all are of one function, items of less than [`TRUST`] are
/// looked at about once in that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Suspects {
    items: u32,
    /// What they are.
    funcs: Funcs,
    /// What was looked at last.
    looked_at: Funcs,
    /// This function left nothing, and is trusted until then.
    trusted: Option<(u64, Time)>,
    /// One of the items would have been looked at, had it not been trusted.
    owed: bool,
}

/// The functions of some items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Funcs {
    #[default]
    None,
    One(u64),
    Several,
}

impl Funcs {
    fn and(self, func: u64) -> Funcs {
        match self {
            Funcs::None => Funcs::One(func),
            Funcs::One(one) if one == func => self,
            _ => Funcs::Several,
        }
    }
}

impl Suspects {
    /// An item with this function has ended that took `ran`. `Some`: look now; one of the last so
    /// many items did what is found.
    #[inline]
    pub fn item_ended(&mut self, now: Time, ran: Nanos, func: u64) -> Option<u32> {
        self.items = self.items.saturating_add(1);
        self.funcs = self.funcs.and(func);
        let looks = ran >= TRUST || (ran >= SHORT_ITEM && !self.are_trusted(now));
        self.owed |= ran >= SHORT_ITEM;
        looks.then(|| self.take())?
    }

    /// The worker is about to begin an item, of this function. As [`item_ended`](Self::item_ended):
    /// what a function is trusted with is not left to another one.
    #[inline]
    pub fn before_item(&mut self, func: u64) -> Option<u32> {
        (self.owed && self.funcs != Funcs::One(func)).then(|| self.take())?
    }

    /// Whether there may be something to look at before an item.
    #[inline]
    pub fn is_owed(&self) -> bool {
        self.owed
    }

    /// The worker is about to park, where nobody knows for how long. As
    /// [`item_ended`](Self::item_ended).
    pub fn before_parking(&mut self, now: Time) -> Option<u32> {
        match self.are_trusted(now) {
            true => None,
            false => self.take(),
        }
    }

    fn are_trusted(&self, now: Time) -> bool {
        let is_theirs = |(func, until)| self.funcs == Funcs::One(func) && now < until;
        self.trusted.is_some_and(is_theirs)
    }

    /// The last look has found nothing.
    pub fn was_clean(&mut self, now: Time) {
        if let Funcs::One(func) = self.looked_at {
            self.trusted = Some((func, now.after(TRUST)));
        }
    }

    /// It has found something.
    pub fn was_found(&mut self) {
        self.trusted = None;
    }

    /// The worker is about to create a thread, which would start with what its creator has. As
    /// [`item_ended`](Self::item_ended).
    pub fn before_leaving(&mut self) -> Option<u32> {
        self.take()
    }

    fn take(&mut self) -> Option<u32> {
        self.owed = false;
        let items = core::mem::take(&mut self.items);
        self.looked_at = core::mem::take(&mut self.funcs);
        (items > 0).then_some(items)
    }
}

/// What a thread has that items can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadAttrs {
    /// -20 to 19.
    pub nice: i32,
    /// CPUs it may run on. `None`: nobody can tell whose doing a change would be, because we have
    /// narrowed the mask ourselves for a wake, or the process's own CPUs have changed.
    pub cpumask: Option<CpuMask>,
    /// Signals that are blocked: bit `n - 1` for signal `n`.
    pub sigmask: u64,
}

/// One thing that is not as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// What it should be.
    pub own: T,
    /// What the item left.
    pub found: T,
}

/// What an item has left behind: at least one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// Another nice level.
    pub nice: Option<Changed<i32>>,
    /// Another CPU mask.
    pub cpumask: Option<Changed<CpuMask>>,
    /// Another signal mask.
    pub sigmask: Option<Changed<u64>>,
}

/// What becomes of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Remedy {
    /// What has changed can be set back. Should the system refuse one of it:
    /// [`Retire`](Self::Retire).
    Restore,
    /// The worker ends, and whoever is needed in its place is a new thread. It must not be the one
    /// to create it.
    Retire,
}

impl Leftovers {
    /// Compares what the worker should have, as the kernel returned it after it was set, with what
    /// was found. `None`: nothing was left behind.
    pub fn of(own: &ThreadAttrs, found: &ThreadAttrs) -> Option<Leftovers> {
        let masks = own.cpumask.zip(found.cpumask);
        let left = Leftovers {
            nice: changed(own.nice, found.nice),
            cpumask: masks.and_then(|(own, found)| changed(own, found)),
            sigmask: changed(own.sigmask, found.sigmask),
        };
        let any = left.nice.is_some() || left.cpumask.is_some() || left.sigmask.is_some();
        any.then_some(left)
    }

    /// What becomes of the thread. `nice_best` is the lowest nice level that it may set.
    pub fn remedy(&self, nice_best: i32) -> Remedy {
        let for_ever = |nice: Changed<i32>| nice.own < nice.found && nice.own < nice_best;
        let retires = self.nice.is_some_and(for_ever);
        hit!(LeftoverRetires if retires);
        match retires {
            true => Remedy::Retire,
            false => Remedy::Restore,
        }
    }
}

fn changed<T: PartialEq>(own: T, found: T) -> Option<Changed<T>> {
    (own != found).then_some(Changed { own, found })
}

/// For the report: `nice 19 (was 0), CPUs 1 (was 0-3)`.
impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(Changed { own, found }) = self.nice {
            write!(f, "nice {found} (was {own})")?;
            comma = ", ";
        }
        if let Some(Changed { own, found }) = self.cpumask {
            write!(f, "{comma}CPUs {found} (was {own})")?;
            comma = ", ";
        }
        if let Some(Changed { own, found }) = self.sigmask {
            write!(f, "{comma}signal mask {found:#018x} (was {own:#018x})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MICROSECOND;
    use std::string::ToString;

    fn own() -> ThreadAttrs {
        ThreadAttrs {
            nice: 0,
            cpumask: Some(CpuMask::first(4)),
            sigmask: 0xff,
        }
    }

    fn with_nice(nice: i32) -> ThreadAttrs {
        ThreadAttrs { nice, ..own() }
    }

    fn remedy(own: i32, found: i32, nice_best: i32) -> Option<Remedy> {
        let left = Leftovers::of(&with_nice(own), &with_nice(found));
        left.map(|left| left.remedy(nice_best))
    }

    #[test]
    fn a_mask_that_somebody_outside_has_set_meanwhile_is_not_the_threads_own() {
        let mask = |cpus: &[usize]| Some(cpus.iter().copied().collect::<CpuMask>());
        assert_eq!(own_mask(mask(&[1, 2]), mask(&[1, 2])), mask(&[1, 2]));
        assert_eq!(own_mask(mask(&[1]), mask(&[0, 1])), mask(&[1]));
        assert_eq!(own_mask(mask(&[1]), mask(&[0])), mask(&[1]));
        assert_eq!(own_mask(mask(&[1, 2]), mask(&[2])), mask(&[2]), "a cpuset");
        assert_eq!(own_mask(None, mask(&[0, 1])), mask(&[0, 1]), "denied");
        assert_eq!(own_mask(mask(&[1]), None), mask(&[1]));
    }

    #[test]
    fn a_clean_thread_has_no_leftovers() {
        assert_eq!(Leftovers::of(&own(), &own()), None);
    }

    #[test]
    fn nobody_is_blamed_for_a_mask_that_we_narrowed() {
        let unknown = ThreadAttrs {
            cpumask: None,
            ..own()
        };
        assert_eq!(Leftovers::of(&own(), &unknown), None);
        assert_eq!(Leftovers::of(&unknown, &own()), None);
        let blocks_less = ThreadAttrs {
            sigmask: 0,
            ..unknown
        };
        let left = Leftovers::of(&own(), &blocks_less).unwrap();
        assert_eq!((left.nice, left.cpumask), (None, None));
        assert!(left.sigmask.is_some());
    }

    #[test]
    fn only_a_nice_level_that_is_out_of_reach_costs_the_thread() {
        const UNPRIVILEGED: i32 = 19;
        assert_eq!(remedy(0, 5, UNPRIVILEGED), Some(Remedy::Retire));
        assert_eq!(remedy(0, 5, -20), Some(Remedy::Restore));
        assert_eq!(remedy(0, 5, 0), Some(Remedy::Restore));
        assert_eq!(remedy(-5, 5, 0), Some(Remedy::Retire));
        // Upwards anybody may go: the item had more privilege than its worker needs.
        assert_eq!(remedy(0, -5, UNPRIVILEGED), Some(Remedy::Restore));
        assert_eq!(remedy(0, 0, UNPRIVILEGED), None);
    }

    #[test]
    fn masks_can_always_be_set_back() {
        let found = ThreadAttrs {
            cpumask: Some(CpuMask::first(1)),
            sigmask: 0,
            ..own()
        };
        let left = Leftovers::of(&own(), &found).unwrap();
        assert_eq!(left.remedy(19), Remedy::Restore);
        let back = left.cpumask.map(|mask| mask.own);
        assert_eq!((back, left.sigmask.unwrap().own), (own().cpumask, 0xff));
    }

    #[test]
    fn the_report_names_what_was_left_and_nothing_else() {
        let nice = Leftovers::of(&own(), &with_nice(19)).unwrap();
        assert_eq!(nice.to_string(), "nice 19 (was 0)");
        let found = ThreadAttrs {
            nice: -1,
            cpumask: Some([1, 3].into_iter().collect()),
            sigmask: 1,
        };
        let all = Leftovers::of(&own(), &found).unwrap();
        let sigmask = "signal mask 0x0000000000000001 (was 0x00000000000000ff)";
        assert_eq!(
            all.to_string(),
            std::format!("nice -1 (was 0), CPUs 1,3 (was 0-3), {sigmask}")
        );
    }

    #[test]
    fn a_function_that_left_nothing_is_trusted_for_a_while() {
        let mut suspects = Suspects::default();
        let at = |micros: u64| Time(micros * MICROSECOND);
        let ends =
            |suspects: &mut Suspects, func| assert_eq!(suspects.item_ended(Time(0), 1, func), None);
        ends(&mut suspects, 7);
        assert_eq!(suspects.before_parking(at(50)), Some(1));
        ends(&mut suspects, 7);
        assert_eq!(
            suspects.before_parking(at(60)),
            Some(1),
            "something was found"
        );
        suspects.was_clean(at(60));
        ends(&mut suspects, 7);
        ends(&mut suspects, 7);
        assert_eq!(suspects.before_parking(at(1059)), None);
        // They are not forgotten.
        assert_eq!(suspects.before_parking(at(1060)), Some(2));
        suspects.was_clean(at(1060));
        ends(&mut suspects, 8);
        assert_eq!(suspects.before_parking(at(1061)), Some(1), "another one");
        suspects.was_clean(at(1061));
        ends(&mut suspects, 8);
        ends(&mut suspects, 7);
        assert_eq!(suspects.before_parking(at(1062)), Some(2), "both");
        suspects.was_clean(at(1062));
        ends(&mut suspects, 8);
        assert_eq!(suspects.before_leaving(), Some(1), "a thread is to be made");
    }

    #[test]
    fn tiny_items_are_looked_at_together_when_the_worker_leaves() {
        let mut suspects = Suspects::default();
        for _ in 0..3 {
            assert_eq!(suspects.item_ended(Time(0), MICROSECOND, 7), None);
        }
        assert_eq!(suspects.before_leaving(), Some(3));
        assert_eq!(suspects.before_leaving(), None, "nothing has ended since");
    }

    #[test]
    fn a_long_item_is_looked_at_at_its_end() {
        let mut suspects = Suspects::default();
        let mut ends = |ran| suspects.item_ended(Time(0), ran, 7);
        assert_eq!(ends(SHORT_ITEM), Some(1));
        assert_eq!(ends(SHORT_ITEM - 1), None);
        assert_eq!(ends(SHORT_ITEM), Some(2));
        assert_eq!(suspects.before_leaving(), None);
    }

    #[test]
    fn items_of_a_trusted_function_are_looked_at_together_unless_they_take_long() {
        let mut suspects = Suspects::default();
        let mut ends = |at, ran, func| {
            let looks = suspects.item_ended(Time(at), ran, func);
            looks.inspect(|_| suspects.was_clean(Time(at)))
        };
        assert_eq!(ends(0, SHORT_ITEM, 7), Some(1));
        assert_eq!(ends(1, SHORT_ITEM, 7), None);
        assert_eq!(ends(TRUST - 1, TRUST - 1, 7), None);
        assert_eq!(ends(TRUST, SHORT_ITEM, 7), Some(3));
        assert_eq!(ends(TRUST + 1, TRUST, 7), Some(1), "a long one");
        assert_eq!(ends(TRUST + 2, SHORT_ITEM, 8), Some(1), "another function");
        assert_eq!(ends(TRUST + 3, SHORT_ITEM, 7), Some(1), "and another");
        assert_eq!(ends(TRUST + 4, 1, 8), None);
        assert_eq!(ends(TRUST + 5, SHORT_ITEM, 7), Some(2), "one of two");
    }

    #[test]
    fn what_a_trusted_function_left_is_found_before_another_one_begins() {
        let mut suspects = Suspects::default();
        assert_eq!(suspects.item_ended(Time(0), SHORT_ITEM, 7), Some(1));
        suspects.was_clean(Time(0));
        assert_eq!(suspects.item_ended(Time(1), SHORT_ITEM - 1, 7), None);
        assert_eq!(suspects.before_item(8), None, "tiny ones wait");
        assert_eq!(suspects.item_ended(Time(1), SHORT_ITEM, 7), None);
        assert_eq!(suspects.before_item(7), None);
        assert_eq!(suspects.before_item(8), Some(2));
        assert_eq!(suspects.before_item(9), None);
        suspects.was_found();
        assert_eq!(suspects.item_ended(Time(2), SHORT_ITEM, 7), Some(1));
    }
}
