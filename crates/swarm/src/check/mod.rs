//! The invariants, and the one who checks them while a machine runs.
//!
//! The checker keeps its own books: of calls and what they answered, of what begins and ends. It
//! compares them with each other and with what the policy counts; how the policy decides it does
//! not know.
//!
//! | file | checks |
//! | --- | --- |
//! | `ledger.rs` | items: each accepted queueing runs once or was taken back |
//! | `order.rs` | ordered queues, non-reentrancy, disabled items |
//! | `calls.rs` | what holds when a flush, drain or cancel returns |
//! | `claims.rs` | items that are executed by who joins them |
//! | `counts.rs` | limits, slots, tokens, the estimate, managers: after every event of a pool |
//! | `shares.rs` | the parts of limits, and what they come to: between instants |
//! | `backlog.rs` | nobody waits without need: between instants |
//! | `rescue.rs` | hogs and missing workers: who helps, and when |
//! | `end.rs` | nothing is left behind; idle workers retire |

mod backlog;
mod calls;
mod claims;
mod counts;
mod end;
mod ledger;
mod order;
mod rescue;
mod shares;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

use cmwq_policy::Time;
use cmwq_sim::PwqId;
use cmwq_sim::{
    Answer, Call, Execution, ItemId, Line, Machine, Observer, PoolId, QueueId, ThreadId,
    ThreadStats, What,
};

use crate::machine::{hog_threshold, options};
use crate::plan::{Feature, Plan};

/// Lines that the report of a violation shows.
const SHOWN: usize = 60;

/// Something that always holds. `docs/contributing/swarm.md` says what each means exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Invariant {
    LimitNeverExceeded,
    NodeShares,
    ExactOverNodes,
    OrderedInOrderAndAlone,
    FifoInOrder,
    NonReentrant,
    NothingLost,
    NothingRunTwice,
    NoIdleCpuWithBacklog,
    NoSlotIdleWithWaiters,
    SlotsInTurn,
    NrActiveSums,
    OneManager,
    ThreadLimit,
    SpareRule,
    EstimateInRange,
    Budget,
    FlushIsComplete,
    CancelSyncIsIdle,
    DisabledDoesNotRun,
    BhDoesNotSleep,
    RunsWhereAllowed,
    FrozenDoesNotStart,
    HogStepsAside,
    RescuerComes,
    ClaimedByRight,
    IdleWorkersRetire,
    EverythingFinishes,
    NoLeak,
    NoPanic,
}

impl Invariant {
    /// All of them, with their names.
    pub const ALL: [(Invariant, &str); 30] = {
        use Invariant::*;
        [
            (LimitNeverExceeded, "limit-never-exceeded"),
            (NodeShares, "node-shares"),
            (ExactOverNodes, "exact-over-nodes"),
            (OrderedInOrderAndAlone, "ordered-in-order-and-alone"),
            (FifoInOrder, "fifo-in-order"),
            (NonReentrant, "non-reentrant"),
            (NothingLost, "nothing-lost"),
            (NothingRunTwice, "nothing-run-twice"),
            (NoIdleCpuWithBacklog, "no-idle-cpu-with-backlog"),
            (NoSlotIdleWithWaiters, "no-slot-idle-with-waiters"),
            (SlotsInTurn, "slots-in-turn"),
            (NrActiveSums, "nr-active-sums"),
            (OneManager, "one-manager"),
            (ThreadLimit, "thread-limit"),
            (SpareRule, "spare-rule"),
            (EstimateInRange, "estimate-in-range"),
            (Budget, "budget"),
            (FlushIsComplete, "flush-is-complete"),
            (CancelSyncIsIdle, "cancel-sync-is-idle"),
            (DisabledDoesNotRun, "disabled-does-not-run"),
            (BhDoesNotSleep, "bh-does-not-sleep"),
            (RunsWhereAllowed, "runs-where-allowed"),
            (FrozenDoesNotStart, "frozen-does-not-start"),
            (HogStepsAside, "hog-steps-aside"),
            (RescuerComes, "rescuer-comes"),
            (ClaimedByRight, "claimed-by-right"),
            (IdleWorkersRetire, "idle-workers-retire"),
            (EverythingFinishes, "everything-finishes"),
            (NoLeak, "no-leak"),
            (NoPanic, "no-panic"),
        ]
    };

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = Invariant::ALL.iter().find(|(one, _)| *one == self);
        named.expect("all have a name").1
    }
}

