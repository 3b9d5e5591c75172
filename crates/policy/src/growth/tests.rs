//! When growth is held back, and that it is never stopped.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

mod opens;

const LOCK: Option<u64> = Some(0x1000);

fn ms(n: u64) -> Time {
    Time(n * MILLISECOND)
}

/// So many of the busy ones wait at the lock, nobody sleeps elsewhere.
fn at_lock(crowd: u32, busy: u32) -> Look {
    Look {
        busy,
        asleep: crowd,
        crowd,
        lock: LOCK,
        ..Look::default()
    }
}

fn sleepers(busy: u32) -> Look {
    Look {
        asleep: busy,
        ..at_lock(0, busy)
    }
}

/// A pool of 96 CPUs in which a convoy was seen at 4 ms.
fn held(busy: u32) -> Crowd {
    let mut crowd = Crowd::default();
    crowd.looked(ms(0), at_lock(busy - 3, busy), 96);
    crowd.completed(ms(4));
    crowd.looked(ms(4), at_lock(busy - 3, busy), 96);
    crowd
}

/// After the first verdict.
fn settled(busy: u32) -> (Crowd, Time) {
    let mut crowd = held(busy);
    let now = verdict(&mut crowd, ms(4), at_lock(busy - 3, busy), 9);
    (crowd, now)
}

fn allowed(crowd: &Crowd, now: Time) -> Option<u32> {
    match crowd.holding(now) {
        Holding::No => None,
        Holding::Convoy { workers, .. } => Some(workers),
    }
}

/// Four looks, 4 ms apart, each after so many items have ended that had waited at the lock.
fn verdict(crowd: &mut Crowd, from: Time, look: Look, done: u64) -> Time {
    let mut now = from;
    for _ in 0..VERDICT_LOOKS {
        now = now.after(4 * MILLISECOND);
        for _ in 0..done {
            crowd.completed(now);
            crowd.passed(now);
        }
        crowd.looked(now, look, 96);
    }
    now
}

/// When what is measured counts again, after many workers have gone or come.
fn searching(busy: u32) -> (Crowd, Time) {
    let (mut crowd, now) = settled(busy);
    let now = verdict(&mut crowd, now, at_lock(0, 6), 0);
    (crowd, now)
}

#[test]
fn the_first_workers_start_freely_and_then_somebody_must_look() {
    let growth = Growth::default();
    assert_eq!(growth.gate(ms(0), 3, 2), Gate::Open);
    assert_eq!(growth.gate(ms(0), 4, 2), Gate::Ask);
}

#[test]
fn a_look_opens_the_gate_up_to_twice_what_was_seen() {
    let mut growth = Growth::default();
    growth.looked(ms(0), 4, false);
    assert_eq!(growth.gate(ms(1), 7, 2), Gate::Open);
    assert_eq!(growth.gate(ms(1), 8, 2), Gate::Ask);
    assert_eq!(growth.gate(ms(30), 5, 2), Gate::Ask);
}

#[test]
fn what_a_look_found_well_is_believed_for_longer() {
    let mut growth = Growth::default();
    growth.looked(ms(0), 12, false);
    assert_eq!(growth.gate(ms(100), 11, 2), Gate::Open);
    assert_eq!(growth.gate(ms(100), 12, 2), Gate::Ask);
    assert_eq!(growth.gate(ms(300), 11, 2), Gate::Ask);
    growth.looked(ms(301), 12, true);
    assert_eq!(growth.gate(ms(400), 11, 2), Gate::Ask, "not after a crowd");
}

#[test]
fn a_crowd_that_was_seen_once_is_looked_at_again_before_many_more_start() {
    let mut growth = Growth::default();
    growth.looked(ms(0), 8, true);
    assert_eq!(growth.gate(ms(1), 9, 2), Gate::Open);
    assert_eq!(growth.gate(ms(1), 10, 2), Gate::Ask);
    growth.looked(ms(2), 10, true);
    assert_eq!(growth.gate(ms(2), 19, 2), Gate::Open, "it is held, or may");
    growth.looked(ms(3), 10, false);
    growth.looked(ms(4), 10, true);
    assert_eq!(growth.gate(ms(4), 12, 2), Gate::Ask, "another crowd");
}

