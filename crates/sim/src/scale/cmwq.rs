//! This project as it is: the text of its rules, on a simulated machine whose locks and lines cost
//! something. Pools are told exactly who sleeps, and signals cost nothing.

use std::cell::Cell as Count;
use std::ops::Range;
use std::rc::Rc;

use cmwq_policy::Time;
use cmwq_policy::queue::Kind;

use super::constants::{CMWQ, sharing};
use super::{Cell, Outcome};
use crate::api::act::{Act, Answer};
use crate::api::call::Call;
use crate::api::names::{ItemId, PoolId, QueueId};
use crate::api::options::Options;
use crate::api::specs::{QueueSpec, ThreadSpec};
use crate::cpu::Costs;
use crate::cpu::lines::LineStats;
use crate::machine::{Machine, Program, ProgramCx};

/// Items of so many nanoseconds go before, that all threads are made.
const FOR_THREADS: u64 = 10_000_000;
/// How long a worker's thread takes to come up, in nanoseconds.
const SPAWN_TAKES: u64 = 20_000;

/// Computes, then queues items, then counts itself.
struct Body {
    burns: Option<u64>,
    queue: QueueId,
    queues: Range<u64>,
    ended: Option<Rc<Count<u64>>>,
}

impl Program for Body {
    fn next(&mut self, _: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        if let Some(burns) = self.burns.take() {
            return Act::Burn(burns);
        }
        match (self.queues.next(), self.ended.take()) {
            (Some(item), ended) => {
                self.ended = ended;
                Act::Call(Call::QueueWork {
                    queue: self.queue,
                    cpu: None,
                    item: ItemId(item as u32),
                })
            }
            (None, ended) => {
                ended.into_iter().for_each(|n| n.set(n.get() + 1));
                Act::End
            }
        }
    }
}

pub(super) fn run(cell: &Cell, kind: Kind) -> Outcome {
    let machine = machine(cell);
    let queue = machine.alloc_workqueue(QueueSpec::new("items", kind));
    // As a measurement does: the pool has its threads then, and knows what the items are like.
    let long = Cell {
        item: FOR_THREADS,
        ..cell.clone()
    };
    let threads = 4 * cell.topology.cpus.len() as u64;
    phase(&long, &machine, queue, 0..threads);
    let warm_up = threads + cell.items.div_ceil(4);
    phase(cell, &machine, queue, threads..warm_up);
    // The queue may have been spread meanwhile: so have the pools that it has now.
    let again = warm_up + threads;
    phase(&long, &machine, queue, warm_up..again);
    let warm_up = again + cell.items.div_ceil(4);
    phase(cell, &machine, queue, again..warm_up);
    let (began, before) = (machine.now(), LinesOf::all(&machine));
    phase(cell, &machine, queue, warm_up..warm_up + cell.items);
    let spent = LinesOf::all(&machine).since(&before);
    let busiest = |busiest, &line| std::cmp::max_by_key(busiest, line, LineStats::busy_ns);
    let all = |all: LineStats, &line| all.plus(line);
    Outcome {
        items: cell.items,
        elapsed: machine.now().since(began),
        global: spent.shared.iter().fold(LineStats::default(), busiest),
        local: spent.own.iter().fold(LineStats::default(), all),
    }
}

/// What has happened to lines so far.
struct LinesOf {
    /// That all CPUs share: the lock and the row of a pool for all, its inbox where that is one
    /// line, and words that several pools use.
    shared: Vec<LineStats>,
    /// That the CPUs of a cache share.
    own: Vec<LineStats>,
}

impl LinesOf {
    fn all(machine: &Machine) -> LinesOf {
        let (mut shared, mut own) = (machine.word_lines(), Vec::new());
        for pool in (0..machine.nr_pools()).map(|pool| PoolId(pool as u32)) {
            let (lock, trays) = machine.pool_lines(pool);
            let is_everybodys = machine.pool_pod(pool) == machine.topology().all();
            let of_lock = if is_everybodys { &mut shared } else { &mut own };
            of_lock.push(lock);
            of_lock.extend(machine.row_lines(pool));
            // One is everybody's; of several each is that of a cache.
            let of_trays = match is_everybodys && trays.len() == 1 {
                true => &mut shared,
                false => &mut own,
            };
            of_trays.extend(trays);
        }
        LinesOf { shared, own }
    }

    fn since(&self, before: &LinesOf) -> LinesOf {
        let since = |after: &[LineStats], before: &[LineStats]| {
            let none = std::iter::repeat(LineStats::default());
            let before = before.iter().copied().chain(none);
            let lines = after.iter().zip(before);
            lines.map(|(after, before)| after.since(before)).collect()
        };
        LinesOf {
            shared: since(&self.shared, &before.shared),
            own: since(&self.own, &before.own),
        }
    }
}

/// Makes items with these numbers and waits until all have ended.
fn phase(cell: &Cell, machine: &Machine, queue: QueueId, numbers: Range<u64>) {
    let ended = Rc::new(Count::new(0));
    let (first, items) = (numbers.start, numbers.end - numbers.start);
    let shift = move |range: Range<u64>| first + range.start..first + range.end;
    for number in 0..items {
        let (queues, burns) = (shift(cell.children(number, items)), cell.item);
        let ended = ended.clone();
        machine.item("", move |_| {
            Box::new(Body {
                burns: Some(burns),
                queue,
                queues: queues.clone(),
                ended: Some(ended.clone()),
            })
        });
    }
    for (cpu, queues) in cell.producers(items) {
        let body = Body {
            burns: None,
            queue,
            queues: shift(queues),
            ended: None,
        };
        machine.spawn(ThreadSpec::named("queues").on(cpu), Box::new(body));
    }
    machine.run_while(Time(u64::MAX), |_| ended.get() < items);
    assert_eq!(ended.get(), items, "an item is lost");
}

fn machine(cell: &Cell) -> Machine {
    let hardware = &cell.hardware;
    let mut options = Options::of(cell.topology.clone());
    options.seed = cell.seed;
    options.spawn_takes = SPAWN_TAKES;
    options.costs = Costs {
        call: CMWQ.queue,
        wake: hardware.wake,
        idle_exit: vec![(1, hardware.wakes_in)],
        sharing: sharing(hardware),
        ..Costs::default()
    };
    let machine = Machine::new(options);
    machine.keeps_trace.set(false);
    machine
}
