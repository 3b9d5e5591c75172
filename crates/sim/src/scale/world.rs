//! CPUs that queue items, look for some and execute them: one thread for each CPU, in virtual time.
//! A CPU whose thread queues from outside works for the pool when it has queued all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use cmwq_policy::{Nanos, Time};

use super::constants::{Hardware, Private};
use super::{Cell, Outcome};
use crate::cpu::lines::{LineId, LineStats, Lines};
use crate::random::Random;
use crate::topology::Topology;

/// An item, and the CPU that queued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    number: u64,
    from: usize,
}

/// A pool, as far as lines show it. Each call is one CPU's, and spends that one's time.
pub(super) trait Pool {
    /// What an item takes of its own CPU.
    const PRIVATE: Private;
    /// So often who finds nothing looks again before it sleeps.
    const LOOKS: u32;

    fn queue(&mut self, cx: &mut Cx<'_>, task: Task);

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Task>;

    fn falls_asleep(&mut self, _cx: &mut Cx<'_>) {}

    /// The lines that all CPUs share, and the others.
    fn lines(&self) -> (Vec<LineId>, Vec<LineId>);
}

/// What the CPU that acts has at hand.
pub(super) struct Cx<'a> {
    pub(super) cpu: usize,
    pub(super) topology: &'a Topology,
    pub(super) hardware: &'a Hardware,
    /// How long an item takes, all in all.
    pub(super) item: Nanos,
    pub(super) lines: Lines,
    pub(super) random: Random,
    asleep: BTreeSet<usize>,
    woken: Vec<(usize, Nanos)>,
    now: Time,
    spent: Nanos,
}

impl Cx<'_> {
    pub(super) fn spend(&mut self, nanos: Nanos) {
        self.spent += nanos;
    }

    /// Steps an atomic word on the line.
    pub(super) fn step(&mut self, line: LineId) {
        self.hold(line, 0, self.hardware.atomic);
    }

    pub(super) fn hold(&mut self, line: LineId, others: u32, held: Nanos) {
        let at = self.now.after(self.spent);
        self.spent += self.lines.hold(line, at, self.cpu, others, held);
    }

    pub(super) fn read(&mut self, line: LineId) {
        let at = self.now.after(self.spent);
        self.spent += self.lines.read(line, at, self.cpu);
    }

    /// Wakes one that sleeps; which.
    pub(super) fn wake_first(&mut self) -> Option<usize> {
        let first = *self.asleep.first()?;
        self.wake(first);
        Some(first)
    }

    /// Wakes one of these that sleeps; which.
    pub(super) fn wake_among(&mut self, cpus: Range<usize>) -> Option<usize> {
        let first = *self.asleep.range(cpus).next()?;
        self.wake(first);
        Some(first)
    }

    /// Wakes the nearest one that sleeps; which.
    pub(super) fn wake_nearest(&mut self) -> Option<usize> {
        let far = |&cpu: &usize| self.topology.distance(self.cpu, cpu);
        let nearest = self.asleep.iter().copied().min_by_key(far)?;
        self.wake(nearest);
        Some(nearest)
    }

    pub(super) fn nr_asleep(&self) -> usize {
        self.asleep.len()
    }

    fn wake(&mut self, cpu: usize) {
        self.asleep.remove(&cpu);
        self.spent += self.hardware.wake;
        self.woken.push((cpu, self.spent + self.hardware.wakes_in));
    }
}

enum Doing {
    Queueing(Range<u64>),
    /// An item, which queues these when it has computed.
    Executing(Range<u64>),
    /// It has looked so often in vain.
    Looking(u32),
}

struct World<'a, P> {
    cell: &'a Cell,
    pool: P,
    cx: Cx<'a>,
    doing: Vec<Doing>,
    /// When each CPU acts next, in order.
    agenda: BinaryHeap<Reverse<(Time, u64, usize)>>,
    acts: u64,
    ended: u64,
}

