//! What CPUs did over time, recorded while a machine runs: for Perfetto, or as a picture.
//!
//! Recorded is what can be seen between two instants. What takes no time leaves no trace here.

mod chrome;
mod svg;

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;

use cmwq_policy::{Nanos, Time};

use crate::{ItemId, Line, Machine, QueueId, ThreadId, What};

/// Slices beyond which no more is recorded: as much as Perfetto shows at ease.
const MOST_SLICES: usize = 2_000_000;

/// A recording. Made empty, given to a run, then written.
#[derive(Default)]
pub struct Observation {
    record: RefCell<Record>,
}

/// What is known so far.
#[derive(Default)]
struct Record {
    /// What each CPU does.
    lanes: Vec<Option<Slice>>,
    /// What they did before, in the order in which that ended.
    slices: Vec<Slice>,
    flows: Vec<Flow>,
    /// Items that are queued: where and when that was.
    queued: BTreeMap<ItemId, (Time, usize)>,
    /// The queues of the items that threads execute, one in the middle of the other.
    executes: BTreeMap<ThreadId, Vec<QueueId>>,
    end: Time,
    /// From when on nothing is recorded because there was too much.
    full: Option<Time>,
    threads: Vec<String>,
    items: BTreeMap<ItemId, String>,
    queues: Vec<String>,
}

/// A CPU does one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    cpu: usize,
    from: Time,
    to: Time,
    thread: ThreadId,
    what: Doing,
}

/// What a thread does on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    /// It executes an item of a queue, for the so many-th time.
    Item(QueueId, ItemId, u32),
    /// It is a worker between two items.
    Worker,
    /// It is a thread of the program.
    Program,
    /// It is of class SCHED_IDLE.
    IdleClass,
}

/// An item that was queued on one CPU and begun on another, or the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    from: (Time, usize),
    to: (Time, usize),
}

impl Observation {
    /// An empty one.
    pub fn new() -> Observation {
        Observation::default()
    }

    /// A line of the machine's trace.
    pub(crate) fn line(&self, line: &Line) {
        let mut record = self.record.borrow_mut();
        let here = (line.at, line.cpu);
        match line.what {
            What::Queued(_, item, true) => {
                record.queued.insert(item, here);
            }
            What::Start(execution, queue) => {
                record.executes.entry(line.thread).or_default().push(queue);
                let from = record.queued.remove(&execution.item);
                if let Some(from) = from.filter(|_| record.flows.len() < MOST_SLICES) {
                    record.flows.push(Flow { from, to: here });
                }
            }
            What::End(_) => {
                let queues = record.executes.get_mut(&line.thread);
                queues.and_then(Vec::pop);
            }
            _ => {}
        }
    }

    /// An instant is over.
    pub(crate) fn instant(&self, machine: &Machine) {
        let mut record = self.record.borrow_mut();
        let record = &mut *record;
        record.lanes.resize(machine.topology().len(), None);
        record.end = machine.now();
        for cpu in 0..record.lanes.len() {
            let now = record.seen(machine, cpu);
            let goes_on = match (&record.lanes[cpu], &now) {
                (Some(then), Some(now)) => (then.thread, then.what) == (now.thread, now.what),
                (None, None) => true,
                _ => false,
            };
            if !goes_on {
                record.close(cpu);
                record.lanes[cpu] = now;
            }
        }
    }

    /// The run is over.
    pub(crate) fn finish(&self, machine: &Machine) {
        let mut record = self.record.borrow_mut();
        record.end = machine.now();
        (0..record.lanes.len()).for_each(|cpu| record.close(cpu));
        let ids = (0..machine.nr_threads()).map(|id| ThreadId(id as u32));
        record.threads = ids.map(|id| machine.thread_name(id)).collect();
        record.queues = machine.queue_names();
        let items = record.slices.iter().filter_map(|slice| slice.what.item());
        let items: BTreeMap<ItemId, String> = items.map(|i| (i, machine.item_name(i))).collect();
        record.items = items;
    }

    fn record(&self) -> Ref<'_, Record> {
        self.record.borrow()
    }
}

impl Doing {
    fn item(self) -> Option<ItemId> {
        match self {
            Doing::Item(_, item, _) => Some(item),
            _ => None,
        }
    }
}

impl Record {
    /// What a CPU does now.
    fn seen(&self, machine: &Machine, cpu: usize) -> Option<Slice> {
        let thread = machine.current(cpu)?;
        let execution = machine.execution_of(thread);
        let queue = self.executes.get(&thread).and_then(|of| of.last().copied());
        let what = match (execution, queue) {
            (Some(execution), Some(queue)) => Doing::Item(queue, execution.item, execution.number),
            _ if machine.is_idle_class(thread) => Doing::IdleClass,
            _ if machine.worker_of(thread).is_some() => Doing::Worker,
            _ => Doing::Program,
        };
        let from = machine.now();
        Some(Slice {
            cpu,
            from,
            to: from,
            thread,
            what,
        })
    }

    /// What a CPU did until now is over.
    fn close(&mut self, cpu: usize) {
        let Some(slice) = self.lanes[cpu].take() else {
            return;
        };
        let to = self.end;
        if self.slices.len() >= MOST_SLICES {
            self.full.get_or_insert(slice.from);
        } else if to > slice.from {
            self.slices.push(Slice { to, ..slice });
        }
    }

    fn name(&self, slice: &Slice) -> &str {
        let item = slice.what.item().and_then(|item| self.items.get(&item));
        item.map_or(
            self.threads[slice.thread.0 as usize].as_str(),
            String::as_str,
        )
    }
}

/// A time with three digits or four.
pub(crate) fn shown_time(ns: Nanos) -> String {
    let value = ns as f64;
    match ns {
        0 => "0".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", digits(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", digits(value / 1e6)),
        _ => format!("{} s", digits(value / 1e9)),
    }
}

fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