#[test]
fn after_a_gap_nobody_has_looked() {
    let mut growth = Growth::default();
    growth.looked(ms(0), 12, false);
    growth.rebase(ms(5));
    assert_eq!(growth.gate(ms(5), 11, 2), Gate::Ask);
}

#[test]
fn a_crowd_while_nothing_ends_is_a_barrier() {
    let mut crowd = Crowd::default();
    crowd.completed(ms(0));
    for at in 2..10 {
        crowd.looked(ms(4 * at), at_lock(60, 64), 96);
        assert_eq!(crowd.holding(ms(4 * at)), Holding::No);
    }
    assert_eq!(crowd.gate(ms(36), 64), Gate::Open);
}

#[test]
fn a_crowd_of_which_nobody_gets_through_is_not_held_hard() {
    let mut crowd = Crowd::default();
    let mut waits = Vec::new();
    for at in 0..100 {
        let now = ms(4 * at);
        crowd.completed(now);
        crowd.looked(now, at_lock(60, 64), 96);
        match crowd.gate(now, 64) {
            Gate::Wait(until) => waits.push(until.since(now)),
            _ => crowd.started(now, 64),
        }
    }
    assert!(waits.len() > 10, "{waits:?}");
    let later = &waits[waits.len() / 2..];
    assert!(later.iter().all(|&wait| wait <= DAMP_CLOSED), "{waits:?}");
}

#[test]
fn a_convoy_is_held_long_before_the_machine_is_full() {
    let crowd = held(40);
    assert_eq!(allowed(&crowd, ms(4)), Some(40), "first only starts");
    assert_eq!(crowd.gate(ms(4), 40), Gate::Wait(ms(20)));
    let (crowd, now) = settled(40);
    assert_eq!(allowed(&crowd, now), Some(6), "twice those who do not wait");
    assert_eq!([40, 6, 5].map(|busy| crowd.room(now, busy)), [0, 0, 1]);
    assert!(matches!(crowd.gate(now, 6), Gate::Wait(_)));
    assert_eq!(crowd.gate(now, 5), Gate::Open);
}

#[test]
fn half_of_the_busy_ones_at_a_lock_are_no_convoy() {
    let mut crowd = Crowd::default();
    for at in 0..8 {
        crowd.completed(ms(at));
        crowd.looked(ms(at), at_lock(20, 40), 96);
    }
    assert_eq!(crowd.holding(ms(8)), Holding::No);
}

#[test]
fn what_stands_still_is_free_to_grow_and_held_again_when_it_moves() {
    let (mut crowd, now) = settled(40);
    assert!(matches!(crowd.gate(now, 6), Gate::Wait(_)));
    let stuck = 4 * SPACING_LEAST;
    let later = now.after(stuck + 1);
    crowd.looked(later, at_lock(6, 6), 96);
    assert_eq!(
        (crowd.gate(later, 6), crowd.room(later, 6)),
        (Gate::Open, 6)
    );
    // Twice as many each time, and what begins so is no probe of the lock.
    for busy in 6..12 {
        crowd.started(later, busy);
    }
    assert!(matches!(crowd.gate(later, 12), Gate::Wait(_)));
    assert_eq!(crowd.room(now.after(2 * stuck), 12), 12);
    assert_eq!(crowd.room(now.after(4 * stuck), 12), 6 * 16 - 12);
    crowd.completed(now.after(4 * stuck));
    assert!(
        crowd.room(now.after(4 * stuck), 100) <= 1,
        "no more than probes"
    );
    assert_eq!(allowed(&crowd, now.after(4 * stuck)), Some(6));
}

/// Who holds the lock has lost its CPU, or sleeps with it: nothing ends, and more would only wait.
#[test]
fn a_convoy_whose_head_stands_still_is_no_barrier() {
    let (mut crowd, now) = settled(40);
    for at in 1..10 {
        let later = now.after(at * 4 * SPACING_LEAST + 1);
        crowd.looked(later, at_lock(5, 6), 96);
        assert!(crowd.room(later, 6) <= 1, "no more than probes");
    }
}

