//! Who looks on while a scenario runs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cmwq_policy::Time;

use crate::output::Observation;
use crate::{Answer, Call, Line, Machine, Observer, PoolId, ThreadId, What};

/// Counts what neither programs nor the machine count.
pub(crate) struct Watch {
    /// Nothing before this counts in `worker_wakes`.
    since: Time,
    /// By pool: workers that sleep in the middle of an item, now and at most.
    blocked: RefCell<Vec<(u32, u32)>>,
    pub(crate) worker_wakes: Cell<u64>,
    observation: Option<Rc<Observation>>,
}

impl Watch {
    pub(crate) fn new(since: Time, observation: Option<Rc<Observation>>) -> Watch {
        Watch {
            since,
            blocked: RefCell::default(),
            worker_wakes: Cell::new(0),
            observation,
        }
    }

    /// An instant is over.
    pub(crate) fn instant(&self, machine: &Machine) {
        self.observation.iter().for_each(|o| o.instant(machine));
    }

    /// The run is over.
    pub(crate) fn finish(&self, machine: &Machine) {
        self.observation.iter().for_each(|o| o.finish(machine));
    }

    /// The most workers of the pool that slept in the middle of an item at a time.
    pub(crate) fn max_blocked(&self, pool: usize) -> u32 {
        self.blocked.borrow().get(pool).map_or(0, |&(_, most)| most)
    }

    fn slept(&self, pool: PoolId) {
        let mut blocked = self.blocked.borrow_mut();
        let at = pool.0 as usize;
        let len = blocked.len().max(at + 1);
        blocked.resize(len, (0, 0));
        let (now, most) = &mut blocked[at];
        *now += 1;
        *most = (*most).max(*now);
    }

    fn woke(&self, pool: PoolId) {
        self.blocked.borrow_mut()[pool.0 as usize].0 -= 1;
    }

    fn idle_woke(&self, machine: &Machine) {
        if machine.now() >= self.since {
            self.worker_wakes.set(self.worker_wakes.get() + 1);
        }
    }
}

impl Observer for Watch {
    fn traced(&self, machine: &Machine, line: &Line) {
        self.observation.iter().for_each(|o| o.line(line));
        if !matches!(line.what, What::Sleep | What::Wake) {
            return;
        }
        let Some(worker) = machine.worker_of(line.thread) else {
            return;
        };
        let executes = machine.execution_of(line.thread).is_some();
        match (line.what, executes) {
            (What::Sleep, true) => self.slept(worker.pool),
            (What::Wake, true) => self.woke(worker.pool),
            (What::Wake, false) => self.idle_woke(machine),
            _ => {}
        }
    }

    fn called(&self, _: &Machine, _: ThreadId, _: &Call) {}

    fn returned(&self, _: &Machine, _: ThreadId, _: &Answer) {}

    fn pool_event(&self, _: &Machine, _: PoolId) {}
}
