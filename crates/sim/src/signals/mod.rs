//! What pools are told of who sleeps: exactly, as the kernel's scheduler tells it, or as little as
//! user space knows.
//!
//! In user space nobody is told. There are *canaries*, one for each CPU, which run when nothing else
//! wants it and report that; the *tick*, a thread that looks at the workers while items wait; and
//! *hints* of items that are about to block. The threads are threads of the simulated machine: they
//! wait for CPUs like others, and are late or starve with them. What they decide is decided in the
//! policy; the runtime's `signals/README.md` has the protocol and why nothing is lost for ever.
//!
//! | file | |
//! | --- | --- |
//! | `canary.rs` | the threads that report an idle CPU, and who arms them |
//! | `report.rs` | a report on its way: to whom, late, lost, and who takes it |
//! | `tick.rs` | the thread that looks, expires timers, makes threads |

mod canary;
mod report;
mod tick;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cmwq_policy::pool::SeenState;
use cmwq_policy::time::MICROSECOND;
use cmwq_policy::{CpuMask, Nanos, Published, WorkerId};

use crate::cpu::ThreadId;
use crate::machine::{Event, Machine};
use crate::pools::{Armed, Pool, TICK};
use crate::program::{Program, ThreadSpec};
use crate::random::Random;
use crate::threads::{NewThread, Sleep};

/// How pools learn that workers sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// They are told, at once and always.
    #[default]
    Exact,
    /// By the signals that a program in user space has.
    User(UserSignals),
}

/// Which signals there are, what they cost, and how reliable they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserSignals {
    /// Each CPU has a canary.
    pub canaries: bool,
    /// Pools hear of [`Act::Hint`](crate::Act::Hint). Of waits in calls they hear in any case.
    pub hints: bool,
    /// Nanoseconds between two looks of the tick; 0: as the policy paces it; `Nanos::MAX`: it looks
    /// once, and then only when a pool asks for it.
    pub tick: Nanos,
    /// Each report of a canary, and each tick, comes late by a random time of at most so many
    /// nanoseconds.
    pub late: Nanos,
    /// So many of 1000 reports of canaries are lost.
    pub lost: u32,
    /// So many of 1000 yields of a canary that is not alone on its CPU pass for a confirmation that
    /// it is: a wrong report.
    pub spurious: u32,
    /// So many of 1000 looks at a worker cannot see it.
    pub unseen: u32,
    /// Then at least the CPU time of its thread is told.
    pub cpu_told: bool,
    /// CPU time that the signals take.
    pub costs: SignalCosts,
}

/// CPU time that signals take, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalCosts {
    /// One yield of a canary.
    pub yielding: Nanos,
    /// One round of the tick's thread.
    pub round: Nanos,
    /// A look at one worker.
    pub look: Nanos,
}

impl SignalCosts {
    /// Signals take no time.
    pub const NONE: SignalCosts = SignalCosts {
        yielding: 0,
        round: 0,
        look: 0,
    };
}

/// As measured on a virtual machine with Linux 6.18: 0.8 us a yield, 15 us a wake-up of a timer's
/// thread, 25 to 70 us a look at up to 16 workers.
impl Default for SignalCosts {
    fn default() -> Self {
        SignalCosts {
            yielding: 800,
            round: 15 * MICROSECOND,
            look: 4 * MICROSECOND,
        }
    }
}

/// All signals, none late, lost or wrong.
impl Default for UserSignals {
    fn default() -> Self {
        UserSignals {
            canaries: true,
            hints: true,
            tick: 0,
            late: 0,
            lost: 0,
            spurious: 0,
            unseen: 0,
            cpu_told: true,
            costs: SignalCosts::default(),
        }
    }
}

/// What signals have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalStats {
    /// Reports that canaries have made.
    pub reports: u64,
    /// Of those, the ones that were lost.
    pub lost: u64,
    /// And those that came late.
    pub late: u64,
    /// And those of canaries that were not alone on their CPUs, as far as that was by chance.
    pub spurious: u64,
    /// Reports that a busy worker dropped, because they were old.
    pub dropped: u64,
    /// Rounds of the tick's thread that were due.
    pub ticks: u64,
    /// Workers that the tick's thread, or the taker of a report, has looked at.
    pub looked_at: u64,
    /// Looks at workers that could not see them.
    pub unseen: u64,
    /// Hints that items gave, beginnings only.
    pub hints: u64,
}

/// The machine's part of it.
pub(crate) struct State {
    random: RefCell<Random>,
    /// By CPU.
    bells: RefCell<BTreeMap<usize, canary::Bell>>,
    /// Pools that want reports.
    nr_wanting: Cell<u32>,
    /// The pool that got the last report.
    last_pool: Cell<usize>,
    ticker: Cell<Option<ThreadId>>,
    /// When the tick's thread wakes by itself.
    due: Cell<Armed>,
    timers_due: Cell<bool>,
    cull_due: Cell<bool>,
    /// Items of some pool may have waited for a slot for too long.
    starving: Cell<bool>,
    /// Somebody takes reports, and looks at the workers himself where growth wants that.
    receiving: Cell<bool>,
    stats: Cell<SignalStats>,
}

