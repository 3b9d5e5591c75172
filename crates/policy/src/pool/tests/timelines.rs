//! The example scenarios of the kernel's `workqueue.rst`, in virtual time.
//!
//! w0 burns 5 ms, sleeps 10 ms, burns 5 ms; w1 and w2 burn 5 ms and sleep 10 ms. All three are
//! queued at 0 on one CPU. Falling asleep and waking up are reported at once, as the scheduler's
//! hooks do: `hint_begin` and `hint_end`.

use super::super::Rule;
use super::*;
use crate::pwq::PwqFlags;
use std::collections::VecDeque;
use std::string::String;
use std::{format, vec};

#[derive(Clone, Copy)]
enum Does {
    Burn(u64),
    Sleep(u64),
}
use Does::{Burn, Sleep};

struct Script {
    steps: Vec<Does>,
    /// The step it is in, and when that is over; nothing while it waits for the CPU.
    at: usize,
    until: Option<u64>,
}

impl Script {
    /// It has the CPU.
    fn burns(&self) -> bool {
        self.until.is_some() && matches!(self.steps[self.at], Burn(_))
    }
}

/// One CPU that runs what became runnable first, to its end.
struct Machine {
    rig: Rig,
    scripts: Vec<Script>,
    runnable: VecDeque<usize>,
    started: usize,
    log: String,
}

fn ms(rig: &Rig) -> u64 {
    rig.now.0 / MILLISECOND
}

/// The timeline of the scenario under these attributes and this limit.
fn timeline(attrs: PoolAttrs, max_active: u32) -> String {
    let rig = Rig::one(attrs, max_active);
    timeline_of(rig, [0; 3])
}

/// The timeline if the items are queued through these.
fn timeline_of(rig: Rig, pwqs: [usize; 3]) -> String {
    let script = |steps| Script {
        steps,
        at: 0,
        until: None,
    };
    let mut machine = Machine {
        rig,
        scripts: vec![
            script(vec![Burn(5), Sleep(10), Burn(5)]),
            script(vec![Burn(5), Sleep(10)]),
            script(vec![Burn(5), Sleep(10)]),
        ],
        runnable: VecDeque::new(),
        started: 0,
        log: String::new(),
    };
    for pwq in pwqs {
        machine.rig.queue_new(1, pwq);
    }
    machine.settle();
    while let Some(next) = machine.scripts.iter().filter_map(|s| s.until).min() {
        machine.rig.now = Time(next * MILLISECOND);
        let is_due = |&w: &usize| machine.scripts[w].until == Some(next);
        let mut due: Vec<usize> = (0..3).filter(is_due).collect();
        // In one instant, who has the CPU comes before those that wake up.
        due.sort_by_key(|&w| !machine.scripts[w].burns());
        for work in due {
            machine.step_over(work);
            machine.settle();
        }
    }
    assert_eq!(machine.rig.pools[0].nr_in_flight(), 0);
    machine.log
}

impl Machine {
    fn log(&mut self, what: &str, work: usize) {
        self.log += &format!("{:2} w{work} {what}\n", ms(&self.rig));
    }

    /// Who has begun becomes runnable; a look that was asked for happens; the CPU takes the next.
    fn settle(&mut self) {
        loop {
            self.rig.run();
            if !self.rig.pools[0].growth.is_asking() {
                break;
            }
            self.rig.scan(0, |_| SeenState::Runnable);
        }
        while let Some(&work) = self.rig.started.get(self.started) {
            self.log("starts", work);
            self.runnable.push_back(work);
            self.started += 1;
        }
        if self.scripts.iter().any(Script::burns) {
            return;
        }
        if let Some(work) = self.runnable.pop_front() {
            let script = &mut self.scripts[work];
            let Burn(time) = script.steps[script.at] else {
                panic!("who sleeps needs no CPU");
            };
            script.until = Some(ms(&self.rig) + time);
        }
    }

    /// The step that this item is in is over.
    fn step_over(&mut self, work: usize) {
        let now = ms(&self.rig);
        let script = &mut self.scripts[work];
        script.until = None;
        let woke = matches!(script.steps[script.at], Sleep(_));
        script.at += 1;
        let next = script.steps.get(script.at).copied();
        if let Some(Sleep(time)) = next {
            script.until = Some(now + time);
            self.log("sleeps", work);
            return self.rig.hint_begin(work);
        }
        if woke {
            self.rig.hint_end(work);
            self.log("wakes up", work);
        }
        match next {
            Some(_) => self.runnable.push_back(work),
            None => {
                self.log("finishes", work);
                self.rig.end_and_run(work, ItemReport::default());
            }
        }
    }
}