#[test]
fn a_slow_convoy_is_still_a_convoy() {
    let mut crowd = Crowd::default();
    for round in 0..40 {
        crowd.completed(ms(50 * round));
        crowd.passed(ms(50 * round));
        crowd.looked(ms(50 * round + 30), at_lock(9, 10), 96);
    }
    assert!(crowd.is_convoy(ms(50 * 39 + 40)));
    assert_eq!(allowed(&crowd, ms(50 * 39 + 40)), Some(LEAST));
}

#[test]
fn another_lock_is_another_queue() {
    let mut crowd = held(40);
    assert!(crowd.is_convoy(ms(5)));
    let elsewhere = Look {
        lock: Some(0x2000),
        ..at_lock(37, 40)
    };
    crowd.looked(ms(5), elsewhere, 96);
    assert!(!crowd.is_convoy(ms(5)));
}

#[test]
fn each_convoy_doubles_what_a_probe_waits() {
    let (mut crowd, mut now) = searching(40);
    let mut waits = Vec::new();
    for _ in 0..9 {
        crowd.completed(now);
        let busy = allowed(&crowd, now).unwrap();
        crowd.started(now, busy);
        now = verdict(&mut crowd, now, at_lock(busy, busy + 1), 9);
        let Gate::Wait(until) = crowd.gate(now, busy) else {
            panic!("not held")
        };
        waits.push(until.since(now) / MILLISECOND);
        now = until;
    }
    assert_eq!(waits, [16, 32, 64, 100, 100, 100, 100, 100, 100]);
}

#[test]
fn probes_that_do_no_harm_allow_twice_as_many_each_time() {
    let (mut crowd, mut now) = searching(40);
    let mut steps = Vec::new();
    for _ in 0..5 {
        let before = allowed(&crowd, now).unwrap();
        crowd.started(now, before);
        steps.push(allowed(&crowd, now).unwrap() - before);
        now = verdict(&mut crowd, now, at_lock(0, before), 2);
    }
    assert_eq!(steps, [1, 2, 4, 8, 16]);
}

/// A pool that has learnt to wait 100 ms, with 6 workers and the best pace with those; when it may
/// probe.
fn at_its_best(done: u64) -> (Crowd, Time) {
    let (mut crowd, mut now) = searching(40);
    for _ in 0..7 {
        crowd.started(now, allowed(&crowd, now).unwrap());
        now = verdict(&mut crowd, now, at_lock(4, 7), 9);
    }
    assert_eq!(allowed(&crowd, now), Some(6));
    now = verdict(&mut crowd, now, at_lock(0, 6), done);
    let Gate::Wait(until) = crowd.gate(now, 6) else {
        panic!("not held")
    };
    (crowd, until)
}

/// One more worker, and so many items after each look.
fn probed(done: u64) -> (Crowd, Time) {
    let (mut crowd, now) = at_its_best(100);
    crowd.started(now, 6);
    assert_eq!(allowed(&crowd, now), Some(7));
    let now = verdict(&mut crowd, now, at_lock(0, 7), done);
    (crowd, now)
}

#[test]
fn a_probe_that_pays_is_followed_by_the_next_at_once() {
    let (crowd, now) = probed(110);
    assert_eq!(crowd.gate(now, 7), Gate::Open);
    let (crowd, now) = probed(104);
    assert!(matches!(crowd.gate(now, 7), Gate::Wait(_)));
}

#[test]
fn growth_that_slows_the_items_down_is_undone() {
    let (crowd, now) = probed(94);
    assert_eq!(allowed(&crowd, now), Some(7), "hardly slower");
    let (crowd, now) = probed(90);
    assert_eq!(allowed(&crowd, now), Some(5), "one less than did better");
    assert_eq!(crowd.stats().undone, 1);
}

