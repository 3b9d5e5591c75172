//! The worker pool: a worklist, the workers that serve it, and the rules of starting and stopping.
//!
//! The caller holds the pool exclusively, passes the time in and carries the [`Actions`] out after
//! letting the pool go. Choosing changes the state: a worker that was chosen is `Waking`, a thread
//! that was asked for is `Creating`, whatever happens before the action is carried out.
//!
//! Its rooms and what follows each event are in `README.md` beside this file.
//!
//! | file | |
//! | --- | --- |
//! | `events.rs` | what the machine tells it, and what follows |
//! | `start.rs`, `brief.rs` | when a worker is started: one verdict; where one worker is enough |
//! | `crew/` | workers and their states, which keep the counts |
//! | `estimate.rs`, `unseen.rs` | who is presumed asleep, and what is believed of workers that nobody can see |
//! | `items.rs`, `series.rs` | an item is queued, taken, ends; barriers, cancelled and deferred items |
//! | `quick.rs` | the same where nothing but the item is going on in the pool |
//! | `inbox.rs` | items that were queued without the pool's lock |
//! | `plain.rs` | such an inbox for the simulator, and for tests |
//! | `deal.rs`, `dealt.rs` | items that a worker begins without the pool's lock |
//! | `slots.rs`, `starvation.rs` | the limit of a queue: who gets a free slot, and when nobody ever would |
//! | `worklist/` | items that no worker has taken; which are held back at a lock, which are near to a CPU |
//! | `life.rs` | a worker's next step, to its end; which of too many idle ones end |
//! | `stuck.rs` | waits that no worker or slot of the pool could ever end |
//! | `signals.rs`, `seen.rs`, `arming.rs` | a CPU would idle, a scan has seen; when reports are asked for |
//! | `claim.rs`, `rescue.rs` | guests: a waiter executes the awaited item, a queue's own thread helps |
//! | `watch.rs` | an item keeps its CPU for long, the worklist stands still, the clock was away |
//! | `key.rs` | what makes a pool, what it is while these CPUs are in use, where its workers are woken |
//! | `decisions.rs` | the last decision of each sort about starting workers, and why |
//! | `inspect.rs`, `knot.rs`, `census.rs`, `check.rs` | questions: why an item waits, for whom, how many, is all in order |

mod arming;
mod borrow;
mod brief;
mod census;
mod check;
mod claim;
mod crew;
mod deal;
mod dealt;
mod decisions;
mod estimate;
mod events;
mod inbox;
mod inspect;
mod items;
mod key;
mod knot;
mod life;
mod plain;
mod quick;
mod rescue;
mod seen;
mod series;
mod signals;
mod slots;
mod spread;
mod start;
mod starvation;
mod stuck;
#[cfg(test)]
mod tests;
mod unseen;
mod wake;
mod watch;
mod worklist;

pub use crate::sampling::{ItemReport, MAX_SCAN};
pub use census::Census;
pub use claim::{Claimant, MAX_CLAIMS};
pub use dealt::{
    Dealer, Dealt, Ended, MOST_DEALT, Recalled, Was, goes_on_alone, is_its_own, is_low, keeps_own,
    low_mark, may_linger, tells, wants_more,
};
pub use decisions::Decided;
pub use inbox::{
    Inbox, Left, MOST_SEARCHED, MOST_TRAYS, NoInbox, Open, TURN, is_stamped, is_too_late,
    left_after, left_at, looks_at_clock, next_tray, told_behind, tray, trays,
};
pub use inspect::{PwqCounts, Waits};
pub use items::{Queueing, Retired};
pub use key::{PoolKey, Served};
pub use knot::{Behind, Behinds, Held};
pub use life::{BH_WORKER_RESTARTS, BH_WORKER_TURN, Step};
pub use plain::PlainInbox;
pub use rescue::{MAX_RESCUERS, MAYDAY_INITIAL_TIMEOUT, MAYDAY_INTERVAL, RESCUER_BATCH};
pub use seen::{Plan, Seen, SeenState, Shortage};
pub use series::{Executing, QueuedIn};
pub use starvation::{Holder, HolderIs, SlotsSeen, may_starve, most_threads};
pub use stuck::Stuck;
pub use unseen::PATIENCE;
pub use watch::{AskSwitches, Executed, Hog, Stall};
pub use worklist::{MOST_OVERTAKEN, NEAR_WINDOW};