impl State {
    pub(crate) fn new(random: Random) -> State {
        State {
            random: RefCell::new(random),
            bells: RefCell::default(),
            nr_wanting: Cell::new(0),
            last_pool: Cell::new(0),
            ticker: Cell::new(None),
            due: Cell::new(None),
            timers_due: Cell::new(false),
            cull_due: Cell::new(false),
            starving: Cell::new(false),
            receiving: Cell::new(false),
            stats: Cell::default(),
        }
    }

    fn count(&self, what: impl FnOnce(&mut SignalStats)) {
        let mut stats = self.stats.get();
        what(&mut stats);
        self.stats.set(stats);
    }

    /// So often of 1000 times.
    fn happens(&self, per_mille: u32) -> bool {
        per_mille > 0 && self.random.borrow_mut().chance(per_mille)
    }

    /// A random delay of at most so much.
    fn delay(&self, most: Nanos) -> Nanos {
        match most {
            0 => 0,
            most => self.random.borrow_mut().between(0, most),
        }
    }
}

/// A pool's part of it.
pub(crate) struct Shared {
    /// What others were told last.
    published: Cell<Published>,
    /// CPUs whose canaries have reported to it.
    reports: Cell<CpuMask>,
    /// A worker whose thread is to be made.
    spawn: Cell<Option<WorkerId>>,
    /// Growth waits for a look at the workers.
    inspect: Cell<bool>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            published: Cell::default(),
            reports: Cell::new(CpuMask::EMPTY),
            spawn: Cell::new(None),
            inspect: Cell::new(false),
        }
    }
}

impl Machine {
    /// What the signals have done so far.
    pub fn signal_stats(&self) -> SignalStats {
        self.signals.stats.get()
    }

    /// Whether a thread is a canary or the tick's: none of a program, and never over.
    pub fn is_signaller(&self, id: ThreadId) -> bool {
        let bells = self.signals.bells.borrow();
        self.signals.ticker.get() == Some(id) || bells.values().any(|bell| bell.thread == id)
    }

    /// A thread of the signals. It takes no stream of random numbers: programs draw the same with and
    /// without it.
    fn spawn_signaller(&self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        let new = NewThread {
            allowed: spec.allowed.unwrap_or_else(|| self.topology().all()),
            name: spec.name,
            nice: spec.nice,
            idle_class: spec.idle_class,
            footprint: spec.footprint,
            program: Some(program),
            worker: None,
        };
        self.create_with(new, self.random.signals)
    }

    /// The signals of user space, if they are all there is.
    pub(crate) fn user_signals(&self) -> Option<&UserSignals> {
        match &self.options.signals {
            Signals::Exact => None,
            Signals::User(user) => Some(user),
        }
    }

    /// Whether a pool is told of this sleep of an item. In user space a worker that waits in a call
    /// knows that it does.
    pub(crate) fn is_told(&self, sleep: &Sleep) -> bool {
        self.user_signals().is_none() || matches!(sleep, Sleep::Call(_))
    }

    /// What a look at this thread says, where it cannot see it.
    pub(crate) fn unseen(&self, id: ThreadId) -> Option<SeenState> {
        let user = self.user_signals()?;
        let fails = self.signals.happens(user.unseen);
        self.signals.count(|stats| stats.unseen += u64::from(fails));
        let told = user.cpu_told.then(|| self.thread_stats(id).cpu_ns);
        fails.then_some(SeenState::Unknown(told))
    }

    /// Whether pools hear of hints; who is told exactly needs none.
    pub(crate) fn hears_hints(&self, begins: bool) -> bool {
        let hears = self.user_signals().is_some_and(|user| user.hints);
        let counts = u64::from(hears && begins);
        self.signals.count(|stats| stats.hints += counts);
        hears
    }

    /// Tells the others what has newly become true of a pool.
    pub(crate) fn announce(&self, pool: &Pool, next: Published) {
        if self.user_signals().is_none() {
            if next.backlog && !self.tick_is_armed.replace(true) {
                self.after(TICK, Event::Tick);
            }
            return;
        }
        let before = pool.signals.published.replace(next);
        let wanting = self.signals.nr_wanting.get();
        let wanting = wanting + u32::from(next.wants) - u32::from(before.wants);
        self.signals.nr_wanting.set(wanting);
        if next.backlog && !before.backlog && !self.tick_is_armed.replace(true) {
            self.kick_tick();
        }
        if next.wants && !before.wants {
            let online = self.sched().online();
            self.arm_canaries(&online);
        }
    }
}
