//! Why an item waits, and how many do. These are looks, not events: the answer may be over by the
//! time it is read.

use super::series::QueuedIn;
use super::start::{Asks, Start};
use super::{Cx, WorkerPool};
use crate::store::Store;

/// Why a pending item has not begun: the first thing that it needs and has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Waits {
    /// Its timer is armed.
    Timer,
    /// All slots of its queue's `max_active` are taken, or the queue is frozen.
    Limit,
    /// Older items of its ordered queue, which was given other attributes, come first.
    Plugged,
    /// An execution of it goes on: the next one begins when that has ended.
    Behind,
    /// As many workers run as the CPUs serve.
    Cpu,
    /// More workers would only queue up at a lock: the next one is started a little later.
    Growth,
    /// A worker: one is on its way, or is being made, or cannot be made.
    Worker,
}

impl Waits {
    /// What the item needs and has not got, in words for people.
    pub fn words(self) -> &'static str {
        match self {
            Waits::Timer => "the delay is not over",
            Waits::Limit => "all slots of max_active are taken, or the queue is frozen",
            Waits::Plugged => "older items of the ordered queue come first",
            Waits::Behind => "the same item is still being executed",
            Waits::Cpu => "as many workers run as the CPUs serve",
            Waits::Growth => "a convoy: more workers would only queue up at a lock",
            Waits::Worker => "a worker is on its way, or is being made, or cannot be made",
        }
    }

    /// All reasons, in the order of their numbers.
    pub const ALL: [Waits; 7] = [
        Waits::Timer,
        Waits::Limit,
        Waits::Plugged,
        Waits::Behind,
        Waits::Cpu,
        Waits::Growth,
        Waits::Worker,
    ];
}

/// Items and barriers of one pwq by where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PwqCounts {
    /// Items that hold a slot: the sum of the next three.
    pub nr_active: u32,
    /// Items that are being executed.
    pub nr_executing: u32,
    /// Items with a slot that wait for the end of an execution of their own.
    pub nr_behind: u32,
    /// Items with a slot that wait for a worker.
    pub nr_pending: u32,
    /// Why the pending ones wait.
    pub pending: Option<Waits>,
    /// Entries that wait for a slot: items, and barriers behind them.
    pub nr_inactive: usize,
    /// They wait for older items of their ordered queue.
    pub plugged: bool,
}

impl<S: Store> WorkerPool<S> {
    /// Why this item has not begun; `None` if it is not queued in this pool.
    pub fn waits(&self, cx: &mut Cx<S>, work: S::Work) -> Option<Waits> {
        let word = cx.store.word(work);
        let (addr, _) = word.pwq()?;
        // Only then is the pwq known to be there.
        if word.pool() != Some(self.attrs.id) {
            return None;
        }
        let pwq = cx.store.pwq_at(addr);
        let behind = word.flags().deferred || self.executes(&cx.store.key(work));
        Some(match self.queued_in(cx, work) {
            QueuedIn::Inactive if cx.store.pwq(pwq).flags.plugged => Waits::Plugged,
            QueuedIn::Inactive => Waits::Limit,
            QueuedIn::Scheduled(_) => Waits::Behind,
            QueuedIn::Worklist if behind => Waits::Behind,
            QueuedIn::Worklist => self.worklist_waits(cx, pwq, Some(work)),
        })
    }

    /// Why items of the worklist wait.
    fn worklist_waits(&self, cx: &mut Cx<S>, pwq: S::Pwq, work: Option<S::Work>) -> Waits {
        let queue = cx.store.info(pwq).queue;
        match self.start_verdict(cx, Asks::Event) {
            Start::EnoughRun => Waits::Cpu,
            _ if self.worklist.is_held_back(queue, work, cx) => Waits::Growth,
            Start::NoToken => Waits::Cpu,
            Start::NothingWaits | Start::Look => Waits::Worker,
            Start::Worker | Start::Create | Start::NoThread => Waits::Worker,
        }
    }

    /// How many items of a pwq of this pool are where. Costs a look at each worker.
    pub fn counts_of(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> PwqCounts {
        let nr_executing = self.holders(pwq).count() as u32;
        let nr_behind = self.nr_behind(cx, pwq);
        let state = cx.store.pwq(pwq);
        let (nr_active, nr_inactive) = (state.nr_active(), state.nr_inactive());
        let plugged = state.is_plugged();
        let nr_pending = nr_active.saturating_sub(nr_executing + nr_behind);
        PwqCounts {
            nr_active,
            nr_executing,
            nr_behind,
            nr_pending,
            pending: (nr_pending > 0).then(|| self.worklist_waits(cx, pwq, None)),
            nr_inactive,
            plugged,
        }
    }

    /// Items of `pwq` with a slot that wait for the end of an execution of their own: here, or in
    /// another pool.
    fn nr_behind(&self, cx: &Cx<S>, pwq: S::Pwq) -> u32 {
        let active = |&work: &S::Work| {
            cx.store.pwq_of(work) == Some(pwq) && !cx.store.word(work).flags().inactive
        };
        let scheduled = |id| self.crew.get(id).scheduled.iter(cx.store);
        let here = self.crew.ids().flat_map(scheduled).filter(active);
        let deferred = self
            .worklist
            .deferred()
            .iter()
            .map(|d| d.work)
            .filter(active);
        (here.count() + deferred.count()) as u32
    }
}