use alloc::sync::Arc;

use crate::action::{Action, Actions};
use crate::affinity::Near;
use crate::growth::{Growth, GrowthStats, Holding};
use crate::store::Store;
use crate::time::{Nanos, SECOND, Time};
use crate::watchdog::Watchdog;
use crate::worker::WorkerId;
use crew::Crew;
use estimate::Estimate;
use slots::Slots;
use worklist::Worklist;

/// Idle workers beyond the ratio retire after this (kernel `IDLE_WORKER_TIMEOUT`).
pub const IDLE_WORKER_TIMEOUT: Nanos = 300 * SECOND;
/// See `too_many_workers` (kernel `MAX_IDLE_WORKERS_RATIO`).
pub const MAX_IDLE_WORKERS_RATIO: u32 = 4;
/// Pause after a failed thread creation (kernel `CREATE_COOLDOWN`).
pub const CREATE_COOLDOWN: Nanos = SECOND;

/// A worker that found others waiting for its CPU after so many items in a row steps back, while
/// too many run. Sooner, and the number of workers in flight swings around what keeps the CPUs
/// busy.
pub const CROWDED: u32 = 4;

/// How a pool chooses the number of workers that run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// As many runnable ones as its target says.
    Managed,
    /// The same, bound to one CPU, with a target of 1 (kernel per-CPU pool). An item that keeps
    /// the CPU for long stops counting.
    PerCpu,
    /// Every active item at once (kernel unbound pool, or per-CPU pool whose CPU has gone).
    Unmanaged,
    /// One worker, which runs items to their ends in turns (kernel BH pool).
    Bh,
}

impl Rule {
    /// How the pool chooses while CPUs of its own are in use, or none is (kernel `unbind_workers`,
    /// `rebind_workers`).
    pub fn while_served(self, served: bool) -> Rule {
        match self {
            Rule::PerCpu if !served => Rule::Unmanaged,
            rule => rule,
        }
    }
}

/// What a pool is told once. Pools are shared by all queues with equal attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAttrs {
    /// Its number, by which items remember it.
    pub id: u32,
    /// How it chooses.
    pub rule: Rule,
    /// Nice value of its workers, -20..=19.
    pub nice: i8,
    /// Workers it keeps runnable: the CPUs it serves, at most the quota. At least 1.
    pub target: u32,
    /// So many more where others leave CPUs idle that its workers may use: as many as are in use
    /// outside of its pod.
    pub beyond: u32,
    /// Tokens of the CPU set's budget. At least 1.
    pub budget: u32,
    /// Threads it may have. At least 1.
    pub thread_limit: u32,
    /// What that may be raised to where nothing moves; no more than it, if somebody has chosen it.
    pub thread_most: u32,
}

/// Everything one call of the core may use beside the pool itself.
pub struct Cx<'a, S: Store> {
    /// The items and shared words.
    pub store: &'a mut S,
    /// The time of the event.
    pub now: Time,
    /// The CPU that it is on. Of no account for a pool that is not
    /// [`with_near`](WorkerPool::with_near).
    pub cpu: u32,
    /// What is to be done after the lock is dropped.
    pub out: &'a mut Actions<S::Pwq>,
}

/// What the tick goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Items wait, in the inbox and in hands too, or somebody is late: an event is to see that.
    pub news: bool,
    /// See [`WorkerPool::look_at`].
    pub look_at: Option<Time>,
    /// See [`WorkerPool::cull_at`].
    pub cull_at: Option<Time>,
}

/// What others may know of a pool without holding it. Published after every call, when it changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Items wait for a worker, or may be left in the inbox: the tick is armed.
    pub backlog: bool,
    /// It would start a worker if a CPU reported that it idles: canaries are armed.
    pub wants: bool,
    /// Items may be left in the inbox; `None`: it is shut.
    pub open: Option<Open>,
}

impl Published {
    /// Whether others learn the same from it, but for the time until which the inbox is open.
    pub fn tells_no_other(&self, other: &Published) -> bool {
        (self.backlog, self.wants) == (other.backlog, other.wants)
            && self.open.map(|open| open.most) == other.open.map(|open| open.most)
    }
}

