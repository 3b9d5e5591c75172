//! Jobs on a made-up machine that always lets as many run as may: its CPUs seem to idle.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use cmwq_policy::time::MILLISECOND;

/// How many jobs of a second all together get done in a second while so many run, in thousandths.
type Serves = fn(u64) -> u64;

/// Jobs wait for nothing that others use.
fn waiting(running: u64) -> u64 {
    1_000 * running
}

/// Twenty of them at a time.
fn full(running: u64) -> u64 {
    1_000 * running.min(20)
}

/// Most with six; with many they get into each other's way until hardly any ends.
fn thrashing(running: u64) -> u64 {
    let n = running as u128;
    (1_000 * n * 512 / (512 + n * n * n)) as u64
}

struct Machine {
    serves: Serves,
    pace: Pace,
    most: u64,
    now: Time,
    /// What each running job still has to do, in nanoseconds.
    left: Vec<u64>,
    ended: u64,
}

impl Machine {
    fn new(serves: Serves, most: u64) -> Self {
        Machine {
            serves,
            pace: Pace::new(Time(0), 2, 8),
            most,
            now: Time(0),
            left: Vec::new(),
            ended: 0,
        }
    }

    fn may_run(&self) -> usize {
        let slow_start = crate::slow_start(2, self.ended);
        self.most.min(slow_start).min(self.pace.ceiling()) as usize
    }

    /// Until the next job ends. New ones get their lengths from `length`.
    fn step(&mut self, length: &mut impl FnMut(u64) -> u64) {
        while self.left.len() < self.may_run() {
            let number = self.ended + self.left.len() as u64;
            self.left.push(length(number));
        }
        let running = self.left.len() as u64;
        let least = *self.left.iter().min().expect("one may always run");
        // Each of them gets an equal part of what is done.
        let speed = u128::from((self.serves)(running).max(1));
        let took = u128::from(least) * u128::from(running) * 1_000 / speed;
        self.now = self.now.after(took as u64);
        self.left.iter_mut().for_each(|left| *left -= least);
        let at = self.left.iter().position(|&left| left == 0);
        self.left.swap_remove(at.expect("one has nothing left"));
        self.ended += 1;
        self.pace.ended(self.now, running - 1);
    }

    /// Seconds of work per 1000 s that were done, from one count of ended jobs to another.
    fn rate(&mut self, from: u64, to: u64, mut length: impl FnMut(u64) -> u64) -> u64 {
        while self.ended < from {
            self.step(&mut length);
        }
        let (begun, mut done) = (self.now, 0_u128);
        while self.ended < to {
            let before: u128 = self.left.iter().map(|&left| u128::from(left)).sum();
            let mut started = 0_u128;
            let mut counting = |number| {
                let length = length(number);
                started += u128::from(length);
                length
            };
            self.step(&mut counting);
            let after: u128 = self.left.iter().map(|&left| u128::from(left)).sum();
            done += before + started - after;
        }
        (done * 1_000 / u128::from(self.now.since(begun).max(1))) as u64
    }
}

/// Lengths around a tenth of a second that look random.
fn uneven(seed: u64) -> impl FnMut(u64) -> u64 {
    move |number| {
        let mixed = (number ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (50 + mixed % 100) * MILLISECOND
    }
}

#[test]
fn growth_that_makes_all_slow_is_undone() {
    let best = (1..100).map(thrashing).max().unwrap();
    let freely = thrashing(200);
    let rate = Machine::new(thrashing, 200).rate(3_000, 6_000, uneven(1));
    assert!(freely * 20 < best, "without the rule: {freely} of {best}");
    assert!(rate * 3 > best * 2, "{rate} of {best}");
}

#[test]
fn what_is_held_back_is_tried_again() {
    let mut machine = Machine::new(thrashing, 200);
    machine.rate(2_000, 2_001, uneven(1));
    assert!(machine.pace.ceiling() < 40);
    // The disk, or whatever it was, is there for us alone now.
    machine.serves = waiting;
    let rate = machine.rate(20_000, 21_000, uneven(2));
    assert!(rate > waiting(150), "{rate}");
}

/// Lengths that change about as often as windows do: a trial by chance sees the short ones.
#[test]
fn what_a_trial_found_by_chance_is_forgotten() {
    for block in 130..170 {
        let mut even = uneven(block);
        let blocks = |number: u64| even(number) * [1, 13][(number / block % 2) as usize];
        let rate = Machine::new(waiting, 100).rate(2_000, 8_000, blocks);
        assert!(rate * 10 > waiting(100) * 9, "blocks of {block}: {rate}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn jobs_that_only_wait_are_not_held_back(seed: u64, most in 10_u64..150) {
        let rate = Machine::new(waiting, most).rate(2_000, 6_000, uneven(seed));
        prop_assert!(rate * 10 > waiting(most) * 9, "{} of {}", rate, waiting(most));
    }

    #[test]
    fn nor_where_more_bring_nothing(seed: u64, most in 20_u64..150) {
        let rate = Machine::new(full, most).rate(2_000, 6_000, uneven(seed));
        prop_assert!(rate * 10 > full(most) * 9, "{}", rate);
    }

    /// Now short jobs, now ones that are up to thirty times as long: fewer end, and it is not
    /// because many run.
    #[test]
    fn jobs_that_become_longer_are_held_back_for_a_short_while(seed: u64, block in 50_u64..1_000,
        times in 2_u64..30)
    {
        let mut even = uneven(seed);
        let blocks = |number: u64| even(number) * [1, times][(number / block % 2) as usize];
        let rate = Machine::new(waiting, 100).rate(2_000, 8_000, blocks);
        prop_assert!(rate * 10 > waiting(100) * 8, "{}", rate);
    }

    #[test]
    fn it_never_holds_back_more_than_it_may(ends in prop::collection::vec((0_u64..1_000, 0_u64..300), 0..2_000)) {
        let mut pace = Pace::new(Time(0), 4, 16);
        let mut now = Time(0);
        for (millis, running) in ends {
            now = now.after(millis * MILLISECOND);
            pace.ended(now, running);
            prop_assert!(pace.ceiling() >= 4);
        }
    }
}