/// An invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// When.
    pub at: Time,
    /// How that shows.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.invariant.name();
        write!(f, "{name} at {} ns: {}", self.at.0, self.text)
    }
}

/// An execution that goes on.
#[derive(Clone, Copy, Debug)]
struct Running {
    thread: ThreadId,
    execution: Execution,
    queue: QueueId,
    pwq: PwqId,
    pool: PoolId,
    /// What the thread had had when it began, or when items began to wait in its pool.
    before: ThreadStats,
}

/// Everything that is known.
struct Books {
    terms: backlog::Terms,
    ledger: ledger::Ledger,
    order: order::Order,
    calls: calls::Calls,
    counts: counts::Counts,
    shares: shares::Shares,
    backlog: backlog::Backlog,
    rescue: rescue::Rescue,
    running: Vec<Running>,
    /// Items that were begun by who joined them.
    claimed: u64,
}

/// Watches one machine.
pub struct Checker {
    books: RefCell<Books>,
    events: Cell<u64>,
    violation: RefCell<Option<Violation>>,
    /// What happened last, if that is kept.
    recent: Option<RefCell<VecDeque<String>>>,
}

/// What a check says.
type Checked = Result<(), (Invariant, String)>;

/// `Err` with this text unless it holds.
macro_rules! ensure {
    ($holds:expr, $invariant:ident, $($text:tt)+) => {
        if !$holds {
            return Err((crate::check::Invariant::$invariant, format!($($text)+)));
        }
    };
}
use ensure;

impl Checker {
    /// Of a machine on which nothing has happened yet. `trace`: keeps what happens last.
    pub fn new(machine: &Machine, plan: &Plan, trace: bool) -> Checker {
        let books = Books {
            terms: backlog::Terms::of(
                &options(plan),
                hog_threshold(plan),
                plan.has(Feature::LeaveBehind),
            ),
            ledger: ledger::Ledger::new(plan.items as usize),
            order: order::Order::default(),
            calls: calls::Calls::default(),
            counts: counts::Counts::default(),
            shares: shares::Shares::default(),
            backlog: backlog::Backlog::default(),
            rescue: rescue::Rescue::default(),
            running: Vec::new(),
            claimed: 0,
        };
        assert_eq!(machine.now(), Time(0));
        Checker {
            books: RefCell::new(books),
            events: Cell::new(0),
            violation: RefCell::default(),
            recent: trace.then(RefCell::default),
        }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events.get()
    }

    /// Whether something was violated.
    pub fn has_failed(&self) -> bool {
        self.violation.borrow().is_some()
    }

    /// Notes a violation, if it is the first.
    pub fn fail(&self, invariant: Invariant, at: Time, text: impl FnOnce() -> String) {
        let mut first = self.violation.borrow_mut();
        first.get_or_insert_with(|| Violation {
            invariant,
            at,
            text: text(),
        });
    }

    /// One more event: checks it, unless something is wrong already.
    fn event(&self, machine: &Machine, check: impl FnOnce(&mut Books) -> Checked) {
        self.events.set(self.events.get() + 1);
        if self.has_failed() {
            return;
        }
        if let Err((invariant, text)) = check(&mut self.books.borrow_mut()) {
            self.fail(invariant, machine.now(), || text);
        }
    }

    fn keep(&self, line: impl FnOnce() -> String) {
        let Some(recent) = &self.recent else { return };
        if self.has_failed() {
            return;
        }
        let mut recent = recent.borrow_mut();
        if recent.len() == SHOWN {
            recent.pop_front();
        }
        recent.push_back(line());
    }