/// Runs a model until all items have ended.
pub(super) fn run<P: Pool>(cell: &Cell, make: impl FnOnce(&mut Cx<'_>) -> P) -> Outcome {
    let cpus = cell.topology.len();
    let mut cx = Cx {
        cpu: 0,
        topology: &cell.topology,
        hardware: &cell.hardware,
        item: cell.item + P::PRIVATE.queue + P::PRIVATE.execute,
        lines: Lines::new(cell.topology.clone(), cell.hardware.trips),
        random: Random::new(cell.seed),
        asleep: BTreeSet::new(),
        woken: Vec::new(),
        now: Time(0),
        spent: 0,
    };
    let pool = make(&mut cx);
    let mut world = World {
        cell,
        pool,
        cx,
        doing: (0..cpus).map(|_| Doing::Looking(0)).collect(),
        agenda: BinaryHeap::new(),
        acts: 0,
        ended: 0,
    };
    for (cpu, items) in cell.producers(cell.items) {
        world.doing[cpu] = Doing::Queueing(items);
    }
    // All are awake, as after other items.
    (0..cpus).for_each(|cpu| world.acts_at(cpu, Time(0)));
    while world.ended < cell.items {
        let next = world.agenda.pop();
        let Reverse((now, _, cpu)) = next.expect("an item is lost: all CPUs sleep");
        (world.cx.now, world.cx.cpu, world.cx.spent) = (now, cpu, 0);
        world.cx.lines.pass_to(now);
        world.act(cpu);
    }
    world.outcome()
}

impl<P: Pool> World<'_, P> {
    fn acts_at(&mut self, cpu: usize, at: Time) {
        self.acts += 1;
        self.agenda.push(Reverse((at, self.acts, cpu)));
    }

    fn act(&mut self, cpu: usize) {
        let sleeps = match &mut self.doing[cpu] {
            Doing::Queueing(items) | Doing::Executing(items) if !items.is_empty() => {
                let number = items.next().expect("there is one");
                self.cx.spend(P::PRIVATE.queue);
                self.pool.queue(&mut self.cx, Task { number, from: cpu });
                false
            }
            Doing::Looking(looks) => {
                let looks = *looks;
                self.look(cpu, looks)
            }
            before => {
                self.ended += u64::from(matches!(before, Doing::Executing(_)));
                self.doing[cpu] = Doing::Looking(0);
                false
            }
        };
        let now = self.cx.now;
        for (cpu, after) in std::mem::take(&mut self.cx.woken) {
            self.doing[cpu] = Doing::Looking(0);
            self.acts_at(cpu, now.after(after));
        }
        if !sleeps {
            self.acts_at(cpu, now.after(self.cx.spent));
        }
    }

    /// True: it sleeps now.
    fn look(&mut self, cpu: usize, looks: u32) -> bool {
        if let Some(task) = self.pool.take(&mut self.cx) {
            let trip = self.cx.lines.trip(task.from, cpu);
            let carried = trip * Nanos::from(P::PRIVATE.lines);
            self.cx.spend(P::PRIVATE.execute + carried + self.cell.item);
            self.doing[cpu] = Doing::Executing(self.cell.children(task.number, self.cell.items));
            return false;
        }
        self.cx.spend(self.cx.hardware.look);
        self.doing[cpu] = Doing::Looking(looks + 1);
        if looks >= P::LOOKS {
            self.cx.asleep.insert(cpu);
            self.pool.falls_asleep(&mut self.cx);
            return true;
        }
        false
    }

    fn outcome(&self) -> Outcome {
        let (global, local) = self.pool.lines();
        let stats = |line: LineId| self.cx.lines.stats(line);
        let busiest = global.into_iter().map(stats).max_by_key(LineStats::busy_ns);
        Outcome {
            items: self.cell.items,
            elapsed: self.cx.now.0,
            global: busiest.unwrap_or_default(),
            local: local
                .into_iter()
                .map(stats)
                .fold(LineStats::default(), LineStats::plus),
        }
    }
}
