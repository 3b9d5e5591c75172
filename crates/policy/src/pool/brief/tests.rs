//! What items are like, by the ends of some.

use super::*;

/// So many run while workers wait for the lock.
const RUN: u32 = 32;

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

#[test]
fn light_items_that_nobody_waits_for_are_not_too_long() {
    let are_short_after = |ran, nothing_waits| {
        let mut brief = Brief::default();
        assert!(are_short(&mut brief, SHORT - 1));
        for _ in 0..10 * MOST {
            match nothing_waits {
                true => brief.last_ended(ran, true),
                false => brief.ended(ran, false, true),
            }
        }
        brief.are_short()
    };
    assert!(are_short_after(LIGHT - 1, true));
    assert!(!are_short_after(LIGHT, true));
    assert!(!are_short_after(SHORT, false));
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
    (0..100).for_each(|_| brief.waited(2 * MICROSECOND, RUN));
    let below = brief.told_from();
    assert!((16 * MICROSECOND..=WORTH * 2 * MICROSECOND).contains(&below));
    assert!(!are_short(&mut brief, below) && are_short(&mut brief, below - 1));
    assert!(brief.in_time() <= 1 + (below / brief.mean) as usize);
    (0..100).for_each(|_| brief.waited(MILLISECOND, RUN));
    assert!(!are_short(&mut brief, WAITS_AT_MOST) && are_short(&mut brief, WAITS_AT_MOST - 1));
    assert_eq!(brief.in_time(), 1, "the last of them would be late");
    assert!(are_short(&mut brief, 20 * MICROSECOND));
    let dealt = brief.in_time();
    assert!((15..=20).contains(&dealt), "{dealt}");
    assert!(brief.mean * dealt as u64 + WAITS / 4 < brief.waits_for());
    (0..2 * NEEDS_FIRST).for_each(|_| brief.ended(WAITS, true, true));
    assert!(!brief.are_short() && !brief.are_light(), "more could run");
    (0..200).for_each(|_| brief.waited(0, RUN));
    assert!(!are_short(&mut brief, SHORT), "it is over");
}

#[test]
fn few_are_not_enough_because_many_have_waited() {
    let ran = 10 * MICROSECOND;
    let mut brief = Brief::default();
    (0..200).for_each(|_| brief.waited(MICROSECOND, RUN));
    let now = items(&mut brief, Time(0), 2 * NEEDS_FIRST, ran);
    assert!(brief.are_short() && brief.told_from() > ran);
    let enough = |brief: &Brief, running| brief.are_enough(now, running, 1);
    assert!(enough(&brief, RUN) && enough(&brief, 2 * RUN) && enough(&brief, RUN * 3 / 4));
    assert!(!enough(&brief, RUN / 2) && !enough(&brief, 1));
    // They wait as long where fewer run.
    (0..200).for_each(|_| brief.waited(MICROSECOND, 2));
    assert!(enough(&brief, 2) && !enough(&brief, 1));
    // Short as they are, it does not matter who waits.
    (0..200).for_each(|_| brief.waited(MICROSECOND, RUN));
    let now = items(&mut brief, now, 2 * NEEDS_FIRST, SHORT - 1);
    assert!(brief.are_enough(now, 1, 1));
}

#[test]
fn a_long_item_among_short_ones_changes_nothing_and_light_ones_that_nobody_waits_for() {
    for wait in [0, 300, 1_000, 5_000] {
        let mut brief = Brief::default();
        (0..200).for_each(|_| brief.waited(wait, RUN));
        let now = items(&mut brief, Time(0), MOST * NEEDS_FIRST, SHORT / 2);
        brief.ended(MILLISECOND, true, true);
        assert!(brief.mean > SHORT && brief.are_enough(now, 1, 1), "{wait}");
        let now = items(&mut brief, now, MOST * NEEDS_FIRST, SHORT / 2);
        (0..100).for_each(|_| brief.last_ended(LIGHT / 2, true));
        assert!(brief.mean > SHORT && brief.are_enough(now, 1, 0), "{wait}");
    }
}

#[test]
fn what_was_dealt_may_wait_and_be_left_for_longer_where_workers_wait_for_the_lock() {
    let mut brief = Brief::default();
    assert_eq!((brief.waits_for(), brief.grace()), (WAITS, 0));
    (0..100).for_each(|_| brief.waited(8 * MICROSECOND, RUN));
    let waits = 2 * WORTH * 8 * MICROSECOND;
    assert!((waits / 4 * 3..=waits).contains(&brief.waits_for()));
    assert!(brief.grace().is_power_of_two() && LATE + brief.grace() <= brief.goes_on_for());
    (0..100).for_each(|_| brief.waited(MILLISECOND, RUN));
    assert_eq!(brief.waits_for(), WAITS_AT_MOST);
    assert!(brief.grace() < WAITS_AT_MOST);
}

#[test]
fn the_lock_is_full_of_short_items_alone() {
    for (ran, is_full) in [(SHORT, true), (WAITS / 2, true), (MILLISECOND, false)] {
        let mut brief = Brief::default();
        (0..200).for_each(|_| brief.waited(40 * MICROSECOND, RUN));
        (0..200).for_each(|_| brief.ended(ran, true, true));
        assert_eq!(brief.is_lock_full(), is_full, "{ran}");
    }
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
        brief.waited(100 * MILLISECOND, RUN);
        for _ in 0..2 * NEEDS_FIRST {
            brief.waited(0, RUN);
            brief.ended(20 * MICROSECOND, true, true);
            assert!(!brief.are_short());
        }
    }
}

#[test]
fn who_lost_its_cpu_at_the_lock_moves_next_to_nothing() {
    let mut brief = Brief::default();
    for n in 0..1_000 {
        brief.waited(if n % 20 == 0 { MILLISECOND } else { 100 }, RUN);
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

proptest::proptest! {
    /// Also of the items that are not counted, as all counts have stopped.
    #[test]
    fn counts_are_what_each_item_makes_of_them(
        needs in 0..9u32,
        wait in proptest::sample::select(&[0, MICROSECOND, 3 * MICROSECOND, MILLISECOND][..]),
        runs in proptest::collection::vec((0..7usize, 1..50u32, 0..4u32), 0..40),
    ) {
        let mut brief = Brief { wait, ..Brief::that_needs(needs) };
        for (of, count, how) in runs {
            let ran = [BRIEF - 1, BRIEF, SHORT - 1, SHORT, LIGHT - 1, LIGHT, MILLISECOND][of];
            let (others_wait, more_could) = (how > 1, how % 2 > 0);
            for _ in 0..count {
                let is_brief = ran < if others_wait { BRIEF } else { BRIEF_ALONE };
                let most = if more_could { WAITS } else { WAITS_AT_MOST };
                let is_short = ran < brief.short_below().min(most);
                let all = [
                    brief.count(brief.run, is_brief),
                    brief.count(brief.short, is_short),
                    brief.count(brief.short_anyway, ran < SHORT),
                    brief.count(brief.light, is_short || ran < LIGHT),
                ];
                brief.ended(ran, others_wait, more_could);
                let found = [brief.run, brief.short, brief.short_anyway, brief.light];
                proptest::prop_assert_eq!(found, all);
                // The balance would change them, too.
                (brief.saved, brief.lost) = (0, 0);
            }
        }
    }
}
