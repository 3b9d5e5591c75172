//! Single rules, then a model machine.

use std::vec;

use proptest::prelude::*;

use super::*;
use cmwq_policy::time::SECOND;

const MIB: u64 = 1 << 20;

/// Asks, and reads this headroom where it is asked to.
fn ask(memory: &mut Memory, now: Time, headroom: u64) -> bool {
    if memory.may_start(now) == Admit::Read {
        memory.read(now, headroom, 0);
    }
    memory.may_start(now) == Admit::Start
}

/// After `count` jobs that took `peak` each.
fn knowing(count: u64, peak: u64) -> Memory {
    let mut memory = Memory::new(0, 2);
    for id in 0..count {
        memory.started(id, Time(0));
        memory.ended(id, 0, peak, 0);
    }
    memory
}

#[test]
fn one_job_always_runs() {
    let mut memory = knowing(30, 100 * MIB);
    assert!(ask(&mut memory, Time(0), 0));
    memory.started(100, Time(0));
    assert!(!ask(&mut memory, Time(0), 0), "and no other one");
    memory.ended(100, 0, 0, 0);
    assert!(ask(&mut memory, Time(0), 0));
}

#[test]
fn what_the_starter_had_is_not_the_jobs() {
    let mut memory = Memory::new(0, 2);
    memory.started(1, Time(0));
    memory.ended(1, 0, 8 * MIB, 8 * MIB);
    assert_eq!(memory.expected(), 0);
    memory.started(2, Time(0));
    memory.ended(2, 0, 9 * MIB, 8 * MIB);
    assert!(memory.expected() >= 9 * MIB);
}

#[test]
fn each_rise_of_a_count_is_one_job_killed_for_memory() {
    let mut kills = Kills::since(vec![7, 0]);
    assert!(!kills.is_one(&[7, 0]), "somebody else has killed it");
    assert!(kills.is_one(&[8, 1]), "counted twice, killed once");
    assert!(!kills.is_one(&[8, 1]));
    assert!(kills.is_one(&[9, 1]));
    assert!(!Kills::since(Vec::new()).is_one(&[]));
}

#[test]
fn running_jobs_will_grow() {
    let mut memory = knowing(5, 100 * MIB);
    memory.started(10, Time(0));
    memory.started(11, Time(0));
    assert!(!ask(&mut memory, Time(0), 299 * MIB));
    memory.is_now(10, 60 * MIB, 60 * MIB);
    let later = Time(VALID_NEAR);
    assert!(
        ask(&mut memory, later, 299 * MIB),
        "one of them has grown already"
    );
}

#[test]
fn before_any_has_ended_the_largest_running_one_counts() {
    let mut memory = Memory::new(0, 2);
    (0..4).for_each(|id| memory.started(id, Time(0)));
    assert!(ask(&mut memory, Time(0), MIB), "nothing is known");
    memory.is_now(2, 10 * MIB, 10 * MIB);
    assert_eq!(memory.expected(), 10 * MIB);
    let later = Time(VALID_FAR + 1);
    assert!(!ask(&mut memory, later, 39 * MIB));
    assert!(ask(&mut memory, later.after(RETRY_LAST), 40 * MIB));
}

#[test]
fn what_is_to_be_kept_free_is_kept() {
    let mut memory = Memory::new(50 * MIB, 2);
    memory.started(0, Time(0));
    memory.is_now(0, 10 * MIB, 10 * MIB);
    assert!(!ask(&mut memory, Time(0), 59 * MIB));
    assert!(ask(&mut memory, Time(RETRY_LAST), 60 * MIB));
}

#[test]
fn where_there_is_plenty_it_is_read_seldom() {
    let mut memory = knowing(30, MIB);
    let mut readings = 0;
    for id in 0..10_000 {
        let now = Time(id * MILLISECOND / 2);
        memory.started(100 + id, Time(0));
        if memory.may_start(now) == Admit::Read {
            readings += 1;
            assert!(memory.sizes_to_read().len() <= SIZES_NEAR);
            memory.read(now, u64::MAX, 0);
        }
        memory.ended(100 + id, 0, MIB, 0);
    }
    assert!(readings <= 51, "{readings} in 5 s");
}

