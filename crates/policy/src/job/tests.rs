//! The whole core, played by threads that take turns at random.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::time::Nanos;

/// A job and its threads, each between two of its steps.
struct Rig {
    core: Core,
    cut: Cut,
    fronts: Vec<Cell<Front>>,
    threads: Vec<Thread>,
    /// How often each unit was done.
    counts: Vec<u32>,
    steps: Vec<(u64, u64)>,
    failed: Vec<(u64, u64)>,
}

#[derive(Default)]
struct Thread {
    chunk: Option<(Taken, Steps)>,
    /// Units completed of its chunk.
    completed: u64,
    /// A step is in flight, from here to there.
    flying: Option<(u64, u64)>,
    pace: Speed,
    is_out: bool,
}

#[derive(Clone, Debug)]
struct Given {
    size: u64,
    align: u64,
    min_chunk: u64,
    threads: u32,
    chunks: Chunks,
    nodes: u32,
}

impl Rig {
    fn new(given: &Given) -> Rig {
        let cut = Cut::new(given.align, given.min_chunk);
        let (max_threads, cpus) = (0, given.threads);
        let shape = Shape {
            size: given.size,
            cut,
            max_threads,
            cpus,
        };
        let part = |node: u64| {
            let bound = |node: u64| given.size * node / u64::from(given.nodes);
            let (at, end) = (bound(node), bound(node + 1));
            let node = (given.nodes > 1).then_some(node as u32);
            Part {
                node,
                units: at..end,
            }
        };
        let parts = (0..given.nodes.into()).map(part).collect();
        Rig {
            core: Core::new(&shape, given.threads, given.chunks, parts, true),
            cut,
            fronts: vec![Cell::new(Front::NONE); given.threads as usize],
            threads: (0..given.threads).map(|_| Thread::default()).collect(),
            counts: vec![0; given.size as usize],
            steps: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// One move of this thread: it takes a chunk, begins a step, or ends one (which takes `took`,
    /// and fails).
    fn act(&mut self, index: usize, took: Nanos, fails: bool) {
        let thread = &mut self.threads[index];
        let Some((taken, steps)) = &mut thread.chunk else {
            return self.ask(index);
        };
        if let Some((from, to)) = thread.flying.take() {
            if fails {
                let at = taken.units.start;
                self.failed.push((at + from, at + to));
                return self.fail(index);
            }
            let at = taken.units.start;
            (at + from..at + to).for_each(|unit| self.counts[unit as usize] += 1);
            self.steps.push((at + from, at + to));
            thread.completed = to;
            thread.pace.took(to - from, took);
            return;
        }
        if took.is_multiple_of(17) {
            // A helper that leaves; this one comes back.
            return self.settle(index);
        }
        let front = self.fronts.load(index);
        let from = steps.begun();
        match steps
            .next(thread.pace)
            .and_then(|to| Some((to, front.advance(from, to)?)))
        {
            Some((to, front)) => {
                self.fronts[index].set(front);
                steps.begin(to);
                thread.flying = Some((from, to));
            }
            None => self.settle(index),
        }
    }

    fn ask(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let node = Some(index as u32 % 2);
        let asker = Asker {
            thread: index,
            node,
            pace: Some(thread.pace),
        };
        let taken = self.core.next(asker, &self.fronts);
        thread.is_out = taken.is_none();
        thread.chunk = taken.map(|taken| (taken.clone(), Steps::new(self.cut, &taken)));
        thread.completed = 0;
    }

    fn settle(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        self.core.settle(index, thread.completed);
        thread.chunk = None;
        self.fronts[index].set(Front::NONE);
    }

    fn fail(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        self.core.fail(index, thread.completed);
        (thread.chunk, thread.is_out) = (None, true);
    }

    /// Lets threads act in this order, then one after the other until all are out.
    fn play(&mut self, turns: &[(usize, Nanos)], fails: &[usize]) {
        let nr = self.threads.len();
        for (turn, &(thread, took)) in turns.iter().enumerate() {
            self.act(thread % nr, took, fails.contains(&turn));
        }
        while let Some(thread) = (0..nr).find(|&index| !self.threads[index].is_out) {
            self.act(thread, STEP_TIME, false);
        }
    }
}

fn given() -> impl Strategy<Value = Given> {
    let chunks = prop_oneof![Just(Chunks::Kernel), Just(Chunks::Adaptive)];
    (0u64..3000, 1u64..100, 1u64..100, 1u32..9, chunks, 1u32..4).prop_map(
        |(size, align, min_chunk, threads, chunks, nodes)| Given {
            size,
            align,
            min_chunk,
            threads,
            chunks,
            nodes,
        },
    )
}

fn turns() -> impl Strategy<Value = Vec<(usize, Nanos)>> {
    proptest::collection::vec((0usize..8, 1u64..10_000_000), 0..400)
}

proptest! {
    #[test]
    fn every_unit_is_done_once(given in given(), turns in turns()) {
        let mut rig = Rig::new(&given);
        rig.play(&turns, &[]);
        prop_assert!(rig.counts.iter().all(|&count| count == 1));
        prop_assert_eq!(rig.core.completed(), given.size);
        let whole: Vec<_> = rig.core.done().unwrap().ranges().collect();
        prop_assert_eq!(whole.len() as u64, given.size.min(1));
    }

    #[test]
    fn steps_are_in_line_and_long_enough(given in given(), turns in turns()) {
        let given = Given { nodes: 1, ..given };
        let mut rig = Rig::new(&given);
        rig.play(&turns, &[]);
        for &(from, to) in &rig.steps {
            prop_assert_eq!(from % given.align, 0);
            prop_assert!(to % given.align == 0 || to == given.size);
            prop_assert!(to - from >= given.min_chunk.min(given.size), "{from}..{to}");
        }
    }

    #[test]
    fn an_undo_covers_what_was_completed(
        given in given(), turns in turns(), at in proptest::collection::vec(0usize..400, 1..4),
    ) {
        let mut rig = Rig::new(&given);
        rig.play(&turns, &at);
        let mut undone = vec![0; given.size as usize];
        for range in rig.core.done().unwrap().ranges() {
            range.for_each(|unit| undone[unit as usize] += 1);
        }
        prop_assert_eq!(&undone, &rig.counts);
        prop_assert_eq!(rig.core.completed(), rig.core.done().unwrap().units());
        // What failed was not done by somebody else.
        for &(from, to) in &rig.failed {
            prop_assert!((from..to).all(|unit| rig.counts[unit as usize] == 0));
        }
    }
}

fn two_threads(size: u64, chunks: Chunks) -> Rig {
    Rig::new(&Given {
        size,
        align: 1,
        min_chunk: 1,
        threads: 2,
        chunks,
        nodes: 1,
    })
}

/// The helper has a chunk and has begun a step, when its CPU is taken away for ever. The caller
/// does all the rest: that one step is all that is left.
#[test]
fn the_tail_is_one_step() {
    for chunks in [Chunks::Kernel, Chunks::Adaptive] {
        let mut rig = two_threads(100_000, chunks);
        rig.act(1, 1, false);
        rig.act(1, 1, false);
        let (from, to) = rig.threads[1].flying.unwrap();
        while !rig.threads[0].is_out {
            rig.act(0, STEP_TIME / 8, false);
        }
        let missing = rig.counts.iter().filter(|&&count| count == 0).count();
        assert_eq!(missing as u64, to - from);
    }
}

#[test]
fn only_the_first_error_counts_and_nobody_goes_on() {
    let mut rig = two_threads(100, Chunks::Kernel);
    assert!(rig.core.fail(0, 0).0);
    assert!(!rig.core.fail(1, 0).0);
    rig.play(&[], &[]);
    assert_eq!(rig.core.completed(), 0);
}

/// A step of the helper fails while the caller has nothing left to do: it gets nothing of that
/// chunk, neither the step nor what is behind it.
#[test]
fn what_failed_is_not_given_out_again() {
    for chunks in [Chunks::Kernel, Chunks::Adaptive] {
        let mut rig = two_threads(1000, chunks);
        rig.act(1, 1, false);
        let helpers = rig.threads[1].chunk.as_ref().unwrap().0.units.clone();
        rig.act(1, 1, false);
        rig.act(1, 1, false);
        rig.act(1, 1, false);
        let (failed, _) = rig.threads[1].flying.unwrap();
        assert!(failed > 0 && rig.threads[1].completed == failed);
        rig.act(1, 1, true);
        while !rig.threads[0].is_out {
            rig.act(0, 1, false);
        }
        let mut done = rig.core.done().unwrap().ranges();
        assert_eq!(done.next(), Some(helpers.start..helpers.start + failed));
        assert_eq!(done.next(), None);
    }
}

#[test]
fn the_own_node_comes_first() {
    let mut rig = Rig::new(&Given {
        size: 800,
        align: 1,
        min_chunk: 1,
        threads: 2,
        chunks: Chunks::Kernel,
        nodes: 2,
    });
    for thread in [0, 1] {
        while rig.threads[thread].completed == 0 {
            rig.act(thread, STEP_TIME, false);
        }
    }
    let firsts: Vec<u64> = rig.steps.iter().map(|step| step.0).collect();
    assert_eq!(firsts, [0, 400]);
}

/// The longest chunk that there may be, and the first step of it.
#[test]
fn the_longest_chunk_fits_its_word() {
    let cut = Cut::new(u64::MAX, u64::MAX);
    let shape = Shape {
        size: u64::MAX,
        cut,
        max_threads: 0,
        cpus: 1,
    };
    let parts = vec![Part {
        node: None,
        units: 0..u64::MAX,
    }];
    let mut core = Core::new(&shape, 1, Chunks::Kernel, parts, false);
    let fronts = vec![Cell::new(Front::NONE)];
    let asker = Asker {
        thread: 0,
        node: None,
        pace: None,
    };
    let mut units = 0;
    while let Some(taken) = core.next(asker, &fronts) {
        assert!((taken.units.end - taken.units.start) < 1 << 63);
        let to = Steps::new(cut, &taken).next(Speed::new()).unwrap();
        assert_eq!(Front::OPEN.advance(0, to).unwrap().begun(), Some(to));
        core.settle(0, taken.units.end - taken.units.start);
        units += taken.units.end - taken.units.start;
    }
    assert_eq!(units, u64::MAX);
}

#[test]
fn a_helper_does_not_claim_crumbs() {
    let mut rig = two_threads(1000, Chunks::Kernel);
    rig.threads[1].pace = settled(300);
    // The caller holds the last chunk, none of it begun.
    while rig
        .core
        .next(
            Asker {
                thread: 0,
                node: None,
                pace: None,
            },
            &rig.fronts,
        )
        .unwrap()
        .units
        .end
        < 1000
    {
        rig.core.settle(0, 125);
    }
    rig.act(1, 1, false);
    assert!(rig.threads[1].is_out);
}

/// A thread that does so many units in a step.
fn settled(units: u64) -> Speed {
    let mut pace = Speed::new();
    pace.took(units, STEP_TIME);
    pace
}
