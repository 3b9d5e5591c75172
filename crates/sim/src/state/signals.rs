//! What signals know: the machine's part, and each pool's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cmwq_policy::canary::Canary;
use cmwq_policy::{CpuMask, Nanos, Published, WorkerId};

use crate::api::report::SignalStats;
use crate::cpu::ThreadId;
use crate::random::Random;
use crate::state::event::Armed;

/// The machine's part of it.
pub(crate) struct SignalState {
    pub(crate) random: RefCell<Random>,
    /// By CPU.
    pub(crate) bells: RefCell<BTreeMap<usize, Bell>>,
    /// Pools that want reports.
    pub(crate) nr_wanting: Cell<u32>,
    /// The pool that got the last report.
    pub(crate) last_pool: Cell<usize>,
    pub(crate) ticker: Cell<Option<ThreadId>>,
    /// When the tick's thread wakes by itself.
    pub(crate) due: Cell<Armed>,
    pub(crate) timers_due: Cell<bool>,
    pub(crate) cull_due: Cell<bool>,
    /// Items of some pool may have waited for a slot for too long.
    pub(crate) starving: Cell<bool>,
    /// Somebody takes reports, and looks at the workers himself where growth wants that.
    pub(crate) receiving: Cell<bool>,
    pub(crate) stats: Cell<SignalStats>,
}

impl SignalState {
    pub(crate) fn new(random: Random) -> SignalState {
        SignalState {
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

    pub(crate) fn count(&self, what: impl FnOnce(&mut SignalStats)) {
        let mut stats = self.stats.get();
        what(&mut stats);
        self.stats.set(stats);
    }

    /// So often of 1000 times.
    pub(crate) fn happens(&self, per_mille: u32) -> bool {
        per_mille > 0 && self.random.borrow_mut().chance(per_mille)
    }

    /// A random delay of at most so much.
    pub(crate) fn delay(&self, most: Nanos) -> Nanos {
        match most {
            0 => 0,
            most => self.random.borrow_mut().between(0, most),
        }
    }
}

/// A pool's part of it.
pub(crate) struct PoolSignals {
    /// What others were told last.
    pub(crate) published: Cell<Published>,
    /// CPUs whose canaries have reported to it.
    pub(crate) reports: Cell<CpuMask>,
    /// A worker whose thread is to be made.
    pub(crate) spawn: Cell<Option<WorkerId>>,
    /// Growth waits for a look at the workers.
    pub(crate) inspect: Cell<bool>,
}

impl Default for PoolSignals {
    fn default() -> PoolSignals {
        PoolSignals {
            published: Cell::default(),
            reports: Cell::new(CpuMask::EMPTY),
            spawn: Cell::new(None),
            inspect: Cell::new(false),
        }
    }
}

/// A canary as others see it.
#[derive(Clone, Copy)]
pub(crate) struct Bell {
    pub(crate) thread: ThreadId,
    pub(crate) state: Canary,
}