#[test]
fn readings_that_are_dear_are_rare() {
    let mut memory = Memory::new(0, 2);
    memory.started(0, Time(0));
    memory.is_now(0, MIB, MIB);
    memory.read(Time(0), 0, 10 * MILLISECOND);
    let wait = Admit::Wait(640 * MILLISECOND);
    assert_eq!(memory.may_start(Time(0)), wait);
    memory.read(Time(0), u64::MAX, 10 * MILLISECOND);
    assert_eq!(memory.may_start(Time(639 * MILLISECOND)), Admit::Start);
    assert_eq!(memory.may_start(Time(641 * MILLISECOND)), Admit::Read);
}

#[test]
fn who_is_refused_asks_less_and_less_often_until_a_job_ends() {
    let mut memory = Memory::new(0, 2);
    (0..2).for_each(|id| memory.started(id, Time(0)));
    memory.is_now(0, MIB, MIB);
    let mut now = Time(0);
    let mut waits = Vec::new();
    for _ in 0..9 {
        memory.read(now, 0, 0);
        let Admit::Wait(nanos) = memory.may_start(now) else {
            panic!("there is no room");
        };
        waits.push(nanos);
        now = now.after(nanos);
    }
    assert_eq!(waits[..3], [RETRY_FIRST, 2 * RETRY_FIRST, 4 * RETRY_FIRST]);
    assert_eq!(waits[8], RETRY_LAST);
    memory.read(now, 0, 0);
    memory.ended(1, 0, 0, 0);
    assert_eq!(memory.may_start(now), Admit::Wait(AFTER_END));
}