/// Counters of one pool since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Items begun.
    pub started: u64,
    /// Items ended.
    pub completed: u64,
    /// Reports of an idle CPU that led to a start.
    pub idle_reports: u64,
    /// Reports that came too late or found nothing to start.
    pub idle_reports_unused: u64,
    /// Workers that a scan started.
    pub tick_starts: u64,
    /// Workers that nobody could see and that were taken for asleep, as nothing had ended for
    /// long.
    pub unseen_presumed: u64,
    /// Workers that went idle although items waited, because they had to wait for a CPU.
    pub step_backs: u64,
    /// Items that were begun by who waited for them.
    pub claimed: u64,
    /// Items begun outside of the pod that they were queued in.
    pub far: u64,
    /// Workers that went idle although items waited, because of a convoy.
    pub convoy_step_backs: u64,
    /// How often, and why, growth was held back.
    pub growth: GrowthStats,
    /// Most workers at once.
    pub peak_workers: u32,
    /// Thread creations that failed.
    pub spawn_failures: u64,
    /// The estimate of runnable workers, integrated until the last event, in worker-nanoseconds;
    /// none in a pool that does not manage how many run.
    pub runnable_ns: u128,
}

/// The state of one worker pool.
#[cfg_attr(test, derive(Debug))]
pub struct WorkerPool<S: Store> {
    attrs: PoolAttrs,
    worklist: Worklist<S>,
    crew: Crew<S>,
    estimate: Estimate,
    growth: Growth,
    arming: arming::Arming,
    brief: brief::Brief,
    /// No thread is asked for before this time, after one could not be made.
    spawn_after: Time,
    /// Where the next scan goes on, among workers not known to sleep and among sleepers.
    scan_cursor: [u32; 2],
    /// Items queued and not ended, over all its pwqs.
    nr_in_flight: u64,
    /// Since when a worker is missing that would have to be made.
    needs_since: Option<Time>,
    /// When rescuers are called next.
    mayday_at: Time,
    /// Items and time of the turn of a BH worker.
    turn: Turn,
    dog: Watchdog,
    slots: Slots<S>,
    decisions: decisions::Decisions,
    dealing: deal::Dealing,
    /// An item was last begun or ended.
    moved: Time,
    /// How many wait for the pool as a whole.
    drain_watchers: u32,
    stats: PoolStats,
    /// A worker was last not started because no token was left.
    denied: bool,
    left: borrow::Left,
    #[cfg(test)]
    long_way: bool,
}

/// What a BH worker has done since it last let others run.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    began: Time,
    items: u32,
}

impl<S: Store> WorkerPool<S> {
    /// A pool without workers.
    pub fn new(attrs: PoolAttrs) -> Self {
        assert!(
            attrs.target > 0 && attrs.budget > 0 && attrs.thread_limit > 0,
            "{attrs:?}"
        );
        WorkerPool {
            attrs,
            worklist: Worklist::new(),
            crew: Crew::new(),
            estimate: Estimate::default(),
            growth: Growth::default(),
            arming: arming::Arming::default(),
            brief: brief::Brief::default(),
            spawn_after: Time(0),
            scan_cursor: [0; 2],
            nr_in_flight: 0,
            needs_since: None,
            mayday_at: Time(0),
            turn: Turn::default(),
            dog: Watchdog::default(),
            slots: Slots::new(),
            decisions: decisions::Decisions::default(),
            dealing: deal::Dealing::default(),
            moved: Time(0),
            drain_watchers: 0,
            stats: PoolStats::default(),
            denied: false,
            left: borrow::Left::default(),
            #[cfg(test)]
            long_way: false,
        }
    }

    /// The same for items that come from several pods: each CPU takes what is near.
    #[must_use]
    pub fn with_near(mut self, near: Arc<Near>) -> Self {
        self.worklist.set_near(near);
        self
    }

    /// Whether it keeps count of who runs.
    fn manages(&self) -> bool {
        matches!(self.attrs.rule, Rule::Managed | Rule::PerCpu)
    }

    /// Its attributes.
    pub fn attrs(&self) -> PoolAttrs {
        self.attrs
    }

    /// Workers that are taken for runnable: executing, waking or choosing, less those in a hint
    /// and those presumed asleep. Between 0 and the number of workers that are not idle, where
    /// each is one thread; one that stands for a process tree counts as the threads of it that
    /// were found to run.
    pub fn nr_running(&self) -> u32 {
        let counts = self.crew.counts();
        counts.presumable() + counts.on_their_way() - self.estimate.presumed()
    }

    /// Workers that exist.
    pub fn nr_workers(&self) -> u32 {
        self.crew.counts().workers
    }