    /// An instant is over.
    pub fn instant(&self, machine: &Machine) {
        self.event(machine, |books| books.instant(machine));
    }

    /// Nothing has happened for longer than idle workers stay.
    pub fn rested(&self, machine: &Machine) {
        self.event(machine, |books| books.check_rested(machine));
    }

    /// Nothing happens any more.
    pub fn finish(&self, machine: &Machine) {
        self.event(machine, |books| books.finish(machine));
    }

    /// What went wrong first.
    pub fn violation(&self) -> Option<Violation> {
        self.violation.borrow().clone()
    }

    /// Items begun.
    pub fn started(&self) -> u64 {
        self.books.borrow().ledger.started()
    }

    /// Of those, begun by who joined them.
    pub fn claimed(&self) -> u64 {
        self.books.borrow().claimed
    }

    /// What happened last, if that is kept.
    pub fn trace(&self) -> Vec<String> {
        let lines = self.recent.iter().flat_map(|lines| lines.borrow().clone());
        lines.collect()
    }
}

impl Books {
    /// The execution that this item is in.
    fn running(&self, item: ItemId) -> Option<&Running> {
        self.running.iter().find(|r| r.execution.item == item)
    }

    fn traced(&mut self, machine: &Machine, line: &Line) -> Checked {
        match line.what {
            What::Start(execution, queue) => self.starts(machine, line, execution, queue),
            What::End(execution) => self.ends(machine, execution),
            What::Queued(queue, item, true) => {
                self.note_queued(machine, queue, item);
                self.ledger.accepted(item)
            }
            _ => Ok(()),
        }
    }

    fn starts(
        &mut self,
        machine: &Machine,
        line: &Line,
        execution: Execution,
        queue: QueueId,
    ) -> Checked {
        let pwq = machine.pwq_executed(line.thread).expect("it executes");
        let running = Running {
            thread: line.thread,
            execution,
            queue,
            pwq,
            pool: machine.pwq_view(pwq).pool,
            before: machine.thread_stats(line.thread),
        };
        self.check_claim(machine, &running)?;
        self.check_start(machine, &running)?;
        self.ledger.starts(execution)?;
        self.check_place(machine, line, &running)?;
        self.check_slots(machine, &running)?;
        self.check_spare(machine, &running)?;
        self.running.push(running);
        Ok(())
    }

    fn ends(&mut self, machine: &Machine, execution: Execution) -> Checked {
        let at = self.running.iter().position(|r| r.execution == execution);
        let at = at.expect("what ends has begun");
        let over = self.running[at];
        let nested = self.is_nested(&over);
        self.running.remove(at);
        if !nested {
            // The next instance of the same item may be another pool workqueue's, for which its
            // executor has not come.
            if !self.counts.executed_last(over.thread, over.execution.item) {
                self.rescue.ended(machine, &over);
            }
            self.counts.ended(&over);
        }
        self.ledger.ends(execution);
        Ok(())
    }

    fn instant(&mut self, machine: &Machine) -> Checked {
        self.check_items(machine)?;
        self.check_pools(machine)?;
        self.check_help(machine)?;
        self.check_shares(machine)?;
        self.check_backlog(machine)
    }
}

impl Observer for Checker {
    fn traced(&self, machine: &Machine, line: &Line) {
        self.keep(|| line.to_string());
        self.event(machine, |books| books.traced(machine, line));
    }

    fn called(&self, machine: &Machine, thread: ThreadId, call: &Call) {
        self.keep(|| format!("{} t{} calls {call:?}", machine.now().0, thread.0));
        self.event(machine, |books| books.called(machine, thread, call));
    }

    fn returned(&self, machine: &Machine, thread: ThreadId, answer: &Answer) {
        self.keep(|| format!("{} t{} is answered {answer:?}", machine.now().0, thread.0));
        self.event(machine, |books| books.returned(machine, thread, answer));
    }

    fn pool_event(&self, machine: &Machine, pool: PoolId) {
        self.event(machine, |books| books.pool_event(machine, pool));
    }
}
