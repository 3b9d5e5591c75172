//! `rayon::spawn`, as rayon-core 1.13 does it: a deque for each CPU, last in first out for its
//! owner, first in first out for thieves; an injector for threads that are no workers, from which
//! items are taken one by one; counters of who idles and who sleeps. Each spawned item also counts
//! itself in and out of the pool, and has a reference of it: two lines that all share.
//!
//! Left out: that words of one kind may share a line with others, blocks of the injector, and what
//! a thread rereads before it sleeps.

use std::collections::VecDeque;

use cmwq_policy::Nanos;

use super::constants::{Private, RAYON};
use super::world::{Cx, Pool, Task};
use crate::cpu::lines::LineId;

/// A look at the deque of another CPU, of which a copy is at hand.
const GLANCE: Nanos = 2;

/// What the thread of a CPU is to the pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It sleeps, or queues from outside.
    Away,
    Idle,
    Working,
}

pub(super) struct Rayon {
    /// References of the pool, and its items that have not ended; `None`: items do not count.
    counts: Option<[LineId; 2]>,
    /// Who idles, and who sleeps.
    counters: LineId,
    head: LineId,
    tail: LineId,
    injected: VecDeque<Task>,
    deques: Vec<(LineId, VecDeque<Task>)>,
    /// Items in all deques.
    in_deques: usize,
    states: Vec<State>,
    /// How many are idle.
    idle: usize,
    /// By CPU: it has executed an item that has yet to count itself out.
    owes: Vec<bool>,
}

impl Rayon {
    pub(super) fn new(cx: &mut Cx<'_>) -> Rayon {
        let cpus = cx.topology.len();
        Rayon {
            counts: None,
            counters: cx.lines.add(),
            head: cx.lines.add(),
            tail: cx.lines.add(),
            injected: VecDeque::new(),
            deques: (0..cpus)
                .map(|_| (cx.lines.add(), VecDeque::new()))
                .collect(),
            in_deques: 0,
            states: vec![State::Away; cpus],
            idle: 0,
            owes: vec![false; cpus],
        }
    }

    pub(super) fn counted(cx: &mut Cx<'_>) -> Rayon {
        let counts = [cx.lines.add(), cx.lines.add()];
        Rayon {
            counts: Some(counts),
            ..Rayon::new(cx)
        }
    }

    fn count(&self, cx: &mut Cx<'_>) {
        self.counts.iter().flatten().for_each(|&line| cx.step(line));
    }

    fn wake(&mut self, cx: &mut Cx<'_>, most: usize) {
        for _ in 0..most {
            if let Some(cpu) = cx.wake_first() {
                self.states[cpu] = State::Idle;
                self.idle += 1;
                cx.step(self.counters);
            }
        }
    }

    /// More to do: somebody is woken, unless nobody sleeps, or one that is awake will see it.
    fn announce(&mut self, cx: &mut Cx<'_>, was_empty: bool) {
        cx.read(self.counters);
        if !was_empty || self.idle == 0 {
            self.wake(cx, 1);
        }
    }

    fn steal(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        let (cpus, thief) = (self.deques.len(), cx.cpu);
        if self.in_deques == 0 {
            cx.spend(GLANCE * (cpus as u64 - 1));
            return None;
        }
        let first = cx.random.below(cpus as u64) as usize;
        let victims = (first..cpus).chain(0..first);
        for victim in victims.filter(|&victim| victim != thief) {
            cx.spend(GLANCE);
            cx.read(self.deques[victim].0);
            if !self.deques[victim].1.is_empty() {
                cx.step(self.deques[victim].0);
                self.in_deques -= 1;
                return self.deques[victim].1.pop_front();
            }
        }
        None
    }

    fn pop_injected(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        cx.read(self.head);
        cx.read(self.tail);
        if !self.injected.is_empty() {
            cx.step(self.head);
        }
        self.injected.pop_front()
    }
}

impl Pool for Rayon {
    const PRIVATE: Private = RAYON;
    const LOOKS: u32 = 33;

    fn queue(&mut self, cx: &mut Cx<'_>, task: Task) {
        self.count(cx);
        let was_empty = if self.states[cx.cpu] == State::Working {
            let (line, deque) = &mut self.deques[cx.cpu];
            cx.step(*line);
            self.in_deques += 1;
            deque.push_back(task);
            deque.len() == 1
        } else {
            cx.read(self.head);
            cx.step(self.tail);
            self.injected.push_back(task);
            self.injected.len() == 1
        };
        self.announce(cx, was_empty);
    }

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        let cpu = cx.cpu;
        if std::mem::take(&mut self.owes[cpu]) {
            self.count(cx);
        }
        let (line, own) = &mut self.deques[cpu];
        cx.step(*line);
        let mut task = own.pop_back();
        if task.is_some() {
            self.in_deques -= 1;
        } else {
            task = self.look_around(cx);
        }
        self.owes[cpu] = task.is_some();
        task
    }

    fn falls_asleep(&mut self, cx: &mut Cx<'_>) {
        self.states[cx.cpu] = State::Away;
        self.idle -= 1;
        cx.step(self.counters);
    }

    fn lines(&self) -> (Vec<LineId>, Vec<LineId>) {
        let own = self.deques.iter().map(|(line, _)| *line);
        let counts = self.counts.iter().flatten().copied();
        let global = [self.counters, self.head, self.tail].into_iter();
        (global.chain(counts).collect(), own.collect())
    }
}

impl Rayon {
    /// The CPU has nothing of its own.
    fn look_around(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        let cpu = cx.cpu;
        if std::mem::replace(&mut self.states[cpu], State::Idle) != State::Idle {
            self.idle += 1;
            cx.step(self.counters);
        }
        let task = self.steal(cx).or_else(|| self.pop_injected(cx));
        if task.is_some() {
            self.states[cpu] = State::Working;
            self.idle -= 1;
            cx.step(self.counters);
            self.wake(cx, cx.nr_asleep().min(2));
        }
        task
    }
}