#[test]
fn workers_that_are_missed_come_back_and_stay() {
    let mut crowd = held(40);
    let (many, few) = (at_lock(30, 40), at_lock(5, 20));
    let now = verdict(&mut crowd, ms(4), many, 100);
    assert_eq!(allowed(&crowd, now), Some(20));
    let now = verdict(&mut crowd, now, few, 0);
    let now = verdict(&mut crowd, now, few, 60);
    assert_eq!(allowed(&crowd, now), Some(40), "it was slower");
    let now = verdict(&mut crowd, now, many, 300);
    let now = verdict(&mut crowd, now, many, 100);
    assert_eq!(allowed(&crowd, now), Some(40), "the crowd does no harm");
    let now = verdict(&mut crowd, now, many, 60);
    assert_eq!(
        allowed(&crowd, now),
        Some(20),
        "it is no faster with them any more"
    );
}

#[test]
fn a_pool_whose_workers_sleep_elsewhere_is_let_go() {
    let (mut crowd, now) = searching(40);
    let now = verdict(&mut crowd, now, sleepers(6), 9);
    assert_eq!(crowd.holding(now), Holding::No);
    let (mut crowd, now) = searching(40);
    let running = at_lock(0, 6);
    let now = verdict(&mut crowd, now, running, 9);
    assert!(allowed(&crowd, now).is_some(), "they may spin at the lock");
    let later = verdict(&mut crowd, now.after(HOLD_LAST), running, 9);
    assert_eq!(crowd.holding(later), Holding::No, "nothing bad for long");
}

#[test]
fn items_that_begin_and_end_between_the_looks_have_a_pace_too() {
    let (mut crowd, mut now) = searching(40);
    for (busy, done) in [(0, 100), (0, 100), (20, 30), (20, 30)] {
        now = verdict(&mut crowd, now, at_lock(0, busy), done);
    }
    assert!(allowed(&crowd, now).is_none_or(|allowed| allowed >= LEAST));
}

#[test]
fn one_cpu_is_allowed_two_workers() {
    let mut crowd = Crowd::default();
    for at in 0..8 {
        crowd.completed(ms(at));
        crowd.looked(ms(at), at_lock(5, 6), 1);
    }
    assert_eq!(allowed(&crowd, ms(8)), Some(2));
}

/// What happens to a pool that wants to grow.
#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    Completed(u32),
    Passed,
    Looked(u32, u32, u32, u32),
}

fn event() -> impl Strategy<Value = Event> {
    let look = (0..300u32, 0..300u32, 0..300u32, 0..300u32);
    prop_oneof![
        3 => (1..5_000u64).prop_map(Event::Pass),
        2 => (1..100u32).prop_map(Event::Completed),
        2 => Just(Event::Passed),
        3 => look.prop_map(|(busy, asleep, crowd, left)| Event::Looked(busy, asleep, crowd, left)),
        // A convoy.
        2 => (4..300u32).prop_map(|busy| Event::Looked(busy, busy, busy - 2, 1)),
    ]
}

proptest! {
    #[test]
    fn growth_is_never_stopped(
        events in proptest::collection::vec(event(), 1..600),
        target in 1..97u32,
    ) {
        let mut crowd = Crowd::default();
        let (mut now, mut busy) = (ms(1), 1);
        let mut allowed_at = now;
        for event in events {
            match event {
                Event::Pass(us) => now = now.after(us * 1000),
                Event::Completed(items) => (0..items).for_each(|_| crowd.completed(now)),
                Event::Passed => crowd.passed(now),
                Event::Looked(of, asleep, there, left) => {
                    busy = of;
                    let (asleep, there) = (asleep.min(of), there.min(asleep).min(of));
                    let (left, stayed) = (left.min(of), there.saturating_sub(left));
                    let look = Look { asleep, left, stayed, ..at_lock(there, busy) };
                    crowd.looked(now, look, target);
                }
            }
            match crowd.gate(now, busy) {
                Gate::Ask => unreachable!("a crowd is only held back"),
                Gate::Open => {
                    crowd.started(now, busy);
                    (busy, allowed_at) = (busy + 1, now);
                }
                Gate::Wait(until) => {
                    prop_assert!(until > now && until.since(now) <= DAMP_LAST);
                    prop_assert!(now.since(allowed_at) <= START_BOUND);
                    prop_assert_eq!(crowd.wakes_at(now), Some(until));
                }
            }
        }
    }
}