fn lines(log: &str) -> Vec<&str> {
    log.lines().map(str::trim).collect()
}

const NEVER_IDLE: &str = "
     0 w0 starts
     5 w0 sleeps
     5 w1 starts
    10 w1 sleeps
    10 w2 starts
    15 w2 sleeps
    15 w0 wakes up
    20 w0 finishes
    20 w1 wakes up
    20 w1 finishes
    25 w2 wakes up
    25 w2 finishes";

#[test]
fn with_max_active_3_the_cpu_is_never_idle() {
    for max_active in [3, 4, 1024] {
        let log = timeline(attrs(1), max_active);
        assert_eq!(lines(&log), lines(NEVER_IDLE.trim_start()), "{max_active}");
    }
}

#[test]
fn with_max_active_2_the_third_waits_for_a_slot() {
    let expected = "
         0 w0 starts
         5 w0 sleeps
         5 w1 starts
        10 w1 sleeps
        15 w0 wakes up
        20 w0 finishes
        20 w2 starts
        20 w1 wakes up
        20 w1 finishes
        25 w2 sleeps
        35 w2 wakes up
        35 w2 finishes";
    let log = timeline(attrs(1), 2);
    assert_eq!(lines(&log), lines(expected.trim_start()));
}

const ONE_AFTER_THE_OTHER: &str = "
     0 w0 starts
     5 w0 sleeps
    15 w0 wakes up
    20 w0 finishes
    20 w1 starts
    25 w1 sleeps
    35 w1 wakes up
    35 w1 finishes
    35 w2 starts
    40 w2 sleeps
    50 w2 wakes up
    50 w2 finishes";

#[test]
fn with_max_active_1_they_run_one_after_the_other() {
    let log = timeline(attrs(1), 1);
    assert_eq!(lines(&log), lines(ONE_AFTER_THE_OTHER.trim_start()));
}

#[test]
fn one_thread_is_the_original_workqueue() {
    let one = PoolAttrs {
        thread_limit: 1,
        ..attrs(1)
    };
    let log = timeline(one, 1024);
    assert_eq!(lines(&log), lines(ONE_AFTER_THE_OTHER.trim_start()));
}

#[test]
fn a_target_of_two_starts_two_at_once() {
    // Not in the kernel's document: two are started, and take turns on the one CPU.
    let log = timeline(attrs(2), 1024);
    assert_eq!(lines(&log)[..2], ["0 w0 starts", "0 w1 starts"]);
}

fn per_cpu() -> PoolAttrs {
    PoolAttrs {
        rule: Rule::PerCpu,
        ..attrs(1)
    }
}

#[test]
fn a_per_cpu_pool_keeps_the_documented_times() {
    let log = timeline(per_cpu(), 3);
    assert_eq!(lines(&log), lines(NEVER_IDLE.trim_start()));
    let log = timeline(per_cpu(), 1);
    assert_eq!(lines(&log), lines(ONE_AFTER_THE_OTHER.trim_start()));
}

#[test]
fn cpu_intensive_ones_both_start_when_the_first_sleeps() {
    // 20, 20 and 25 as documented: the CPU takes one after the other. Beside each other, as a fair
    // scheduler takes them, 20, 25 and 25.
    let expected = "
         0 w0 starts
         5 w0 sleeps
         5 w1 starts
         5 w2 starts
        10 w1 sleeps
        15 w2 sleeps
        15 w0 wakes up
        20 w0 finishes
        20 w1 wakes up
        20 w1 finishes
        25 w2 wakes up
        25 w2 finishes";
    let mut rig = Rig::new([per_cpu()]);
    let usual = rig.pwq(0, 1024);
    let flags = PwqFlags {
        cpu_intensive: true,
        ..PwqFlags::default()
    };
    let intensive = rig.pwq_with(0, 1024, flags);
    let log = timeline_of(rig, [usual, intensive, intensive]);
    assert_eq!(lines(&log), lines(expected.trim_start()));
}
