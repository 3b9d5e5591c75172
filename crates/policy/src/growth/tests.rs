//! When growth is held back, and that it is never stopped.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

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
    }
}

fn sleepers(busy: u32) -> Look {
    Look {
        asleep: busy,
        ..at_lock(0, busy)
    }
}

/// A pool of 96 CPUs in which a convoy was seen at 4 ms.
fn held(busy: u32) -> Growth {
    let mut growth = Growth::default();
    growth.looked(ms(0), at_lock(busy - 3, busy), 96);
    growth.completed(ms(4));
    growth.looked(ms(4), at_lock(busy - 3, busy), 96);
    growth
}

/// After the first verdict.
fn settled(busy: u32) -> (Growth, Time) {
    let mut growth = held(busy);
    let now = verdict(&mut growth, ms(4), at_lock(busy - 3, busy), 9);
    (growth, now)
}

fn allowed(growth: &Growth, now: Time) -> Option<u32> {
    match growth.holding(now) {
        Holding::No => None,
        Holding::Convoy { workers, .. } => Some(workers),
    }
}

/// Four looks, 4 ms apart, each after so many items have ended that had waited at the lock.
fn verdict(growth: &mut Growth, from: Time, look: Look, done: u64) -> Time {
    let mut now = from;
    for _ in 0..VERDICT_LOOKS {
        now = now.after(4 * MILLISECOND);
        for _ in 0..done {
            growth.completed(now);
            growth.passed(now);
        }
        growth.looked(now, look, 96);
    }
    now
}

/// When what is measured counts again, after many workers have gone or come.
fn searching(busy: u32) -> (Growth, Time) {
    let (mut growth, now) = settled(busy);
    let now = verdict(&mut growth, now, at_lock(0, 6), 0);
    (growth, now)
}

#[test]
fn the_first_workers_start_freely_and_then_somebody_must_look() {
    let growth = Growth::default();
    assert_eq!(growth.gate(ms(0), 3, 2), Gate::Open);
    assert_eq!(growth.gate(ms(0), 4, 2), Gate::Ask);
}

#[test]
fn sleepers_open_the_gate_up_to_twice_what_was_seen() {
    let mut growth = Growth::default();
    growth.passed(ms(0));
    growth.looked(ms(0), sleepers(4), 2);
    assert_eq!(growth.gate(ms(1), 7, 2), Gate::Open);
    assert_eq!(growth.gate(ms(1), 8, 2), Gate::Ask);
    assert_eq!(growth.gate(ms(30), 5, 2), Gate::Ask);
}

#[test]
fn what_a_look_found_well_is_believed_for_longer() {
    let mut growth = Growth::default();
    growth.looked(ms(0), sleepers(12), 2);
    assert_eq!(growth.gate(ms(100), 11, 2), Gate::Open);
    assert_eq!(growth.gate(ms(100), 12, 2), Gate::Ask);
    assert_eq!(growth.gate(ms(300), 11, 2), Gate::Ask);
    growth.looked(ms(301), at_lock(9, 12), 2);
    assert_eq!(growth.gate(ms(400), 11, 2), Gate::Ask, "not after a crowd");
}

#[test]
fn a_crowd_while_nothing_ends_is_a_barrier() {
    let mut growth = Growth::default();
    growth.completed(ms(0));
    for at in 2..10 {
        growth.looked(ms(4 * at), at_lock(60, 64), 96);
        assert_eq!(growth.holding(ms(4 * at)), Holding::No);
    }
    assert_eq!(growth.gate(ms(36), 64, 96), Gate::Open);
}

#[test]
fn a_crowd_of_which_nobody_gets_through_is_not_held_hard() {
    let mut growth = Growth::default();
    let mut waits = Vec::new();
    for at in 0..100 {
        let now = ms(4 * at);
        growth.completed(now);
        growth.looked(now, at_lock(60, 64), 96);
        match growth.gate(now, 64, 96) {
            Gate::Wait(until) => waits.push(until.since(now)),
            _ => growth.started(now, 64),
        }
    }
    assert!(waits.len() > 10, "{waits:?}");
    let later = &waits[waits.len() / 2..];
    assert!(later.iter().all(|&wait| wait <= DAMP_CLOSED), "{waits:?}");
}