#[test]
fn sizes_are_read_in_turn() {
    let mut memory = Memory::new(0, 2);
    (0..20).for_each(|id| memory.started(id, Time(0)));
    memory.read(Time(0), u64::MAX, 0);
    let mut seen: Vec<u64> = (0..3).flat_map(|_| memory.sizes_to_read()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

#[test]
fn those_that_run_longer_than_any_did_may_become_anything() {
    let mut memory = Memory::new(0, 2);
    for id in 0..30 {
        memory.started(id, Time(0));
        memory.ended(id, 2 * MILLISECOND, MIB, 0);
    }
    (100..108).for_each(|id| memory.started(id, Time(0)));
    (100..108).for_each(|id| memory.is_now(id, MIB, MIB));
    let (young, old) = (Time(2 * MILLISECOND), Time(100 * MILLISECOND));
    assert!(
        ask(&mut memory, young, 50 * MIB),
        "they may be like the others"
    );
    assert!(!ask(&mut memory, old, 50 * MIB));
    assert!(ask(
        &mut memory,
        old.after(RETRY_LAST),
        8 * 256 * MIB + 2 * MIB
    ));
    memory.ended(107, old.0, MIB, 0);
    assert!(
        ask(&mut memory, old.after(2 * RETRY_LAST), 50 * MIB),
        "fewer than that may run at the beginning too, and one of their age has ended"
    );
}

#[test]
fn what_an_unknown_job_has_of_files_says_nothing() {
    let mut memory = knowing(30, MIB);
    (100..140).for_each(|id| memory.started(id, Time(0)));
    let old = Time(100 * MILLISECOND);
    let room = 40 * 64 * 4 * MIB + 12 * MIB;
    (100..140).for_each(|id| memory.is_now(id, 12 * MIB, 2 * MIB));
    assert!(ask(&mut memory, old, room));
    (100..140).for_each(|id| memory.is_now(id, 12 * MIB, 8 * MIB));
    assert!(!ask(&mut memory, old.after(RETRY_LAST), room));
}

#[test]
fn who_runs_for_hours_holds_nobody_back() {
    let mut memory = knowing(30, MIB);
    (100..108).for_each(|id| memory.started(id, Time(0)));
    (100..108).for_each(|id| memory.is_now(id, 500 * MIB, 500 * MIB));
    assert!(!ask(&mut memory, Time(SETTLED - 1), 2 * MIB));
    assert!(ask(&mut memory, Time(SETTLED + RETRY_LAST), 2 * MIB));
}

#[test]
fn a_job_is_compared_with_those_that_ran_as_long() {
    let mut memory = knowing(100, MIB);
    memory.started(200, Time(0));
    memory.ended(200, SECOND, 50 * MIB, 0);
    memory.started(201, Time(SECOND));
    memory.is_now(201, MIB, MIB);
    assert!(ask(&mut memory, Time(SECOND), 40 * MIB));
    let later = Time(SECOND + 100 * MILLISECOND);
    assert!(!ask(&mut memory, later, 40 * MIB), "it will have 50");
    assert!(ask(&mut memory, later.after(RETRY_LAST), 52 * MIB));
}

/// A machine on which all jobs take the same in the end.
#[derive(Debug)]
struct Machine {
    total: u64,
    peak: u64,
    /// How long a job runs until it has its peak, and until it ends.
    grows_at: Nanos,
    runs: Nanos,
    /// Whom somebody else has taken memory from.
    taken: u64,
    now: Time,
    /// Since when each job runs.
    jobs: Vec<(u64, Time)>,
    memory: Memory,
}

impl Machine {
    fn size(&self, since: Time) -> u64 {
        match self.now.since(since) >= self.grows_at {
            true => self.peak,
            false => self.peak / 100,
        }
    }

    fn used(&self) -> u64 {
        let sizes = self.jobs.iter().map(|&(_, since)| self.size(since));
        self.taken + sizes.sum::<u64>()
    }

    /// Time goes on, and who has run for long enough ends.
    fn pass(&mut self, nanos: Nanos) {
        self.now = self.now.after(nanos);
        let (now, runs) = (self.now, self.runs);
        let (ended, rest) = self
            .jobs
            .iter()
            .partition(|&&(_, since)| now.since(since) >= runs);
        self.jobs = rest;
        let ended: Vec<(u64, Time)> = ended;
        ended
            .iter()
            .for_each(|&(id, _)| self.memory.ended(id, runs, self.peak, 0));
    }

    fn read(&mut self) {
        for id in self.memory.sizes_to_read() {
            let job = self.jobs.iter().find(|job| job.0 == id);
            let bytes = job.map_or(0, |&(_, since)| self.size(since));
            self.memory.is_now(id, bytes, bytes);
        }
        let headroom = self.total.saturating_sub(self.used());
        self.memory.read(self.now, headroom, 0);
    }

    /// Starts as many as may, at most `most`.
    fn start(&mut self, ids: &mut core::ops::Range<u64>, most: usize) {
        for _ in 0..most {
            if self.memory.may_start(self.now) == Admit::Read {
                self.read();
            }
            if self.memory.may_start(self.now) != Admit::Start {
                return;
            }
            let Some(id) = ids.next() else {
                return;
            };
            self.memory.started(id, self.now);
            self.jobs.push((id, self.now));
        }
    }
}

fn machine() -> impl Strategy<Value = Machine> {
    (1_u64..400, 0_u64..3_000, 1_u64..3_000, 0_u64..10).prop_map(|(share, grows, more, keep)| {
        let total = 4_000 * MIB;
        let mut memory = Memory::new(total / 100 * keep, 2);
        let peak = 10 * MIB * share;
        memory.started(u64::MAX, Time(0));
        memory.ended(u64::MAX, 0, peak, 0);
        Machine {
            total,
            peak,
            grows_at: grows * MILLISECOND,
            runs: (grows + more) * MILLISECOND,
            taken: 0,
            now: Time(0),
            jobs: Vec::new(),
            memory,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equal_jobs_never_take_more_than_there_is(mut m in machine(),
        steps in prop::collection::vec((1_u64..200, 0_usize..40), 1..200))
    {
        let mut ids = 0..u64::MAX - 1;
        for (millis, most) in steps {
            m.start(&mut ids, most);
            m.pass(millis * MILLISECOND);
            let limit = (m.total - m.memory.keep_free).max(m.peak);
            prop_assert!(m.used() <= limit, "{} of {}", m.used(), limit);
        }
    }

    #[test]
    fn all_jobs_run_and_memory_is_used(mut m in machine(), taken in 0_u64..4_000) {
        m.taken = taken * MIB;
        let mut ids = 0..100;
        let (mut most, mut rounds) = (0, 0);
        while !ids.is_empty() || !m.jobs.is_empty() {
            m.start(&mut ids, 100);
            most = most.max(m.jobs.len() as u64);
            m.pass(50 * MILLISECOND);
            // Half way the memory comes back.
            if ids.start >= 50 {
                m.taken = 0;
            }
            rounds += 1;
            // One after the other in the worst case, each with the longest wait before it.
            prop_assert!(rounds <= 100 * (6_000 + 640) / 50, "jobs wait for ever");
        }
        // What a quantile is too large by is not used.
        let room = (m.total - m.memory.keep_free) * 8 / 9 / m.peak;
        prop_assert!(most >= room.clamp(1, 25), "{} of {}", most, room);
    }
}