    /// Workers that are parked.
    pub fn nr_idle(&self) -> u32 {
        self.crew.idle().len() as u32
    }

    /// Items that no worker has taken yet, and that one may take, now or when they are not held
    /// back.
    pub fn nr_queued(&self) -> usize {
        self.worklist.nr_free() + self.worklist.nr_aside()
    }

    /// Items queued and not ended, waiting ones included.
    pub fn nr_in_flight(&self) -> u64 {
        self.nr_in_flight
    }

    /// Workers that the last look at them could not see in their item.
    pub fn nr_unseen(&self) -> u32 {
        let unseen = |id: &WorkerId| self.crew.get(*id).unseen.is_some();
        self.crew.ids().filter(unseen).count() as u32
    }

    /// Items being executed.
    pub fn nr_executing(&self) -> u32 {
        self.crew.counts().executing
    }

    /// Whether it has no use for the tokens that it holds: nothing waits, yet workers count as
    /// running.
    pub fn holds_tokens(&self) -> bool {
        self.estimate.tokens() > 0 && self.nr_queued() == 0
    }

    /// The idle worker that a report should wake: the one that would be chosen next.
    pub fn standby(&self) -> Option<WorkerId> {
        self.crew.idle().back().copied()
    }

    /// Its counters.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            growth: self.worklist.growth_stats(),
            unseen_presumed: self.estimate.unseen_presumed(),
            runnable_ns: self.estimate.integral(),
            ..self.stats
        }
    }

    /// The last decision of each sort about starting a worker: what asked, and what was decided, in
    /// words for people.
    pub fn decisions(&self) -> impl Iterator<Item = (&'static str, &'static str, Decided)> + '_ {
        self.decisions.iter()
    }

    /// What may be published of it.
    pub fn published(&self, now: Time) -> Published {
        let open = self.opening(now);
        Published {
            backlog: self.nr_queued() > 0 || open.is_some(),
            wants: self.arming.is_on() && self.wants(now),
            open,
        }
    }

    /// The estimate of runnable workers, integrated until `now`; in the counters, until the last
    /// event.
    pub fn runnable_ns(&self, now: Time) -> u128 {
        self.estimate.runnable_ns(now)
    }

    /// Why items are held back, if some are: of all kinds together.
    pub fn holding(&self, now: Time) -> Holding {
        self.worklist.holding(now)
    }

    /// When the pool next wants a tick although nothing else happens: a start that was put off, or
    /// a call for rescuers, is due.
    pub fn look_at(&self, now: Time) -> Option<Time> {
        let lanes = self.worklist.lanes_wake_at(now);
        lanes.into_iter().chain(self.mayday_due()).min()
    }

    /// The tick has found news: whether items are listed that nobody has begun. If not, nobody need
    /// report. Nobody is started, which is for the look that follows.
    pub fn ticked(&mut self, cx: &mut Cx<S>) -> bool {
        self.settle(cx);
        self.nr_queued() > 0
    }

    /// What the tick goes by. Nothing is recalled for that: workers go on undisturbed.
    pub fn at_a_glance(&self, inbox: &impl Inbox<S>, now: Time) -> Glance {
        // It would be shut by now.
        let is_late = inbox.is_open() && self.opening(now).is_none();
        Glance {
            news: self.nr_queued() > 0 || inbox.any_waits() || is_late || inbox.is_late(now),
            look_at: self.look_at(now),
            cull_at: self.cull_at(),
        }
    }

    /// Brings tokens and statistics in line with the estimate. The last act of every event.
    fn settle(&mut self, cx: &mut Cx<S>) {
        self.worklist.look_for_room(cx.now);
        self.settle_tokens(cx);
        self.settle_wanted(cx);
        self.look_at_budget(cx);
        self.settle_need(cx.now);
        self.arming.update(self.nr_unattended(), self.attrs.target);
        // Nobody looks at those of a pool that does not manage how many run.
        let running = if self.manages() { self.nr_running() } else { 0 };
        self.estimate.integrate(cx.now, running);
    }

    fn settle_tokens(&mut self, cx: &mut Cx<S>) {
        self.estimate.forget_beyond(self.crew.counts().presumable());
        let due = self.due_tokens();
        self.estimate.settle_tokens(cx.store, due);
    }

    fn push(&self, cx: &mut Cx<S>, action: Action<S::Pwq>) {
        cx.out.push(action);
    }
}