#[test]
fn a_convoy_is_held_long_before_the_machine_is_full() {
    let growth = held(40);
    assert_eq!(allowed(&growth, ms(4)), Some(40), "first only starts");
    assert_eq!(growth.gate(ms(4), 40, 96), Gate::Wait(ms(20)));
    let (growth, now) = settled(40);
    assert_eq!(
        allowed(&growth, now),
        Some(6),
        "twice those who do not wait"
    );
    assert!(growth.should_shrink(now, 40));
    assert!(!growth.should_shrink(now, 6));
    assert!(matches!(growth.gate(now, 6, 96), Gate::Wait(_)));
    assert_eq!(growth.gate(now, 5, 96), Gate::Open);
}

#[test]
fn half_of_the_busy_ones_at_a_lock_are_no_convoy() {
    let mut growth = Growth::default();
    for at in 0..8 {
        growth.completed(ms(at));
        growth.looked(ms(at), at_lock(20, 40), 96);
    }
    assert_eq!(growth.holding(ms(8)), Holding::No);
}

#[test]
fn what_stands_still_is_free_to_grow_and_held_again_when_it_moves() {
    let (mut growth, now) = settled(40);
    assert!(matches!(growth.gate(now, 6, 96), Gate::Wait(_)));
    let later = now.after(4 * SPACING_LEAST + 1);
    growth.looked(later, at_lock(5, 6), 96);
    assert_eq!(growth.gate(later, 100, 96), Gate::Open);
    assert_eq!(
        growth.gate(later, 600, 96),
        Gate::Ask,
        "as without a convoy"
    );
    assert!(!growth.should_shrink(later, 100));
    growth.completed(later);
    assert!(growth.should_shrink(later, 100));
}

#[test]
fn a_slow_convoy_is_still_a_convoy() {
    let mut growth = Growth::default();
    for round in 0..40 {
        growth.completed(ms(50 * round));
        growth.passed(ms(50 * round));
        growth.looked(ms(50 * round + 30), at_lock(9, 10), 96);
    }
    assert!(growth.is_convoy(ms(50 * 39 + 40)));
    assert_eq!(allowed(&growth, ms(50 * 39 + 40)), Some(LEAST));
}

#[test]
fn another_lock_is_another_queue() {
    let mut growth = held(40);
    assert!(growth.is_convoy(ms(5)));
    let elsewhere = Look {
        lock: Some(0x2000),
        ..at_lock(37, 40)
    };
    growth.looked(ms(5), elsewhere, 96);
    assert!(!growth.is_convoy(ms(5)));
}

#[test]
fn each_convoy_doubles_what_a_probe_waits() {
    let (mut growth, mut now) = searching(40);
    let mut waits = Vec::new();
    for _ in 0..9 {
        growth.completed(now);
        let busy = allowed(&growth, now).unwrap();
        growth.started(now, busy);
        now = verdict(&mut growth, now, at_lock(busy, busy + 1), 9);
        let Gate::Wait(until) = growth.gate(now, busy, 96) else {
            panic!("not held")
        };
        waits.push(until.since(now) / MILLISECOND);
        now = until;
    }
    assert_eq!(waits, [16, 32, 64, 100, 100, 100, 100, 100, 100]);
}

#[test]
fn probes_that_do_no_harm_allow_twice_as_many_each_time() {
    let (mut growth, mut now) = searching(40);
    let mut steps = Vec::new();
    for _ in 0..5 {
        let before = allowed(&growth, now).unwrap();
        growth.started(now, before);
        steps.push(allowed(&growth, now).unwrap() - before);
        now = verdict(&mut growth, now, at_lock(0, before), 2);
    }
    assert_eq!(steps, [1, 2, 4, 8, 16]);
}

/// A pool that has learnt to wait 100 ms, with 6 workers and the best pace with those; when it may probe.
fn at_its_best(done: u64) -> (Growth, Time) {
    let (mut growth, mut now) = searching(40);
    for _ in 0..7 {
        growth.started(now, allowed(&growth, now).unwrap());
        now = verdict(&mut growth, now, at_lock(4, 7), 9);
    }
    assert_eq!(allowed(&growth, now), Some(6));
    now = verdict(&mut growth, now, at_lock(0, 6), done);
    let Gate::Wait(until) = growth.gate(now, 6, 96) else {
        panic!("not held")
    };
    (growth, until)
}

/// One more worker, and so many items after each look.
fn probed(done: u64) -> (Growth, Time) {
    let (mut growth, now) = at_its_best(100);
    growth.started(now, 6);
    assert_eq!(allowed(&growth, now), Some(7));
    let now = verdict(&mut growth, now, at_lock(0, 7), done);
    (growth, now)
}

