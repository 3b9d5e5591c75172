//! What has happened so far in one run: shared by its actors, which answer many questions of a
//! script from here without asking the implementation.

use crate::op::{Awaited, Name, Nanos, Op, ranges};
use crate::record::{Edge, Event, Record, Settled};
use crate::scenario::{Execution, Returned};
use crate::spin;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

/// Something an actor waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cond {
    /// An item has started so many times.
    Started(Name, u32),
    /// An item has ended so many times.
    Ended(Name, u32),
    /// A thread of the script has ended.
    ThreadDone(Name),
    /// What was done from another context is done.
    AsideDone(u64),
}

/// Where an execution takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The CPU it starts on.
    pub cpu: u32,
    /// Any number that is this thread's alone during the run.
    pub worker: u64,
    /// The nice level of that thread.
    pub nice: i32,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    over: bool,
    latches: BTreeSet<Name>,
    done: BTreeSet<Name>,
    /// Results of what was done from other contexts; none yet: still under way.
    asides: Vec<Option<Option<String>>>,
    items: BTreeMap<Name, Life>,
    running: u32,
    /// By worker number, in order of first appearance.
    workers: Vec<u64>,
    first_queued: Option<Nanos>,
    events: Vec<(String, Edge, Nanos)>,
    record: Record,
}

/// How often an item has run.
#[derive(Debug, Default)]
struct Life {
    started: u32,
    ended: u32,
    overlap: u32,
}

impl Life {
    fn running(&self) -> u32 {
        self.started - self.ended
    }
}

impl Ledger {
    fn state(&self) -> MutexGuard<'_, State> {
        spin::lock(&self.0)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().over
    }

    pub(crate) fn close(&self) {
        self.state().over = true;
    }

    pub(crate) fn open(&self, latch: &Name) {
        self.state().latches.insert(latch.clone());
    }

    /// At the end of the script every latch is open.
    pub(crate) fn is_open(&self, latch: &str) -> bool {
        let state = self.state();
        state.over || state.latches.contains(latch)
    }

    pub(crate) fn holds(&self, cond: &Cond) -> bool {
        let state = self.state();
        let life = |item| state.items.get(item);
        match cond {
            Cond::Started(item, n) => life(item).is_some_and(|l| l.started >= *n) || *n == 0,
            Cond::Ended(item, n) => life(item).is_some_and(|l| l.ended >= *n) || *n == 0,
            Cond::ThreadDone(thread) => state.done.contains(thread),
            Cond::AsideDone(id) => state.asides[*id as usize].is_some(),
        }
    }

    pub(crate) fn returned(&self, actor: &str, op: &str, result: &str) {
        let mut state = self.state();
        if !state.over {
            let all = state.record.returns.entry(actor.into()).or_default();
            all.push(Returned(op.into(), result.into()));
        }
    }

    pub(crate) fn misuse(&self, text: String) {
        let mut state = self.state();
        if !state.over {
            state.record.misuse.push(text);
        }
    }

    /// The first queueing call of the run returned, or a later one.
    pub(crate) fn queued(&self, now: Nanos) {
        self.state().first_queued.get_or_insert(now);
    }

    pub(crate) fn thread_done(&self, thread: &Name) {
        self.state().done.insert(thread.clone());
    }

    pub(crate) fn begin_aside(&self) -> u64 {
        let mut state = self.state();
        state.asides.push(None);
        state.asides.len() as u64 - 1
    }

    pub(crate) fn end_aside(&self, id: u64, result: Option<String>) {
        self.state().asides[id as usize] = Some(result);
    }

    pub(crate) fn aside_result(&self, id: u64) -> Option<String> {
        self.state().asides[id as usize].clone().flatten()
    }

    /// What happened so far is known to both kernel and us at this point of the script.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        let counts = state.record.returns.iter();
        let returns = counts.map(|(actor, all)| (actor.clone(), all.len()));
        state.record.settled = Settled {
            returns: returns.collect(),
            events: state.events.len(),
        };
    }

    /// The number of the execution; none when the script is over.
    pub(crate) fn start(&self, item: &Name, seat: Seat, now: Nanos) -> Option<u32> {
        let mut state = self.state();
        (!state.over).then(|| state.start(item, seat, now))
    }

    pub(crate) fn end(&self, item: &Name, n: u32, now: Nanos) {
        let mut state = self.state();
        if state.over {
            return;
        }
        state.running -= 1;
        state.items.entry(item.clone()).or_default().ended += 1;
        state.events.push((format!("{item}#{n}"), Edge::End, now));
    }

    /// How often what an operation may wait for has ended.
    pub(crate) fn ended(&self, op: &Op) -> Option<u32> {
        let state = self.state();
        match op.waits_for()? {
            Awaited::Thread(thread) => Some(state.done.contains(thread).into()),
            Awaited::Item(item) => Some(state.items.get(item).map_or(0, |l| l.ended)),
        }
    }

    pub(crate) fn executions(&self, item: &str) -> u32 {
        self.state().items.get(item).map_or(0, |l| l.started)
    }

    pub(crate) fn max_overlap(&self, item: &str) -> u32 {
        self.state().items.get(item).map_or(0, |l| l.overlap)
    }

    pub(crate) fn running_now(&self, prefix: &str) -> u32 {
        let state = self.state();
        let lives = state.items.iter().filter(|(i, _)| i.starts_with(prefix));
        lives.map(|(_, life)| life.running()).sum()
    }

    /// `1-3,5` or `none`.
    pub(crate) fn done_list(&self, prefix: &str) -> String {
        let state = self.state();
        let names = state.done.iter().filter_map(|t| t.strip_prefix(prefix));
        let numbers: BTreeSet<u64> = names.filter_map(|n| n.parse().ok()).collect();
        match numbers.is_empty() {
            true => "none".into(),
            false => ranges(numbers.into_iter()),
        }
    }

    /// What happened, with times relative to the return of the first queueing call.
    pub(crate) fn record(&self) -> Record {
        let state = self.state();
        let mut record = state.record.clone();
        let zero = state.first_queued.unwrap_or(0);
        let event = |(execution, edge, at): &(String, Edge, Nanos)| Event {
            execution: execution.clone(),
            edge: *edge,
            at_ms: (*at as f64 - zero as f64) / 1e6,
        };
        record.events = state.events.iter().map(event).collect();
        record.finished = state.over;
        record
    }
}

impl State {
    fn start(&mut self, item: &Name, seat: Seat, now: Nanos) -> u32 {
        let life = self.items.entry(item.clone()).or_default();
        life.started += 1;
        life.overlap = life.overlap.max(life.running());
        let n = life.started;
        self.running += 1;
        self.record.peak = self.record.peak.max(self.running);
        self.events.push((format!("{item}#{n}"), Edge::Start, now));
        let worker = self.worker(seat.worker);
        self.record.executions.push(Execution {
            item: item.to_string(),
            n,
            cpu: seat.cpu,
            worker,
            nice: seat.nice,
        });
        n
    }

    fn worker(&mut self, number: u64) -> String {
        let known = self.workers.iter().position(|&w| w == number);
        let at = known.unwrap_or_else(|| {
            self.workers.push(number);
            self.workers.len() - 1
        });
        format!("K{}", at + 1)
    }
}