#[test]
fn a_probe_that_pays_is_followed_by_the_next_at_once() {
    let (growth, now) = probed(110);
    assert_eq!(growth.gate(now, 7, 96), Gate::Open);
    let (growth, now) = probed(104);
    assert!(matches!(growth.gate(now, 7, 96), Gate::Wait(_)));
}

#[test]
fn growth_that_slows_the_items_down_is_undone() {
    let (growth, now) = probed(94);
    assert_eq!(allowed(&growth, now), Some(7), "hardly slower");
    let (growth, now) = probed(90);
    assert_eq!(allowed(&growth, now), Some(5), "one less than did better");
    assert_eq!(growth.stats().undone, 1);
}

#[test]
fn workers_that_are_missed_come_back_and_stay() {
    let mut growth = held(40);
    let (many, few) = (at_lock(30, 40), at_lock(5, 20));
    let now = verdict(&mut growth, ms(4), many, 100);
    assert_eq!(allowed(&growth, now), Some(20));
    let now = verdict(&mut growth, now, few, 0);
    let now = verdict(&mut growth, now, few, 60);
    assert_eq!(allowed(&growth, now), Some(40), "it was slower");
    let now = verdict(&mut growth, now, many, 300);
    let now = verdict(&mut growth, now, many, 100);
    assert_eq!(allowed(&growth, now), Some(40), "the crowd does no harm");
    let now = verdict(&mut growth, now, many, 60);
    assert_eq!(
        allowed(&growth, now),
        Some(20),
        "it is no faster with them any more"
    );
}

#[test]
fn a_pool_whose_workers_sleep_elsewhere_is_let_go() {
    let (mut growth, now) = searching(40);
    let now = verdict(&mut growth, now, sleepers(6), 9);
    assert_eq!(growth.holding(now), Holding::No);
    let (mut growth, now) = searching(40);
    let running = at_lock(0, 6);
    let now = verdict(&mut growth, now, running, 9);
    assert!(allowed(&growth, now).is_some(), "they may spin at the lock");
    let later = verdict(&mut growth, now.after(HOLD_LAST), running, 9);
    assert_eq!(growth.holding(later), Holding::No, "nothing bad for long");
}

#[test]
fn one_cpu_is_allowed_two_workers() {
    let mut growth = Growth::default();
    for at in 0..8 {
        growth.completed(ms(at));
        growth.looked(ms(at), at_lock(5, 6), 1);
    }
    assert_eq!(allowed(&growth, ms(8)), Some(2));
}

#[test]
fn after_a_gap_nothing_is_known() {
    let mut growth = held(40);
    growth.rebase(ms(5));
    assert_eq!(growth.holding(ms(5)), Holding::No);
    assert_eq!(growth.stats().convoys, 1);
}

/// What happens to a pool that wants to grow.
#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    Completed,
    Passed,
    Looked(u32, u32, u32),
}

fn event() -> impl Strategy<Value = Event> {
    let look = (1..300u32, 0..300u32, 0..300u32);
    prop_oneof![
        3 => (1..5_000u64).prop_map(Event::Pass),
        2 => Just(Event::Completed),
        2 => Just(Event::Passed),
        3 => look.prop_map(|(busy, asleep, crowd)| Event::Looked(busy, asleep, crowd)),
        // A convoy.
        2 => (4..300u32).prop_map(|busy| Event::Looked(busy, busy, busy - 2)),
    ]
}

proptest! {
    #[test]
    fn growth_is_never_stopped(
        events in proptest::collection::vec(event(), 1..600),
        target in 1..97u32,
    ) {
        let mut growth = Growth::default();
        let (mut now, mut busy) = (ms(1), 1);
        let mut allowed_at = now;
        for event in events {
            match event {
                Event::Pass(us) => now = now.after(us * 1000),
                Event::Completed => growth.completed(now),
                Event::Passed => growth.passed(now),
                Event::Looked(of, asleep, crowd) => {
                    busy = of;
                    let (asleep, crowd) = (asleep.min(of), crowd.min(asleep).min(of));
                    growth.looked(now, Look { busy, asleep, crowd, lock: LOCK }, target);
                }
            }
            match growth.gate(now, busy, target) {
                // A look follows at once.
                Gate::Ask => allowed_at = now,
                Gate::Open => {
                    growth.started(now, busy);
                    (busy, allowed_at) = (busy + 1, now);
                }
                Gate::Wait(until) => {
                    prop_assert!(until > now && until.since(now) <= DAMP_LAST);
                    prop_assert!(now.since(allowed_at) <= START_BOUND);
                    prop_assert_eq!(growth.wakes_at(now), Some(until));
                }
            }
        }
    }
}
